"""What a plan is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.data.metadata import Metadata

if TYPE_CHECKING:
    from discreet.simulation.selection import Measure

SCHEMA = "discreet/expectation@1"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Question:
    """What a plan is asked.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    target : str
        The response, numeric.
    candidates : tuple of str, optional
        Columns that may be selected; default all that are listed.
    epsilons : tuple of float
        In nats.
    delta : float
        0 leaves out what needs one.
    n_rows : tuple of int
        Numbers of rows; empty: the public one.
    supposed : dict
        What is supposed of the table: fields of `discreet.simulation.supposition.Supposition`, by name.
    methods : tuple of str
        Compare these alone; empty: all.
    parameters : dict
        Of each of the named methods.
    goal : tuple of str and float, optional
        A measure, "right", "overlap" or "explained", and what it must reach.
    n_tables : int, optional
        Tables to draw; of a goal, tables for each of several steps.
    n_draws : int
        Draws of noise on each.
    seed : int
        Of the simulation.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...] | None
    epsilons: tuple[float, ...] = EPSILONS
    delta: float = 0.0
    n_rows: tuple[int, ...] = ()
    supposed: Mapping[str, Any] = field(default_factory=dict)
    methods: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    goal: "tuple[Measure, float] | None" = None
    n_tables: int | None = None
    n_draws: int = 1
    seed: int = 0

    @property
    def middle(self) -> float:
        """The epsilon at which selections are compared in full."""
        return self.epsilons[len(self.epsilons) // 2]


@dataclass(frozen=True)
class Choice:
    """A selection and what it would cost.

    Parameters
    ----------
    name : str
        With its tuning.
    method : str
        On the command line.
    parameters : dict
        As the method takes them, epsilon apart.
    delta : float
        What it spends beside epsilon.
    n_models : int or None
        Models that it chooses among; None where it does not choose among models.
    chance : dict or None
        What chance gives in its place, at the epsilon in the middle: fields of a release's `chance`.
    """

    name: str
    method: str
    parameters: dict[str, Any]
    delta: float
    n_models: int | None
    chance: dict[str, Any] | None = None


@dataclass(frozen=True)
class Expectation:
    """How well selections do on tables that are drawn from what is supposed.

    Parameters
    ----------
    supposed : dict
        All that the tables were drawn from, defaults filled in; `scenarios` one by one, and beside them what they have
        in common.
    choices : tuple of Choice
        The selections.
    rows : tuple of dict
        Fields of `discreet.simulation.selection.Expected`, and the scenario; of a goal, one a selection and scenario,
        at the epsilon found.
    refused : dict of str to str
        Selections that cannot be had at any of the epsilons, and why.
    theory : list of dict
        Conditions of the theorems of Lei et al. at one of the epsilons, in the first scenario: see
        `discreet.simulation.theory.conditions`.
    fits : tuple of dict
        Fields of `discreet.simulation.fits.ExpectedFit`, and of the scenario; none for a goal.
    fits_refused : dict of str to str
        Epsilons at which the right columns cannot be fitted, and why.
    stored : bool
        Whether it was found in the cache.
    """

    supposed: dict[str, Any]
    choices: tuple[Choice, ...]
    rows: tuple[dict[str, Any], ...]
    refused: dict[str, str]
    theory: list[dict[str, Any]]
    fits: tuple[dict[str, Any], ...] = ()
    fits_refused: dict[str, str] = field(default_factory=dict)
    stored: bool = False

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> "Expectation":
        """Return an expectation from the JSON of its fields.

        The same.
        """
        listed: dict[str, Any] = {name: tuple(value[name]) for name in ("rows", "fits")}
        choices = tuple(Choice(**choice) for choice in value["choices"])
        return cls(**{**value, **listed, "choices": choices})

    def record(self, question: Question) -> dict[str, Any]:
        """Return what JSON holds of it."""
        return {
            "schema": SCHEMA,
            "supposed": self.supposed,
            "goal": None if question.goal is None else {"measure": question.goal[0], "at_least": question.goal[1]},
            "choices": [asdict(choice) for choice in self.choices],
            "figures": list(self.rows),
            "refused": self.refused,
            "fits": list(self.fits),
            "fits_refused": self.fits_refused,
            "theory": self.theory,
            "seed": question.seed,
        }
