"""The bodies of calls and responses, as the OpenAPI description has them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from discreet import workflow
from discreet_service.access.roles import Role
from discreet_service.client.requests import NO_PURPOSE
from discreet_service.fields import (
    Amount,
    Cap,
    Column,
    Delta,
    Digest,
    FreeForm,
    Line,
    MethodName,
    Name,
    Prose,
    State,
    plain,
)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(_Body):
    """Where a table lies, in a folder or database that the service's owner named."""

    root: Annotated[
        str, Field(pattern=r"^[a-z0-9_-]{1,40}$", description="name of a folder or database in the service file")
    ]
    path: Annotated[str, Field(min_length=1, max_length=300, description="relative to it; schema.table in a database")]
    table: Annotated[Line | None, Field(description="of a database file")] = None


class Source(_Body):
    """Where the tables of a data set lie."""

    data: Place
    targets: Annotated[Place | None, Field(description="of a table with a value a row: a row for each person")] = None
    public: Annotated[Place | None, Field(description="the public table that the metadata declare")] = None


class DatasetIn(_Body):
    """A data set to be registered, or a further version of it."""

    metadata: Annotated[dict[str, JsonValue], AfterValidator(plain), Field(description="schema discreet/metadata@1")]
    source: Source
    slot_s: Annotated[int | None, Field(ge=1, le=86_400, description="length of a request's slot, seconds")] = None


class DatasetOut(_Body):
    """A data set as it is shown."""

    name: str
    version: int
    metadata: dict[str, Any]
    metadata_sha256: Digest
    slot_s: int
    created: str
    by: str
    source: Annotated[Source | None, Field(description="for curators alone")] = None


class CapIn(_Body):
    """A lifetime cap."""

    epsilon: Cap
    delta: Delta = 0.0
    accounting: Literal["basic", "zcdp"] | None = None


class AllotmentIn(_Body):
    """What a project may spend of a cap."""

    epsilon: Cap
    delta: Delta = 0.0


class AllotmentOut(_Body):
    """What a project may spend of a data set, and has spent."""

    project: str
    epsilon_cap: float
    epsilon_spent: float
    epsilon_left: float
    delta_cap: float
    delta_spent: float


class BudgetOut(_Body):
    """What a data set may spend in its lifetime, and has spent."""

    dataset: str
    unit: str | None
    neighboring: str | None
    accounting: str
    epsilon_cap: float
    epsilon_spent: float
    epsilon_left: float
    delta_cap: float
    delta_spent: float
    rho_cap: float
    rho_spent: float
    n_releases: int
    allotments: list[AllotmentOut]


class EntryOut(_Body):
    """One line of the ledger."""

    seq: int
    time: str
    kind: str
    dataset: str
    project: str | None
    reservation: int | None
    epsilon: float
    delta: float
    rho: float | None
    state: str | None
    facts: Annotated[dict[str, Any] | None, Field(description="for curators and auditors alone")] = None
    hash: str


class PlanIn(_Body):
    """A question about what a request would cost."""

    dataset: Name
    method: MethodName
    target: Column
    candidates: Annotated[list[Column] | None, Field(max_length=100_000)] = None
    parameters: Annotated[
        FreeForm,
        Field(
            description="of the method, such as epsilon", json_schema_extra={"properties": workflow.ranges_as_schema()}
        ),
    ]


class ExpectIn(_Body):
    """A question about how well selections can be expected to do, by simulation from public facts."""

    dataset: Name
    target: Column
    candidates: Annotated[list[Column] | None, Field(max_length=60)] = None
    epsilons: Annotated[list[Amount] | None, Field(min_length=1, max_length=8)] = None
    delta: Delta = 0.0
    n_rows: Annotated[int | None, Field(ge=1, le=10_000_000, description="where the metadata do not say")] = None
    r_squared: Annotated[float | None, Field(gt=0, lt=1)] = None
    n_true: Annotated[int | None, Field(ge=0, le=60)] = None
    correlation: Annotated[float | None, Field(gt=-1, lt=1)] = None
    method: Annotated[MethodName | None, Field(description="of the request at hand, which comes first")] = None
    parameters: Annotated[FreeForm, Field(default_factory=dict, description="of that method, such as epsilon")]
    n_tables: Annotated[int | None, Field(ge=1, le=200, description="fewer are faster; default up to 200")] = None


class OutlookIn(PlanIn):
    """A question about how well one request can be expected to do, by a quick simulation from public facts."""

    n_rows: Annotated[int | None, Field(ge=1, le=10_000_000, description="default: as the metadata say")] = None
    r_squared: Annotated[float | None, Field(gt=0, lt=1, description="part of the target that is explained")] = None
    n_true: Annotated[int | None, Field(ge=1, le=60, description="columns that matter")] = None


