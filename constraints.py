"""Prints what our packages need, out of constraints.txt: ``python constraints.py discreet discreet-service``.

A word is a package of ours, an extra of the core, ``build-system`` or the name of one part. What is printed is
complete, each part with its version and the digests of all files of this version, so that pip can be told to install
nothing else::

    pip install --no-deps --require-hashes -r FILE

This runs before anything is installed.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent


def canonical(name: str) -> str:
    """One name of a part for all its spellings."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """The lines of each part, by its name."""
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    return {canonical(block.partition("==")[0]): block for block in blocks}


def groups() -> dict[str, list[str]]:
    """Names of the parts that each of our packages asks for beside our own, and each extra."""
    asked = {}
    for file in (HERE / "pyproject.toml", *sorted(HERE.glob("packages/*/pyproject.toml"))):
        value = tomllib.loads(file.read_text())
        asked[value["project"]["name"]] = value["project"]["dependencies"]
        asked["build-system"] = value["build-system"]["requires"]
        asked |= value["project"].get("optional-dependencies", {})
    names = {group: [re.split(r"[^A-Za-z0-9._-]", line)[0] for line in lines] for group, lines in asked.items()}
    return {group: [part for part in parts if part not in asked] for group, parts in names.items()}


def closure(parts: dict[str, str], names: Iterable[str]) -> set[str]:
    """The names, what they need, and what that needs."""
    todo, seen = [canonical(name) for name in names], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            needed = re.search(r"# needs (.*)", parts[name])
            todo += needed[1].split() if needed else []
    return seen


def main(words: list[str]) -> None:
    """Print the lines of all parts that the words need."""
    parts, asked = pins((HERE / "constraints.txt").read_text()), groups()
    names = closure(parts, [name for word in words for name in asked.get(word, [word])])
    print(*(parts[name] for name in parts if name in names), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
