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

FISSION = "fission"
"""As `selective_inference` calls moments in two parts."""


def fit_from(
    release: Release,
    columns: Sequence[str] | None = None,
    confidence: float = 0.95,
    coef_bound: float = LINEAR_COEF_BOUND,
    selective_inference: str | None = None,
) -> Release:
    """Return the coefficients of a model by the noisy moments of a release.

    With the guarantee of the first one: nothing further was spent. Where no columns are named, they are selected by one
    part of the moments, as the release was asked to select, and estimated from the other (``fission``), so that the
    intervals hold; ``none`` takes the columns that the release selected, and all of the moments.

    Post-processing: whatever is computed from a release keeps its guarantee.
    """
    if selective_inference not in (None, "none", FISSION):
        raise InvalidParameterError(
            f"selective_inference must be fission or none, but it is {selective_inference[:40]!r}. Give one of them."
        )
    inference = selective_inference or _inference(release, columns is None)
    if inference == FISSION:
        release = _selected_anew(_with_parts(release))
    answers = _answers(release, inference, estimates=True)
    names = tuple(columns) if columns is not None else release.selected
    fit = answers.fit(names, confidence, coef_bound)
    options = {"confidence": confidence, "coef_bound": coef_bound, "selective_inference": inference}
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

    With the guarantee of the first one: nothing further was spent. By the same part of the moments as its selection.
    """
    return _selection(
        release,
        _stated_inference(release),
        dict(zip(SELECTION, (model_penalty, max_size, forced, groups, max_false), strict=True)),
    )


def with_posterior(release: Release, confidence: float = 0.95) -> Release:
    """Return the release with how sure columns and models are, from its own numbers alone.

    With the guarantee of the first one: nothing further was spent.
    """
    return _with_posterior(release, confidence, "bought" if release.provenance.derived_from is None else "computed")


def _with_posterior(release: Release, confidence: float, of: str) -> Release:
    """The same, of a release that was bought or computed as a fit."""
    posterior, posterior_request = release.posterior(confidence), {"confidence": confidence, "of": of}
    return _derived(release, release.method, {"posterior": posterior_request}, {}, {"model_posterior": posterior})


def _selection(release: Release, inference: str | None, options: dict[str, Any]) -> Release:
    answers = _answers(release, inference)
    selected, by_size = answers.select(**options)
    listed = {name: options[name] for name in ("model_penalty", "max_size", "max_false")}
    listed |= {"forced": list(options["forced"]), "groups": [list(group) for group in options["groups"]]}
    return _derived(
        release,
        "moments",
        {"candidates": list(answers.candidates)},
        {**listed, "selective_inference": inference, "confidence": None, "coef_bound": None},
        {
            "selected": selected,
            "by_size": by_size,
            "fit": None,
            "chance": chance_of_derived(release, selected, inference),
        },
    )


def _selected_anew(release: Release) -> Release:
    """Return the release with what its own question selects by the selecting part of its moments."""
    parameters = parameters_of_selection(release)
    defaults = {"model_penalty": "auto", "max_size": None, "forced": (), "groups": (), "max_false": None}
    return _selection(release, FISSION, {name: parameters.get(name, default) for name, default in defaults.items()})


def parameters_of_selection(release: Release) -> dict[str, Any]:
    """Return the parameters of a selection, also of a plan that nobody selected from since."""
    options = release.request.get("parameters", {})
    step = options.get("select")
    return dict(step) if isinstance(step, dict) and "model_penalty" not in options else dict(options)


def _stated_inference(release: Release) -> str | None:
    """What a release says itself."""
    stated = release.request.get("parameters", {}).get("selective_inference")
    return stated if isinstance(stated, str) else None


def _inference(release: Release, of_selected: bool) -> str | None:
    """What serves a fit by default: a release that says nothing selected by all of its moments."""
    stated = _stated_inference(release)
    if stated is None and of_selected and release.moments is not None and release.moments.fission is not None:
        return FISSION if release.selected or release.by_size else None
    return stated


def _with_parts(release: Release) -> Release:
    """The release, if its moments are in two parts."""
    if release.moments is None or release.moments.fission is None:
        raise InvalidParameterError(
            "selective_inference=fission needs moments in two parts, but this release has none: it is older, selects "
            "nothing, was asked for none, or a unit may own several rows. Leave it out, or run a plan with split."
        )
    return release


def selection_of(release: Release) -> tuple[str, tuple[str, ...]]:
    """Return the target of a release and the columns that it selected, to ask further about them.

    Target and columns: public, because the release is private.
    """
    if not release.private:
        raise PolicyError(
            "Columns must come from a private release, but this one gives no guarantee: what it selected may tell of "
            "single rows. Select again from a table that was opened, or name columns that are known beforehand."
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
    options, parent_options = (each.request.get("parameters", {}) for each in (release, parent))
    derived, posterior_request = parent, release.request.get("posterior")
    if posterior_request is not None and _without_posterior(release) == parent.request:
        return _with_posterior(parent, posterior_request["confidence"], posterior_request["of"])
    if release.method == "moments" or any(options.get(name) != parent_options.get(name) for name in SELECTION):
        derived = select_from(derived, **{name: options[name] for name in SELECTION if name in options})
    if release.method == "linear":
        limits = options.get("confidence", 0.95), options.get("coef_bound", LINEAR_COEF_BOUND)
        inference = options.get("selective_inference")
        columns = release.request.get("candidates")
        derived = fit_from(derived, columns, *limits, inference)
    if release.fit is not None and derived.fit is not None and not release.fit.joint:  # of an older version
        derived = derived.model_copy(update={"fit": derived.fit.model_copy(update={"joint": ()})})
    return (
        derived
        if posterior_request is None
        else _with_posterior(derived, posterior_request["confidence"], posterior_request["of"])
    )


def _without_posterior(release: Release) -> dict[str, Any]:
    """What was asked beside how sure columns are."""
    return {name: value for name, value in release.request.items() if name != "posterior"}


def digest(release: Release) -> str:
    """Return what a computed release calls its parent.

    64 hexadecimal digits.
    """
    return canonical_sha256(release.model_dump(mode="json", by_alias=True))


def _answers(release: Release, inference: str | None, estimates: bool = False) -> "MomentAnswers":
    """What answers from a release's moments, or from the part of them that selects or estimates."""
    if release.moments is None:
        raise InvalidParameterError(
            "Only noisy moments answer further questions for free, but this release has none. Make one with "
            "`discreet select --method moments`."
        )
    home = importlib.import_module(
        "discreet.methods.moments.moment_answers"
    )  # loads scipy, which no other command waits for
    parts = importlib.import_module("discreet.methods.moments.fission").parts_of(release.moments, inference)
    derived: MomentAnswers = home.MomentAnswers(parts[int(estimates)])
    return derived


def _derived(
    release: Release, method: str, options: dict[str, Any], parameters: dict[str, Any], derived: dict[str, Any]
) -> Release:
    first = release.request.get("parameters", {})
    effective = {name: value for name, value in {**first, **parameters}.items() if value is not None}
    request = {**_without_posterior(release), **options, "method": method, "parameters": effective}
    source = release.provenance.derived_from or digest(release)
    provenance = release.provenance.model_copy(
        update={"derived_from": source, "request_sha256": canonical_sha256({"of": source, "request": request})}
    )
    derived = {"model_posterior": None, **derived}
    return release.model_copy(update={**derived, "method": method, "request": request, "provenance": provenance})
