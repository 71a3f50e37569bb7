"""What a plan recommends of selections that do nearly alike: the one that does best on unkind tables."""

import pytest

from discreet import workflow
from discreet.workflow import expectation_cache, recommendation
from discreet.workflow.expectation import Choice, Expectation
from discreet.workflow.recommendation import near_ties, recommended

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
FACTS = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 100, "columns": {"y": BOX}}
QUESTION = workflow.Question(workflow.Metadata.from_value(FACTS), "y", None, epsilons=(1.0,))


def answer(on_unkind=(), **overlaps):
    """Figures at one epsilon of selections that are named method_tuning."""
    return Expectation(
        supposed={"n_rows": [100], "scenarios": [{}]},
        choices=tuple(Choice(name, name.split("_")[0], {}, 0.0, None) for name in overlaps),
        rows=tuple(
            {"rival": name, "epsilon": 1.0, "n_rows": 100, "overlap": overlap, "n_draws": 16, "error": 0.0}
            for name, overlap in overlaps.items()
        ),
        refused={},
        theory=[],
        on_unkind=dict(on_unkind),
    )


def test_near_ties_are_the_best_of_each_method_and_of_few():
    """What is behind by more than .05 stays out, and so does a second tuning of the same method."""
    expected = answer(pcls_a=0.98, pcls_b=0.97, moments_a=0.95, sis_a=0.93, sis_b=0.92, decorrelated=0.929)
    assert near_ties(QUESTION, expected) == ["pcls_a", "moments_a", "sis_a", "decorrelated"]
    assert near_ties(QUESTION, answer(pcls_a=0.98, moments_a=0.92)) == ["pcls_a"]


@pytest.mark.parametrize(("overlap", "chosen"), [(0.93, "moments_a"), (0.92, "pcls_a")])
def test_unkind_tables_decide_between_near_ties_alone(overlap, chosen):
    """More tables may show that it was none: then the best on tables as stated is recommended."""
    expected = answer({"pcls_a": 0.2, "moments_a": 0.9}, pcls_a=0.98, moments_a=overlap, sis_a=0.97)
    assert recommended(QUESTION, expected).rival == chosen


def test_the_reason_tells_both_figures():
    """Of tables as stated, and of unkind ones, beside the next."""
    reason = recommended(QUESTION, answer({"pcls": 0.2, "moments": 0.914}, pcls=0.98, moments=0.95)).reason
    assert "overlap with the right columns of 0.95 on 16 simulated tables" in reason
    assert "On unfavorable tables it overlaps most, by 0.91; the next is pcls, by 0.20." in reason


def test_unkind_tables_that_differ_by_nothing_leave_the_order():
    """Figures that print alike are alike."""
    expected = answer({"pcls": 0.901, "moments": 0.904}, pcls=0.98, moments=0.95)
    assert recommended(QUESTION, expected).rival == "pcls"


def test_a_plan_compares_near_ties_on_unkind_tables(monkeypatch, tmp_path):
    """On tables where all find the effects; control: where nothing is a near tie no unkind table is asked."""
    monkeypatch.setattr(expectation_cache, "cache_folder", lambda: tmp_path)
    columns = {f"x{j}": BOX for j in range(1, 5)} | {"y": BOX}
    metadata = workflow.Metadata.from_value(FACTS | {"n_rows": 20_000, "columns": columns})
    question = workflow.Question(metadata, "y", None, (1.0,), methods=("sis", "pcls", "moments"), n_tables=4)
    expected = workflow.expect(question)
    assert len(expected.on_unkind) > 1
    of_methods = {expected.choice(name).method for name in expected.on_unkind}
    assert len(of_methods) == len(expected.on_unkind)
    assert round(expected.on_unkind[expected.recommended.rival], 2) == round(max(expected.on_unkind.values()), 2)
    monkeypatch.setattr(recommendation, "CLOSE", -1.0)
    assert workflow.expect(workflow.Question(metadata, "y", None, (1.0,), n_tables=3)).on_unkind == {}
