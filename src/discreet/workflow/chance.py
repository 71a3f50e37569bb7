"""What chance would give in the place of a selection, before it is charged and in its release."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil, floor, log10
from typing import Any

from discreet.errors import DiscreetError
from discreet.methods.base.method import Outcome
from discreet.methods.registry import CHOOSING
from discreet.release import ChanceRecord, Release, StepRecord
from discreet.report.chance_words import frequency
from discreet.workflow.dry_runs import DryRun

MOST_EPSILON, MOST_CANDIDATES = 1000.0, 100_000
"""Up to so many a request is prepared again and again."""


def chance_before(dry_run: DryRun) -> ChanceRecord | None:
    """Return what chance would give at this epsilon, number of rows and candidates; None where nothing is selected."""
    method, parameters = _step(dry_run.method.name, dry_run.prepared.parameters)
    if method not in CHOOSING:
        return None
    from discreet.methods.screening.standing_out import TARGET_VARIANCE  # what selects nothing need not wait for it
    from discreet.simulation import no_effect  # as above

    if method == "moments":
        return _before_moments(dry_run)
    noise = dry_run.prepared.expected_noise(TARGET_VARIANCE / 2.0)  # what a column that stands out leaves
    bound = getattr(getattr(dry_run.prepared, "design", None), "bound", None) or _bound(parameters, ())
    n_rows = dry_run.metadata.n_rows
    rows = _n_rows(n_rows, (), dry_run)
    test = _test_correlation(dry_run, rows)
    choice = no_effect.Selection(noise, parameters, _n_candidates(dry_run), rows, bound, test)
    return no_effect.of_selection(choice, None)


def chance_after(dry_run: DryRun, outcome: Outcome) -> ChanceRecord | None:
    """Return what chance gives in the place of an outcome, from it and from public facts."""
    method, parameters = _step(dry_run.method.name, dry_run.prepared.parameters)
    if method not in CHOOSING:
        return None
    # The rows were paid for: no error here may lose what they gave.
    with suppress(Exception):
        from discreet.simulation import no_effect  # as above

        inference = dry_run.prepared.parameters.get("selective_inference")
        if method == "moments":
            return _of_moments(outcome, outcome.selected, inference)
        noise = outcome.noise
        n_rows = _n_rows(dry_run.metadata.n_rows, outcome.steps, dry_run)
        choice = no_effect.Selection(
            noise,
            parameters,
            _n_candidates(dry_run),
            n_rows,
            _bound(parameters, outcome.steps),
            _test_correlation(dry_run, n_rows),
            next((step.value for step in outcome.steps if step.name == "noise_test"), None),
        )
        chance = no_effect.of_selection(choice, outcome.selected)
        if outcome.hidden:
            chance = chance.model_copy(update={"hidden_columns": outcome.hidden})
        if not outcome.chances:
            return chance
        as_much = min(*outcome.chances.values(), chance.chance_by_noise or 1.0)
        return chance.model_copy(update={"column_chances": dict(outcome.chances), "chance_by_noise": as_much})
    return None


def chance_of_derived(parent: Release, selected: Sequence[str], inference: str | None = None) -> ChanceRecord | None:
    """Return what chance gives in the place of another selection by a release's moments; none where it told none."""
    return None if parent.chance is None else _of_moments(parent, selected, inference)


def _of_moments(drawn: Outcome | Release, selected: Sequence[str], inference: str | None) -> ChanceRecord | None:
    if drawn.moments is None:
        return None
    from discreet.simulation.no_effect_moments import of_moments  # as above

    return of_moments(drawn.moments, selected, drawn.noise.noise, inference)


def false_column_words(chance: float | None) -> str:
    """Return how often a selection names a column where none matters, as a clause; empty where that is not known."""
    return "" if chance is None else f"if no column mattered, {frequency(chance)} tables would still give one"


def epsilon_needed(dry_run: DryRun) -> float | None:
    """Return an epsilon at which a column could stand out, rounded up to two digits; None where none is found."""
    epsilon = float(dry_run.prepared.parameters["epsilon"])
    if len(dry_run.prepared.candidates) > MOST_CANDIDATES:
        return None
    for _ in range(24):
        epsilon *= 1.5
        if epsilon > MOST_EPSILON:
            return None
        method = dry_run.method.model_copy(update={"epsilon": epsilon})
        with suppress(DiscreetError, ArithmeticError):
            prepared = method.prepare(dry_run.metadata, dry_run.prepared.target, dry_run.prepared.candidates)
            chance = chance_before(DryRun(method, prepared, dry_run.metadata))
            if chance is not None and chance.could_stand_out:
                step = 10.0 ** (floor(log10(epsilon)) - 1)
                return float(f"{ceil(epsilon / step) * step:.2g}")
    return None


def _step(method: str, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The step of a plan that chooses last, and its parameters; a request of another method is its own."""
    inner = parameters.get("select") or parameters.get("screen") if method == "run" else None
    return (str(inner["method"]), inner) if inner else (method, parameters)


def _n_candidates(dry_run: DryRun) -> int:
    """Of the last choice: after a screening those that it leaves."""
    screen = dry_run.prepared.parameters.get("screen") if dry_run.method.name == "run" else None
    selects = dry_run.prepared.parameters.get("select") if dry_run.method.name == "run" else None
    return int(screen["n_features_to_select"]) if screen and selects else len(dry_run.prepared.candidates)


def _n_rows(declared: int | None, steps: Sequence[StepRecord], dry_run: DryRun) -> float | None:
    """Of the rows that choose: public, guessed, or released by an earlier step."""
    parameters = dry_run.prepared.parameters
    halves = 2.0 if parameters.get("selective_inference") == "split" else 1.0
    if declared is not None:
        return declared / halves
    noisy = [step.value for step in steps if step.name == "n_rows" and step.value is not None]
    guess = _step(dry_run.method.name, parameters)[1].get("n0")  # of a plan's step, already that of a half
    return noisy[-1] if noisy else guess


def _test_correlation(dry_run: DryRun, n_rows: float | None) -> float | None:
    """What a noise test of the request tells from chance; None where there is none or rows are not known."""
    test = getattr(dry_run.prepared, "test", None)
    return None if test is None or n_rows is None else float(test.correlation_needed(n_rows))


def _bound(parameters: Mapping[str, Any], steps: Sequence[StepRecord]) -> float | None:
    """The target's bound that a release is told in."""
    released = [step.value for step in steps if step.name == "y_bound" and step.value is not None]
    stated = parameters.get("y_bound")
    return released[-1] if released else stated if isinstance(stated, float) else None


def _before_moments(dry_run: DryRun) -> ChanceRecord | None:
    if dry_run.method.name != "moments":
        return None
    from discreet.methods.screening.standing_out import MOST_CORRELATION  # as above
    from discreet.simulation.no_effect_moments import moments_correlation  # as above

    needed = None
    with suppress(DiscreetError, ArithmeticError, ValueError):
        needed = moments_correlation(
            dry_run.method, dry_run.metadata, dry_run.prepared.target, dry_run.prepared.candidates
        )
    return ChanceRecord(
        correlation_needed=needed,
        supposes=None if needed is None else "range",
        could_stand_out=None if needed is None else needed <= MOST_CORRELATION,
        n_rows=_n_rows(dry_run.metadata.n_rows, (), dry_run),
    )
