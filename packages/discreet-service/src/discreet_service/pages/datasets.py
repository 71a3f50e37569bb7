"""Data sets: what is public about them, what is left of their budgets, and how curators register and fund them."""

from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError
from discreet_service.access.roles import READERS, Role
from discreet_service.clock import now
from discreet_service.pages.budgets import MOST_DRAWN, budget_of, timeline
from discreet_service.pages.forms import Form, validated
from discreet_service.pages.home import with_budgets
from discreet_service.pages.visit import Visit, redirect, signed_in
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn, DatasetOut, Place, Source
from discreet_service.use_cases import datasets, people, permissions

router = APIRouter()

Reader = Annotated[Visit, signed_in(*READERS)]
Curator = Annotated[Visit, signed_in(Role.CURATOR)]

ENTRIES = 100
MOST_COLUMNS = 500
"""A page lists at most so many columns of a table."""


@router.get("/datasets")
def list_datasets(visit: Reader) -> Response:
    """List the data sets that are open."""
    return visit.page("datasets", datasets=with_budgets(visit))


@router.get("/datasets/{name}")
def show_dataset(visit: Reader, name: str) -> Response:
    """Show a data set: metadata, budget, and what the ledger says."""
    return visit.page("dataset", **_facts(visit, name))


@router.get("/register")
def show_register(visit: Curator) -> Response:
    """Show the form that registers a data set."""
    return visit.page("register", **_registration(visit, Form(), None))


@router.post("/register")
def register(visit: Curator) -> Response:
    """Register a data set; no private table is opened."""
    try:
        registered = datasets.register(visit.context, visit.who, _dataset_in(visit.form))
    except DiscreetError as error:
        return _refused(visit, error, None)
    return redirect(f"/datasets/{registered.name}", said="registered")


@router.get("/datasets/{name}/version")
def show_version(visit: Curator, name: str) -> Response:
    """Show the form that registers a further version, filled in with the newest."""
    dataset = _dataset_out(visit, name)
    return visit.page("register", **_registration(visit, _form_of(dataset), dataset))


@router.post("/datasets/{name}/version")
def add_version(visit: Curator, name: str) -> Response:
    """Register a further version: earlier ones stay, the budget is the same."""
    dataset = _dataset_out(visit, name)
    try:
        datasets.register(visit.context, visit.who, _dataset_in(visit.form), name)
    except DiscreetError as error:
        return _refused(visit, error, dataset)
    return redirect(f"/datasets/{name}", said="version")


@router.get("/datasets/{name}/cap")
def show_cap(visit: Curator, name: str) -> Response:
    """Show the form that sets a cap."""
    return visit.page("cap", **_cap_facts(visit, name), cap=None)


@router.post("/datasets/{name}/cap")
def set_cap(visit: Curator, name: str) -> Response:
    """Say what a cap means, and set it when that was confirmed."""
    facts, form = _cap_facts(visit, name), visit.form
    try:
        fields = {key: form.get(key) for key in ("epsilon", "delta", "accounting")}
        cap = validated(CapIn, **fields)
        if "confirmed" not in form:
            return visit.page("cap", **facts, cap=cap)
        datasets.grant(visit.context, visit.who, name, cap)
    except DiscreetError as error:
        return visit.page_with_error(error, "cap", **facts, cap=None)
    return redirect(f"/datasets/{name}", said="granted")


@router.post("/datasets/{name}/allotments")
def allot(visit: Curator, name: str) -> Response:
    """Set what a project may spend of the cap."""
    form = visit.form
    try:
        if not form.get("project"):
            raise InvalidParameterError("A project must be chosen, but none is. Make one on the page Projects.")
        part = validated(AllotmentIn, epsilon=form.get("epsilon"), delta=form.get("delta") or _kept_delta(visit, name))
        datasets.allot(visit.context, visit.who, name, form.get("project"), part)
    except DiscreetError as error:
        return visit.page_with_error(error, "dataset", **_facts(visit, name))
    return redirect(f"/datasets/{name}", said="allotted")