def _stated(text: str) -> str:
    """Refuse a purpose that is missing or blank, in words that say what to do."""
    if not text.strip():
        raise ValueError(NO_PURPOSE)
    return text


def _with_purpose(schema: dict[str, Any]) -> None:
    schema["required"].append("purpose")  # its default is there to be refused in our words
    del schema["properties"]["purpose"]["default"]


class RequestIn(PlanIn):
    """A request."""

    model_config = ConfigDict(json_schema_extra=_with_purpose)

    project: Name
    purpose: Annotated[
        Prose,
        AfterValidator(_stated),
        Field(
            validate_default=True,
            description="why, in a sentence, for the curator who decides",
            json_schema_extra={"minLength": 1},
        ),
    ] = ""
    chosen: Annotated[FreeForm | None, Field(description="how the method was chosen, from public facts")] = None


class DecisionIn(_Body):
    """A decision on a request, bound to its exact text."""

    sha256: Annotated[Digest, Field(description="of the request as it was read")]
    comment: Prose = ""


class DecisionOut(_Body):
    """What was decided."""

    decision: Literal["approved", "rejected"]
    sha256: Digest
    by: str
    comment: str
    time: str


class RequestOut(_Body):
    """A request as it is shown."""

    id: str
    by: str
    project: str
    dataset: str
    version: int
    content: Annotated[
        dict[str, Any], Field(description="the exact text that an approval names; in a list, method and target alone")
    ]
    sha256: Digest
    state: State
    code: Annotated[str | None, Field(description="why it failed: one of a closed list")] = None
    epsilon: Annotated[float, Field(description="nats, that it costs at most")]
    delta: float
    is_free: Annotated[bool, Field(description="answered from the store, nothing was charged")]
    entry: Annotated[int | None, Field(description="of the ledger")] = None
    created: str
    slot_end: str | None = None
    ended: str | None = None
    decision: DecisionOut | None = None


class UserIn(_Body):
    """An account to be made."""

    name: Name
    role: Role
    shown: Annotated[Line, Field(description="the person's name")] = ""
    password: Annotated[
        str | None, Field(min_length=12, max_length=200, description="left out: one is made, and shown once")
    ] = None
    subject: Annotated[Line | None, Field(description="what single sign-on calls the person")] = None


class UserChange(_Body):
    """Changes of an account."""

    disabled: bool | None = None
    role: Role | None = None
    password: Annotated[str | None, Field(min_length=12, max_length=200)] = None


class UserOut(_Body):
    """An account as it is shown."""

    name: str
    role: Role
    shown: str
    subject: str | None
    disabled: bool
    created: str
    password: Annotated[str | None, Field(description="only once, when it was made here")] = None


class MeOut(_Body):
    """Who is asking."""

    name: str
    role: Role
    projects: list[str]


class MembersIn(_Body):
    """Who belongs to a project."""

    members: Annotated[list[Name], Field(max_length=1000)]


class ProjectOut(_Body):
    """A project."""

    name: str
    members: list[str]


class KeyIn(_Body):
    """A key to be made."""

    label: Annotated[Line, Field(min_length=1, max_length=100)]
    days: Annotated[int, Field(ge=1, le=730)] = 90


class KeyOut(_Body):
    """A key as it is shown."""

    id: str
    user: str
    label: str
    created: str
    expires: str
    revoked: str | None = None
    key: Annotated[str | None, Field(description="only once, when it was made")] = None


class AuditEntryOut(_Body):
    """One line of the audit."""

    seq: int
    time: str
    actor: str
    action: str
    object: str
    detail: dict[str, Any]


class VerificationOut(_Body):
    """A ledger that fits."""

    n_entries: int
    n_accounts: int
    n_releases: int
    head: str


class Page(_Body):
    """Some of a list."""

    next: Annotated[str | None, Field(description="`cursor` of the next page; null on the last one")] = None


class RequestPage(Page):
    """Requests, the newest first."""

    items: list[RequestOut]


class AuditPage(Page):
    """Lines of the audit, the newest first."""

    items: list[AuditEntryOut]


class EntryPage(Page):
    """Lines of the ledger, the newest first."""

    items: list[EntryOut]


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, str]] | None = None
    requested: Annotated[float | None, Field(description="epsilon asked for, of the kind budget-exceeded")] = None
    remaining: Annotated[float | None, Field(description="epsilon left")] = None
