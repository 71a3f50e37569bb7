"""What a form tells of its request: accuracy by a bounded simulation in a process of its own, and worst-case odds."""

import math
import re

import pytest
from tests.office import METADATA, open_office
from tests.unit.service.test_pages_content import Browser, plan_of

from discreet import workflow
from discreet.errors import InvalidParameterError
from discreet_service.access.roles import Principal, Role
from discreet_service.client.requests import NO_PURPOSE
from discreet_service.pages.odds import PRIORS, odds_of
from discreet_service.schemas import OutlookIn
from discreet_service.simulation import quick
from discreet_service.simulation.outlooks import Outlooks
from discreet_service.simulation.run import ResourceLimits
from discreet_service.use_cases import outlooks

ANN = Principal("ann", Role.ANALYST)
QUESTION = {
    "metadata": METADATA,
    "method": "sis",
    "parameters": {"epsilon": 1.0, "n_features_to_select": 1},
    "target": "y",
    "candidates": None,
    "epsilons": [],
    "supposed": {},
    "n_rows": None,
}


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    with open_office(tmp_path_factory.mktemp("outlooks")) as opened:
        yield opened


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_odds_change_at_most_by_the_factor(epsilon):
    """Randomized response attains the bound: its posterior is what the table says, up to rounding."""
    (line,) = odds_of(epsilon, 0.0, "person", "replace_one", None).lines
    assert float(line.factor.removeprefix("at most ")) >= math.exp(epsilon) * (1 - 1e-9)
    for prior, told in zip(PRIORS, line.beliefs, strict=True):
        truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))  # of an answer, by randomized response
        attained = prior * truth / (prior * truth + (1.0 - prior) * (1.0 - truth))
        assert attained * 100 <= float(told.strip("%<>")) + 1e-9
        assert float(told.strip("%<>")) <= attained * 100 * 1.01 + 0.1


def test_a_changed_record_counts_twice_where_records_are_added():
    """Taking out and putting back are two steps."""
    lines = odds_of(0.5, 1e-6, "person", "add_or_remove_one", None).lines
    assert [line.epsilon for line in lines] == ["0.5", "1"]


def test_no_row_is_opened(office):
    """The outlook is the same when the private table is gone."""
    body = OutlookIn.model_validate(plan_body())
    before = outlooks.outlook(office.context, ANN, body)
    table = office.folder / "private" / "toy.parquet"
    content = table.read_bytes()
    table.unlink()
    try:
        office.context.outlooks._answers.clear()
        after = outlooks.outlook(office.context, ANN, body)
    finally:
        table.write_bytes(content)
    own = [next(row for row in answer.rows if row["epsilon"] == 0.5) for answer in (before, after)]
    assert own[0]["n_rows"] == own[1]["n_rows"] == 300
    assert before.supposed == after.supposed
    assert before.chance == after.chance


def plan_body(**changes):
    return {"dataset": "toy", "method": "pcls", "target": "y", "parameters": {"epsilon": 0.5}} | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": {}}, "no epsilon"),
        ({"parameters": {"epsilon": True}}, "no epsilon"),
        ({"parameters": {"epsilon": 1, "public": "x"}}, "Leave it out"),
        ({"parameters": {"epsilon": 5e-324}}, "epsilon"),
        ({"parameters": {"epsilon": 10**400}}, "can be computed with"),
        ({"target": "nothing"}, "nothing"),
    ],
)
def test_what_is_no_request_is_refused(office, changes, words):
    """In the words of the request itself; the next question is answered."""
    with pytest.raises(Exception, match=words) as refusal:
        outlooks.outlook(office.context, ANN, OutlookIn.model_validate(plan_body(**changes)))
    assert type(refusal.value).__module__ == "discreet.errors"
    assert outlooks.outlook(office.context, ANN, OutlookIn.model_validate(plan_body())).rows


def test_a_large_table_is_drawn_smaller():
    """Ten million rows cost what some thousands do, and the answer says how many were drawn."""
    metadata = workflow.Metadata.from_value(METADATA | {"n_rows": 10_000_000})
    told = workflow.outlook(metadata, "sis", QUESTION["parameters"], "y", None, n_tables=2)
    assert told.n_rows == 10_000_000
    assert told.drawn_rows * 4 <= 1 << 18
    assert told.rows[0]["n_rows"] == told.drawn_rows


def test_a_stuck_simulation_is_ended_and_the_next_one_is_answered(monkeypatch):
    """A fork that does not end is killed at its limit; the process beside it lives on."""
    limits = {"memory_mb": 1 << 16, "cpu_s": 1, "clock_s": 2}  # what the tests before have is in the fork, too
    usual = quick.answer
    monkeypatch.setattr(quick, "answer", lambda _: forever())
    assert quick._forked({"question": QUESTION, "limits": limits}) == b""
    monkeypatch.setattr(quick, "answer", usual)
    assert b'"value"' in quick._forked({"question": QUESTION, "limits": limits | {"cpu_s": 60, "clock_s": 60}})


