"""Which code computed something that is kept: figures of other code are computed again."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_sha256(home: Path = Path(__file__).parents[1]) -> str:
    """Return the digest of all modules in a folder, by default in that of this package.

    64 hexadecimal digits; some ten milliseconds the first time.
    """
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(f"{path.relative_to(home)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
