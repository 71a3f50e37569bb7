"""The plan builder: what a request would cost, while it is being put together, from public facts alone."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from discreet import workflow
from discreet.errors import DiscreetError
from discreet_service.access.roles import Role
from discreet_service.call_limits import simulations
from discreet_service.pages import plan_form
from discreet_service.pages.budgets import budget_of, remaining_budget
from discreet_service.pages.forms import Form, query_form, validated
from discreet_service.pages.home import with_budgets
from discreet_service.pages.method_choices import APPLIES, HINTS, METHODS
from discreet_service.pages.odds import Odds, odds_of
from discreet_service.pages.outlook_text import outlook_text
from discreet_service.pages.visit import Visit, signed_in
from discreet_service.problems import public_message
from discreet_service.schemas import ExpectIn
from discreet_service.use_cases import datasets, outlooks, people, permissions, plans

router = APIRouter()

Analyst = Annotated[Visit, signed_in(Role.ANALYST)]

QUICK_TABLES = 16
"""For each figure, at first; finer ones follow while the page is looked at."""

DEFAULTS = {"method": "pcls", "epsilon": "1"}


@router.get("/plan")
@simulations
def show_plan(visit: Analyst, request: Request) -> Response:
    """Show the form, filled in with what the address says."""
    form = query_form(request)
    if not form.get("dataset"):
        return visit.page("plan_start", datasets=with_budgets(visit))
    return plan_page(visit, form)


@router.post("/plan")
@simulations
def check_plan(visit: Analyst) -> Response:
    """Show what the form costs, or what to expect of it: what scripts do while one types."""
    return plan_page(visit, visit.form, revises=visit.form.get("revises"), tells_outlook=True)


@router.post("/plan/cost")
def show_cost(visit: Analyst) -> Response:
    """Show what the form costs, as a part of its page."""
    cost = _cost(visit, visit.form)
    return visit.page("part_cost", 422 if cost["error"] else 200, cost=cost)


@router.post("/plan/outlook")
@simulations
def show_outlook(visit: Analyst) -> Response:
    """Show how well the request in the form can be expected to do, and its worst-case odds, as a part of its page."""
    outlook = outlook_facts(visit, visit.form)
    return visit.page("part_outlook", 422 if outlook["error"] else 200, outlook=outlook)


@router.post("/plan/accuracy")
@simulations
def show_accuracy(visit: Analyst) -> Response:
    """Show what to expect of the form's question, as a part of its page."""
    accuracy = _accuracy(visit, visit.form)
    return visit.page("part_accuracy", 422 if accuracy["error"] else 200, accuracy=accuracy)


@router.get("/plan/accuracy.svg")
@simulations
def draw_accuracy(visit: Analyst, request: Request) -> Response:
    """Draw the accuracy that can be expected, against epsilon."""
    _, expectation = plans.expect(visit.context, visit.who, _question(query_form(request)))
    return Response(workflow.accuracy_picture(expectation), media_type="image/svg+xml")


def plan_page(
    visit: Visit, form: Form, error: DiscreetError | None = None, revises: str = "", *, tells_outlook: bool = False
) -> Response:
    """Return the page of a plan with its cost; 404 when the data set is not open."""
    visit.context.outlooks.start()
    dataset = datasets.dataset_out(permissions.open_dataset(visit.context, visit.who, form.get("dataset")), visit.who)
    columns = dataset.metadata["columns"]
    projects = _projects(visit, dataset.name)
    form = _with_defaults(form, dataset.metadata, projects)
    facts: dict[str, Any] = {
        "dataset": dataset,
        "columns": columns,
        "are_ticked": _are_ticked(dataset.metadata),
        "ticked": form.every("candidates"),
        "methods": METHODS,
        "applies": APPLIES,
        "hints": HINTS,
        "projects": projects,
        "form": form,
        "nonce": form.get("nonce") or workflow.token(15),
        "revises": revises,
        "cost": _cost(visit, form),
        "outlook": outlook_facts(visit, form) if tells_outlook else None,
        "accuracy": _accuracy(visit, form) if form.get("show") == "accuracy" else None,
    }
    return visit.page("plan", **facts) if error is None else visit.page_with_error(error, "plan", **facts)


def _are_ticked(metadata: dict[str, Any]) -> bool:
    return len(metadata["columns"]) <= plan_form.MOST_TICKED and metadata.get("features") is None


