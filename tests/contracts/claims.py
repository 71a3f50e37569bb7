"""Claims beside the code: their heads, what they cover, and the record of the code that each was read against.

    python -m tests.contracts.claims                                  what is stale
    python -m tests.contracts.claims --show NAME ...                  which definitions changed since it was read
    python -m tests.contracts.claims --read NAME ... --because WHY    the proofs were read again; NAME can be `stale`
    python -m tests.contracts.claims --names                          where only names changed, write them down

Beside NAME.privacy.md stands NAME.privacy.lock: why it was last read, and two digests of each definition that it
covers, of its shape and of the names in it. A claim that was `proved` becomes `contrib` when it is read again:
whoever changed the code cannot also be one of its two readers.
"""

import argparse
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import discreet
from discreet.claims import head as head_of
from discreet.claims import readers as readers
from tests.contracts.reach import House, Reach

ROOT = Path(discreet.__file__).parent
SOURCE = Path(__file__).parents[2] / "src" / "discreet"
WRITTEN = ("rests_on", "code")
"""Fields of a head that this program writes."""

FIELDS = (
    *("claim", "function", "neighboring", "epsilon", "delta", "sensitivity", "public", "numerics", "status", "read_by"),
    *("source", "tests", "controls", *WRITTEN),
)

ABOVE = ("cli", "client", "estimators", "papers", "planning", "report", "selftest", "service")
"""Folders that no code between a cell and a release imports."""

LEFT_OUT = {
    "discreet": "names of what can be imported",
    "discreet.claims": "reads these files",
    "discreet.errors": "types of refusals",
    "discreet.release": "values that hold what left a mechanism",
}
"""Modules at which a claim's reach ends, with what they are."""

SHORTEST_REASON = 20


def claims() -> list[Path]:
    """Return every claim file."""
    return sorted(ROOT.rglob("*.privacy.md"))


def head(path: Path) -> dict[str, str]:
    """Return the fields at the head of a claim."""
    fields = head_of(path.read_text())
    assert fields, f"{path.name} must begin with its head between ``` lines"
    return fields


def functions(fields: dict[str, str]) -> list[str]:
    """Return the functions and classes that a head claims something about."""
    return fields["function"].split(", ")


@cache
def house() -> House:
    """Return the sources, as far as claims are about them."""
    return House(ROOT, LEFT_OUT, ABOVE)


@cache
def claimed() -> dict[str, str]:
    """Return every function and class with a claim to that claim's name, and its place there."""
    names = {}
    for path in claims():
        fields = head(path)
        many = len(functions(fields)) > 1
        for place, function in enumerate(functions(fields)):
            names[function] = f"{fields['claim']} {place}" if many else fields["claim"]
    return names


@cache
def reach(path: Path) -> Reach:
    """Return what a claim covers, and its fingerprint."""
    return house().reach(functions(head(path)), claimed())


def rests_on(path: Path) -> list[str]:
    """Return the names of the claims at which this one's reach ends."""
    return sorted({name.partition(" ")[0] for name in reach(path).claims} - {head(path)["claim"]})


def may_be_proved(fields: dict[str, str]) -> bool:
    """Tell whether a head allows the status `proved`: two readers, and numerics that are not idealized."""
    return len(set(readers(fields))) >= 2 and fields["numerics"] != "idealized"


# ---- the record of what was read


@dataclass(frozen=True)
class Lock:
    """What a claim's proof was last read against."""

    because: str
    codes: tuple[str, ...]
    definitions: dict[str, str]


def lock_of(path: Path) -> Path:
    """Return the place of a claim's lock, in the sources."""
    return SOURCE / path.relative_to(ROOT).with_suffix(".lock")


def locked(path: Path) -> Lock:
    """Return what stands in a claim's lock; nothing where there is none."""
    place = lock_of(path)
    lines = place.read_text().splitlines() if place.is_file() else []
    definitions = (line.split() for line in lines if re.fullmatch("[0-9a-f]{8} [0-9a-f]{8} .*", line))
    fields = dict(line.split(": ", 1) for line in lines if re.match("(because|code): ", line))
    return Lock(
        fields.get("because", ""),
        tuple(fields.get("code", "").split()),
        {name: f"{a} {b}" for a, b, name in definitions},
    )


def lock_text(because: str, now: Reach) -> str:
    """Return the text of a lock."""
    lines = [f"{line} {name}" for name, line in now.shapes.items()]
    return "\n".join([f"because: {because}", f"code: {' '.join(now.codes)}", *lines]) + "\n"


