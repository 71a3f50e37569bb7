"""Do the tests notice when a defence is removed? `python -m benchmarks.defences [--only NAME] [--json FILE]`.

Each one of `defences_list.py` is broken in a copy of the sources, and the tests named there are run. It counts as
noticed if one of them fails, and if all of them pass, run in the same way, while it stands.
"""

import argparse
import functools
import json
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from benchmarks.defences_list import DEFENCES, Defence
from benchmarks.mutant_tests import changed, copied_tree, in_fork, load_libraries, run_tests

MOST_S = 120.0
"""Tests of one defence end by then: what a removed one makes run on counts as not noticed."""

PASSED, FAILED = int(pytest.ExitCode.OK), int(pytest.ExitCode.TESTS_FAILED)


@dataclass(frozen=True)
class Outcome:
    """What tests did without a defence.

    Parameters
    ----------
    name, file : str
        The defence, and where it stands.
    noticed_by : str
        The test that failed; empty for none.
    remark : str
        Why none counts.
    seconds : float
        Of the run without the defence.
    """

    name: str
    file: str
    noticed_by: str
    remark: str
    seconds: float


def module_of(tree: Path, defence: Defence) -> Path:
    """Return the module in which a defence stands."""
    home = "packages/discreet-service/src" if defence.file.startswith("discreet_service/") else "src/discreet"
    return tree / home / defence.file


def broken_source(tree: Path, defence: Defence) -> str:
    """Return a module's source without a defence.

    Raises
    ------
    SystemExit
        When its text does not stand exactly once in the module.
    """
    source = module_of(tree, defence).read_text()
    times = source.count(defence.stands)
    if times != 1:
        raise SystemExit(
            f"The text of a defence must stand once in its file, but that of {defence.name!r} stands {times} times in "
            f"{defence.file}. Correct its entry in benchmarks/defences_list.py."
        )
    return source.replace(defence.stands, defence.broken)


class _FirstFailure:
    """A plugin of pytest that writes down which test failed: one whose own body did, not what prepares it."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when == "call":
            self._place.write_text(report.nodeid)


def run(tree: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """Run tests until one fails; return pytest's exit status, and which one it was."""
    place = tree.parent / "first_failure"
    place.unlink(missing_ok=True)
    words = tuple(f"tests/{name}" for name in tests)
    status = in_fork(tree, functools.partial(run_tests, words, lambda: _FirstFailure(place)), MOST_S)
    return status, place.read_text() if place.exists() else ""


class Trials:
    """Defences removed one after the other in one copy of the sources."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._passes: dict[tuple[str, ...], bool] = {}

    def without(self, defence: Defence) -> Outcome:
        """Remove a defence and run its tests."""
        faulty = broken_source(self._tree, defence)
        if not defence.tests:
            return Outcome(defence.name, defence.file, "", "no test is named", 0.0)
        if not self._stands(defence.tests):
            return Outcome(defence.name, defence.file, "", "tests fail while it stands", 0.0)
        start = time.perf_counter()
        with changed(module_of(self._tree, defence), faulty):
            status, failed = run(self._tree, defence.tests)
        noticed = failed if status == FAILED else ""
        remark = "" if noticed else "all tests passed" if status == PASSED else f"pytest ended with {status}"
        return Outcome(defence.name, defence.file, noticed, remark, time.perf_counter() - start)

    def _stands(self, tests: tuple[str, ...]) -> bool:
        if tests not in self._passes:
            self._passes[tests] = run(self._tree, tests)[0] == PASSED
        return self._passes[tests]


def line(*cells: object) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Remove defences one at a time, and print which tests noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="defences whose name holds this; repeatable")
    parser.add_argument("--json", type=Path, help="where the outcomes are written")
    arguments = parser.parse_args()
    wanted = arguments.only
    chosen = [defence for defence in DEFENCES if not wanted or any(name in defence.name for name in wanted)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copy, and the tests that run, go with it
    load_libraries()
    start, outcomes = time.perf_counter(), []
    print(line("defence", "file", "noticed by", "seconds"))
    print(line("---", "---", "---", "---:"), flush=True)
    with tempfile.TemporaryDirectory(prefix="defences-") as folder:
        Path(folder).chmod(0o755)
        trials = Trials(copied_tree(Path(folder)))
        for defence in chosen:
            outcomes.append(outcome := trials.without(defence))
            by = outcome.noticed_by.removeprefix("tests/") or f"**nothing**: {outcome.remark}"
            print(line(outcome.name, outcome.file, by, f"{outcome.seconds:.1f}"), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    noticed = sum(bool(outcome.noticed_by) for outcome in outcomes)
    print(f"\n{noticed} of {len(outcomes)} noticed, {time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
