"""Claims beside the code: their heads, and the fingerprint of the code they were read against.

``python -m tests.contracts.claims`` prints what is stale; with ``--read`` it records that every proof was read again.
"""

import ast
import hashlib
import importlib.util
import re
import sys
from pathlib import Path

import discreet

ROOT = Path(discreet.__file__).parent
FIELDS = (
    *("function", "neighboring", "epsilon", "delta", "sensitivity", "public"),
    *("numerics", "status", "source", "covers", "code"),
)


def claims() -> list[Path]:
    """Return every claim file."""
    return sorted(ROOT.rglob("*.privacy.md"))


def head(path: Path) -> dict[str, str]:
    """Return the fields at the head of a claim."""
    block = re.match(r"```\n(.*?)\n```\n", path.read_text(), re.DOTALL)
    assert block, f"{path.name} must begin with its head between ``` lines"
    return dict(line.split(": ", 1) for line in block.group(1).splitlines())


def fingerprint(modules: str) -> str:
    """Digest of the modules' code, without docstrings, comments and layout."""
    digest = hashlib.sha256()
    for name in modules.split(", "):
        spec = importlib.util.find_spec(name)
        assert spec, f"no module {name}"
        assert spec.origin, f"no source for {name}"
        tree = ast.parse(Path(spec.origin).read_text())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            first = body[0] if isinstance(body, list) and body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                first.value.value = ""
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:16]


def main() -> None:
    """Print stale claims, or record that they were read."""
    source = Path(__file__).parents[2] / "src" / "discreet"
    for path in claims():
        fields = head(path)
        now = fingerprint(fields["covers"])
        state = "fresh" if fields["code"] == now else "STALE"
        print(state, path.name, now)
        if "--read" in sys.argv:
            place = source / path.relative_to(ROOT)
            place.write_text(place.read_text().replace(f"\ncode: {fields['code']}\n", f"\ncode: {now}\n"))


if __name__ == "__main__":
    main()
