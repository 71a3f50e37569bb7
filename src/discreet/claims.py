"""The claims that ship with the code: what is proved, on what else each rests, and who has read the proof.

A claim is a file `NAME.privacy.md` beside the code: a head of fixed fields, then precondition, postcondition and proof.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class Claim:
    """The head of a claim, as far as a reader of a release needs it.

    Parameters
    ----------
    path : str
        Its file, from the folder of the package on.
    functions : tuple of str
        What it claims something about.
    status : str
        "contrib", or "proved" where two people who did not write the code have read the proof against it.
    readers : tuple of str
        Who has read it, besides its author.
    rests_on : tuple of str
        Names of other claims whose postconditions its proof uses.
    """

    path: str
    functions: tuple[str, ...]
    status: str
    readers: tuple[str, ...]
    rests_on: tuple[str, ...]


def head(text: str) -> dict[str, str]:
    """Return the fields at the head of a claim by name; empty when the text has no head."""
    block = re.match(r"```\n(.*?)\n```\n", text, re.DOTALL)
    pairs = (line.partition(":") for line in block.group(1).splitlines()) if block else ()
    return {name: value.strip() for name, _, value in pairs}


def readers(fields: dict[str, str]) -> tuple[str, ...]:
    """Return the names of those who have read proof against code, from the field `read_by`; empty for `nobody`."""
    return tuple(re.findall(r"([^,]+?) \d{4}-\d{2}-\d{2}(?:, |$)", fields["read_by"]))


@cache
def shipped() -> dict[str, Claim]:
    """Return every claim of this version, by the field `claim` of its head."""
    claims = {}
    for file in sorted(ROOT.rglob("*.privacy.md")):
        fields = head(file.read_text(encoding="utf-8"))
        rests_on = tuple(name for name in fields["rests_on"].split(", ") if name != "none")
        functions = tuple(fields["function"].split(", "))
        path = file.relative_to(ROOT).as_posix()
        claims[fields["claim"]] = Claim(path, functions, fields["status"], readers(fields), rests_on)
    return claims


def resting_on(paths: Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims at these paths and all that they rest on, in the order of their files.

    Examples
    --------
    >>> [claim.path for claim in resting_on(["mechanisms/quantile.privacy.md"])][-1]
    'mechanisms/selection.privacy.md'
    """
    names = {claim.path: name for name, claim in shipped().items()}
    waiting, reached = [names[path] for path in paths if path in names], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += shipped()[name].rests_on
    return tuple(sorted((shipped()[name] for name in reached), key=lambda claim: claim.path))


def of_function(function: str) -> tuple[Claim, ...]:
    """Return the claim of a function, if it has one."""
    return tuple(claim for claim in shipped().values() if function in claim.functions)
