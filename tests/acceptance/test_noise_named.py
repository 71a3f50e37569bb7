"""Noise is called noise: in a dry run, before a charge, in the console, in reports, in JSON and in Python."""

import json

import numpy as np
import pytest

import discreet as dc
from discreet.release import Release
from tests.acceptance.test_command_line import QUESTION, on_a_terminal
from tests.effort import either

CANNOT = "Nothing can stand out here: whatever is selected may be due to chance."


def told(done):
    """What a command said, on one line."""
    assert done.code == 0, done
    return " ".join(done.out.split())


def allow_delta(place, epsilon=10):
    """Let the ledger take a delta."""
    told(place.run("budget", "grant", "clinic", "--epsilon", epsilon, "--delta", "1e-4", "--ledger", place.ledger))


@pytest.mark.parametrize("method", ["pcls", "pcpl", "moments", "sis", "two-stage"])
def test_a_dry_run_says_where_nothing_can_stand_out(place, method):
    """Of every selection, as text and as JSON, and nothing is spent."""
    more = {"pcls": (), "pcpl": (), "moments": ("--delta", "1e-6")}.get(method, ("-k", "1"))
    candidates = "age,income"
    plan = told(place.select(*more, "--dry-run", method=method, epsilon=0.05, candidates=candidates))
    assert f"by chance {CANNOT}" in plan
    record = json.loads(
        place.select(*more, "--dry-run", "--json", method=method, epsilon=0.05, candidates=candidates).out
    )
    assert record["chance"]["could_stand_out"] is False
    assert place.spent() == 0


@pytest.mark.processes
def test_the_question_comes_after_what_chance_gives(place):
    """On a terminal: that nothing can stand out, what epsilon would do, then the question; a no spends nothing."""
    code, out, shown = on_a_terminal(place, "n\n")
    assert (code, out) == (130, "")
    assert shown.index(CANNOT) < shown.index("would let a strong effect stand out") < shown.index(QUESTION)
    assert place.spent() == 0


def test_a_screening_without_a_chance_is_called_noise_everywhere(place):
    """Headline, text, HTML and Markdown of the report, JSON: two names that may be due to chance."""
    done = place.select("--yes", "-k", 1, method="sis", epsilon=0.05, candidates="age,income", out="release.json")
    sentence = "Nothing stood out: this one name may be due to chance."
    assert sentence in told(done)
    assert done.out.index("Selected for visits") < done.out.index(sentence) < done.out.index("epsilon 0.05")
    for form in ("text", "html", "markdown"):
        for audience in ("board", "analyst"):
            report = place.run("report", "release.json", "--format", form, "--audience", audience)
            assert sentence in told(report), form
    release = Release.read("release.json")
    assert release.chance.called_noise
    assert release.chance.chance_by_noise is None
    assert release.chance.correlation_needed > 1
    assert place.run("budget", "verify", "release.json", "--ledger", place.ledger).code == 0


def test_a_screening_that_could_tell_says_that_its_names_are_as_many_as_asked(place):
    """Without the noise test, where a column can stand out the names may be right: nothing more can be told of them."""
    text = told(place.select("--yes", "--no-noise-test", "-k", 1, method="sis", epsilon=8, candidates="age,income"))
    assert "The number of selected columns is fixed: a table without any effect would give as many." in text
    assert "With 240 rows, a column with a correlation of about" in text


def test_a_clear_effect_stands_out_of_noisy_moments(place):
    """Visits follow age: it stands out by many standard deviations, and a free selection says its own."""
    allow_delta(place)
    done = place.select(
        "--yes", "--delta", "1e-6", method="moments", epsilon=9, candidates="age,income", out="release.json"
    )
    assert "Each stands out by this many standard deviations of the noise: age " in told(done)
    release = Release.read("release.json")
    assert release.chance.standing_out["age"] > 4
    assert not release.chance.called_noise


def test_intervals_that_tell_nothing_are_said_to(place):
    """Where each holds all that the bounds allow; not where they tell of a slope."""
    asked = ["fit", "--data", place.data, "--metadata", place.metadata, "--ledger", place.ledger, "--target", "visits"]
    sentence = "The intervals are uninformative at this epsilon"
    allow_delta(place, epsilon=50)
    said = {0.01: [], 9: []}
    for epsilon, of_epsilon in said.items():
        for _ in range(5):
            out = f"{epsilon}.json"
            words = ("--columns", "age", "--epsilon", epsilon, "--delta", "1e-6", "--yes", "--fresh", "--out", out)
            done = place.run(*asked, *words)
            of_epsilon.append(Release.read(out).intervals_tell_nothing)
            assert (sentence in told(done)) == of_epsilon[-1]
            assert (sentence in told(place.run("report", out))) == of_epsilon[-1]
            assert (sentence in told(place.run("report", out, "--format", "html"))) == of_epsilon[-1]
    assert any(said[0.01])  # the noise alone can give an end: in about one of 20 fits
    assert not any(said[9])


@pytest.mark.parametrize("epsilon", either([0.1, 50.0], [0.1, 1.0, 50.0]))
def test_estimators_say_whether_chance_alone_gives_it(epsilon):
    """Five of ten columns matter much: noise at a small epsilon, none at a large one."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (1000, 10))
    y = np.clip(0.18 * X[:, :5].sum(axis=1) + 0.05 * rng.standard_normal(1000), -1, 1)
    selector = dc.PCLS(epsilon=epsilon, l1_radius=1.0).fit(X, y)
    assert selector.called_noise_ == selector.release_.chance.called_noise == (epsilon < 10.0)


def test_a_plan_says_what_chance_gives(place):
    """Beside the comparison of methods, at the epsilon in the middle."""
    asked = ["plan", "--metadata", place.metadata, "--target", "visits", "--candidates", "age,income"]
    text = told(place.run(*asked, "--epsilon", 0.1, "--tables", 1, "--method", "pcls", "--method", "pcpl"))
    assert "At epsilon 0.1 nothing can stand out with pcls" in text
    assert "At epsilon 0.1, the chance that a table without any effect gives a column:" in text


def test_a_noise_test_says_what_chance_gives(place):
    """By default: before the charge what it can tell; then the chance, as a charged step, and in the headline."""
    asked = {"method": "sis", "candidates": "age,income"}
    shown = told(place.select("--dry-run", "-k", 1, epsilon=8, **asked))
    assert "The noise test tells a correlation of about" in shown
    clear = told(place.select("--yes", "-k", 1, epsilon=8, out="clear.json", **asked))
    assert "fewer than 1 in 1,000 tables would still give a column that stands out as far." in clear
    release = Release.read("clear.json")
    assert release.request["parameters"]["noise_test"] is True
    assert release.steps[-1].name == "noise_test"
    assert release.steps[-1].value == release.chance.chance_by_noise
    assert release.chance.called_noise is False
    assert place.run("budget", "verify", "clear.json", "--ledger", place.ledger).code == 0
    sentence = "would still give a column that stands out as far"
    for form in ("text", "html", "markdown"):
        for audience in ("board", "analyst"):
            report = place.run("report", "clear.json", "--format", form, "--audience", audience)
            assert sentence in told(report), form


def test_a_noise_test_that_cannot_be_is_refused(place):
    """Stated, where a number is chosen: before anything is spent."""
    done = place.select("--yes", "--noise-test", "-k", "auto", method="sis", epsilon=8, candidates="age,income")
    assert done.code != 0
    assert "noise_test must come with a fixed number of columns" in done.err
    assert place.spent() == 0
