"""The methods as a form offers them, and which of its fields belong to which."""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.parameters.by_method import fields_by_method
from discreet.parameters.words import hint_of


@dataclass(frozen=True)
class MethodChoice:
    """A method as a form offers it."""

    name: str  # such as "pcls"
    title: str
    summary: str  # what it is for, in a line


METHODS: tuple[tuple[str, tuple[MethodChoice, ...]], ...] = (
    (
        "Which columns matter",
        (
            MethodChoice("pcls", "Constrained least squares", "The usual choice for up to some dozens of columns."),
            MethodChoice("pcpl", "Profile likelihood", "Where the noise in the target is small. Needs a delta."),
            MethodChoice("moments", "Noisy moments", "One charge; then every regression on these columns is free."),
            MethodChoice("sis", "Screening", "The best of many columns, each judged by itself."),
            MethodChoice("two-stage", "Two-stage lasso", "Of many columns, those that most blocks of rows select."),
            MethodChoice("decorrelated", "Decorrelated scores", "A few correlated columns; chooses how many matter."),
        ),
    ),
    (
        "How much they matter",
        (
            MethodChoice("linear", "Linear regression", "Coefficients of the ticked columns, with intervals."),
            MethodChoice("logistic", "Logistic regression", "For a target with two values."),
            MethodChoice("poisson", "Poisson regression", "For a target of counts."),
        ),
    ),
    ("Both", (MethodChoice("run", "Select, then fit", "Chooses the columns, then estimates their coefficients."),)),
    (
        "With public records or a grid",
        (
            MethodChoice(
                "hybrid",
                "Weighted public records",
                "An estimate on public records, weighted to resemble the private rows.",
            ),
            MethodChoice("public-subset", "Best public subset", "Chooses the public records that predict best."),
            MethodChoice("histogram", "Noisy histogram", "An estimate on a grid of cells. For few columns."),
        ),
    ),
)
"""Methods by what they answer."""

_OFFERED = ("delta", "l1_radius", "max_size", "n_features_to_select")
"""Parameters with a field of their own beside epsilon; the others are given as JSON."""

_NAMES = tuple(choice.name for _, choices in METHODS for choice in choices)
_FIELDS = fields_by_method(_NAMES)

_ONLY_WITH = {("sis", "max_size"): "n_features_to_select=auto"}
"""Parameters that the form does not offer for a method, as it asks that for a number."""

OF_SELECTION = tuple(name for name in _OFFERED if "pcls" in _FIELDS[name] and "run" not in _FIELDS[name])
"""Those that a plan of two steps gives to its selection."""

APPLIES: Mapping[str, tuple[str, ...]] = {
    **{
        name: (
            *(method for method in _FIELDS[name] if (method, name) not in _ONLY_WITH),
            *(("run",) if name in OF_SELECTION else ()),
        )
        for name in _OFFERED
    },
    "selection": ("run",),
    "family": ("run",),
}
"""The methods that have a field; the form hides it for the others, and does not send it."""

HINTS: Mapping[str, str] = {name: hint_of(_FIELDS[name]) for name in ("epsilon", *_OFFERED)}
"""What the form says of a field."""


def takes(method: str, name: str) -> bool:
    """Return whether a method has a parameter."""
    return method in _FIELDS[name]


def title_of(method: str) -> str:
    """Return what pages call a method, such as "Constrained least squares"."""
    return next((choice.title for _, choices in METHODS for choice in choices if choice.name == method), method)
