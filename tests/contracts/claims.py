"""Claims beside the code: their heads, what they cover, and the record of the code that each was read against.

    python -m tests.contracts.claims                                  what is stale
    python -m tests.contracts.claims --show NAME ...                  which definitions changed since it was read
    python -m tests.contracts.claims --read NAME ... --because WHY    the proofs were read again; NAME can be `stale`
    python -m tests.contracts.claims --sign NAME --reader 'WHO DATE' --because WHAT     somebody else has read it
    python -m tests.contracts.claims --names                          where only names changed, write them down

Beside NAME.privacy.md stands NAME.privacy.lock (`tests.contracts.locks`): why it was last read, with how many others,
what had changed, who has signed it, and digests of the claim's own text and of each definition that it covers. A claim
that was `proved` becomes `contrib` when it is read again: whoever changed the code cannot also be one of its readers.
"""

import argparse
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import discreet
from discreet.claims import head as head_of
from discreet.claims import readers as readers
from tests.contracts.locks import FIRST, Lock, compared, compared_texts, digests
from tests.contracts.reach import House, Reach

ROOT = Path(discreet.__file__).parent
SOURCE = Path(__file__).parents[2] / "src" / "discreet"
WRITTEN = ("rests_on", "code")
"""Fields of a head that this program writes."""

FIELDS = (
    *("claim", "function", "neighboring", "epsilon", "delta", "sensitivity", "public", "numerics", "status", "read_by"),
    *("source", "tests", "controls", *WRITTEN),
)

ABOVE = ("cli", "simulation", "report", "selftest")
"""Folders that no code between a cell and a release imports."""

LEFT_OUT = {
    "discreet": "names of what can be imported",
    "discreet.claims": "reads these files",
    "discreet.errors": "types of refusals",
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


def lock_of(path: Path) -> Path:
    """Return the place of a claim's lock, in the sources."""
    return SOURCE / path.relative_to(ROOT).with_suffix(".lock")


def locked(path: Path) -> Lock:
    """Return what stands in a claim's lock; nothing where there is none."""
    place = lock_of(path)
    return Lock.parse(place.read_text() if place.is_file() else "")


def texts(path: Path) -> dict[str, str]:
    """Return a digest of every field and section of a claim that says what is claimed, or why."""
    return digests(path.read_text(), head(path))


def is_fresh(path: Path) -> bool:
    """Tell whether nothing that the proof speaks of changed since it was last read, nor the claim itself."""
    fields, lock, now = head(path), locked(path), reach(path).codes
    is_same = len(lock.codes) == len(now) and any(code == other for code, other in zip(lock.codes, now, strict=True))
    is_written = fields["code"] == " ".join(lock.codes) and fields["rests_on"] == _listed(rests_on(path))
    return is_same and is_written and lock.texts == texts(path) and not misstated(path)


def misstated(path: Path) -> list[str]:
    """Return which of `read_by` and `status` the record does not bear out: those who signed, and what that allows."""
    fields, lock = head(path), locked(path)
    allows = may_be_proved(fields) and all(head(other)["status"] == "proved" for other in _below(path))
    return [
        *(["read_by"] if fields["read_by"] != lock.read_by else []),
        *(["status"] if fields["status"] != "contrib" and not allows else []),
    ]


def _below(path: Path) -> list[Path]:
    """Claims that this one rests on."""
    names = rests_on(path)
    return [other for other in claims() if head(other)["claim"] in names]


def changes(path: Path) -> list[str]:
    """Return what changed since a claim was last read, a line for each definition, field or section."""
    lock = locked(path)
    own = [*compared_texts(lock.texts, texts(path)), *(f"text     {name}" for name in misstated(path))]
    return [*own, *compared(lock.definitions, reach(path).shapes)]


class RefusedError(Exception):
    """What the record of a reading must not say."""


def check_reason(because: str) -> None:
    """Refuse what says nothing."""
    if len(because.strip()) < SHORTEST_REASON or "\n" in because:
        raise RefusedError("Say in one line with --because what changed and why the proof still holds.")


def read_again(path: Path, because: str, others: int = 0) -> None:
    """Record that a proof was read against the code as it is, by the one who changed it, and what had changed."""
    check_reason(because)
    if is_fresh(path):
        raise RefusedError(f"{path.name}: nothing that its proof speaks of changed, so there is nothing to record.")
    place, now, before = SOURCE / path.relative_to(ROOT), reach(path), locked(path)
    since = [line for line in changes(path) if line.split()[0] not in ("names", "renamed")] if before.codes else [FIRST]
    together = f"{others} more" if others else "none"
    place.write_text(renewed(place.read_text(), " ".join(now.codes), rests_on(path)))
    lock = Lock(because.strip(), together, now.codes, tuple(since), (), texts(path), now.shapes)
    lock_of(path).write_text(lock.text())


def sign(path: Path, reader: str, because: str) -> None:
    """Record that somebody who did not write the code has read the proof against it, and what they tried to break."""
    check_reason(because)
    before = locked(path)
    if not is_fresh(path):
        raise RefusedError(f"{path.name}: it is stale. Whoever changed what it speaks of reads it first, with --read.")
    name = readers({"read_by": reader})
    if len(name) != 1 or name[0] in readers(head(path)):
        raise RefusedError(f"A reader must be one new NAME DATE, such as 'Ada Byron 2026-01-31', but it is {reader!r}.")
    lock = replace(before, signed=(*before.signed, f"{reader}: {because.strip()}"))
    place = SOURCE / path.relative_to(ROOT)
    place.write_text(re.sub("(?m)^read_by:.*$", f"read_by: {lock.read_by}", place.read_text(), count=1))
    lock_of(path).write_text(lock.text())


def write_names(path: Path) -> None:
    """Write the names that a fresh claim's definitions have now; who has read the proof stays as it is."""
    place, now = SOURCE / path.relative_to(ROOT), reach(path)
    place.write_text(re.sub("(?m)^code:.*$", f"code: {' '.join(now.codes)}", place.read_text(), count=1))
    lock_of(path).write_text(replace(locked(path), codes=now.codes, definitions=now.shapes).text())


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
    parser.add_argument("--sign", nargs=1, metavar="NAME", default=[])
    parser.add_argument("--reader", metavar="'NAME DATE'", default="")
    parser.add_argument("--because", default="", metavar="WHY")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args(arguments)
    for path in chosen(options.show):
        print(head(path)["claim"], *changes(path), sep="\n  ")
    to_read = chosen(options.read)
    for path in to_read:
        read_again(path, options.because, len(to_read) - 1)
        print("read", head(path)["claim"])
    for path in chosen(options.sign):
        sign(path, options.reader, options.because)
        print("signed", head(path)["claim"])
    for path in claims() if options.names else ():
        if is_fresh(path):
            write_names(path)
    if not (options.show or options.read or options.sign or options.names):
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
