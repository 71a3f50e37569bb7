"""What a plan is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.data.metadata import Metadata
from discreet.parameters.public_moments import PublicMoments

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
        The request at hand, which comes first; empty: none.
    parameters : dict
        Of each of the named methods.
    is_alone : bool
        Whether nothing is compared with the named methods.
    at : float, optional
        The epsilon at which selections are compared in full; default the one in the middle.
    goal : tuple of str and float, optional
        A measure, "right", "overlap" or "explained", and what it must reach.
    n_tables : int, optional
        Tables to draw for each figure; default few for all selections and 200 for those that do best.
    n_draws : int
        Draws of noise on each.
    seed : int
        Of the simulation.
    public_moments : PublicMoments, optional
        Means and covariances of the columns that are known from elsewhere: selections that use them are compared too.
    public_table : str
        Where the public table lies that they are of, for the command.
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
    is_alone: bool = False
    at: float | None = None
    goal: "tuple[Measure, float] | None" = None
    n_tables: int | None = None
    n_draws: int = 1
    seed: int = 0
    public_moments: PublicMoments | None = None
    public_table: str = "PUBLIC"

    @property
    def middle(self) -> float:
        """The epsilon at which selections are compared in full."""
        return self.epsilons[len(self.epsilons) // 2] if self.at is None else self.at


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
    is_with_public : bool
        Whether it uses the public moments of the question, which stand in no parameter here.
    """

    name: str
    method: str
    parameters: dict[str, Any]
    delta: float
    n_models: int | None
    chance: dict[str, Any] | None = None
    is_with_public: bool = False


@dataclass(frozen=True)
class Recommendation:
    """The selection that a plan recommends, and why.

    Parameters
    ----------
    rival : str
        The name of its choice.
    epsilon : float
        At which it is asked for.
    reason : str
        In a sentence.
    figures : dict
        The row of the expectation that it rests on.
    """

    rival: str
    epsilon: float
    reason: str
    figures: dict[str, Any]


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
    asked : tuple of str
        Names of the request at hand: those of the named methods.
    on_unkind : dict of str to float
        Of near ties, the mean overlap on unkind tables at the epsilon of the comparison: it decides between them.
    recommended : Recommendation or None
        None where no selection does anything.
    unlucky : tuple of dict
        Rows of unkind tables, and `kind`: of what is recommended or asked, in one of the scenarios.
    fewer : tuple of dict
        Rows of the same with half the rows.
    is_final : bool
        Whether no figure will become finer.
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
    asked: tuple[str, ...] = ()
    on_unkind: dict[str, float] = field(default_factory=dict)
    recommended: Recommendation | None = None
    unlucky: tuple[dict[str, Any], ...] = ()
    fewer: tuple[dict[str, Any], ...] = ()
    is_final: bool = True
    stored: bool = False

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> "Expectation":
        """Return an expectation from the JSON of its fields.

        The same.
        """
        listed: dict[str, Any] = {name: tuple(value[name]) for name in ("rows", "fits", "asked", "unlucky", "fewer")}
        choices = tuple(Choice(**choice) for choice in value["choices"])
        recommended = None if value["recommended"] is None else Recommendation(**value["recommended"])
        return cls(**{**value, **listed, "choices": choices, "recommended": recommended})

    def choice(self, name: str) -> Choice:
        """Return a selection by its name."""
        return next(choice for choice in self.choices if choice.name == name)

    def worst(self, name: str, epsilon: float, measure: str) -> dict[str, Any] | None:
        """Return the row of the unkind tables on which a selection does worst; None where none were drawn."""
        rows = [row for row in self.unlucky if row["rival"] == name and row["epsilon"] == epsilon]
        return min(rows, key=lambda row: float(row[measure]), default=None)

    def record(self, question: Question) -> dict[str, Any]:
        """Return what JSON holds of it."""
        return {
            "schema": SCHEMA,
            "supposed": self.supposed,
            "goal": None if question.goal is None else {"measure": question.goal[0], "at_least": question.goal[1]},
            "choices": [asdict(choice) for choice in self.choices],
            "asked": list(self.asked),
            "overlap_on_unkind_tables": self.on_unkind,
            "recommended": None if self.recommended is None else asdict(self.recommended),
            "figures": list(self.rows),
            "unlucky": list(self.unlucky),
            "with_half_the_rows": list(self.fewer),
            "refused": self.refused,
            "fits": list(self.fits),
            "fits_refused": self.fits_refused,
            "theory": self.theory,
            "seed": question.seed,
        }
