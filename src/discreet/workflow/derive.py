"""New releases from the noisy moments of an earlier one: no rows, no budget."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameterError
from discreet.release import Release, canonical_sha256

if TYPE_CHECKING:
    from discreet.methods.moment_answers import MomentAnswers


def fit_from(release: Release, columns: Sequence[str] | None = None, confidence: float = 0.95) -> Release:
    """Return the coefficients of a model by the noisy moments of a release.

    Parameters
    ----------
    release : Release
        With moments.
    columns : sequence of str, optional
        Columns of the model; default those that the release selected.
    confidence : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    Release
        With the guarantee of the first one: nothing further was spent.

    Raises
    ------
    InvalidParameterError
        When the release has no moments, or not of these columns.

    Notes
    -----
    Post-processing: whatever is computed from a release keeps its guarantee.
    """
    answers = _answers(release)
    among = tuple(columns) if columns is not None else release.selected
    fit = answers.fit(among, confidence)
    return _derived(release, "linear", {"candidates": list(among)}, {"confidence": confidence}, {"fit": fit})


def select_from(release: Release, **parameters: Any) -> Release:
    """Return another selection by the noisy moments of a release.

    Parameters
    ----------
    release : Release
        With moments.
    **parameters : Any
        ``model_penalty``, ``max_size``, ``forced``, ``groups``, as for noisy moments.

    Returns
    -------
    Release
        With the guarantee of the first one: nothing further was spent.

    Raises
    ------
    InvalidParameterError
        When the release has no moments, or a parameter does not fit.
    """
    selected, by_size = _answers(release).select(**parameters)
    return _derived(release, "moments", {}, parameters, {"selected": selected, "by_size": by_size, "fit": None})


def _answers(release: Release) -> "MomentAnswers":
    if release.moments is None:
        raise InvalidParameterError(
            "Only noisy moments answer further questions for free, but this release has none. Make one with "
            "`discreet select --method moments`."
        )
    home = importlib.import_module("discreet.methods.moment_answers")  # loads scipy, which no other command waits for
    found: MomentAnswers = home.MomentAnswers(release.moments)
    return found


def _derived(
    release: Release, method: str, asked: dict[str, Any], parameters: dict[str, Any], found: dict[str, Any]
) -> Release:
    first = release.request.get("parameters", {})
    request = {**release.request, **asked, "method": method, "parameters": {**first, **parameters}}
    source = release.provenance.derived_from or canonical_sha256(release.model_dump(mode="json", by_alias=True))
    provenance = release.provenance.model_copy(
        update={"derived_from": source, "request_sha256": canonical_sha256({"of": source, "request": request})}
    )
    return release.model_copy(update={**found, "method": method, "request": request, "provenance": provenance})
