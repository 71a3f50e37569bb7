"""YAML and JSON as people write metadata: nothing repeated, nothing expanded, words kept as written."""

import contextlib
import json
import re
from typing import Any

import yaml

from discreet.errors import MetadataError


def parse_text(text: str, name: str = "metadata", what: str = "Metadata") -> Any:
    """Return the value that a YAML or JSON text holds, whatever its schema.

    Parameters
    ----------
    text : str
        YAML or JSON.
    name : str
        How messages call the text.
    what : str
        What the text holds, for messages.

    Returns
    -------
    Any
        Dictionaries, lists and scalars.

    Raises
    ------
    MetadataError
        When the text is neither, repeats a key or uses aliases.

    Notes
    -----
    Words are read as they are written: ``yes``, ``010``, ``12:30`` and ``2020-01-31`` are text, so that
    ``levels: [yes, no]`` are the levels "yes" and "no".
    """
    try:
        if text.lstrip().startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(text, object_pairs_hook=_without_repeats)
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader that refuses repeated keys
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" near line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise MetadataError(f"{what} must be YAML or JSON, but {name}{place}: {problem}.") from None


def yaml_text(value: Any) -> str:
    """Return a value as YAML text that reads back exactly.

    Parameters
    ----------
    value : Any
        Dictionaries, lists and scalars.

    Returns
    -------
    str
        YAML, keys in their order.
    """
    return yaml.dump(value, Dumper=_ExactDumper, sort_keys=False, allow_unicode=True, width=100)


class _ExactDumper(yaml.SafeDumper):
    """YAML that escapes whatever does not print: YAML reads the control character U+0085 as a newline."""

    def represent_str(self, data: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


_ExactDumper.add_representer(str, _ExactDumper.represent_str)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise yaml.constructor.ConstructorError(problem=f"the key {repeated!r} repeats")
    return value


_AS_WRITTEN = ("bool", "int", "float", "timestamp")
_SURE = re.compile(
    r"(?i:true|false)|[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?|[-+]?\.[0-9]+|[-+]?\.(?i:inf|nan)"
)


class _StrictLoader(yaml.SafeLoader):
    """YAML without aliases that grow, silently repeated keys, or words that are read as something else."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        guessed = kind is yaml.ScalarNode and implicit[0] and str(tag).rpartition(":")[2] in _AS_WRITTEN
        return "tag:yaml.org,2002:str" if guessed and not _SURE.fullmatch(value) else tag

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} repeats", node.start_mark)
        return super().construct_mapping(node, deep)
