"""A call that reads sees one moment of the database, from its key to its answer, and nothing of it before its key."""

import json
import threading
from typing import Annotated

import pytest
from anyio import sleep
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from sqlalchemy import event
from tests.office import open_office, settings_of

from discreet.errors import DiscreetError, ForbiddenError
from discreet_service.access.guard import Guard, GuardedRoute, allow, check_guarded, unguarded
from discreet_service.access.roles import Principal, Role
from discreet_service.app import create_app
from discreet_service.call_limits import reports
from discreet_service.use_cases import datasets, oversight, people

READS = (
    "/me", "/projects", "/keys", "/datasets", "/datasets/toy", "/datasets/toy/budget", "/datasets/toy/history",
    "/requests", "/requests/{}",
)  # fmt: skip
ANN = Principal("ann", Role.ANALYST)


@pytest.fixture(params=["sqlite", "postgresql"])
def office(request, tmp_path):
    """An office on a file, and then on a server."""
    database = request.getfixturevalue("postgres")() if request.param == "postgresql" else None
    with open_office(tmp_path, database) as opened:
        yield opened


@pytest.fixture
def begun(office):
    """The threads in which transactions began, one after another."""
    threads = []
    engines = (office.context.database._engine, office.context.ledger._store._engine)
    for engine in engines:
        event.listen(engine, "begin", lambda _: threads.append(threading.current_thread()))
    return threads


def test_one_transaction_answers(office, begun):
    """Authentication, permission and answer of each call that reads stand in one transaction."""
    request = office.ask()
    for path in READS:
        begun.clear()
        answer = office.call("ann", "GET", path.format(request["id"]))
        assert answer.is_success, answer.text
        assert len(begun) == 1, path
        assert begun[0] is not threading.main_thread()


def test_the_answer_is_of_the_moment_of_the_key(office, monkeypatch):
    """A cap that is changed once the key was read is shown by the next call, and by none in part."""
    budget = datasets.budget

    def late(context, who, name):
        worker = threading.Thread(target=office.context.ledger.grant, args=("toy", 7))
        worker.start()
        worker.join()
        return budget(context, who, name)

    before = office.call("ann", "GET", "/datasets/toy/budget").json()
    monkeypatch.setattr(datasets, "budget", late)
    assert office.call("ann", "GET", "/datasets/toy/budget").json() == before
    monkeypatch.setattr(datasets, "budget", budget)
    assert office.call("ann", "GET", "/datasets/toy/budget").json()["epsilon_cap"] == 7


def test_nothing_is_written_there(office):
    """Control: neither the service's rows nor the ledger's, so that no call that reads can charge."""
    before = office.context.ledger.account("toy")
    with office.context.reading() as context:
        with pytest.raises(RuntimeError, match="reading transaction"):
            context.ledger.grant("toy", 9)
        with pytest.raises(RuntimeError, match="reading transaction"):
            people.revoke_key(context, ANN, office.keys["ann"].split("_")[1])
    with pytest.raises(DiscreetError), office.context.reading() as context, context.database.read() as connection:
        connection.exec_driver_sql("UPDATE users SET role = 'admin' WHERE name = 'ann'")
    assert office.context.ledger.account("toy") == before
    assert office.call("ann", "GET", "/me").is_success


def test_a_key_ends_at_once(office):
    """The call after a key was revoked is refused, whatever was read with it before."""
    assert all(office.call("ann", "GET", "/datasets/toy/budget").is_success for _ in range(3))
    people.revoke_key(office.context, ANN, office.keys["ann"].split("_")[1])
    assert office.call("ann", "GET", "/datasets/toy/budget").status_code == 401


def test_a_key_ends_for_a_call_that_waits(office, monkeypatch):
    """Of three slow calls two are worked on and one waits while the key is revoked: that one is refused."""
    verify, started, may_end = oversight.verify, threading.Semaphore(0), threading.Event()

    def held(context, who):
        started.release()
        assert may_end.wait(30)
        return verify(context, who)

    monkeypatch.setattr(oversight, "verify", held)
    statuses = []
    calls = [
        threading.Thread(target=lambda: statuses.append(office.call("otto", "POST", "/verification").status_code))
        for _ in range(3)
    ]
    for call in calls:
        call.start()
    assert all(started.acquire(timeout=30) for _ in range(2))
    limiter = reports._limiter
    assert office.client.portal.call(lambda: until_one_waits(limiter))
    people.revoke_key(office.context, Principal("otto", Role.AUDITOR), office.keys["otto"].split("_")[1])
    may_end.set()
    for call in calls:
        call.join()
    assert sorted(statuses) == [200, 200, 401]


