"""What was asked, as a release tells it; a release made by hand may tell less."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from discreet.release import PublicColumn, Release
from discreet.report.vocabulary import CHOSEN_AMONG, REGRESSIONS
from discreet.report.words import count, shortened, titled

Kind = Literal["selection", "fit", "both", "moments"]


def kind(release: Release) -> Kind:
    """Return what a release answers.

    "both" is a selection and the coefficients of what it selected; "moments" are noisy moments alone.
    """
    steps = any(step.name in ("selection", "screening") for step in release.steps)
    chooses = release.method.casefold() == "run" or steps or bool(release.by_size)
    if release.fit is not None:
        return "both" if chooses and release.method.casefold() not in REGRESSIONS else "fit"
    return "moments" if release.moments is not None and not chooses and not release.selected else "selection"


def target(release: Release) -> str:
    """Return the name of the response.

    As asked, or as declared.
    """
    declared = [column.name for column in release.public if column.role == "target"]
    return str(release.request.get("target") or (declared or ["the target"])[0])


def candidates(release: Release) -> tuple[str, ...]:
    """Return the names of the columns that could be used.

    As asked, or as declared; none when they are too many to be listed.
    """
    record = release.request.get("candidates")
    if isinstance(record, dict):  # too many to list
        return ()
    return names(record) or tuple(column.name for column in release.public if column.role == "candidate")


def n_candidates(release: Release) -> int:
    """Return how many columns could be used.

    As asked, or as declared.
    """
    request_parameters = release.request.get("candidates")
    count = request_parameters.get("count") if isinstance(request_parameters, dict) else None
    return count if isinstance(count, int) and count >= 0 else len(candidates(release))


def is_screening(release: Release) -> bool:
    """Tell whether columns were rated one by one and not as models.

    False for a plan that goes on after a screening.
    """
    is_one_by_one = release.noise.mechanism in CHOSEN_AMONG and release.method != "decorrelated"
    return is_one_by_one and release.fit is None


def forced(release: Release) -> tuple[str, ...]:
    """Return the names of the columns that stood in every model.

    Perhaps none.
    """
    request_parameters = parameters(release)
    first = request_parameters.get("select")
    return names(request_parameters.get("forced") or (first.get("forced") if isinstance(first, dict) else None))


def parameters(release: Release) -> dict[str, Any]:
    """Return the public parameters.

    By name.
    """
    request_parameters = release.request.get("parameters")
    return (
        {str(name): value for name, value in request_parameters.items()} if isinstance(request_parameters, dict) else {}
    )


def settings(release: Release) -> dict[str, Any]:
    """Return the public parameters, those of the steps of a run one by one.

    By name; a step's parameter is named like ``fit: steps``, what is public of a table like ``public: name``.
    """
    declared_columns: dict[str, Any] = {}
    for name, value in _in_words(parameters(release)).items():
        inner = _in_words(value) if name in ("screen", "select", "fit", "public") and isinstance(value, dict) else None
        declared_columns |= {name: value} if inner is None else {f"{name}: {key}": part for key, part in inner.items()}
    if release.noise.max_false is not None:
        declared_columns.setdefault("max_false", float(f"{release.noise.max_false:.2g}"))
    return declared_columns


def _in_words(stated_parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters, with a sentence in the place of a matrix."""
    in_words = {"public_moments": public_moments(stated_parameters)} if "public_moments" in stated_parameters else {}
    return {**stated_parameters, **in_words}


def public_moments(stated_parameters: Mapping[str, Any]) -> str:
    """Return in words what was not bought of the columns, and what that supposes; empty where none was public.

    Of a plan of several steps, what its selection did not buy.
    """
    stated, step = stated_parameters.get("public_moments"), stated_parameters.get("select")
    if not isinstance(stated, dict):
        return public_moments(step) if isinstance(step, Mapping) else ""
    if stated_parameters.get("products") == "bought":
        return "bought all the same: that tells more than the public ones"
    records, source = stated.get("n_records"), stated.get("source")
    origin = f"from {count(int(records))} public records" if records else "known by design"
    reason = f" ({source})" if source else ""
    return (
        f"of {count(len(stated['labels']))} columns, {origin}{reason}; private rows are supposed to have about the same"
    )


def is_contradicted(release: Release) -> bool:
    """Tell whether a private look at the rows spoke against public moments, so that others were bought."""
    return any(step.name == "public_check" and (step.value or 0.0) > 1.0 for step in release.steps)


def is_of_selection(release: Release) -> bool:
    """Tell whether the columns of a fit were selected from the same rows.

    True when they were selected in this release, by the moments that it was computed from, or by an earlier release
    of the same people.
    """
    chosen = release.request.get("chosen")
    if release.fit is not None and isinstance(chosen, dict) and "by" in chosen:
        return chosen.get("dataset") == release.provenance.dataset
    if is_by_half(release) or is_by_fission(release):
        return False
    if release.fit is None or kind(release) == "both":
        return release.fit is not None
    fitted = {coefficient.column for coefficient in release.fit.coefficients} - {None}
    posterior = release.request.get("posterior")
    if isinstance(posterior, dict) and posterior.get("of") == "bought":  # only a posterior was computed beside the fit
        return False
    return release.provenance.derived_from is not None and fitted == set(release.selected)


def is_by_half(release: Release) -> bool:
    """Tell whether half of the units selected the columns of a fit, and the others gave its coefficients."""
    return release.fit is not None and parameters(release).get("selective_inference") == "split"


def is_by_fission(release: Release) -> bool:
    """Tell whether one part of noisy moments selected the columns of a fit, and the other gave its coefficients."""
    has_parts = release.moments is not None and release.moments.fission is not None
    return release.fit is not None and has_parts and parameters(release).get("selective_inference") == "fission"


def epsilon(release: Release) -> float:
    """Return the epsilon of a release, promised or asked.

    In nats; not a number when it says neither.
    """
    request_parameters = parameters(release).get("epsilon", math.nan)
    return (
        release.guarantee.epsilon
        if release.guarantee
        else request_parameters
        if isinstance(request_parameters, float)
        else math.nan
    )


def declared(release: Release, name: str | None) -> PublicColumn | None:
    """Return what was declared about a column.

    None when nothing was.
    """
    return next((column for column in release.public if column.name == name), None)


def described(release: Release, name: str) -> str:
    """Return a column's name, with what it is where that was declared."""
    column = declared(release, name)
    return name if column is None or not column.description else f"{name} ({shortened(column.description, 200)})"


def called(release: Release, name: str) -> str:
    """Return how a title calls a column: by what it is, where that was declared, else by its name."""
    column = declared(release, name)
    return titled(name, None if column is None else column.description)


def has_descriptions(release: Release, columns: Iterable[str]) -> bool:
    """Tell whether it was declared of any of the columns what it is."""
    return any(column is not None and bool(column.description) for column in (declared(release, n) for n in columns))


def names(value: Any) -> tuple[str, ...]:
    """Return a list of names, whatever a request holds in its place.

    Empty when it is no list.
    """
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()
