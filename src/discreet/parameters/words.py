"""A parameter in words: what it may be, for errors; its type, for docstrings; all of it, for help pages."""

import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic.fields import FieldInfo

from discreet.digits import plain
from discreet.parameters.ranges import NEARLY_ZERO, SMALL, VAST, Between


class Alternative(NamedTuple):
    """One type that a parameter may have, with the limits of its numbers."""

    kind: Any
    limits: tuple[Any, ...]


def alternatives(hint: Any, limits: Iterable[Any] = ()) -> list[Alternative]:
    """Return the types that a parameter may have, but for None."""
    if get_origin(hint) is Annotated:
        inner = [part.metadata if isinstance(part, FieldInfo) else [part] for part in hint.__metadata__]
        return alternatives(get_args(hint)[0], (*limits, *(limit for part in inner for limit in part)))
    if get_origin(hint) in (Union, types.UnionType):
        return [each for part in get_args(hint) for each in alternatives(part, limits)]
    return [] if hint is type(None) else [Alternative(hint, tuple(limits))]


def allowed(field: FieldInfo) -> str:
    """Return what a parameter may be, after "must be"."""
    return _either([_allowed(each) for each in alternatives(field.annotation, field.metadata)])


def _allowed(each: Alternative, several: bool = False) -> str:
    if get_origin(each.kind) is Literal:
        return _either([str(word) for word in get_args(each.kind)])
    if get_origin(each.kind) is tuple:
        inner = _allowed(alternatives(get_args(each.kind)[0])[0], several=True)
        least = next((limit.min_length for limit in each.limits if isinstance(limit, MinLen)), 0)
        return f"{'lists' if several else 'a list'} of {f'{least} or more ' if least else ''}{inner}"
    if get_origin(each.kind) in (dict, Mapping):
        return "values by name"
    numbers = {int: "whole number", float: "number"}
    if each.kind in numbers:
        low, high = _ends(each.limits)
        if _or_zero(each.limits) and low < SMALL and (high is None or high > VAST):
            return f"a {numbers[each.kind]} of at least 0"
        zero = "" if several or not _or_zero(each.limits) else "0 or "
        return f"{zero}{'' if several else 'a '}{numbers[each.kind]}{'s' if several else ''}{_within(each.limits)}"
    named = {bool: "true or false", str: "names" if several else "a name"}
    return named.get(each.kind, "what its description says")


def _within(limits: Iterable[Any]) -> str:
    low, high = _ends(limits)
    if low is None:
        return ""
    if high is None or high > VAST:
        return " above 0" if 0 < low < NEARLY_ZERO else f" of at least {plain(low, 12)}"
    return f" in [{plain(low, 12)}, {plain(high, 12)}]"


def _ends(limits: Iterable[Any]) -> tuple[Any, Any]:
    low: Any = None
    high: Any = None
    for limit in limits:
        if isinstance(limit, Between):
            low, high = limit.low, limit.high
        low = limit.ge if isinstance(limit, Ge) else low
        high = limit.le if isinstance(limit, Le) else high
    return low, high


def _or_zero(limits: Iterable[Any]) -> bool:
    return any(isinstance(limit, Between) and limit.or_zero for limit in limits)


def type_name(field: FieldInfo) -> str:
    """Return the type of a parameter as numpydoc writes it."""
    return _either([_type_name(each.kind) for each in alternatives(field.annotation)], last=" or ")


def _type_name(kind: Any, several: str = "") -> str:
    inner = get_args(kind)
    if get_origin(kind) is Literal:
        words = ", ".join(f'"{word}"' for word in inner)
        return f"{{{words}}}" if len(inner) > 1 else words
    if get_origin(kind) is tuple:
        return f"sequence{several} of {_type_name(alternatives(inner[0])[0].kind, 's')}"
    if get_origin(kind) in (dict, Mapping):
        return f"dict of str to {_type_name(alternatives(inner[1])[0].kind)}"
    return "object" if kind is Any else getattr(kind, "__name__", "callable")


def help_of(fields: Mapping[str, FieldInfo], methods: Iterable[str], has_default: bool = True) -> str:
    """Return the help of a parameter: what is true of all these methods, then what is of some, by name."""
    common, others = _by_methods(fields, has_default)
    last = [sentence for sentence in common if sentence.startswith(("Allowed: ", "Default: "))]
    first = [sentence for sentence in common if sentence not in last]
    of_some = (f"{_either(names, ' and ')}: {' '.join(sentences)}" for names, sentences in others)
    parts = [*first, *of_some, *last] if not first else [*first, *last, *of_some]
    only = [] if len(fields) == len(tuple(methods)) else [f"For {_either(list(fields), ' and ')}."]
    return " ".join([*parts, *only]).replace("`", "")


def hint_of(fields: Mapping[str, FieldInfo]) -> str:
    """Return what is true of a parameter in all these methods."""
    return " ".join(_by_methods(fields, has_default=False)[0]).replace("`", "")


def _by_methods(
    fields: Mapping[str, FieldInfo], has_default: bool
) -> tuple[list[str], list[tuple[list[str], list[str]]]]:
    """The sentences that all methods share, and those of some with their names."""
    having: dict[str, list[str]] = {}
    for method, field in fields.items():
        default = _default(field) if has_default else []
        for sentence in [*_sentences(field.description or ""), *_limits(field), *default]:
            having.setdefault(sentence, []).append(method)
    others: list[tuple[list[str], list[str]]] = []
    for sentence, names in having.items():
        if len(names) < len(fields):
            same = next((sentences for methods, sentences in others if methods == names), None)
            if same is None:
                others.append((names, [sentence]))
            else:
                same.append(sentence)
    return [sentence for sentence, names in having.items() if len(names) == len(fields)], others


def _sentences(text: str) -> list[str]:
    return [f"{sentence.removesuffix('.')}." for sentence in text.split(". ") if sentence]


def _limits(field: FieldInfo) -> list[str]:
    """Which numbers and words a parameter may be."""
    numbers, words = [], list[str]()
    for each in alternatives(field.annotation, field.metadata):
        (low, high), or_zero = _ends(each.limits), _or_zero(each.limits)
        if each.kind in (int, float) and low is not None:
            numbers.append(_range(low, high, or_zero))
        elif get_origin(each.kind) is Literal:
            words += map(str, get_args(each.kind))
    stated = f"{numbers[0]}{f'; or {_either(words)}' if words else ''}" if numbers else _either(words)
    return [f"Allowed: {stated}."] if stated else []


def _range(low: float, high: float | None, or_zero: bool) -> str:
    """A range, without the ends that are there for the computer alone."""
    if low < -VAST:
        return "any number"
    is_open = not or_zero and 0 < low < NEARLY_ZERO
    least = "0" if or_zero and low < NEARLY_ZERO else f"{'0, or ' if or_zero else ''}{_short(low)}"
    if high is None or high > VAST:
        return "above 0" if is_open else f"{least} or more"
    return f"above 0, up to {_short(high)}" if is_open else f"{least} to {_short(high)}"


def _default(field: FieldInfo) -> list[str]:
    """The default, where the description does not tell it."""
    return (
        [f"Default: {_plain(field.default)}."] if isinstance(field.default, int | float | str) and field.default else []
    )


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else "yes" if value is True else _short(value)


def _short(number: float) -> str:
    return plain(number, 12).replace("e+", "e")


def _either(words: list[str], last: str = " or ") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}{last}{words[-1]}" if words else ""
