"""All tables and figures of the papers, by name."""

import importlib

from discreet.errors import InvalidParameterError
from discreet_papers.experiment import Experiment

PAPERS: dict[str, tuple[str, ...]] = {
    "lei": ("lei_simulation", "lei_prostate", "lei_flights"),
    "swope": ("swope",),
    "wang": ("wang",),
}
"""Modules of each paper; each has `EXPERIMENTS`."""

ALL = "all"


def experiments(names: tuple[str, ...]) -> list[Experiment]:
    """Return experiments by name, each once, in the order of the papers."""
    by_paper = {paper: _experiments_of(paper) for paper in PAPERS}
    all_experiments = [entry for members in by_paper.values() for entry in members]
    allowed = {ALL, *PAPERS, *(entry.study.name for entry in all_experiments)}
    wrong = [name for name in names if name not in allowed]
    if wrong:
        raise InvalidParameterError(
            f"NAME must be {ALL}, one of {', '.join(PAPERS)}, or a table or figure, but it is {wrong[0][:40]!r}. "
            "`discreet reproduce` lists them."
        )
    papers = [paper for paper in PAPERS if paper in names]
    return [
        entry
        for paper, members in by_paper.items()
        for entry in members
        if ALL in names or paper in papers or entry.study.name in names
    ]


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    return next(entry for entry in _experiments_of(name.split("-", 1)[0]) if entry.study.name == name)


def _experiments_of(paper: str) -> list[Experiment]:
    modules = [importlib.import_module(f"discreet_papers.{name}") for name in PAPERS[paper]]
    return [entry for module in modules for entry in module.EXPERIMENTS]
