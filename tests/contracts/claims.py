"""Claims beside the code: their heads, and the fingerprint of the code they were read against.

``python -m tests.contracts.claims`` prints what is stale; with ``--read`` it records that every proof was read again. A
claim that was `proved` becomes `contrib` by that: whoever changed the code cannot also be one of its two readers.
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
    *("numerics", "status", "read_by", "source", "covers", "code"),
)

ROWS = (
    *("data.engine", "data.columns", "data.design", "data.unit_cut", "data.unit_keys", "data.row_pass"),
    *(
        "data.engines.each",
        "data.engines.spark",
        "data.engines.spark_worker",
        "kernels.unit_cuts",
        "kernels.exact_sums",
    ),
)
"""What `rows` stands for in a head: from cells to sums, and the cut by unit."""


def claims() -> list[Path]:
    """Return every claim file."""
    return sorted(ROOT.rglob("*.privacy.md"))


def head(path: Path) -> dict[str, str]:
    """Return the fields at the head of a claim."""
    block = re.match(r"```\n(.*?)\n```\n", path.read_text(), re.DOTALL)
    assert block, f"{path.name} must begin with its head between ``` lines"
    return dict(line.split(": ", 1) for line in block.group(1).splitlines())


def fingerprint(modules: str) -> str:
    """Digest of the modules' code, without docstrings, comments and layout; `rows` stands for `ROWS`."""
    digest = hashlib.sha256()
    names = modules.split(", ")
    if "rows" in names:
        names = [*(name for name in names if name != "rows"), *(f"discreet.{name}" for name in ROWS)]
    for name in names:
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


def renewed(text: str, code: str) -> str:
    """Return a claim read anew against changed code: by the one who changed it, so that nobody else has."""
    for field, value in (("status", "contrib"), ("read_by", "nobody"), ("code", code)):
        text = re.sub(rf"(?m)^{field}: .*$", f"{field}: {value}", text, count=1)
    return text


def readers(fields: dict[str, str]) -> list[str]:
    """Return the names of those who have read proof against code, each with a date; nobody for most."""
    return re.findall(r"([^,]+?) \d{4}-\d{2}-\d{2}(?:, |$)", fields["read_by"])


def may_be_proved(fields: dict[str, str]) -> bool:
    """Tell whether a head allows the status `proved`: two readers, and numerics that are not idealized."""
    return len(set(readers(fields))) >= 2 and fields["numerics"] != "idealized"


def main() -> None:
    """Print stale claims, or record that they were read."""
    source = Path(__file__).parents[2] / "src" / "discreet"
    for path in claims():
        fields = head(path)
        now = fingerprint(fields["covers"])
        state = "fresh" if fields["code"] == now else "STALE"
        print(state, path.name, now)
        if "--read" in sys.argv and state == "STALE":
            place = source / path.relative_to(ROOT)
            place.write_text(renewed(place.read_text(), now))


if __name__ == "__main__":
    main()
