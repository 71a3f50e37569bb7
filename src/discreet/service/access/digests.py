"""Digests of what must not stand in the database: a copy of it opens no door without the pepper."""

import hashlib
import hmac
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher()
"""Argon2id with the library's parameters."""


def sealed(pepper: bytes, purpose: str, *parts: str) -> str:
    """Return a digest that only a holder of the pepper can make.

    64 hexadecimal digits.
    """
    text = "".join(f"{len(part)}:{part}" for part in (purpose, *parts))  # no other cut gives the same text
    return hmac.new(pepper, text.encode(), hashlib.sha256).hexdigest()


def same(first: str, second: str) -> bool:
    """Compare two secrets in a time that does not tell where they differ.

    Whether they are one.
    """
    return hmac.compare_digest(first.encode(), second.encode())


def hash_password(password: str) -> str:
    """Return what is kept of a password.

    An argon2id hash with its salt. Cost: some 50 ms and 64 MB.
    """
    return _hasher.hash(password)


def fits(password: str, kept: str | None) -> bool:
    """Tell whether a password is the one that is kept.

    True for the right one.
    """
    try:
        return _hasher.verify(kept or _nobodys(), password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys() -> str:
    return _hasher.hash("")