def _kept_delta(visit: Visit, name: str) -> float:
    """The delta of an allotment whose field is left empty: as it is, 0 for a new one."""
    budget = budget_of(visit, name)
    parts = () if budget is None else budget.allotments
    return next((part.delta_cap for part in parts if part.project == visit.form.get("project")), 0.0)


def _dataset_out(visit: Visit, name: str) -> DatasetOut:
    return datasets.dataset_out(permissions.open_dataset(visit.context, visit.who, name), visit.who)


def _facts(visit: Visit, name: str) -> dict[str, Any]:
    dataset, budget = _dataset_out(visit, name), budget_of(visit, name)
    entries = datasets.history(visit.context, visit.who, name, limit=MOST_DRAWN)
    columns = list(dataset.metadata["columns"].items())
    return {
        "dataset": dataset,
        "columns": columns[:MOST_COLUMNS],
        "n_unlisted": len(columns[MOST_COLUMNS:]),
        "budget": budget,
        "entries": entries[:ENTRIES],
        "meanings": workflow.MEANINGS,
        "outcomes": workflow.OUTCOMES,
        "timeline": None if budget is None else timeline(budget, entries, now()),
        "projects": people.projects(visit.context, visit.who),
        "form": visit.form,
    }


def _cap_facts(visit: Visit, name: str) -> dict[str, Any]:
    budget, form = budget_of(visit, name), visit.form
    if budget is not None and not form.values:
        form = Form({"epsilon": (_exactly(budget.epsilon_cap),), "delta": (_exactly(budget.delta_cap),)})
    return {"dataset": _dataset_out(visit, name), "budget": budget, "form": form}


def _exactly(value: float) -> str:
    """A number for a field: all its digits, no exponent."""
    return f"{Decimal(repr(value)):f}"


def _registration(visit: Visit, form: Form, dataset: DatasetOut | None) -> dict[str, Any]:
    settings = visit.context.settings
    roots = {"private": sorted(settings.private), "public": sorted(settings.public)}
    return {"dataset": dataset, "form": form, "roots": roots, "slot_s": settings.slot_s, "findings": []}


def _refused(visit: Visit, error: DiscreetError, dataset: DatasetOut | None) -> Response:
    """Return the form again with what is wrong: of metadata all of it."""
    facts = _registration(visit, visit.form, dataset)
    try:
        metadata, findings = workflow.check_metadata_text(_metadata_text(visit.form))
    except DiscreetError:  # such as text that is no YAML, which the error says
        return visit.page_with_error(error, "register", **facts)
    if metadata is not None or not findings:
        return visit.page_with_error(error, "register", **facts)
    count = "1 error" if len(findings) == 1 else f"{len(findings)} errors"
    problem = f"The metadata have {count}. Correct what is listed here, then register again."
    return visit.page("register", 422, **facts | {"findings": findings, "problem": problem})


def _metadata_text(form: Form) -> str:
    return form.get("file") or form.get("metadata")


def _dataset_in(form: Form) -> DatasetIn:
    text = _metadata_text(form)
    if not text:
        raise InvalidParameterError("Metadata must be given, as a file or as text, but both are empty.")
    metadata = workflow.Metadata.from_text(text).to_dict()
    places = {kind: _place(form, kind) for kind in ("data", "targets", "public")}
    if places["data"] is None:
        raise InvalidParameterError("The path of the private table must be given, but it is empty.")
    return validated(DatasetIn, metadata=metadata, source=validated(Source, **places), slot_s=form.get("slot_s"))


def _place(form: Form, kind: str) -> Place | None:
    path = form.get(f"{kind}_path")
    if not path:
        return None
    return validated(Place, root=form.get(f"{kind}_root"), path=path, table=form.get(f"{kind}_table"))


def _form_of(dataset: DatasetOut) -> Form:
    values = {"metadata": workflow.Metadata.from_value(dataset.metadata).to_yaml(), "slot_s": str(dataset.slot_s)}
    for kind in ("data", "targets", "public"):
        place = None if dataset.source is None else getattr(dataset.source, kind)
        if place is not None:
            values |= {f"{kind}_{name}": getattr(place, name) or "" for name in ("root", "path", "table")}
    return Form({name: (value,) for name, value in values.items()})
