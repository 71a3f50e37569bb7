"""How often the selftest flags each fault, and the sound product: ``python -m benchmarks.selftest_power --runs 100``.

A fault is put in as the selftest's controls have it. Where the check that is meant for it flags it without any draw,
one run stands for all: nothing in it is left to chance. Elsewhere the part of the check that draws is run so often,
with the draws of the short run; what follows a fault in the table is the largest p-value that was seen.
"""

import argparse
import time
from collections.abc import Callable

from discreet.selftest import mechanisms, searches, suite
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.evidence import Evidence
from discreet.selftest.faults import FAULTS

DRAWN: dict[str, Callable[[], Evidence]] = {
    "class sizes": lambda: mechanisms.ties(1.0, 1),
    "Laplace sums": lambda: mechanisms.laplace_sums(1.0, 1),
    "Gaussian sums": lambda: mechanisms.gaussian_sums(1.0, 1),
    "cube": lambda: mechanisms.cube_sums(2, 1.0, 1),
    "spherical": lambda: mechanisms.OF_CALLERS[-1]("-", 1.0, 1)[0],
    "lazy": lambda: searches.disjoint_columns(4.0, 1),
    "zones": lambda: searches.divided(1),
}
"""The part of a check that draws, by a word of the faults that it is meant for."""


def drawn(fault: Fault) -> Callable[[], Evidence] | None:
    """The part of the fault's check that draws, where it takes draws to see it."""
    return next((part for word, part in DRAWN.items() if word in fault.name), None)


def row(fault: Fault, runs: int) -> str:
    """How often a fault is flagged, and by what."""
    part, start = drawn(fault), time.process_time()
    if part is None:
        control = suite.control(fault)
        hits, how = (runs if control.is_flagged else 0), "no draw" if not control.n_draws else "NOT REPEATED"
    else:
        with broken(fault):
            evidence = [part() for _ in range(runs)]
        hits = sum(each.is_flagged for each in evidence)
        how = f"{evidence[0].n_draws} draws, p at most {max(each.misfit or 0.0 for each in evidence):.1g}"
    return f"| {fault.name} | `{fault.check}` | {hits} | {how} | {time.process_time() - start:.1f} |"


def sound(runs: int) -> list[str]:
    """How often the product as it is is flagged, by each part that draws."""
    rows = []
    for word, part in DRAWN.items():
        start = time.process_time()
        evidence = [part() for _ in range(runs)]
        how = f"p at least {min(each.misfit or 0.0 for each in evidence):.1g}"
        hits = sum(each.is_flagged for each in evidence)
        rows.append(f"| none, seen by the check of: {word} | | {hits} | {how} | {time.process_time() - start:.1f} |")
    return rows


def main() -> None:
    """Print a row for each fault, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--fault", default="", help="those whose name holds this alone")
    parser.add_argument("--drawn", action="store_true", help="only those that it takes draws to see")
    parser.add_argument("--sound", action="store_true", help="the product as it is, too")
    arguments = parser.parse_args()
    runs = arguments.runs
    print(f"| fault | check | flagged of {runs} | by | CPU s |\n|---|---|---|---|---|", flush=True)
    for fault in FAULTS:
        if arguments.fault in fault.name and (drawn(fault) or not arguments.drawn):
            print(row(fault, runs), flush=True)
    if arguments.sound:
        print(*sound(runs), sep="\n", flush=True)


if __name__ == "__main__":
    main()
