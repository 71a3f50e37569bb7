"""Small public files: read whole, and written whole or not at all."""

import os
import tempfile
from pathlib import Path

from discreet.errors import InvalidParameterError


def read_text(path: str | Path, kind: str) -> str:
    """Read a small public file, with a clear error."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidParameterError(
            f"{path} is not UTF-8 text, so it is not a {kind} file. Give the {kind} file here; a table is given with "
            "--data."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such file"
        raise InvalidParameterError(
            f"The {kind} file {path} cannot be read: {reason.lower()}. Check the path."
        ) from None


def writable(path: str | Path) -> None:
    """Refuse a path that cannot be written, before anything is spent on its content."""
    target = Path(path)
    try:
        is_special = target.exists() and not target.is_file()
        has_folder = target.parent.is_dir()
        can_write = has_folder and os.access(target.parent, os.W_OK)
    except OSError:  # such as a name that is too long
        is_special, has_folder, can_write = False, True, False
    if is_special or not can_write:
        problem = "its folder cannot be written" if has_folder else "its folder does not exist"
        raise _unwritable(target, "it is a folder or a device" if is_special else problem)


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write a file whole or not at all: beside it first, then renamed over it."""
    writable(path)
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        # In a folder that nobody else may enter, so that the file's mode can be what the umask says from the beginning.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".discreet-") as folder:
            temporary = Path(folder, "whole")
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(target, (error.strerror or "it failed").lower()) from None
    return target


def _unwritable(path: Path, reason: str) -> InvalidParameterError:
    return InvalidParameterError(f"The output file {str(path)[:300]} cannot be written: {reason}. Choose another path.")