def test_what_takes_too_long_is_told_without_a_simulation(monkeypatch):
    """The sentences that follow from the noise alone stay."""
    opened = Outlooks(ResourceLimits(4096, 60))
    asked = []

    def stuck(question):
        asked.append(question)
        return {"error": "time", "text": ""} if len(asked) == 1 else quick.answer(question)

    monkeypatch.setattr(opened, "_asked", stuck)
    told = opened.outlook("ann", QUESTION, lambda: False)
    assert (told.rows, told.n_tables) == ((), 0)
    assert "too long" in told.refused
    assert "correlation" in told.chance[0]


def forever():
    while True:
        pass


def test_a_process_that_died_is_started_anew():
    """Nobody is left without an answer because another question ended the process."""
    opened = Outlooks(ResourceLimits(4096, 60))
    try:
        first = opened.outlook("ann", QUESTION, lambda: False)
        opened._process.kill()
        opened._process.wait()
        again = opened.outlook("ann", QUESTION | {"n_rows": 301}, lambda: False)
        assert first.rows[0]["n_rows"] == 300
        assert again.rows[0]["n_rows"] == 301
    finally:
        opened.close()


def test_form_and_curator_see_accuracy_and_odds(office):
    """Both stand in the form while it is filled in, and with the request when somebody decides."""
    ann, cora = Browser(office, "ann"), Browser(office, "cora")
    page = ann.get("/plan?dataset=toy&target=y")
    part = ann.send("/plan/outlook", page, **plan_of())
    for words in ("Expected accuracy.", "It selects exactly the right columns", "Worst-case odds.", "1.65 times"):
        assert words in part
    assert "discreet remote select toy --target y" in part
    request = office.ask("key-of-outlook", purpose="to see the outlook")
    shown = cora.get(f"/requests/{request['id']}?accuracy=yes")
    for words in ("Expected accuracy.", "Worst-case odds.", "to see the outlook"):
        assert words in shown
    assert "Expected accuracy." in cora.get(f"/requests/{request['id']}/outlook")
    without = cora.get(f"/requests/{request['id']}")
    assert "Expected accuracy." not in without
    assert re.search(r'hx-get="/requests/\w+/outlook"', without)


def test_a_request_must_say_its_purpose(office):
    """API and form say what to do."""
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=toy&target=y")
    assert "Write in a sentence what the answer is for" in ann.send("/requests", page, 422, **plan_of(purpose=" "))
    headers = {"Idempotency-Key": "key-without-purpose"}
    for purpose in ({}, {"purpose": ""}, {"purpose": " \n"}):
        body = plan_body(project="alpha", **purpose)
        refused = office.call("ann", "POST", "/requests", json=body, headers=headers)
        assert (refused.status_code, refused.json()["detail"]) == (422, NO_PURPOSE)


def test_methods_without_a_simulation_say_so():
    """A regression that is not simulated gets no number."""
    told = workflow.outlook(workflow.Metadata.from_value(METADATA), "logistic", {"epsilon": 1.0}, "y", None)
    assert told.rows == ()
    assert told.fit is None
    assert "not simulated" in told.refused


def test_supposed_numbers_are_checked():
    """What cannot be drawn is told, and nothing is simulated."""
    metadata = workflow.Metadata.from_value(METADATA)
    told = workflow.outlook(metadata, "sis", QUESTION["parameters"], "y", None, supposed={"n_true": 9})
    assert "n_true" in told.refused
    with pytest.raises(InvalidParameterError):
        workflow.outlook(metadata, "sis", {"epsilon": -1.0}, "y", None)


@pytest.mark.slow
def test_a_plan_of_two_steps_tells_of_both():
    """What it selects and how wide the intervals are, of the same tables."""
    metadata = workflow.Metadata.from_value(METADATA | {"n_rows": 20_000})
    parameters = {"epsilon": 4.0, "delta": 1e-6}
    told = workflow.outlook(metadata, "run", parameters, "y", None, n_tables=4)
    assert [row["epsilon"] for row in told.rows] == [4.0]
    assert told.rows[0]["right"] >= 0.5
    assert 0.0 < told.fit["half_width"] < told.fit["effect"]
    alone = workflow.outlook(metadata, "linear", parameters, "y", None, n_tables=4)
    assert alone.rows == ()
    assert alone.fit["n_coefficients"] % 3 == 0
