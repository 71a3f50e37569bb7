"""Moments that a request states of a data set's public table: they must be those of the table that was registered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from discreet import workflow
from discreet.errors import InvalidParameterError
from discreet.parameters.public_moments import PublicMoments

NEAR = 1e-9
"""By how much, in standard deviations of the columns, sums of the same records may differ between machines."""


def check_stated(parameters: Mapping[str, Any], metadata: workflow.Metadata, path: Path, table: str | None) -> None:
    """Refuse moments with the digest of the public table that are not its: a release would say that they are."""
    for part in (parameters, parameters.get("select")):
        stated = part.get("public_moments") if isinstance(part, Mapping) else None
        if isinstance(stated, Mapping) and stated.get("sha256") is not None:
            _check(stated, metadata, path, table)


def _check(value: Mapping[str, Any], metadata: workflow.Metadata, path: Path, table: str | None) -> None:
    try:
        stated = PublicMoments.model_validate(value)
    except ValidationError:
        return  # the method refuses them in its own words
    names = [name for name in metadata.columns if _is_of(name, stated.labels)]
    own = workflow.public_moments(path, metadata, names, table) if names else None
    if own is None or not _agree(stated, own):
        raise InvalidParameterError(
            "public_moments with the digest of the public table must be computed from it, but these are not. Give "
            "--public-table with that file, or leave out the digest and say in source where they come from."
        )


def _is_of(name: str, labels: Sequence[str]) -> bool:
    return any(label == name or label.startswith(f"{name}=") for label in labels)


def _agree(stated: PublicMoments, own: PublicMoments) -> bool:
    if set(stated.labels) != set(own.labels):
        return False
    if (stated.n_records, stated.sha256, stated.source) != (own.n_records, own.sha256, own.source):
        return False
    at = [own.labels.index(label) for label in stated.labels]
    covariance = np.array(own.covariance)[np.ix_(at, at)]
    sds = np.sqrt(covariance.diagonal())
    scale = np.where(sds > 0.0, sds, 1.0)
    off = [
        (np.array(stated.means) - np.array(own.means)[at]) / scale,
        (np.array(stated.covariance) - covariance) / np.outer(scale, scale),
    ]
    if stated.skewness is not None and own.skewness is not None:
        off.append(np.array(stated.skewness) - np.array(own.skewness)[at])
    return all(bool((np.abs(each) <= NEAR).all()) for each in off)
