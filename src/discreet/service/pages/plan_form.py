"""The form of a plan: from its fields to a request, and back from a request to its fields."""

import json
from collections.abc import Mapping
from typing import Any

from discreet.errors import InvalidParameterError
from discreet.service.pages.forms import Form, filled
from discreet.service.pages.method_choices import APPLIES
from discreet.service.schemas import PlanIn, RequestIn

MOST_TICKED = 80
"""Columns that are offered as boxes; of more, names are typed."""


_OF_SELECTION = ("l1_radius", "max_size")


def plan_in(form: Form) -> PlanIn:
    """Return the plan that a form describes.

    As the API takes it.
    """
    return filled(PlanIn, **_plan(form))


def request_in(form: Form) -> RequestIn:
    """Return the request that a form describes.

    As the API takes it.
    """
    return filled(RequestIn, **_plan(form), project=form.get("project"), purpose=form.get("purpose"))


def candidates_of(form: Form) -> list[str] | None:
    """Return the candidates of a form: boxes that are ticked, or names that are typed.

    Never the target; None when the names are left to the metadata.
    """
    if "typed" in form:
        names = list(dict.fromkeys(line.strip() for line in form.get("typed").split("\n") if line.strip()))
        return names or None
    return [name for name in form.every("candidates") if name != form.get("target")]


def _plan(form: Form) -> dict[str, Any]:
    return {
        "dataset": form.get("dataset"),
        "method": form.get("method"),
        "target": form.get("target"),
        "candidates": candidates_of(form),
        "parameters": _parameters(form),
    }


def _parameters(form: Form) -> dict[str, Any]:
    method = form.get("method")
    given = {name: form.get(name) for name, of in APPLIES.items() if method in of and form.get(name)}
    found: dict[str, Any] = {"epsilon": _number("epsilon", form.get("epsilon"))}
    if method == "run":
        found["select"] = {"method": given.pop("selection", "pcls")}
        found["fit"] = {"family": given.pop("family", "linear")}
    for name, text in given.items():
        of_selection = method == "run" and name in _OF_SELECTION
        if of_selection and name == "l1_radius" and found["select"]["method"] == "moments":
            continue
        (found["select"] if of_selection else found)[name] = "private" if text == "private" else _number(name, text)
    for name, value in _more(form.get("more")).items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **value} if both else value
    return found


def _number(name: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or abs(value) == float("inf"):
        raise InvalidParameterError(
            f"{name} must be a number, but {name}={text[:40]!r}. Write one such as 0.5 or 1e-6."
        )
    return int(text) if text.isascii() and text.isdigit() else value


def _more(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidParameterError(
            'Further parameters must be a JSON object, but they are not. Write {"y_center": 5}, or leave them out.'
        )
    return found


def _refuse(_: str) -> None:
    raise ValueError


def form_of(content: Mapping[str, Any]) -> Form:
    """Return the form that a request was made with, or one like it.

    Which describes the same request.
    """
    method, rest = content["method"], dict(content["parameters"])
    found = {name: str(content[name]) for name in ("dataset", "project", "method", "target", "purpose")}
    found["epsilon"] = _text(rest.pop("epsilon", ""))
    if method == "run":
        select, fit = dict(rest.pop("select", None) or {}), dict(rest.pop("fit", None) or {})
        found |= {"selection": str(select.pop("method", "pcls")), "family": str(fit.pop("family", "linear"))}
        found |= {
            name: _text(select.pop(name)) for name in _OF_SELECTION if isinstance(select.get(name), int | float | str)
        }
        rest |= {name: step for name, step in (("select", select), ("fit", fit)) if step}
    for name, of in APPLIES.items():
        if method in of and isinstance(rest.get(name), int | float | str):
            found[name] = _text(rest.pop(name))
    if rest:
        found["more"] = json_text(rest)
    values = {name: (value,) for name, value in found.items()}
    names = tuple(content["candidates"] or ())
    return Form(values | ({"candidates": names, "typed_names": ("\n".join(names),)} if names else {}))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def json_text(value: Any) -> str:
    """Return a value as JSON that people can read.

    Lines, keys in their order.
    """
    return json.dumps(value, indent=2, ensure_ascii=False)
