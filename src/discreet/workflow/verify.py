"""Check that a ledger and the releases that show it belong together."""

from collections.abc import Iterable
from pathlib import Path

from discreet.errors import VerificationError
from discreet.ledger import Ledger, Verification
from discreet.ledger.chain import text_sha256
from discreet.release import Release, read_text


def verify(ledger: Ledger, paths: Iterable[str | Path] = ()) -> Verification:
    """Check a ledger, and that it recorded each release to the letter.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    paths : iterable of str or Path
        Files of releases.

    Returns
    -------
    Verification
        What the ledger holds.

    Raises
    ------
    VerificationError
        When the ledger does not fit itself, or a release is not one of its own.
    """
    texts = {path: read_text(path, "release") for path in paths}
    charges = [Release.from_json(text).provenance.ledger for text in texts.values()]
    found = ledger.verify([charge.head for charge in charges if charge is not None])
    recorded = {entry.facts.get("release_sha256") for entry in ledger.history() if entry.kind == "release"}
    for path, text in texts.items():
        if text_sha256(text) not in recorded:
            raise VerificationError(
                f"A release must be as the ledger recorded it, but {path} is not in it. "
                "It was changed, charged elsewhere, or never charged: do not rely on it."
            )
    return found
