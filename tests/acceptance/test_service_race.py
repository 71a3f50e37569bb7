"""Many ask and approve at once, over HTTP: what is approved is what the caps hold, to the last grain."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from discreet.accounting.guarantee import exact
from discreet.ledger import Ledger
from discreet.ledger.grains import EPSILON_GRAIN, charged
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn, KeyIn, MembersIn, UserIn
from discreet_service.use_cases import datasets, decisions, people
from discreet_service.worker import job, queue
from tests.acceptance.service_processes import crowd, server, set_up
from tests.effort import either
from tests.office import METADATA, PEOPLE, QUESTION, open_office, write_table

pytestmark = pytest.mark.processes

N_PROCESSES = 8
N_EACH = either(20, 40)
EPSILON = 0.8 / N_EACH
"""Of a request, about: the even processes ask for 3.2 together, and so do the odd ones."""
CAP = 2.5
"""Below the sum of the allotments, 2 and 1: the account refuses some, an allotment others."""

SUBMIT = "/requests"


def asking(keys, dataset, number, epsilon, key):
    """One submission: each process has an analyst of its own, even ones of project alpha, odd ones of beta."""
    who, project = f"analyst-{number}", ("alpha", "beta")[number % 2]
    body = QUESTION | {"dataset": dataset, "project": project, "parameters": {"epsilon": epsilon}}
    return ("POST", SUBMIT, keys[who], body, {"Idempotency-Key": key})


def approving(keys, asked, who="cora"):
    """The approval of a request as it was read."""
    return ("POST", f"/requests/{asked['id']}/approval", keys[who], {"sha256": asked["sha256"]}, {})


def grains(epsilon):
    """What one is charged."""
    return charged(exact(epsilon, "epsilon"), EPSILON_GRAIN)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def office(request, tmp_path_factory):
    """Two servers of one office, their URLs, the settings and the keys."""
    folder = tmp_path_factory.mktemp("race")
    database = request.getfixturevalue("postgres")() if request.param == "postgresql" else None
    file, settings, keys = set_up(folder, database, slot_s=60)
    keys |= _analysts(settings)
    with ExitStack() as stack:
        urls = [stack.enter_context(server(file, folder / f"server-{i}.log")) for i in range(2)]
        yield urls, settings, keys


def _analysts(settings):
    cora, names = Principal("cora", PEOPLE["cora"]), [f"analyst-{i}" for i in range(N_PROCESSES)]
    with open_context(settings) as context:
        for name in names:
            people.add_account(context, "setup", UserIn(name=name, role=Role.ANALYST, subject=name))
        for i, project in enumerate(("alpha", "beta")):
            people.set_members(context, cora, project, MembersIn(members=names[i::2]))
        return {
            name: people.make_key(context, Principal(name, Role.ANALYST), KeyIn(label="race")).key for name in names
        }


def opened(settings, name):
    """Register a table as a data set of its own, with the cap, and parts of it for both projects."""
    cora = Principal("cora", PEOPLE["cora"])
    path = f"{name}.parquet"
    write_table(settings.private["tables"].parent, path)
    given = {"metadata": METADATA | {"dataset": name}, "source": {"data": {"root": "tables", "path": path}}}
    with open_context(settings) as context:
        datasets.register(context, cora, DatasetIn.model_validate(given))
        datasets.grant(context, cora, name, CapIn(epsilon=CAP, delta=1e-5))
        for project, epsilon in (("alpha", 2), ("beta", 1)):
            datasets.allot(context, cora, name, project, AllotmentIn(epsilon=epsilon))
    return name


def test_a_thousand_ask_the_same(office):
    """However many ask and approve one question, before and after its answer: one charge, one value."""
    urls, settings, keys = office
    name, n_later = opened(settings, "same"), either(15, 115)
    first = crowd(urls, [[asking(keys, name, i, 0.5, f"first-{i}-{j}") for j in range(10)] for i in range(N_PROCESSES)])
    asked = [one for row in first for _, one in row]
    assert {one["state"] for one in asked} == {"waiting"}
    tried = crowd(urls, [[approving(keys, one, who) for _, one in row] for row, who in _by_two(first)])
    assert Counter(status for row in tried for status, _ in row) == {200: 1, 409: len(asked) - 1}
    _answer(settings)
    waiting = [[one for _, one in row if one["id"] != _approved(tried)["id"]] for row in first]
    freed = crowd(urls, [[approving(keys, one) for one in row[:3]] for row in waiting])
    assert {(status, one["state"], one["is_free"]) for row in freed for status, one in row} == {(200, "released", True)}
    later = crowd(
        urls, [[asking(keys, name, i, 0.5, f"later-{i}-{j}") for j in range(n_later)] for i in range(N_PROCESSES)]
    )
    assert {(status, one["state"], one["is_free"]) for row in later for status, one in row} == {(201, "released", True)}
    _check_one_value(urls, settings, keys, [one for row in (*freed, *later) for _, one in row])


def _by_two(rows):
    return [(row, ("cora", "carl")[i % 2]) for i, row in enumerate(rows)]


def _approved(tried):
    return next(one for row in tried for status, one in row if status == 200)


def _answer(settings):
    with open_context(settings) as context, pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "time", SimpleNamespace(sleep=lambda _: None))  # nothing here is about slots
        taken = queue.take(context)
        job.run(context, taken.id)
        assert queue.take(context) is None


def _check_one_value(urls, settings, keys, asked):
    paths = [f"/requests/{one['id']}/release" for one in asked[::20]]
    reads = [[("GET", path, keys[who], None, {}) for path in paths] for who in ("cora", "otto")]
    texts = {str(body) for row in crowd(urls, reads) for status, body in row if status == 200}
    assert len(texts) == 1
    assert len({one["entry"] for one in asked}) == 1
    with Ledger(settings.database, witness=settings.witness) as ledger:
        assert ledger.account("same").epsilon_spent == exact(0.5, "epsilon")
        assert [one.kind for one in ledger.history("same")].count("reserve") == 1
        ledger.verify()


def test_one_idempotency_key_from_eight_processes(office):
    """A word that eight processes send at once makes one request, which all of them are shown."""
    urls, settings, keys = office
    name = opened(settings, "once")
    asks = [asking(keys, name, 0, 0.01 * (j + 1), f"same-key-{j}") for j in range(12)]
    answers = crowd(urls, [asks] * N_PROCESSES)
    for column in zip(*answers, strict=True):
        assert Counter(status for status, _ in column) == {201: 1, 200: N_PROCESSES - 1}
        assert len({one["id"] for _, one in column}) == 1
    ((other,),) = crowd(urls, [[asking(keys, name, 0, 0.7, "same-key-0")]])
    assert (other[0], other[1]["type"]) == (409, "urn:discreet:problem:conflict")
    ((page,),) = crowd(urls, [[("GET", "/requests?dataset=once&limit=200", keys["cora"], None, {})]])
    assert len(page[1]["items"]) == 12
    _decide_at_once(urls, settings, keys, [one for _, one in answers[0]])


def _decide_at_once(urls, settings, keys, asked):
    """Approvals, rejections and withdrawals of the same requests: what stands charged is what stands approved."""
    approvals = [[approving(keys, one, who) for one in asked] for who in ("cora", "carl")]
    paths = [f"/requests/{one['id']}" for one in asked]
    texts = [{"sha256": one["sha256"]} for one in asked]
    rejections = [("POST", f"{paths[i]}/rejection", keys["carl"], texts[i], {}) for i in range(1, len(asked), 3)]
    withdrawals = [("POST", f"{paths[i]}/withdrawal", keys["analyst-0"], None, {}) for i in range(2, len(asked), 3)]
    done = crowd(urls, [*approvals, rejections, withdrawals])
    assert {status for row in done for status, _ in row} <= {200, 409}
    ends = [one for _, one in crowd(urls, [[("GET", path, keys["cora"], None, {}) for path in paths]])[0]]
    assert {one["state"] for one in ends[::3]} == {"approved"}
    assert {one["state"] for one in ends[1::3]} <= {"approved", "rejected"}
    assert {one["state"] for one in ends[2::3]} <= {"approved", "withdrawn"}
    with Ledger(settings.database, witness=settings.witness) as ledger:
        charged_ = [one for one in ledger.history("once") if one.kind == "reserve" and one.state == "reserved"]
        assert {one.facts["reference"] for one in charged_} == {one["id"] for one in ends if one["state"] == "approved"}
        assert ledger.account("once").epsilon_spent == sum(one.epsilon for one in charged_)
        ledger.verify()
    _take_at_once(settings, {one["id"] for one in ends if one["state"] == "approved"})


def _take_at_once(settings, approved):
    """Workers that look at once take up each request once."""
    with open_context(settings) as context, ThreadPoolExecutor(8) as pool:
        found = [one for one in pool.map(lambda _: queue.take(context), range(16)) if one is not None]
    assert {one.id for one in found} == approved
    assert len(found) == len(approved)


def test_the_last_of_the_budget(office):
    """Eight processes ask some hundred different questions and approve them at once: exactly what fits is charged."""
    urls, settings, keys = office
    name = opened(settings, "last")
    epsilons = [[EPSILON + 1e-8 * (i * N_EACH + j) for j in range(N_EACH)] for i in range(N_PROCESSES)]
    asks = [
        [asking(keys, name, i, e, f"key-{i:03}-{j:03}") for j, e in enumerate(row)] for i, row in enumerate(epsilons)
    ]
    asked = crowd(urls, asks)
    assert Counter(status for row in asked for status, _ in row) == {201: N_PROCESSES * N_EACH}
    done = crowd(urls, [[approving(keys, one) for _, one in row] for row in asked])
    spent, refused = {"alpha": 0, "beta": 0}, []
    for i, row in enumerate(done):
        for (status, body), epsilon in zip(row, epsilons[i], strict=True):
            project = ("alpha", "beta")[i % 2]
            if status == 200:
                spent[project] += grains(epsilon)
            else:
                assert (status, body["type"]) == (409, "urn:discreet:problem:budget-exceeded"), body
                refused.append((project, grains(epsilon)))
    _check_sums(settings, spent, refused, sum(status == 200 for row in done for status, _ in row))


def _check_sums(settings, spent, refused, n_approved):
    with Ledger(settings.database, witness=settings.witness) as ledger:
        account = ledger.account("last")
        allotted = {one.project: one for one in ledger.allotments("last")}
        reserved = [one for one in ledger.history("last") if one.kind == "reserve"]
        ledger.verify()
        ledger.check_witness()
    assert account.epsilon_spent == sum(spent.values()) * EPSILON_GRAIN
    assert {name: one.epsilon_spent for name, one in allotted.items()} == {
        name: one * EPSILON_GRAIN for name, one in spent.items()
    }
    assert sum(one.epsilon for one in reserved) == account.epsilon_spent <= account.epsilon_cap
    assert len(reserved) == n_approved == len({one.facts["reference"] for one in reserved})
    for project, cost in refused:  # as nothing was given back, whatever was refused does not fit at the end either
        assert cost * EPSILON_GRAIN > min(account.epsilon_left, allotted[project].epsilon_left)


def test_answered_between_the_look_and_the_charge(tmp_path, monkeypatch):
    """An approval that looked for an answer just before another one was released charges nothing; the next is free."""
    with open_office(tmp_path, slot_s=1) as office:
        first, second = office.ask("key-00000001"), office.ask("key-00000002")
        assert office.approve(first).status_code == 200
        office.answer()
        with monkeypatch.context() as patch:
            patch.setattr(decisions, "stored_answer", lambda *_: {})  # what it found a moment ago
            late = office.approve(second)
        assert (late.status_code, "free now" in late.json()["detail"]) == (409, True)
        assert office.context.ledger.account("toy").epsilon_spent == exact(0.5, "epsilon")
        assert office.approve(second).json()["is_free"]
