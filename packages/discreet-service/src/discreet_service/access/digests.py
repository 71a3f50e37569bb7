"""Digests of secrets: a copy of the database is of no use without the pepper."""

import hashlib
import hmac
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher()
"""Argon2id with the library's parameters."""


def keyed_digest(pepper: bytes, purpose: str, *parts: str) -> str:
    """Return the HMAC-SHA256 of some parts under the pepper, for one purpose: 64 hexadecimal digits."""
    text = "".join(f"{len(part)}:{part}" for part in (purpose, *parts))  # no other cut gives the same text
    return hmac.new(pepper, text.encode(), hashlib.sha256).hexdigest()


def same_secret(first: str, second: str) -> bool:
    """Tell whether two secrets are equal, in a time that does not show where they differ."""
    return hmac.compare_digest(first.encode(), second.encode())


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password, with its salt. Cost: some 50 ms and 64 MB."""
    return _hasher.hash(password)


def verify_password(password: str, stored_hash: str | None) -> bool:
    """Tell whether a password fits a stored hash; False without one, after the same work."""
    try:
        return _hasher.verify(stored_hash or _dummy_hash(), password) and stored_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _dummy_hash() -> str:
    return _hasher.hash("")
