"""Every claim of noise is attacked by the selftest, or it is said that it is not; and the command says what it saw."""

import json
import math
import re

import pytest
from typer.testing import CliRunner

from discreet.cli import main
from discreet.selftest import controls, suite, words
from discreet.selftest.evidence import Evidence
from tests.contracts.claims import claims

NOT_ATTACKED = {
    "leaders": "part of one_shot",
    "hybrid_published": "claims nothing",
    "public_subset": "said in NOT_SHOWN",
    "select_then_fit": "said in NOT_SHOWN",
    "private_bounds": "said in NOT_SHOWN",
    "tuning": "said in NOT_SHOWN",
}


def test_every_claim_is_attacked():
    """Each file of a claim is named by a check, or stands above with a reason."""
    import inspect

    from discreet.selftest import estimates, mechanisms, selections

    text = "".join(inspect.getsource(module) for module in (mechanisms, selections, estimates))
    for path in (path for path in claims() if path.parent.name in ("mechanisms", "methods")):
        stem = path.name.removesuffix(".privacy.md")
        assert (stem in NOT_ATTACKED) != bool(re.search(rf'"(methods/|mechanisms/)?{stem}(\.privacy\.md)?"', text)), (
            stem
        )


def run(*arguments):
    """The command, in this process."""
    return CliRunner().invoke(main.app, ["selftest", "--quiet", "--processes", "1", *arguments])


@pytest.fixture
def few(monkeypatch):
    """Checks that take no time: one sound function, and a control."""
    sound = Evidence("f", "pair", "claim", "-", 1.0, 0.0, 0.9, "exact law", 10, 0.5)
    found = [sound, Evidence("g", "pair", "", "-", 1.0, 0.0, 2.0, "draws", 10, None, 3.0, is_control=True)]
    monkeypatch.setattr(suite, "run", lambda *_: iter(found))
    return found


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
    from dataclasses import replace

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
    assert sum(not task.relation for task in found) == len(controls.CONTROLS)
    assert len(suite.tasks(["top_k"])) == 3 + len(controls.CONTROLS)


@pytest.mark.parametrize("control", controls.CONTROLS, ids=lambda control: control.__name__)
def test_controls_are_flagged(control):
    """Each of them, by the same rules as everything else."""
    found = control(1)
    assert found.is_control
    assert found.is_flagged


def test_in_processes():
    """Two real checks and all controls, spread over processes: as they must be, and in words."""
    found = list(suite.run(suite.tasks(["spherical", "quantile"]), 2))
    assert all(one.is_as_expected for one in found), words.summary(found)
    assert all(math.isfinite(one.shown) for one in found)
