"""The whole selftest: every check at three epsilons and both relations, and the product broken on purpose."""

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from discreet.errors import DiscreetError
from discreet.selftest import accountant, end_to_end, mechanisms, methods, objective, screenings, searches, stopping
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.evidence import Evidence
from discreet.selftest.faults import FAULTS
from discreet.simulation.processes import spread

EPSILONS = (0.1, 1.0, 4.0)
RELATIONS = ("replace_one", "add_or_remove_one")
LONG = 10
"""Times as many draws as the short run has."""

Check = Callable[[str, float, int], Iterable[Evidence]]

OF_CALLERS: tuple[Check, ...] = (*mechanisms.OF_CALLERS, *searches.OF_CALLERS, *accountant.OF_CALLERS, *stopping.CHECKS)
"""To which the relation is their caller's."""
OF_RELATIONS: tuple[Check, ...] = (
    *mechanisms.OF_RELATIONS,
    *methods.CHECKS,
    *screenings.CHECKS,
    *objective.CHECKS,
    *end_to_end.CHECKS,
)
"""Made under both relations."""

NOT_SHOWN = (
    "Run times, memory and whatever else is no release. A service hides run times in slots; the library does not.",
    "Neighbors other than the worst pairs named here: that no pair is worse is the claims' proof, not a test. Where a "
    "pair shows much less than is claimed, noise could be short by as much on that pair, and only the others tell.",
    "Faults that leave each draw, each decision and each pair tried here as they are. The controls are faults that "
    "somebody made, or could; they are no measure of those that nobody thought of.",
    "Tables in files, databases and clusters: the checks read small tables in memory.",
    "Ledgers, accounts, and what the service does.",
    "Objective perturbation beyond its rate, ridge and output noise: that its minimizer is one is its certificate's.",
    "The operating system's entropy, and whoever can read the table or this process.",
)
"""What no run of the selftest shows."""


@dataclass(frozen=True)
class Task:
    """One check at one epsilon, or one control: what a process does.

    Parameters
    ----------
    name : str
        Of the check.
    relation : str
        Which tables are neighbors; empty for controls.
    epsilon : float
        In nats; zero for controls.
    effort : int
        Times as many draws as in the short run.
    """

    name: str
    relation: str
    epsilon: float
    effort: int

    def run(self) -> list[Evidence]:
        """Run the check or the control, and return its evidence."""
        if not self.relation:
            return [control(_CONTROLS[self.name], self.effort)]
        return list(_CHECKS[self.name](self.relation, self.epsilon, self.effort))


def control(fault: Fault, effort: int = 1) -> Evidence:
    """Break the product, run the check that must notice up to what it flags, and return that, or its first result."""
    evidence = []
    try:
        with broken(fault):
            for each in _CHECKS[fault.check](fault.relation, fault.epsilon, effort):
                evidence.append(each)
                if each.is_flagged:
                    break
    except DiscreetError as error:
        evidence = [Evidence(str(error), "", "", "-", fault.epsilon, 0.0, 0.0, "law", 0)]
    worst = next((each for each in evidence if each.is_flagged), evidence[0])
    return replace(worst.as_control(fault.name), claim="")


def _name(check: Callable[..., object]) -> str:
    return check.__name__.removeprefix("_")


_CHECKS = {_name(check): check for check in (*OF_CALLERS, *OF_RELATIONS)}
_CONTROLS = {fault.name: fault for fault in FAULTS}
NAMES = (*_CHECKS, "controls")
"""What can be asked for alone, each with the faults that it must notice; or these faults, all of them."""


def tasks(only: Sequence[str] = (), effort: int = 1) -> list[Task]:
    """Return the tasks in the order in which they begin, the longest first."""
    names = [name for name in _CHECKS if not only or name in only]
    callers = {_name(check) for check in OF_CALLERS}
    checks = [
        Task(name, relation, epsilon, effort)
        for name in reversed(names)
        for epsilon in EPSILONS
        for relation in (("-",) if name in callers else RELATIONS)
    ]
    faults = [fault for fault in FAULTS if not only or fault.check in only or "controls" in only]
    return [*checks, *(Task(fault.name, "", 0.0, effort) for fault in faults)]


def run(work: Sequence[Task], n_processes: int, progress: Callable[[int], None] | None = None) -> Iterator[Evidence]:
    """Run the checks, and yield their evidence as it comes."""
    for evidence in spread(Task.run, work, n_processes):
        yield from evidence
        if progress is not None:
            progress(1)


def machine() -> dict[str, str]:
    """Return what the findings are about: versions of Discreet, Python, OpenDP and numpy, and the system."""
    libraries = {name: version(name) for name in ("opendp", "numpy", "scipy", "numba")}
    return {
        "discreet": version("discreet"),
        "python": platform.python_version(),
        **libraries,
        "system": f"{platform.system()} {platform.machine()}",
    }
