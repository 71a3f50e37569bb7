"""The form of a plan: from its fields to a request, and back from a request to its fields."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from discreet.errors import InvalidParameterError
from discreet_service.client.requests import NO_PURPOSE
from discreet_service.pages.forms import Form, validated
from discreet_service.pages.method_choices import APPLIES, METHODS, OF_SELECTION, takes
from discreet_service.schemas import OutlookIn, PlanIn, RequestIn
from discreet_service.use_cases.priced_requests import NEED_PUBLIC_TABLE

SELECTIONS = tuple(choice.name for choice in METHODS[0][1])

MOST_TICKED = 80
"""Up to so many columns are offered as boxes; of more, names are typed."""


def plan_in(form: Form) -> PlanIn:
    """Return the plan that a form describes, as the API takes it."""
    return validated(PlanIn, **_plan(form))


def request_in(form: Form) -> RequestIn:
    """Return the request that a form describes, as the API takes it."""
    if not form.get("purpose"):
        raise InvalidParameterError(NO_PURPOSE)
    return validated(RequestIn, **_plan(form), project=form.get("project"), purpose=form.get("purpose"))


def outlook_in(form: Form) -> OutlookIn:
    """Return the question of how well the request in a form can be expected to do."""
    supposed = {name: form.get(name) for name in ("n_rows", "r_squared", "n_true")}
    return validated(OutlookIn, **_plan(form), **supposed)


def command_of(plan: PlanIn, purpose: str) -> str | None:
    """Return the command that makes the same request; None for a plan of several steps, which needs a file."""
    if plan.method == "run":
        return None
    is_fit, is_hybrid = plan.method in ("linear", "logistic", "poisson"), plan.method in NEED_PUBLIC_TABLE
    words = ["discreet", "remote", "fit" if is_fit else "hybrid" if is_hybrid else "select", plan.dataset]
    words += ["--target", plan.target]
    if plan.candidates is not None:
        words += ["--columns" if is_fit else "--candidates", ",".join(plan.candidates)]
    words += ["--family" if is_fit else "--method", plan.method]
    for name, value in plan.parameters.items():
        words += [f"--{name}", _text(value)] if name in ("epsilon", "delta") else ["--set", f"{name}={_text(value)}"]
    return shlex.join([*words, "--purpose", purpose or "what the answer is for"])


def candidates_of(form: Form) -> list[str] | None:
    """Return the ticked or typed candidates of a form without the target; None for all that are declared."""
    if "typed" in form:
        names = list(dict.fromkeys(line.strip() for line in form.get("typed").split("\n") if line.strip()))
        return names or None
    return [name for name in form.every("candidates") if name != form.get("target")]


def selection_of(form: Form) -> dict[str, Any]:
    """Return method and parameters of the selection that a form asks for; nothing where it asks for none."""
    if form.get("parameters"):  # of a picture's address
        return {"method": form.get("method"), "parameters": _more(form.get("parameters"))}
    method, parameters = form.get("method"), _parameters(form)
    if method == "run":
        steps = dict(parameters["select"])
        method, parameters = steps.pop("method"), {"epsilon": parameters["epsilon"]} | steps
    return {"method": method, "parameters": parameters} if method in SELECTIONS else {}


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
    texts = {name: form.get(name) for name, methods in APPLIES.items() if method in methods and form.get(name)}
    parameters: dict[str, Any] = {"epsilon": _number("epsilon", form.get("epsilon"))}
    if method == "run":
        parameters["select"] = {"method": texts.pop("selection", "pcls")}
        parameters["fit"] = {"family": texts.pop("family", "linear")}
    for name, text in texts.items():
        is_of_selection = method == "run" and name in OF_SELECTION
        if is_of_selection and not takes(parameters["select"]["method"], name):
            continue
        (parameters["select"] if is_of_selection else parameters)[name] = (
            "private" if text == "private" else _number(name, text)
        )
    for name, value in _more(form.get("more")).items():
        are_dicts = isinstance(value, dict) and isinstance(parameters.get(name), dict)
        parameters[name] = {**parameters[name], **value} if are_dicts else value
    return parameters


def _number(name: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or abs(value) == float("inf"):
        raise InvalidParameterError(
            f"{name} must be a number, but {name}={text[:40]!r}. Write one such as 0.5 or 0.000001."
        )
    return int(text) if text.isascii() and text.isdigit() else value


def _more(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidParameterError(
            'Further parameters must be a JSON object, but they are not. Write {"y_center": 5}, or leave them out.'
        )
    return value


def _refuse(_: str) -> None:
    raise ValueError


def form_of(content: Mapping[str, Any]) -> Form:
    """Return a form that describes the same request."""
    method, rest = content["method"], dict(content["parameters"])
    fields = {name: str(content[name]) for name in ("dataset", "project", "method", "target", "purpose")}
    fields["epsilon"] = _text(rest.pop("epsilon", ""))
    if method == "run":
        select, fit = dict(rest.pop("select", None) or {}), dict(rest.pop("fit", None) or {})
        fields |= {"selection": str(select.pop("method", "pcls")), "family": str(fit.pop("family", "linear"))}
        fields |= {
            name: _text(select.pop(name)) for name in OF_SELECTION if isinstance(select.get(name), int | float | str)
        }
        rest |= {name: step for name, step in (("select", select), ("fit", fit)) if step}
    for name, methods in APPLIES.items():
        if method in methods and isinstance(rest.get(name), int | float | str):
            fields[name] = _text(rest.pop(name))
    if rest:
        fields["more"] = json_text(rest)
    values = {name: (value,) for name, value in fields.items()}
    names = tuple(content["candidates"] or ())
    return Form(values | ({"candidates": names, "typed_names": ("\n".join(names),)} if names else {}))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
