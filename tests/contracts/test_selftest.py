"""Every claim of noise is attacked by the selftest, it sees what it must see, and the command says what it found."""

import inspect
import json
import math
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from discreet.cli import main
from discreet.selftest import mechanisms, methods, objective, report, screenings, searches, suite
from discreet.selftest.evidence import Evidence
from discreet.selftest.faults import FAULTS
from tests.contracts.claims import ROOT, claims

pytestmark = pytest.mark.statistics

NOT_ATTACKED = {
    "leaders": "part of one_shot",
    "hybrid_published": "claims nothing",
    "fission": "reads no row",
}

SLOW = {"top_k", "labels", "moments", "pipelines", "additive", "selection", "subset_search", "screening"}
"""Checks of more than half a second: of their faults the first stands for the others here; the command makes all."""


def test_every_claim_is_attacked():
    """Each file of a claim is named by a check, or stands above with a reason."""
    text = "".join(inspect.getsource(module) for module in (mechanisms, methods, objective, screenings, searches))
    for path in (path for path in claims() if path.relative_to(ROOT).parts[0] in ("mechanisms", "methods")):
        stem = path.name.removesuffix(".privacy.md")
        assert (stem in NOT_ATTACKED) != bool(re.search(rf'"([a-z_]+/)*{stem}(\.privacy\.md)?"', text)), stem


def run(*arguments):
    """The command, in this process."""
    return CliRunner().invoke(main.app, ["selftest", "--quiet", "--processes", "1", *arguments])


@pytest.fixture
def few(monkeypatch):
    """Checks that take no time: one sound function, and a control."""
    sound = Evidence("f", "pair", "claim", "-", 1.0, 0.0, 0.9, "draws", 10, 0.5)
    evidence = [sound, Evidence("g", "pair", "", "-", 1.0, 0.0, 2.0, "replay", 0, is_control=True)]
    monkeypatch.setattr(suite, "run", lambda *_: iter(evidence))
    return evidence


def test_report(few):
    """Claimed and shown epsilon, controls, what was not shown, and the sum of it."""
    done = run()
    assert done.exit_code == 0, done.output
    for word in ("as claimed", "FLAGGED", "Not shown here:", *suite.NOT_SHOWN, "1 of 1 controls were flagged"):
        assert word in done.stdout


def test_json(few):
    """The same for programs, of one schema, without numbers that JSON does not have."""
    value = json.loads(run("--json").stdout, parse_constant=pytest.fail)
    assert value["schema"] == "discreet/selftest@1"
    assert [one["flagged"] for one in value["findings"]] == [False, True]
    assert {"discreet", "python", "opendp", "system"} <= set(value)


@pytest.mark.parametrize("place", [0, 1])
def test_anything_unexpected_is_a_failed_verification(few, place):
    """A check that is flagged, and a control that is not."""
    few[place] = replace(few[place], shown=1.5 if place == 0 else 0.5)
    done = run()
    assert isinstance(done.exception, main.VerificationError)
    assert ("NOT AS CLAIMED: f" if place == 0 else "NOT FLAGGED: g") in done.stdout


def test_a_name_that_is_none():
    """The error lists the names."""
    done = run("--only", "nothing")
    assert isinstance(done.exception, main.InvalidParameterError)
    assert "top_k" in str(done.exception)


def test_the_short_run_covers_all():
    """Each check at three epsilons, both relations where it is the method's, and every control."""
    found = suite.tasks()
    assert {task.epsilon for task in found if task.relation} == set(suite.EPSILONS)
    for check in suite.OF_RELATIONS:
        assert sum(task.name == check.__name__.removeprefix("_") for task in found) == 6
    assert sum(not task.relation for task in found) == len(FAULTS)
    of_top_k = [task for task in suite.tasks(["top_k"]) if not task.relation]
    assert [task.name for task in of_top_k] == [fault.name for fault in FAULTS if fault.check == "top_k"]
    assert all(not task.relation for task in suite.tasks(["controls"]))


def test_every_check_has_a_fault_that_it_must_see():
    """But the one of whole releases, whose noise is that of others."""
    assert {fault.check for fault in FAULTS} == set(suite.NAMES) - {"controls", "releases"}


def _quick():
    checks = set()
    for fault in FAULTS:
        if fault.check not in SLOW or fault.check not in checks:
            yield fault
        checks.add(fault.check)


@pytest.mark.parametrize("fault", list(_quick()), ids=lambda fault: fault.name)
def test_a_fault_is_flagged(fault):
    """By the check that is meant for it."""
    evidence = suite.control(fault)
    assert evidence.is_control
    assert evidence.is_flagged, evidence


@pytest.mark.parametrize("name", sorted({fault.check for fault in FAULTS} - SLOW))
def test_the_sound_product_is_not(name):
    """By the same checks, where a fault was put in before."""
    for task in [task for task in suite.tasks([name]) if task.epsilon == 1.0]:
        evidence = task.run()
        assert all(each.is_as_expected for each in evidence), report.summary(evidence)
        assert all(math.isfinite(each.shown) for each in evidence)


def test_a_fault_that_cannot_be_put_in_is_no_flag():
    """A control that no longer finds what it breaks is told, and does not pass for one that was flagged."""
    evidence = suite.control(replace(FAULTS[0], sound="no such text"))
    assert evidence.is_control
    assert not evidence.is_flagged


def test_in_processes():
    """A real check and its controls, spread over processes: as they must be, and in words."""
    evidence = list(suite.run(suite.tasks(["spherical", "objective"]), 2))
    assert all(each.is_as_expected for each in evidence), report.summary(evidence)
