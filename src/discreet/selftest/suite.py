"""The whole selftest: every check at three epsilons and both relations, controls, in several processes."""

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from discreet.planning.processes import spread
from discreet.selftest import controls, estimates, mechanisms, selections
from discreet.selftest.evidence import Evidence

EPSILONS = (0.1, 1.0, 4.0)
RELATIONS = ("replace_one", "add_or_remove_one")
LONG = 10
"""Times as many draws as the short run has."""

Check = Callable[[str, float, int], list[Evidence]]

OF_CALLERS: tuple[Check, ...] = mechanisms.OF_CALLERS
"""To which the relation is their caller's."""
OF_RELATIONS: tuple[Check, ...] = (*mechanisms.OF_RELATIONS, *selections.CHECKS, *estimates.CHECKS)
"""Made under both relations."""

NOT_SHOWN = (
    "Run times, memory and whatever else is no release. A service hides run times in slots; the library does not.",
    "Neighbors other than the worst pairs named here: that no pair is worse is the claims' proof, not a test.",
    "Losses below what draws can tell: where a method is checked by draws, the column 'could show' is the most that so "
    "many draws could have shown.",
    "Bought bounds, the private choice of public subsets, and runs of several steps: made of mechanisms that are "
    "checked here, and tested with the rest of the sources.",
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
        """Do it.

        Returns
        -------
        list of Evidence
            What was found.
        """
        if not self.relation:
            return [_CONTROLS[self.name](self.effort)]
        return _CHECKS[self.name](self.relation, self.epsilon, self.effort)


def _name(check: Callable[..., object]) -> str:
    return check.__name__.removeprefix("_")


_CHECKS = {_name(check): check for check in (*OF_CALLERS, *OF_RELATIONS)}
_CONTROLS = {_name(control): control for control in controls.CONTROLS}
NAMES = (*_CHECKS, "controls")
"""What can be asked for alone; controls are part of every run."""


def tasks(only: Sequence[str] = (), effort: int = 1) -> list[Task]:
    """Return what is to be done, the longest first.

    Parameters
    ----------
    only : sequence of str
        Names of checks; all of them by default. Controls are always among them.
    effort : int
        Times as many draws as in the short run.

    Returns
    -------
    list of Task
        In the order in which they are begun.
    """
    wanted = [name for name in _CHECKS if not only or name in only]
    callers = {_name(check) for check in OF_CALLERS}
    found = [
        Task(name, relation, epsilon, effort)
        for name in reversed(wanted)
        for epsilon in EPSILONS
        for relation in (("-",) if name in callers else RELATIONS)
    ]
    return [*found, *(Task(name, "", 0.0, effort) for name in _CONTROLS)]


def run(work: Sequence[Task], n_processes: int, told: Callable[[int], None] | None = None) -> Iterator[Evidence]:
    """Do the checks.

    Parameters
    ----------
    work : sequence of Task
        As `tasks` lists them.
    n_processes : int
        At least 1.
    told : callable, optional
        Told the number of tasks done since it was last told.

    Yields
    ------
    Evidence
        As it comes.
    """
    for found in spread(Task.run, work, n_processes):
        yield from found
        if told is not None:
            told(1)


def machine() -> dict[str, str]:
    """Return what the findings are about.

    Returns
    -------
    dict of str to str
        Versions of Discreet, Python, OpenDP and numpy, and the system.
    """
    libraries = {name: version(name) for name in ("opendp", "numpy", "scipy", "numba")}
    return {
        "discreet": version("discreet"),
        "python": platform.python_version(),
        **libraries,
        "system": f"{platform.system()} {platform.machine()}",
    }
