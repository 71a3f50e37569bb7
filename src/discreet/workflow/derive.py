"""New releases from the noisy moments of an earlier one: no rows, no budget."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameterError, PolicyError
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.release import Release, canonical_sha256
from discreet.workflow.chance import chance_of_derived

if TYPE_CHECKING:
    from discreet.kernels.sufficient_statistics.selection import Penalty
    from discreet.methods.moments.moment_answers import MomentAnswers

SELECTION = ("model_penalty", "max_size", "forced", "groups", "max_false")
"""What a selection from moments may be asked with."""


def fit_from(
    release: Release,
    columns: Sequence[str] | None = None,
    confidence: float = 0.95,
    coef_bound: float = LINEAR_COEF_BOUND,
) -> Release:
    """Return the coefficients of a model by the noisy moments of a release.

    With the guarantee of the first one: nothing further was spent.

    Post-processing: whatever is computed from a release keeps its guarantee.
    """
    answers = _answers(release)
    names = tuple(columns) if columns is not None else release.selected
    fit = answers.fit(names, confidence, coef_bound)
    options = {"confidence": confidence, "coef_bound": coef_bound}
    return _derived(release, "linear", {"candidates": list(names)}, options, {"fit": fit})


def select_from(
    release: Release,
    *,
    model_penalty: "Penalty" = "auto",
    max_size: int | None = None,
    forced: Sequence[str] = (),
    groups: Sequence[Sequence[str]] = (),
    max_false: float | None = None,
) -> Release:
    """Return another selection by the noisy moments of a release.

    With the guarantee of the first one: nothing further was spent.
    """
    answers = _answers(release)
    selected, by_size = answers.select(model_penalty, max_size, forced, groups, max_false)
    options = (model_penalty, max_size, list(forced), [list(group) for group in groups], max_false)
    return _derived(
        release,
        "moments",
        {"candidates": list(answers.candidates)},
        {**dict(zip(SELECTION, options, strict=True)), "confidence": None, "coef_bound": None},
        {"selected": selected, "by_size": by_size, "fit": None, "chance": chance_of_derived(release, selected)},
    )


def selection_of(release: Release) -> tuple[str, tuple[str, ...]]:
    """Return the target of a release and the columns that it selected, to ask further about them.

    Target and columns: public, because the release is private.
    """
    if not release.private:
        raise PolicyError(
            "Columns must come from a private release, but this one gives no guarantee: what it selected may tell of "
            "single rows. Select anew from a table that was opened, or name columns that are known beforehand."
        )
    return str(release.request.get("target", "")), release.selected


def chosen_by(release: Release) -> dict[str, Any] | None:
    """Return what a later fit says of where its columns were chosen; None where a release chose none.

    No interval of that fit corrects for a choice by the same people's data.
    """
    return {"by": "an earlier release", "dataset": release.provenance.dataset} if release.selected else None


def recomputed(parent: Release, release: Release) -> Release:
    """Compute anew what was computed from a release.

    What it should be.
    """
    options, bought = (each.request.get("parameters", {}) for each in (release, parent))
    derived = parent
    if release.method == "moments" or any(options.get(name) != bought.get(name) for name in SELECTION):
        derived = select_from(derived, **{name: options[name] for name in SELECTION if name in options})
    if release.method == "linear":
        limits = options.get("confidence", 0.95), options.get("coef_bound", LINEAR_COEF_BOUND)
        derived = fit_from(derived, release.request.get("candidates"), *limits)
    if release.fit is not None and derived.fit is not None and not release.fit.joint:  # of an older version
        derived = derived.model_copy(update={"fit": derived.fit.model_copy(update={"joint": ()})})
    return derived


def digest(release: Release) -> str:
    """Return what a computed release calls its parent.

    64 hexadecimal digits.
    """
    return canonical_sha256(release.model_dump(mode="json", by_alias=True))


def _answers(release: Release) -> "MomentAnswers":
    if release.moments is None:
        raise InvalidParameterError(
            "Only noisy moments answer further questions for free, but this release has none. Make one with "
            "`discreet select --method moments`."
        )
    home = importlib.import_module(
        "discreet.methods.moments.moment_answers"
    )  # loads scipy, which no other command waits for
    derived: MomentAnswers = home.MomentAnswers(release.moments)
    return derived


def _derived(
    release: Release, method: str, options: dict[str, Any], parameters: dict[str, Any], derived: dict[str, Any]
) -> Release:
    first = release.request.get("parameters", {})
    effective = {name: value for name, value in {**first, **parameters}.items() if value is not None}
    request = {**release.request, **options, "method": method, "parameters": effective}
    source = release.provenance.derived_from or digest(release)
    provenance = release.provenance.model_copy(
        update={"derived_from": source, "request_sha256": canonical_sha256({"of": source, "request": request})}
    )
    return release.model_copy(update={**derived, "method": method, "request": request, "provenance": provenance})