def _projects(visit: Visit, dataset: str) -> list[str]:
    """Return one's own projects that have an allotment, or else all of one's own."""
    budget = budget_of(visit, dataset)
    allotted = [] if budget is None else [allotment.project for allotment in budget.allotments]
    return allotted or people.me(visit.context, visit.who).projects


def _with_defaults(form: Form, metadata: dict[str, Any], projects: list[str]) -> Form:
    """Fill in the defaults of fields that were not sent, and all columns that can be used."""
    values = {name: (value,) for name, value in DEFAULTS.items()} | dict(form.values)
    usable = [name for name, column in metadata["columns"].items() if is_usable(column)]
    values.setdefault("project", tuple(projects[:1]))
    if not _are_ticked(metadata):
        values.setdefault("typed", values.get("typed_names", ("\n".join(form.every("candidates")),)))
    elif "sent" not in form and "candidates" not in form:
        values["candidates"] = tuple(usable)
    return Form(values)


def is_usable(column: dict[str, Any]) -> bool:
    """Tell whether a column has what a method needs: levels, both bounds, or private bounds."""
    bounds = column.get("lower") is not None and column.get("upper") is not None
    return bool(column.get("levels")) or bounds or column.get("bounds") == "private"


def _cost(visit: Visit, form: Form) -> dict[str, Any]:
    if not form.get("target"):
        return {"error": None, "is_early": True}
    try:
        plan = plans.plan(visit.context, visit.who, plan_form.plan_in(form))
    except DiscreetError as error:
        return {"error": str(error), "is_early": False}
    remaining = remaining_budget(visit, form.get("dataset"), form.get("project"))
    return {"error": None, "is_early": False, "plan": plan, "remaining": remaining, "project": form.get("project")}


def outlook_facts(visit: Visit, form: Form) -> dict[str, Any]:
    """Return expected accuracy and worst-case odds of the request in a form."""
    facts: dict[str, Any] = {"error": None, "is_early": not form.get("target"), "odds": None, "command": None}
    if facts["is_early"]:
        return facts
    try:
        body = plan_form.outlook_in(form)
        facts["odds"] = odds_in(visit, body.dataset, plans.plan(visit.context, visit.who, plan_form.plan_in(form)))
        facts["command"] = plan_form.command_of(body, form.get("purpose"))
        outlook = outlooks.outlook(visit.context, visit.who, body)
    except DiscreetError as error:
        return {**facts, "error": public_message(error)}
    return {**facts, "text": outlook_text(outlook, float(str(body.parameters["epsilon"])), body.target)}


def odds_in(visit: Visit, dataset: str, plan: dict[str, Any]) -> Odds | None:
    """Return the worst-case odds of a plan."""
    metadata = permissions.open_dataset(visit.context, visit.who, dataset).metadata
    cost = plan["cost"]
    facts = cost["epsilon"], cost["delta"], metadata["unit"], metadata["neighboring"]
    return odds_of(*facts, budget_of(visit, dataset))


def _question(form: Form) -> ExpectIn:
    """The question of a form: its own request first; quickly from few tables, or finer where that is asked."""
    fields = {"dataset": form.get("dataset"), "target": form.get("target"), "delta": form.get("delta")}
    few = {} if form.get("finer") else {"n_tables": QUICK_TABLES}
    asked = plan_form.selection_of(form)
    return validated(ExpectIn, **fields, **few, **asked, candidates=plan_form.candidates_of(form))


def _accuracy(visit: Visit, form: Form) -> dict[str, Any]:
    try:
        body = _question(form)
        question, expectation = plans.expect(visit.context, visit.who, body)
    except DiscreetError as error:
        return {"error": str(error)}
    record = expectation.record(question)
    query = [("dataset", body.dataset), ("target", body.target), ("delta", str(body.delta))]
    query += [("candidates", name) for name in body.candidates or ()]
    query += [] if body.method is None else [("method", body.method), ("parameters", json.dumps(body.parameters))]
    query += [("finer", "yes")] if body.n_tables is None else []
    return {
        "error": None,
        "record": record,
        "rows": expectation.rows,
        "query": query,
        "sentences": workflow.recommended_sentences(expectation),
        "may_be_finer": body.n_tables is not None,
    }
