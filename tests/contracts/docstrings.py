"""Files whose docstrings have full sections, and those whose docstrings have none.

python -m tests.contracts.docstrings      the files that `make lint` checks for sections
"""

import ast
import re
from functools import cache
from pathlib import Path
from types import FunctionType

import discreet

REPOSITORY = Path(__file__).parents[2]
SOURCES = (REPOSITORY / "src", *sorted(REPOSITORY.glob("packages/*/src")))
FOLDERS = ("accounting", "estimators", "mechanisms")
"""All of them: what a proof speaks of, or what people call."""

SECTION = re.compile(r"^ *(Parameters|Returns|Raises|Yields|Notes|References)\n *-+$", re.MULTILINE)


@cache
def _public() -> set[str]:
    """Modules that define what people import from the package itself."""
    named = (getattr(discreet, name) for name in (*discreet.__all__, "Remote"))
    return {thing.__module__ for thing in named if isinstance(thing, (type, FunctionType))}


def files() -> list[Path]:
    """Return all modules of our packages."""
    return sorted(path for source in SOURCES for path in source.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """Return a module's tree, which nobody changes."""
    return ast.parse(path.read_text())


def has_sections(path: Path) -> bool:
    """Whether sections are due in a file: a claim lies beside it, or people call what it holds."""
    place = path.relative_to(next(source for source in SOURCES if path.is_relative_to(source)))
    module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
    return place.parts[1] in FOLDERS or path.with_suffix(".privacy.md").exists() or module in _public()


def inner_functions_with_sections() -> list[str]:
    """Return the functions whose docstrings have sections though nobody outside calls them."""
    offenders = []
    for path in files():
        if has_sections(path):
            continue
        for node in ast.walk(parsed(path)):
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if is_function and SECTION.search(ast.get_docstring(node) or ""):
                offenders.append(f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}")
    return offenders


if __name__ == "__main__":
    print(*(path for path in files() if has_sections(path)), sep="\n")