def is_fresh(path: Path) -> bool:
    """Tell whether nothing that the proof speaks of changed since it was last read."""
    fields = head(path)
    before, now = locked(path).codes, reach(path).codes
    is_same = len(before) == len(now) and any(one == other for one, other in zip(before, now, strict=True))
    return is_same and fields["code"] == " ".join(before) and fields["rests_on"] == _listed(rests_on(path))


def changes(path: Path) -> list[str]:
    """Return what changed since a claim was last read, a line for each definition."""
    return compared(locked(path).definitions, reach(path).shapes)


def compared(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the differences of two lists of definitions; one that was only renamed or moved is told as that."""
    gone, new = [n for n in before if n not in now], [n for n in now if n not in before]
    lines = []
    for name in [*new]:
        same = [old for old in gone if before[old].split()[0] == now[name].split()[0]]
        if same:
            gone.remove(same[0])
            new.remove(name)
            lines.append(f"renamed  {same[0]} -> {name}")
    both = [name for name in now if name in before and name not in new]
    changed = [name for name in both if before[name].split()[0] != now[name].split()[0]]
    links = [name for name in both if name not in changed and before[name] != now[name]]
    return [
        *(f"changed  {name}" for name in changed),
        *(f"new      {name}" for name in new),
        *(f"gone     {name}" for name in gone),
        *(f"names    {name}" for name in links),
        *lines,
    ]


class RefusedError(Exception):
    """What the record of a reading must not say."""


def read_again(path: Path, because: str) -> None:
    """Record that a proof was read against the code as it is, by the one who changed it."""
    if len(because.strip()) < SHORTEST_REASON or "\n" in because:
        raise RefusedError("Say in one line with --because what changed and why the proof still holds.")
    if is_fresh(path):
        raise RefusedError(f"{path.name}: nothing that its proof speaks of changed, so there is nothing to record.")
    place, now = SOURCE / path.relative_to(ROOT), reach(path)
    place.write_text(renewed(place.read_text(), " ".join(now.codes), rests_on(path)))
    lock_of(path).write_text(lock_text(because.strip(), now))


def write_names(path: Path) -> None:
    """Write the names that a fresh claim's definitions have now; who has read the proof stays as it is."""
    place, now = SOURCE / path.relative_to(ROOT), reach(path)
    place.write_text(re.sub("(?m)^code:.*$", f"code: {' '.join(now.codes)}", place.read_text(), count=1))
    lock_of(path).write_text(lock_text(locked(path).because, now))


def renewed(text: str, code: str, others: list[str]) -> str:
    """Return a claim read anew against changed code: by the one who changed it, so that nobody else has."""
    fields = (("status", "contrib"), ("read_by", "nobody"), ("rests_on", _listed(others)), ("code", code))
    for field, value in fields:
        text = re.sub(rf"(?m)^{field}:.*$", f"{field}: {value}", text, count=1)
    return text


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


# ---- the command


def state(path: Path) -> str:
    """Return one word, and how much changed."""
    if not is_fresh(path):
        kinds = [line.split()[0] for line in changes(path)]
        counts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
        return f"STALE  {', '.join(counts) or 'what is referred to'}"
    same = (locked(path).codes, locked(path).definitions) == (reach(path).codes, reach(path).shapes)
    return "fresh" if same else "names"


def chosen(names: list[str]) -> list[Path]:
    """Return claims by their names; `stale` stands for all that are."""
    by_name = {head(path)["claim"]: path for path in claims()}
    if names == ["stale"]:
        return [path for path in claims() if not is_fresh(path)]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise RefusedError(f"No claim is called {', '.join(unknown)}. Names: {', '.join(by_name)}.")
    return [by_name[name] for name in names]


def run(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.contracts.claims")
    parser.add_argument("--show", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--read", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--because", default="", metavar="WHY")
    parser.add_argument("--names", action="store_true")
    asked = parser.parse_args(arguments)
    for path in chosen(asked.show):
        print(head(path)["claim"], *changes(path), sep="\n  ")
    for path in chosen(asked.read):
        read_again(path, asked.because)
        print("read", head(path)["claim"])
    for path in claims() if asked.names else ():
        if is_fresh(path):
            write_names(path)
    if not (asked.show or asked.read or asked.names):
        for path in claims():
            print(f"{head(path)['claim']:26} {state(path)}")


def main() -> None:
    """Run the command; a refusal ends it with its text."""
    try:
        run()
    except RefusedError as refusal:
        raise SystemExit(str(refusal)) from None


if __name__ == "__main__":
    main()
