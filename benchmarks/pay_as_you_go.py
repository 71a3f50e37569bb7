"""What parts below a ceiling spend: ``python -m benchmarks.pay_as_you_go --tables 40``.

Six uniform columns, three with equal or with unequal effects, as in two figures of Lei et al.; 300 to 3,000 rows.
Parts are bought until each column (``--of columns``) or the likeliest model is as sure as ``--until``, or the
ceiling is reached. Beside them the same
noisy moments at once, at fixed epsilons, with the same choice of the model: which fixed epsilon is right as often,
between those tried. The noise is the system's, so figures move from run to run by the error that is stated.
"""

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.moments_recovery import DESIGNS, Design, table
from discreet.mechanisms.rng import Source
from discreet.methods.answers.posterior import PRIORS, of_moments
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.release import MomentsRecord
from discreet.workflow.paid_parts import pay_as_you_go
from discreet.workflow.paid_terms import Terms

EPSILONS = (0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
DELTA = 1e-6
CEILINGS = {300: 8.0, 1000: 4.0, 3000: 2.0}
"""By number of rows; some twice what one release needs, which nobody knows beforehand."""


def designs(rows: list[int]) -> list[Design]:
    """Both designs at each number of rows."""
    return [each._replace(name=f"{each.name.split(', ')[1]}, {n}", n=n) for each in DESIGNS[:2] for n in rows]


def model_of(record: MomentsRecord | None, prior: str) -> tuple[str, ...]:
    """The likeliest model."""
    if record is None:
        return ()
    question = of_moments(record)
    likeliest = question.answer(PRIORS[prior]).models[0]
    return tuple(unit for unit, is_in in zip(question.units, likeliest, strict=True) if is_in)


def fixed(design: Design, rows: list[Any], right: tuple[str, ...], prior: str) -> list[float]:
    """Shares of right models of one release at each epsilon."""
    shares = []
    for epsilon in EPSILONS:
        method = NoisyMoments(epsilon=epsilon, delta=DELTA, n0=design.n, selective_inference="none")
        prepared = method.prepare(rows[0].metadata, "y")
        hits = [model_of(prepared.run(each, Source()).moments, prior) == right for each in rows]
        shares.append(float(np.mean(hits)))
    return shares


def epsilon_of(share: float, shares: list[float]) -> float:
    """The fixed epsilon with this share of right models, between those tried; not a number beyond them."""
    rising = np.maximum.accumulate(shares)
    above = np.flatnonzero(rising >= share)
    if not len(above):
        return float("nan")
    at = int(above[0])
    if at == 0:
        return EPSILONS[0]
    low, high = rising[at - 1], rising[at]
    return float(np.exp(np.interp(share, [low, high], np.log(EPSILONS[at - 1 : at + 1]))))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--until", type=float, default=0.9)
    parser.add_argument("--of", default="columns", choices=["model", "columns"])
    parser.add_argument("--prior", default="sparse", choices=list(PRIORS))
    parser.add_argument("--basic", action="store_true", help="epsilon and delta of parts add up, and not their rho")
    given = parser.parse_args()
    how = "epsilon and delta add up" if given.basic else "rho adds up"
    shown = Table(title=f"until {given.until:g} of {given.of} ({given.prior}), {given.tables} tables, {how}")
    heads = ("design", "right", "reached", "epsilon: mean", "median", "largest", "parts", "fixed, as often", "share")
    for head in heads:
        shown.add_column(head)
    for design in designs(given.rows):
        rows = [table(design, given.seed + at, "replace_one") for at in range(given.tables)]
        for each in rows:
            each.state()
        right = tuple(f"x{j}" for j, effect in enumerate(design.effects, start=1) if effect)
        terms = Terms(given.until, CEILINGS.get(design.n, 8.0), DELTA, not given.basic, given.of, given.prior)
        method = NoisyMoments(delta=DELTA, n0=design.n)
        released = [pay_as_you_go(method, terms, each, "y") for each in rows]
        hits = np.array([release.selected == right for release in released])
        spent = np.array([release.pooled.epsilon_spent for release in released if release.pooled is not None])
        reached = np.mean([release.pooled.reached for release in released if release.pooled is not None])
        parts = np.mean([len(release.pooled.parts) for release in released if release.pooled is not None])
        equal = epsilon_of(float(hits.mean()), fixed(design, rows, right, given.prior))
        error = float(hits.std() / len(hits) ** 0.5)
        shown.add_row(
            design.name, f"{hits.mean():.3f} ({error:.3f})", f"{reached:.2f}", f"{spent.mean():.2f}",
            f"{np.median(spent):.2f}", f"{spent.max():.2f}", f"{parts:.1f}", f"{equal:.2f}",
            f"{spent.mean() / equal:.2f}",
        )  # fmt: skip
    Console(width=130).print(shown)


if __name__ == "__main__":
    main()
