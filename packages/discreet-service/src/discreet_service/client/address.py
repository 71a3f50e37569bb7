"""Where a service is, and whether a key may be sent there."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from discreet.errors import InvalidParameterError

_KEY = re.compile(r"[!-~]{1,200}")


def checked_url(url: str, *, insecure: bool = False) -> str:
    """Return the address of a service without its final slash, if a key may be sent there.

    To put paths after.

    Examples
    --------
    >>> checked_url("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000'
    """
    parts = _split(url)
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidParameterError("A service's address must be a host and a path alone. Leave out name, query and #.")
    if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not insecure:
        raise InvalidParameterError(
            f"The address http://{parts.hostname} is not HTTPS: others could read the key and the releases. "
            "Give an https:// address. With insecure (--insecure) the key is sent all the same."
        )
    return url.strip().rstrip("/")


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine; of names, localhost alone is trusted to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked_key(key: str) -> str:
    """Return a key without blanks around it, if it can be sent."""
    stripped = key.strip()
    if not _KEY.fullmatch(stripped):
        raise InvalidParameterError("A key must be one word, as the service showed it, but this is not. Copy it again.")
    return stripped


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not url.strip().isprintable() or " " in url.strip():
        raise InvalidParameterError(
            f"A service's address must begin with https://, but url={url[:100]!r}. Ask who runs the service."
        )
    return parts
