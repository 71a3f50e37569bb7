"""How many small faults the tests find, by package: `python -m benchmarks.mutants [package ...]`.

A seeded sample of the faults of `mutations.py` is put into a copy of the sources, one at a time and spread over files
in proportion to how many each can have; `mutant_tests.py` runs the tests. The score is the share of faults that some
test finds, those without effect left out: `EQUIVALENT` of `mutants_equivalent.py` names them, each with its reason. The
contract on claims, whose fingerprints any change of code breaks, does not count; compiled kernels are not changed.
"""

import argparse
import ast
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.mutant_tests import REPOSITORY, Baseline, baseline, copied_tree, load_libraries, outcome
from benchmarks.mutants_equivalent import EQUIVALENT
from benchmarks.mutations import Place, places, with_fault

PRIVACY = (
    "additive",
    "cube",
    "generalized_exponential",
    "quantile",
    "selection",
    "spherical",
    "subset_search",
    "top_k",
)
ROW_MAP = (
    "test_design",
    "test_row_pass",
    "test_contribution_bound",
    "test_metadata",
    "test_features",
    "test_products",
    "test_hybrid_design",
)
ENGINES = ("test_each", "test_frame", "test_parquet", "test_sql", "test_text_cells")

PACKAGES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "mechanisms": (
        "src/discreet/mechanisms",
        (),
        ("tests/unit/mechanisms", *(f"tests/privacy/test_{name}.py" for name in PRIVACY)),
    ),
    "accounting": ("src/discreet/accounting", (), ("tests/unit/accounting",)),
    "ledger": ("src/discreet/ledger", (), ("tests/unit/ledger",)),
    "rows": (
        "src/discreet/data",
        ("design", "contribution_bound", "unit_keys", "row_pass"),
        (
            *(f"tests/unit/data/{name}.py" for name in ROW_MAP),
            *(f"tests/unit/data/engines/{name}.py" for name in ENGINES),
        ),
    ),
}
"""A folder, which of its modules (default all), and their tests; besides the tests, the modules' own examples."""


@dataclass(frozen=True)
class Mutant:
    """A fault that was tried."""

    path: str
    line: int
    before: str
    after: str
    outcome: str
    reason: str = ""


def modules_of(package: str) -> list[str]:
    """Return the paths of a package's modules."""
    folder, names, _ = PACKAGES[package]
    found = sorted(path for path in (REPOSITORY / folder).glob("*.py") if not names or path.stem in names)
    return [str(path.relative_to(REPOSITORY)) for path in found]


def sample(tree: Path, modules: list[str], count: int, seed: int) -> list[tuple[str, Place]]:
    """Draw faults from every file, in proportion to how many it can have."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - which faults are tried, not noise
    everywhere = {path: places((tree / path).read_text()) for path in modules}
    total = sum(map(len, everywhere.values()))
    chosen = []
    for path, found in everywhere.items():
        some = min(len(found), max(1, round(count * len(found) / total))) if found else 0
        chosen += [(path, found[at]) for at in sorted(rng.choice(len(found), some, replace=False))] if some else []
    return chosen


def survivors(tree: Path, earlier: list[dict[str, Any]]) -> list[tuple[str, Place]]:
    """Find again the faults that no test found in an earlier run."""
    left = {(one["path"], one["before"], one["after"]) for one in earlier if one["outcome"] == "survived"}
    found = []
    for path in sorted({path for path, _, _ in left}):
        source = (tree / path).read_text()
        for place in places(source):
            fault = with_fault(source, place)
            if (path, fault.before, fault.after) in left:
                found.append((path, place))
    return found


def tests_of(found: Baseline, source: str, path: str, line: int, most_s: float) -> list[str]:
    """Return the tests that meet a fault, the quickest first, as many as take so long together without one."""
    first, last = _definition(ast.parse(source), line)
    called = found.callers.get(path, {})
    lines = [at for at in range(first, last + 1) if at in called]
    direct = {name for at in lines for name in called[at]}
    shared = not lines or any((path, at) in found.everywhere for at in range(first, last + 1))
    near = {name for names in called.values() for name in names}

    def order(name: str) -> tuple[bool, bool, bool, float]:
        return "postgresql" in name, name not in direct, name not in near, found.seconds[name]

    chosen, spent = [], 0.0
    for name in sorted(found.seconds if shared else direct, key=order):
        spent += found.seconds[name]
        if spent <= most_s:
            chosen.append(name)
    return chosen


def _definition(tree: ast.Module, line: int) -> tuple[int, int]:
    """First and last line of the function around a line, decorators included; of the line itself outside of any."""
    for node in ast.walk(tree):  # outer ones come first
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= (node.end_lineno or line):
                return first, node.end_lineno or line
    return line, line


def tried(package: str, given: argparse.Namespace, console: Console) -> list[Mutant]:
    """Try a sample of a package's faults."""
    if given.notes:
        given.notes.mkdir(parents=True, exist_ok=True)
    kept = given.notes / f"{package}.json" if given.notes else None
    modules = modules_of(package)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        Path(folder).chmod(0o755)
        tree = copied_tree(Path(folder))
        start, results = time.perf_counter(), []
        found = baseline(tree, (*PACKAGES[package][2], *modules), modules, kept, servers=given.servers)
        console.print(f"{package}: {len(found.seconds)} tests in {time.perf_counter() - start:.0f} s", highlight=False)
        chosen = sample(tree, modules, given.sample, given.seed)
        if given.again:
            chosen = survivors(tree, json.loads(given.again.read_text()).get(package, []))
        for path, place in chosen:
            source = (tree / path).read_text()
            fault = with_fault(source, place)
            reason = EQUIVALENT.get((Path(path).stem, fault.after), "")
            tests = tests_of(found, source, path, place.line, given.seconds)
            result = "equivalent" if reason else outcome(tree, path, fault.source, tests, found.seconds)
            results.append(Mutant(path, place.line, fault.before, fault.after, result, reason))
            if result == "survived":
                console.print(f"  {path}:{place.line}  {len(tests)} tests", highlight=False, markup=False)
                console.print(f"    - {fault.before}\n    + {fault.after}", highlight=False, markup=False)
    return results


def main() -> None:
    """Try faults and print the scores and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help=f"of {', '.join(PACKAGES)}; default all")
    parser.add_argument("--sample", type=int, default=80, help="faults tried in each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="most time of tests for one fault")
    parser.add_argument("--servers", action="store_true", help="with the tests on PostgreSQL")
    parser.add_argument("--notes", type=Path, help="a folder that keeps what tests without faults do, for another run")
    parser.add_argument("--again", type=Path, help="what --json wrote: only the faults that no test found then")
    parser.add_argument("--json", type=Path, help="where every fault that was tried is written")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copy, and the tests that run, go with it
    load_libraries()
    console, results = Console(width=160), {}
    table = Table(title=f"Faults found by tests, seed {given.seed}", title_justify="left")
    for column in ("package", "tried", "no effect", "found", "of them by time", "survived", "score"):
        table.add_column(column, justify="right")
    for package in given.packages or PACKAGES:
        results[package] = tried(package, given, console)
        counts = Counter(mutant.outcome for mutant in results[package])
        killed, late, left = counts["killed"], counts["too long"], counts["survived"]
        score = (killed + late) / max(1, killed + late + left)
        row = [len(results[package]), counts["equivalent"], killed + late, late, left]
        table.add_row(package, *map(str, row), f"{score:.2f}")
        if given.json:
            given.json.write_text(json.dumps({name: [asdict(one) for one in them] for name, them in results.items()}))
    console.print(table)


if __name__ == "__main__":
    main()
