"""The expected accuracy of one request, in about a second, from public facts alone."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from discreet.data.metadata import Metadata
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.methods.base.method import Method
from discreet.methods.registry import CHOOSING, method_of
from discreet.report.chance_words import before
from discreet.workflow.chance import chance_before
from discreet.workflow.dry_runs import dry_run

FITTED = ("linear",)
"""Regressions whose target the drawn tables have."""
SIMULATED = (*CHOOSING, *FITTED, "run")
OWN_S, CURVE_S = 0.7, 1.4
"""Seconds on the clock after which no further table is drawn: for the request itself, and for all."""
MOST_COLUMNS = 100
TOO_LONG = (
    "This request takes too long to simulate while you wait. Press Compare methods, or run `discreet plan` on your "
    "machine: it needs the metadata alone."
)
GUESSED_ROWS = 1000
"""Where neither the metadata nor the request say how many rows there are."""


@dataclass(frozen=True)
class Outlook:
    """What a request can be expected to achieve.

    Parameters
    ----------
    n_rows : int
        Of the table: declared, stated, or guessed.
    drawn_rows : int
        Of the drawn tables: fewer where the table is large.
    n_tables : int
        Drawn.
    is_guessed : bool
        Whether the number of rows is a guess.
    rows : tuple of dict
        Fields of `discreet.simulation.selection.Expected`, one for each epsilon; empty where nothing is selected.
    fit : dict or None
        Fields of `discreet.simulation.outlook.FitOutlook`; None where nothing is fitted, or it cannot be simulated.
    supposed : dict
        ``effects`` by column, ``r_squared`` and ``correlation`` of the drawn tables.
    chance : tuple of str
        What chance gives in the place of the selection, in sentences.
    refused : str
        Why nothing was simulated; empty where something was.
    """

    n_rows: int = 0
    drawn_rows: int = 0
    n_tables: int = 0
    is_guessed: bool = False
    rows: tuple[dict[str, Any], ...] = ()
    fit: dict[str, Any] | None = None
    supposed: dict[str, Any] = field(default_factory=dict)
    chance: tuple[str, ...] = ()
    refused: str = ""


def outlook(
    metadata: Metadata,
    method: str,
    parameters: Mapping[str, Any],
    target: str,
    candidates: Sequence[str] | None,
    *,
    epsilons: Sequence[float] = (),
    supposed: Mapping[str, Any] | None = None,
    n_rows: int | None = None,
    n_tables: int = 16,
    most_cells: int = 1 << 18,
) -> Outlook:
    """Simulate one request on few tables, from public facts alone; a request that is refused raises.

    `epsilons` are further ones at which a selection is simulated. Of a table of more than `most_cells` cells fewer rows
    are drawn; of no tables, what follows without a simulation is told. Cost: at most `n_tables` tables, and one request
    for each of them and each epsilon.
    """
    if method not in SIMULATED:
        return Outlook(refused=f"The accuracy of {method} is not simulated here. The cost and the noise are exact.")
    request = method_of(method, **parameters)
    if n_rows is not None and metadata.n_rows is not None:
        metadata = metadata.model_copy(update={"n_rows": n_rows})
    dry = dry_run(request, metadata, target, candidates)
    chance = chance_before(dry)
    sentences = () if chance is None else tuple(before(chance))
    stated = n_rows or metadata.n_rows or _guess(request)
    total = stated or GUESSED_ROWS
    columns = len(dry.prepared.candidates) + 1
    drawn = min(total, most_cells // columns)
    if columns > MOST_COLUMNS:
        return Outlook(
            chance=sentences, refused=f"Up to {MOST_COLUMNS} columns are simulated here, but it has {columns}."
        )
    if n_tables == 0:
        return Outlook(total, is_guessed=stated is None, chance=sentences, refused=TOO_LONG)
    figures = _simulated(dry.prepared.candidates, request, metadata, target, drawn, epsilons, supposed, n_tables)
    return Outlook(total, drawn, n_tables, stated is None, chance=sentences, **figures)


def _guess(request: Method) -> int | None:
    """Return the request's own guess of the number of rows, where it has one."""
    guess = getattr(request, "n0", None)
    return guess if isinstance(guess, int) else None


def _simulated(
    candidates: Sequence[str],
    request: Method,
    metadata: Metadata,
    target: str,
    n_rows: int,
    epsilons: Sequence[float],
    supposed: Mapping[str, Any] | None,
    n_tables: int,
) -> dict[str, Any]:
    """Return the figures of a request, or why there are none."""
    from discreet.simulation.outlook import fit_outlook, selection_outlook  # compilers and scipy start slowly
    from discreet.simulation.supposition import Supposition
    from discreet.workflow.expectation_stages import scenario_numbers

    try:
        scenario = Supposition.of(supposed).scenarios(metadata, target, candidates, n_rows=n_rows)[0]
    except InvalidParameterError as error:
        return {"refused": str(error)}
    fields = request.model_dump(mode="python", by_alias=True, exclude_unset=True)
    epsilon = float(fields.pop("epsilon"))
    figures: dict[str, Any] = {
        "supposed": {
            "effects": dict(scenario.effects),
            "r_squared": scenario_numbers(scenario)["r_squared"],
            "correlation": scenario.correlation,
        }
    }
    start = time.monotonic()
    if request.name in CHOOSING:
        question = (scenario, request.name, fields)
        rows = selection_outlook(*question, (epsilon,), n_tables, start + OWN_S)
        others = [other for other in sorted(set(map(float, epsilons))) if other != epsilon]
        if others and time.monotonic() < start + OWN_S:
            rows += selection_outlook(*question, others, n_tables, start + CURVE_S, least=0)
    else:
        try:
            fit, rows = fit_outlook(scenario, request, epsilon, n_tables, start + CURVE_S)
        except DiscreetError as error:
            return {**figures, "refused": str(error)}
        figures["fit"] = None if fit is None else asdict(fit)
    figures["rows"] = tuple(asdict(row) for row in sorted(rows, key=lambda row: row.epsilon))
    return figures
