"""Options of a command, made from the fields of its methods: name, range, default and help."""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from discreet.cli.options import names, number_or_word
from discreet.errors import InvalidParameterError
from discreet.parameters.by_method import fields_by_method
from discreet.parameters.words import alternatives, help_of

SPELLED = {
    "n_features_to_select": ("--n-features", "-k"),
    "fit_intercept": ("--intercept/--no-intercept",),
    "robust": ("--robust/--no-robust",),
    "noise_test": ("--noise-test/--no-noise-test",),
    "groups": ("--group",),
    "codes": ("--code",),
    "shares": ("--share",),
    "n_points": ("--points",),
}
"""Options that are not called as their parameters are."""

NO_OPTION = ("design_moments", "public_moments")
"""Parameters that no option can hold: they are given by --set."""

Question = Callable[..., Any]


def taking(*methods: str, needed: tuple[str, ...] = (), **defaults: Any) -> Callable[[Question], Question]:
    """Give a question the options of all parameters of some methods; it gets those that were given as `parameters`.

    Decorates the question. Parameters that it names itself stay its own.
    """

    def decorate(question: Question) -> Question:
        own = dict(inspect.signature(question, eval_str=True).parameters)
        fields = {
            name: field
            for name, field in fields_by_method(methods).items()
            if name not in own and name not in NO_OPTION
        }
        forms = {name: _form(name, field) for name, field in fields.items()}

        def asked(**values: Any) -> Any:
            texts = {name: values.pop(name) for name in forms}
            read = {name: forms[name].read(text) for name, text in texts.items() if text is not None}
            return question(**values, parameters={name: value for name, value in read.items() if value is not None})

        options = []
        for name, field in fields.items():
            text = help_of(field, methods, has_default=name not in (*needed, *defaults))
            default = inspect.Parameter.empty if name in needed else defaults.get(name)
            options.append(_option(name, forms[name], text, default))
        place = list(own).index("parameters")
        others = [option for name, option in own.items() if name != "parameters"]
        every = [option.replace(kind=option.KEYWORD_ONLY) for option in (*others[:place], *options, *others[place:])]
        asked.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        return asked

    return decorate


def parameter_help(name: str, *methods: str) -> str:
    """Return what help says of a parameter of these methods."""
    return help_of(fields_by_method(methods)[name], methods)


def other_parameters(texts: list[str] | None) -> dict[str, Any]:
    """Parameters by name: JSON where it is JSON, else text."""
    named: dict[str, Any] = {}
    for name, value in _pairs(texts or [], "--set NAME=VALUE, such as y_quantile=0.9"):
        try:
            named[name] = json.loads(value)
        except ValueError:
            named[name] = value
    return named


class _Form(NamedTuple):
    """What a command line holds for a parameter: its type, how help writes it, how it is read."""

    kind: Any
    written: str
    read: Callable[[Any], Any]


def _form(name: str, fields: Mapping[str, FieldInfo]) -> _Form:
    kinds = {each.kind: None for field in fields.values() for each in alternatives(field.annotation)}
    kind = next(iter(kinds))
    if get_origin(kind) is Mapping:
        has_words = any(get_origin(each) is Literal for each in kinds)
        written = "A word, or NAME=NUMBER (may be repeated): " if has_words else "NAME=NUMBER (may be repeated): "
        return _Form(list[str], written, partial(_named_numbers, _spelled(name)[0], has_words=has_words))
    if get_origin(kind) is tuple:
        inner = alternatives(get_args(kind)[0])[0].kind
        if inner is str:
            return _Form(list[str], "COL,COL: ", names)
        if inner in (int, float):
            return _Form(str, "N,N: ", lambda text: tuple(map(number_or_word, text.split(","))))
        return _Form(
            list[str], "COL,COL (may be repeated): ", lambda texts: tuple(names([text]) or () for text in texts)
        )
    if len(kinds) == 1 and kind in (bool, int, float):
        return _Form(kind, "", lambda value: value)
    return _Form(str, "", number_or_word if {int, float} & kinds.keys() else lambda text: text)


def _option(name: str, form: _Form, text: str, default: Any) -> inspect.Parameter:
    """The option of a parameter; one that is not given leaves the method its default."""
    option = typer.Option(*_spelled(name), help=form.written + text)
    hint = Annotated[form.kind if default is inspect.Parameter.empty else form.kind | None, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _spelled(name: str) -> tuple[str, ...]:
    return SPELLED.get(name, (f"--{name.replace('_', '-')}",))


def _named_numbers(option: str, texts: list[str], has_words: bool = False) -> dict[str, Any] | str | None:
    """Numbers by name: parts of epsilon by step, or codes by level. A single word stays one where there are words."""
    if has_words and len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    return {name: number_or_word(value) for name, value in _pairs(texts, f"{option} NAME=NUMBER")} or None


def _pairs(texts: list[str], form: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts]
    if not all(name and sign for name, sign, _ in pairs):
        raise InvalidParameterError(f"An option of several must have the form {form}.")
    return [(name.strip(), value.strip()) for name, _, value in pairs]
