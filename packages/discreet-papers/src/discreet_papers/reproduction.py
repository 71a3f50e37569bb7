"""Tables and figures of the papers: parts computed apart and kept, then tables, pictures and one page."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InvalidParameterError
from discreet.files import write_whole
from discreet.release import canonical_sha256
from discreet.report.studies import study_csv, study_markdown, study_page
from discreet.report.study import Findings, Row, Study
from discreet.report.study_pictures import draw
from discreet.simulation.processes import spread
from discreet.workflow.code import code_sha256
from discreet_papers import registry
from discreet_papers.experiment import Experiment, Work
from discreet_papers.public_tables import is_published, path_of

SEED = 20_180
KEPT = "discreet/part@2"
MARK = "<!-- written by discreet reproduce -->"
PAGE = "index.html"

Told = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Task:
    """A part of a study that is to be computed, as another process is told of it.

    Parameters
    ----------
    study : str
        Name of the study.
    part : str
        Which part.
    folder : Path or None
        Where the public tables lie.
    repeats : int
        How often to draw.
    kept : Path
        The file that keeps its figures.
    key : str
        All that decides them.
    """

    study: str
    part: str
    folder: Path | None
    repeats: int
    kept: Path
    key: str


def studies(names: Sequence[str] = ("all",)) -> list[Study]:
    """Return the studies that can be asked for.

    In the order of the papers.
    """
    return [experiment.study for experiment in registry.experiments(tuple(names))]


def reproduce(
    names: Sequence[str],
    folder: Path | None,
    out: Path,
    repeats: int | None = None,
    n_processes: int = 1,
    progress: Told | None = None,
) -> list[Findings]:
    """Compute studies, or what of them is not yet kept, and write tables, pictures and a page.

    In the order of the papers.

    Cost: about 20 minutes for all studies on two cores at their own repeats. A part is written when it is done, so
    an interrupted command goes on where it was.
    """
    if repeats is not None and repeats < 1:
        raise InvalidParameterError(f"repeats must be at least 1, but repeats={repeats}.")
    experiments = registry.experiments(tuple(names))
    absent = {experiment.study.name: _absent(experiment, folder) for experiment in experiments}
    lacking = [name for name in names if absent.get(name)]
    if lacking:
        raise InvalidParameterError(f"{absent[lacking[0]]} Give the folder that has it: --data FOLDER.")
    page = out / (PAGE if len(experiments) > 1 else f"{experiments[0].study.name}.html")
    if page.is_file() and MARK not in page.read_text(encoding="utf-8", errors="replace"):
        raise InvalidParameterError(
            f"The page must not replace a file of others, but {page} is one. Choose another --out."
        )
    kept = _kept_folder(out)
    digests = _digests(experiments, folder)
    tasks = {
        experiment.study.name: [_task(experiment, part, folder, repeats, kept, digests) for part in experiment.parts]
        for experiment in experiments
        if not absent[experiment.study.name]
    }
    _compute([task for results in tasks.values() for task in results], n_processes, progress)
    results = [
        Findings(
            experiment.study,
            (
                *experiment.study.printed,
                *(row for task in tasks.get(experiment.study.name, []) for row in _rows(task) or []),
            ),
            repeats or experiment.study.repeats,
            (absent[experiment.study.name],) if absent[experiment.study.name] else (),
            _others(experiment.study.files, digests),
        )
        for experiment in experiments
    ]
    _write(results, out, page)
    return results


def compute(task: Task) -> None:
    """Compute a part and keep it."""
    experiment = registry.experiment(task.study)
    seed = int(canonical_sha256([SEED, task.study, task.part])[:8], 16)
    try:
        rows = experiment.work(Work(task.part, task.folder, task.repeats, seed))
    except DiscreetError:
        raise
    except Exception as error:
        if experiment.study.files and not _published(experiment.study.files, task.folder):
            raise InvalidParameterError(
                f"{experiment.study.source} needs its public tables as they were published, but "
                f"{', '.join(experiment.study.files)} "
                f"cannot be worked with ({type(error).__name__}). Fetch them again."
            ) from error
        raise
    results = json.loads(json.dumps([asdict(row) for row in rows]))
    value = {"schema": KEPT, "key": task.key, "study": task.study, "part": task.part, "rows": results}
    write_whole(
        task.kept, json.dumps(value | {"sha256": canonical_sha256(results)}, ensure_ascii=False, allow_nan=False)
    )


def _absent(experiment: Experiment, folder: Path | None) -> str:
    """What a study lacks, in a sentence; empty where it lacks nothing."""
    files = [name for name in experiment.study.files if not path_of(name, folder).is_file()]
    return f"{experiment.study.source} needs the public table {files[0]}, which is not there." if files else ""


def _kept_folder(out: Path) -> Path:
    folder = out / "parts"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "it cannot be made").lower()
        raise InvalidParameterError(
            f"--out must be a folder that can be written, but {out}: {reason}. Choose another folder."
        ) from None
    return folder


def _digests(experiments: Sequence[Experiment], folder: Path | None) -> dict[str, str]:
    results: dict[str, str] = {}
    for name in sorted({name for experiment in experiments for name in experiment.study.files}):
        path = path_of(name, folder)
        if path.is_file():
            results[name] = _sha256(path)
    return results


def _others(files: Sequence[str], digests: dict[str, str]) -> tuple[str, ...]:
    """Sentences on tables that are not the published ones."""
    return tuple(
        f"{name} is not the table as it was published: its SHA-256 is another. What is told of it may not hold."
        for name in files
        if name in digests and not is_published(name, digests[name])
    )


def _published(files: Sequence[str], folder: Path | None) -> bool:
    return all(is_published(name, _sha256(path_of(name, folder))) for name in files)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _task(
    experiment: Experiment, part: str, folder: Path | None, repeats: int | None, kept: Path, digests: dict[str, str]
) -> Task:
    drawn = repeats or experiment.study.repeats
    files = {name: digests[name] for name in experiment.study.files}
    key = canonical_sha256(
        [code_sha256(), code_sha256(Path(__file__).parent), SEED, experiment.study.name, part, drawn, files]
    )
    return Task(experiment.study.name, part, folder, drawn, kept / f"{experiment.study.name}-{key[:16]}.json", key)


def _compute(tasks: list[Task], n_processes: int, progress: Told | None) -> None:
    left = [task for task in tasks if _rows(task) is None]
    if progress is not None and len(left) < len(tasks):
        progress("Computing parts", len(tasks) - len(left), len(tasks))
    done = spread(compute, left, n_processes) if n_processes > 1 and len(left) > 1 else map(compute, left)
    for _ in done:
        if progress is not None:
            progress("Computing parts", 1, len(tasks))


def _rows(task: Task) -> list[Row] | None:
    """A part that is kept; a file that cannot be read, or is none of ours, is as good as none."""
    with suppress(OSError, ValueError):
        value: Any = json.loads(task.kept.read_text(encoding="utf-8"))
        if isinstance(value, dict) and (value.get("schema"), value.get("key")) == (KEPT, task.key):
            rows = value.get("rows")
            if isinstance(rows, list) and value.get("sha256") == canonical_sha256(rows):
                return [Row(**row) for row in rows]
    return None


def _write(all_findings: Sequence[Findings], out: Path, page: Path) -> None:
    """Tables of each study, its pictures, and the page of all."""
    pictures = {}
    for findings in all_findings:
        write_whole(out / f"{findings.study.name}.csv", study_csv(findings))
        write_whole(out / f"{findings.study.name}.md", study_markdown(findings))
        ways = [column.name for column in findings.study.columns]
        for picture in findings.study.pictures if findings.rows and not findings.absent else ():
            name = f"{findings.study.name}-{picture.name}"
            pictures[name] = draw(replace(picture, name=name), findings.rows, ways)
            write_whole(out / f"{name}.svg", pictures[name].replace("<svg ", '<svg style="background:#fff" ', 1))
    write_whole(page, study_page(all_findings, pictures) + MARK + "\n")
