"""Answers of plans, kept in the user's cache folder: they hold nothing private."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from discreet.errors import InvalidParameterError
from discreet.files import write_whole

KEPT = "discreet/expectation-cache@2"


def cache_folder() -> Path:
    """Return where expectations are kept.

    Returns
    -------
    Path
        In the user's cache folder.
    """
    return Path(platformdirs.user_cache_dir("discreet")) / "expectations"


def stored(key: str) -> dict[str, Any] | None:
    """Return what is kept under a key.

    Parameters
    ----------
    key : str
        Digest of the question.

    Returns
    -------
    dict or None
        None where there is nothing; a file that cannot be read, or is none of ours, is no matter.
    """
    with suppress(OSError, ValueError, TypeError, KeyError):
        value: dict[str, Any] = json.loads((cache_folder() / f"{key}.json").read_text(encoding="utf-8"))
        if value.pop("schema") == KEPT and value.pop("key") == key:
            return value
    return None


def keep(key: str, value: dict[str, Any]) -> None:
    """Write an answer whole or not at all; a cache that cannot be written is no matter.

    Parameters
    ----------
    key : str
        Digest of the question.
    value : dict
        What JSON can hold.
    """
    with suppress(OSError, InvalidParameterError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        whole = {"schema": KEPT, "key": key, **value}
        write_whole(cache_folder() / f"{key}.json", json.dumps(whole, ensure_ascii=False, allow_nan=False))
