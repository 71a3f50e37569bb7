"""The record of a reading: what stands in NAME.privacy.lock, beside NAME.privacy.md.

because: why the proof still holds, in a line
together: how many other claims were read for the same reason, at once
code: two fingerprints of what is covered
since: what had changed since the reading before, a line each
signed: NAME DATE: what this reader tried to break, a line each
text: a digest of each field of the head and of each section, a line each
a digest of the shape, a digest of the names, and the name of each definition, a line each
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.contracts.shapes import digest

FIRST = "first reading"
FREE = ("status", "read_by", "rests_on", "code")
"""Fields of a head that are no part of what is claimed: they are checked against the record itself."""


@dataclass(frozen=True)
class Lock:
    """What a claim's proof was last read against."""

    because: str = ""
    together: str = ""
    codes: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Lock":
        """Read a lock; where there is none, nothing has been read."""
        lines: dict[str, list[str]] = {}
        definitions = {}
        for line in text.splitlines():
            if re.fullmatch("[0-9a-f]{8} [0-9a-f]{8} .*", line):
                shape, names, name = line.split()
                definitions[name] = f"{shape} {names}"
            else:
                kind, _, rest = line.partition(": ")
                lines.setdefault(kind, []).append(rest)
        texts = dict(reversed(line.split(" ", 1)) for line in lines.get("text", ()))
        because, together, codes = (lines.get(kind, [""])[0] for kind in ("because", "together", "code"))
        since, signed = (tuple(lines.get(kind, ())) for kind in ("since", "signed"))
        return cls(because, together, tuple(codes.split()), since, signed, texts, definitions)

    def text(self) -> str:
        """Return the text of the lock."""
        lines = [f"because: {self.because}", f"together: {self.together}", f"code: {' '.join(self.codes)}"]
        lines += [f"since: {line}" for line in self.since]
        lines += [f"signed: {line}" for line in self.signed]
        lines += [f"text: {digits} {name}" for name, digits in self.texts.items()]
        lines += [f"{digits} {name}" for name, digits in self.definitions.items()]
        return "\n".join(lines) + "\n"

    @property
    def read_by(self) -> str:
        """The field `read_by` of a claim with these signatures."""
        return ", ".join(line.partition(": ")[0] for line in self.signed) or "nobody"


def digests(text: str, fields: dict[str, str]) -> dict[str, str]:
    """Return a digest of each field of a claim's head and of each section of its body; layout does not count."""
    body = re.sub(r"\A```\n.*?\n```\n", "", text, count=1, flags=re.DOTALL)
    parts = {name: value for name, value in fields.items() if name not in FREE}
    for section in re.split("(?m)^(?=## )", body):
        title, _, words = section.strip().partition("\n")
        if title:
            parts[title] = parts.get(title, "") + words
    return {name: digest(" ".join(words.split()))[:8] for name, words in parts.items()}


def compared_texts(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the fields and sections of a claim that are not as they were, a line each."""
    if not before:  # the lock is of a time when they were not recorded
        return ["text     all of it"]
    return [f"text     {name}" for name in {**before, **now} if before.get(name) != now.get(name)]


def compared(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the differences of two lists of definitions; one that was only renamed or moved is told as that."""
    gone, new = [n for n in before if n not in now], [n for n in now if n not in before]
    renamed = []
    for name, old in _same_shapes(before, now, gone, new):
        gone.remove(old)
        new.remove(name)
        renamed.append(f"renamed  {old} -> {name}")
    both = [name for name in now if name in before]
    changed = [name for name in both if before[name].split()[0] != now[name].split()[0]]
    links = [name for name in both if name not in changed and before[name] != now[name]]
    kinds = {"changed": changed, "new": new, "gone": gone, "names": links}
    return [*(f"{kind:8} {name}" for kind, names in kinds.items() for name in names), *renamed]


def _same_shapes(
    before: dict[str, str], now: dict[str, str], gone: list[str], new: list[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of what is new and what is gone with one shape, each once."""
    left = list(gone)
    for name in [*new]:
        old = next((old for old in left if before[old].split()[0] == now[name].split()[0]), None)
        if old is not None:
            left.remove(old)
            yield name, old
