"""How often the selftest flags each fault, and the sound product: ``python -m benchmarks.selftest_power --runs 100``.

A fault is put in as the selftest's controls have it, and the check that is meant for it is run with the draws of the
short run. Where that check flags it without any draw, each run is the same: two of them are made, and must agree.
"""

import argparse
import time
from collections.abc import Iterator

from discreet.selftest import suite
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.evidence import Evidence
from discreet.selftest.faults import FAULTS

SOUND = "none: the product as it is"


def findings(check: str, relation: str, epsilon: float) -> list[Evidence]:
    """What a check finds."""
    return suite.Task(check, relation, epsilon, 1).run()


def is_drawn(evidence: list[Evidence]) -> bool:
    """Whether chance had a say in what was flagged."""
    return not any(one.is_flagged and one.n_draws == 0 for one in evidence)


def flagged(fault: Fault, runs: int) -> tuple[int, str]:
    """How many of the runs flag a fault, and by what."""
    with broken(fault):
        evidence = findings(fault.check, fault.relation, fault.epsilon)
        hits = [any(one.is_flagged for one in evidence)]
        drawn = is_drawn(evidence)
        rest = runs - 1 if drawn else 1
        for _ in range(rest):
            hits.append(any(one.is_flagged for one in findings(fault.check, fault.relation, fault.epsilon)))
    if drawn:
        return sum(hits), "draws"
    if not all(hits):
        raise AssertionError(f"{fault.name}: a check without draws came out otherwise the second time")
    return runs, "no draw"


def sound(runs: int, names: set[str]) -> Iterator[tuple[str, int]]:
    """How many of the runs flag the product as it is, check by check at epsilon 1."""
    for name in sorted(names):
        relation = next(fault.relation for fault in FAULTS if fault.check == name)
        evidence = findings(name, relation, 1.0)
        hits = [any(one.is_flagged for one in evidence)]
        for _ in range(runs - 1 if any(one.n_draws for one in evidence) else 1):
            hits.append(any(one.is_flagged for one in findings(name, relation, 1.0)))
        yield name, sum(hits)


def main() -> None:
    """Print a row for each fault, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--fault", help="those whose name holds this alone")
    parser.add_argument("--sound", action="store_true", help="the product as it is, too")
    arguments = parser.parse_args()
    chosen = [fault for fault in FAULTS if (arguments.fault or "") in fault.name]
    runs = arguments.runs
    print(f"| fault | check | flagged of {runs} | by | CPU s |\n|---|---|---|---|---|", flush=True)
    for fault in chosen:
        start = time.process_time()
        hits, how = flagged(fault, runs)
        print(f"| {fault.name} | {fault.check} | {hits} | {how} | {time.process_time() - start:.1f} |", flush=True)
    if arguments.sound:
        for name, hits in sound(runs, {fault.check for fault in chosen}):
            print(f"| {SOUND} | {name} | {hits} | - | |", flush=True)


if __name__ == "__main__":
    main()
