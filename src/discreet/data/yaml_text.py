"""YAML and JSON as people write metadata: nothing repeated, nothing expanded, words kept as written."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

import yaml

from discreet.errors import MetadataError

MOST_CHARACTERS = 1 << 26
MOST_DEPTH = 50
"""Of lists and mappings in each other; metadata have 5."""


def parse_text(text: str, name: str = "metadata", subject: str = "Metadata") -> Any:
    """Return the value that a YAML or JSON text holds, whatever its schema.

    Cost: linear in the text's length, about 2 s for a megabyte. ``yes``, ``010``, ``12:30`` and ``2020-01-31`` stay
    text, so that ``levels: [yes, no]`` are the levels "yes" and "no".
    """
    if len(text) > MOST_CHARACTERS:
        raise MetadataError(
            f"{subject} must have at most {MOST_CHARACTERS} characters, but {name} has {len(text)}. "
            "Declare fewer columns."
        )
    try:
        if text.lstrip().startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(text, object_pairs_hook=_without_repeats)
        _check_events(text)
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader that refuses repeated keys
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", near line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        wrong = "that line" if mark else "it"
        raise MetadataError(
            f"{subject} must be YAML or JSON, but {name} is not{place}: {problem}. Correct {wrong}."
        ) from None


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return in which line of a YAML or JSON text each key stands, by its path; the text has been parsed before."""
    lines: dict[tuple[str, ...], int] = {}

    def walk(node: Any, path: tuple[str, ...]) -> None:
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            place = (*path, str(key.value))
            lines[place] = key.start_mark.line + 1
            walk(value, place)

    walk(yaml.compose(text, Loader=_Fast), ())
    return lines


def yaml_text(value: Any) -> str:
    """Return a value as YAML text that reads back exactly, keys in their order."""
    return yaml.dump(value, Dumper=_ExactDumper, sort_keys=False, allow_unicode=True, width=100)


class _ExactDumper(yaml.SafeDumper):
    """YAML that escapes whatever does not print: YAML reads the control character U+0085 as a newline."""

    def represent_str(self, data: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


_ExactDumper.add_representer(str, _ExactDumper.represent_str)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise yaml.constructor.ConstructorError(problem=f"the key {repeated!r} repeats")
    return value


_AS_WRITTEN = ("bool", "int", "float", "timestamp")
_SURE = re.compile(
    r"(?i:true|false)|[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?|[-+]?\.[0-9]+|[-+]?\.(?i:inf|nan)"
)


_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, which is ten times as quick; it comes with the library's wheels."""


def _check_events(text: str) -> None:
    """Refuse aliases, which grow, and depth, which would exhaust the C parser's stack, before a node is made."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=_Fast):
        mark = event.start_mark
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", mark)
        depth += isinstance(event, yaml.events.CollectionStartEvent) - isinstance(event, yaml.events.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"it is nested more than {MOST_DEPTH} deep", mark)


class _StrictLoader(_Fast):  # type: ignore[misc]
    """YAML without silently repeated keys, or words that are read as something else."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        guessed = kind is yaml.ScalarNode and implicit[0] and str(tag).rpartition(":")[2] in _AS_WRITTEN
        return "tag:yaml.org,2002:str" if guessed and not _SURE.fullmatch(value) else tag

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = set[Any]()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if isinstance(name, Hashable) and name in names:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} repeats", key.start_mark)
            names |= {name} if isinstance(name, Hashable) else set()
        return super().construct_mapping(node, deep)
