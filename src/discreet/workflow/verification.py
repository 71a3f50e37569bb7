"""Check that a ledger and the releases that show it belong together."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InvalidParameterError, VerificationError
from discreet.files import read_text
from discreet.ledger import Ledger, Verification
from discreet.ledger.chain import text_sha256
from discreet.release import Release, canonical_sha256
from discreet.workflow.derive import digest, recomputed
from discreet.workflow.pooled_parts import pooled_again


@dataclass(frozen=True)
class Verified:
    """A ledger that fits, and releases that belong to it.

    Parameters
    ----------
    ledger : Verification
        What the ledger holds.
    derived : dict of str to int
        Files of releases that were computed from others, for free, and the ledger entry of the other's charge.
    """

    ledger: Verification
    derived: dict[str, int]


def verify(ledger: Ledger, paths: Iterable[str | Path] = ()) -> Verified:
    """Check a ledger, and that each release is as it recorded it, or was computed from one that is.

    What the ledger holds, and which releases spent nothing.
    """
    texts = {str(path): read_text(path, "release") for path in paths}
    releases = {path: Release.from_json(text) for path, text in texts.items()}
    charges = [release.provenance.ledger for release in releases.values()]
    verification = ledger.verify([charge.head for charge in charges if charge is not None])
    history = ledger.history()
    recorded = {entry.facts.get("release_sha256") for entry in history if entry.kind == "release"}
    lost = {entry.facts.get("lost_hash") for entry in history if entry.kind == "reconcile"}
    derived: dict[str, int] = {}
    for path, release in releases.items():
        if release.provenance.derived_from is not None:
            derived[path] = _check_derived(ledger, path, release)
        elif text_sha256(texts[path]) not in recorded:
            charge = release.provenance.ledger
            raise _reconciled(path) if charge is not None and charge.head in lost else _not_recorded(path)
    return Verified(verification, derived)


def _reconciled(release_name: str) -> VerificationError:
    return VerificationError(
        f"The ledger holds the charge of {release_name}, but not its text to compare with: the charge was made again "
        "by `discreet budget reconcile`. Rely on the release only if its file was kept where nobody could change it."
    )


def _not_recorded(release_name: str) -> VerificationError:
    return VerificationError(
        f"{release_name}: the ledger has no record of it as it stands. "
        "It was changed, charged elsewhere, or never charged. Do not rely on it."
    )


def _check_derived(ledger: Ledger, path: str, release: Release) -> int:
    """Find the release that another was computed from, and compute it anew: all else must be the parent's."""
    charge = release.provenance.ledger
    if release.pooled is not None and charge is not None:
        _check_pooled(ledger, path, release)
        return charge.entry
    text = None if charge is None else ledger.recorded(charge.entry)
    parent = None if text is None else Release.from_json(text)
    # What an older version wrote in another form than it is read in has the digest of its text.
    digests = {digest(parent), canonical_sha256(json.loads(text))} if text is not None and parent is not None else set()
    if charge is None or parent is None or release.provenance.derived_from not in digests:
        raise _not_recorded(f"the release that {path} was computed from")
    origin = parent.provenance.model_copy(update={"derived_from": release.provenance.derived_from})
    parent = parent.model_copy(update={"provenance": origin})
    try:
        same = _same(recomputed(parent, release).model_dump(mode="json"), release.model_dump(mode="json"))
    except (
        InvalidParameterError,
        KeyError,
        TypeError,
        ValueError,
    ):  # its request was changed to something that cannot be asked
        same = False
    if not same:
        raise VerificationError(
            f"A release that was computed from another must be what this version computes from it, but {path} is not. "
            "It was changed, or another version computed it: compute it again with `discreet fit --from`, for free."
        )
    return charge.entry


def _check_pooled(ledger: Ledger, path: str, release: Release) -> None:
    """Pool the recorded parts anew: the release must be that, or what is computed from it."""
    try:
        parent = pooled_again(release, ledger)
        plain = release.request == parent.request and release.method == parent.method
        recomputed_release = parent if plain else recomputed(parent, release)
        same = _same(recomputed_release.model_dump(mode="json"), release.model_dump(mode="json"))
    except (InvalidParameterError, KeyError, TypeError, ValueError):
        same = False
    if not same:
        raise VerificationError(
            f"A pooled release must be what this version makes of its parts in the ledger, but {path} is not. It was "
            "changed, or another version made it."
        )


def _same(stored: Any, other: Any) -> bool:
    """Equal but for rounding, which another machine may do in another order."""
    if isinstance(stored, dict) and isinstance(other, dict):
        return stored.keys() == other.keys() and all(_same(stored[key], other[key]) for key in stored)
    if isinstance(stored, list) and isinstance(other, list):
        return len(stored) == len(other) and all(map(_same, stored, other))
    if isinstance(stored, float) and isinstance(other, float):
        return math.isclose(stored, other, rel_tol=1e-6, abs_tol=1e-12)
    return bool(stored == other)
