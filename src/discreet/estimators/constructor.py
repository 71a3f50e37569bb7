"""The constructor of an estimator and the section of its docstring, made from its parameters."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from discreet.parameters.by_method import parameters_of
from discreet.parameters.words import type_name

WITHOUT_NAME = ("public", "epsilon")
"""Parameters that may be given by their place: the first that an estimator has."""

LAST = ("random_state", "metadata")
WIDTH = 112


def constructor(kind: type[Any]) -> Callable[..., None]:
    """Return a constructor that only stores parameters, with the signature that scikit-learn reads.

    Parameters
    ----------
    kind : type
        The estimator.

    Returns
    -------
    callable
        Its ``__init__``.
    """
    place = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    options = [
        inspect.Parameter(
            name,
            place.kind if index == 0 and name in WITHOUT_NAME else inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
        )
        for index, (name, field) in enumerate(_ordered(kind))
    ]
    signature = inspect.Signature([place, *options], return_annotation=None)

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *values, **named)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__, __init__.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    return __init__


def documented(text: str, kind: type[Any]) -> str:
    """Return a docstring with the section of parameters before that of attributes.

    Parameters
    ----------
    text : str
        The docstring.
    kind : type
        The estimator.

    Returns
    -------
    str
        The same without a section of attributes.
    """
    lines = ["    Parameters", "    ----------"]
    for name, field in _ordered(kind):
        lines.append(f"    {name} : {type_name(field)}, default={field.default!r}")
        lines += textwrap.wrap(field.description or "", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    section = "\n".join(lines)
    return text.replace("    Attributes\n    ------", f"{section}\n\n    Attributes\n    ------", 1)


def _ordered(kind: type[Any]) -> list[tuple[str, Any]]:
    """Those that may be given by their place first, what all estimators have last."""
    fields = parameters_of(kind)
    ordered = sorted(fields, key=lambda name: (name in LAST) - 2 * (name == "public"))
    return [(name, fields[name]) for name in ordered]
