"""The login that a person keeps on this machine: address and key, in a file that nobody else may read."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import platformdirs

from discreet.errors import InvalidParameterError, NotSignedInError
from discreet.files import read_text

SCHEMA = "discreet/login@1"
URL_ENVIRONMENT, KEY_ENVIRONMENT = "DISCREET_URL", "DISCREET_KEY"
"""Environment variables, which come before the stored login."""


@dataclass(frozen=True)
class Login:
    """Where a service is, and a person's key there; `insecure` accepts HTTP to another machine."""

    url: str
    key: str = field(repr=False)
    insecure: bool = False


def save(login: Login) -> Path:
    """Write a login to a file that its owner alone can read, and return its path."""
    path = _file()
    temporary = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"schema": SCHEMA, **asdict(login)}, file)
        temporary.replace(path)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise InvalidParameterError(
            f"The folder of settings must be writable to keep a login, but {path.parent}: {reason}. Or set "
            f"{URL_ENVIRONMENT} and {KEY_ENVIRONMENT}."
        ) from None
    return path


def load() -> Login:
    """Return the login of the environment, or else of the file."""
    url, key = os.environ.get(URL_ENVIRONMENT), os.environ.get(KEY_ENVIRONMENT)
    if url and key:
        return Login(url, key)
    if url:  # the key that is kept is another service's
        raise NotSignedInError(f"Where {URL_ENVIRONMENT} is set {KEY_ENVIRONMENT} must be too, but it is not.")
    path = _file()
    if not path.exists():
        raise NotSignedInError("An address and a key are needed. Give them once: discreet remote login URL")
    if path.stat().st_mode & 0o077:
        raise InvalidParameterError(f"The file of a key must be closed to others, but {path} is not: chmod 600 {path}")
    try:
        fields = json.loads(read_text(path, "login"))
        login = Login(str(fields["url"]), str(fields["key"]), fields.get("insecure") is True)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidParameterError(
            f"The file of a login must be one that `discreet remote login` wrote, but {path} is not. Log in again."
        ) from None
    return Login(login.url, key or login.key, login.insecure)


def forget() -> bool:
    """Delete the stored login, and tell whether there was one."""
    path = _file()
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def _file() -> Path:
    return Path(platformdirs.user_config_dir("discreet")) / "remote.json"