async def until_one_waits(limiter):
    """Look until a call waits for a thread, for ten seconds at most."""
    for _ in range(1000):
        if limiter.get().statistics().tasks_waiting:
            return True
        await sleep(0.01)
    return False


def test_who_may_not_call_does_not_learn_what_is_wrong_with_a_call(office):
    """A call that does not fit the description is 401 and 403 to those who may not make it, and 422 to others."""
    assert office.call("ann", "GET", "/audit?limit=0").status_code == 403
    assert office.call("otto", "GET", "/audit?limit=0").status_code == 422
    people.revoke_key(office.context, Principal("otto", Role.AUDITOR), office.keys["otto"].split("_")[1])
    assert office.call("otto", "GET", "/audit?limit=0").status_code == 401
    assert office.call("ann", "PUT", "/datasets/toy/budget", json={"epsilon": -1}).status_code == 403
    assert office.call("cora", "PUT", "/datasets/toy/budget", json={"epsilon": -1}).status_code == 422
    as_json = {"Content-Type": "application/json"}
    for body in ("{", "[" * 50_000):
        assert office.client.put("/v1/datasets/toy/budget", content=body, headers=as_json).status_code == 401
        assert office.call("ann", "PUT", "/datasets/toy/budget", content=body, headers=as_json).status_code == 403
        assert office.call("cora", "PUT", "/datasets/toy/budget", content=body, headers=as_json).status_code in (
            400,
            422,
        )


def test_each_call_is_logged_once(office, capsys):
    """With its route and its status, and with its account as far as it is known."""
    office.call("ann", "GET", "/datasets/toy/budget")
    office.call("ann", "GET", "/users")
    office.client.get("/v1/datasets/toy/budget", headers={"Authorization": "Bearer dk_a_b"})
    office.client.get("/v1/none")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    calls = [(line["route"], line["status"], line["actor"]) for line in lines if line["event"] == "call"]
    budget = "/v1/datasets/{name}/budget"
    assert calls == [(budget, 200, "ann"), ("/v1/users", 403, "ann"), (budget, 401, "-"), ("-", 404, "-")]


@pytest.mark.parametrize("route_class", [APIRoute, GuardedRoute])
def test_a_guard_that_admits_nobody_by_name_is_not_served(tmp_path, route_class):
    """Control: a guard knows the caller alone, so that a route which does not ask who they are would let all in."""
    app = create_app(settings_of(tmp_path))
    router = APIRouter(route_class=route_class)
    router.get("/v1/half", dependencies=[allow(Role.ADMIN)])(lambda: "all of it")
    app.include_router(router)
    with pytest.raises(ForbiddenError, match="/v1/half"):
        check_guarded(app)


def test_a_guard_on_another_route_is_not_served(tmp_path):
    """Control: nor is one on a route that would hand the caller on as it came."""
    app = create_app(settings_of(tmp_path))

    def half(who: Annotated[Principal, allow(Role.ADMIN)]) -> str:
        return f"all of it, {who}"

    app.get("/v1/half")(half)
    with pytest.raises(ForbiddenError, match="/v1/half"):
        check_guarded(app)


Admin = Annotated[Principal, allow(Role.ADMIN)]


class Other(Guard):
    """A guard by key of another name."""


def nested(who: Admin) -> str:
    """What asks for an administrator below the route."""
    return f"asked by {who}"


def two(who: Annotated[Principal, allow(*Role)], other: Admin) -> str:
    """A route for all that asks for an administrator besides."""
    return f"{who}, {other}"


def below(who: Annotated[Principal, allow(*Role)], asked: Annotated[str, Depends(nested)]) -> str:
    """A route for all whose dependency is for an administrator."""
    return f"{who}, {asked}"


def streamed(who: Admin):
    """A route that answers piece by piece, and so before anybody is admitted."""
    yield f"all of it, {who}"


@pytest.mark.parametrize(
    ("route", "options"),
    [
        (two, {}),
        (below, {}),
        (streamed, {}),
        (lambda: "all of it", {"dependencies": [Depends(Other([Role.ADMIN]))]}),
        (unguarded(lambda: "all of it"), {"dependencies": [Depends(nested)]}),
    ],
    ids=["two guards", "a guard below", "a generator", "another guard", "a guard below what is for everybody"],
)
def test_a_guard_that_is_not_asked_is_not_served(tmp_path, route, options):
    """Control: one guard, asked by the route itself, admits; others would be handed on as they came."""
    app = create_app(settings_of(tmp_path))
    router = APIRouter(route_class=GuardedRoute)
    router.get("/v1/half", response_model=None, **options)(route)
    app.include_router(router)
    with pytest.raises(ForbiddenError, match="/v1/half"):
        check_guarded(app)
