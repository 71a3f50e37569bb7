"""Answers of plans, kept in the user's cache folder: they hold nothing private."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from discreet.errors import InvalidParameterError
from discreet.files import write_whole
from discreet.release import canonical_sha256

KEPT = "discreet/expectation-cache@3"


def cache_folder() -> Path:
    """Return where expectations are kept.

    In the user's cache folder.
    """
    return Path(platformdirs.user_cache_dir("discreet")) / "expectations"


def stored(key: str) -> dict[str, Any] | None:
    """Return what is kept under a key.

    None where there is nothing; a file that cannot be read, or is none of ours, is no matter.
    """
    with suppress(OSError, ValueError):
        content = json.loads((cache_folder() / f"{key}.json").read_text(encoding="utf-8"))
        if isinstance(content, dict) and (content.get("schema"), content.get("key")) == (KEPT, key):
            value: dict[str, Any] | None = content.get("value")
            if isinstance(value, dict) and content.get("sha256") == canonical_sha256(value):
                return value
    return None


def keep(key: str, value: dict[str, Any]) -> None:
    """Write an answer whole or not at all; a cache that cannot be written is no matter."""
    with suppress(OSError, InvalidParameterError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        value = json.loads(json.dumps(value))  # tuples become lists, as they will be read
        whole = {"schema": KEPT, "key": key, "sha256": canonical_sha256(value), "value": value}
        write_whole(cache_folder() / f"{key}.json", json.dumps(whole, ensure_ascii=False, allow_nan=False))
