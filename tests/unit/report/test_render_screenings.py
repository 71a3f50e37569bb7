"""Reports on screenings: what was chosen among is called by its name, and thousands of names are not listed."""

import pytest
from tests.unit.report.report_releases import make

from discreet.release import NoiseRecord, StepRecord
from discreet.report import request_facts
from discreet.report.noise_box import choice
from discreet.report.rendering import render

BOX = NoiseRecord(
    mechanism="one_shot",
    noise="exponential",
    n_candidates=22283,
    sensitivity=40.0,
    scale=20.0,
    unit="products of scaled columns",
    formula="2 x 10 columns x 2, the most that one row changes a score by",
    numerics="exact draw; scores are whole numbers",
    claim="methods/screening/sis.privacy.md",
)
SETS = BOX.model_copy(update={"mechanism": "canonical_lipschitz", "n_candidates": 10**4000})


def screening(noise=BOX, **changes):
    """A screening of more columns than are listed."""
    request = {
        "target": "mdvis",
        "candidates": {"count": 22283, "sha256": "ab" * 32},
        "parameters": {"epsilon": 2.0, "n_features_to_select": 2, "mechanism": noise.mechanism, "y_center": "private"},
    }
    return make(method="sis", epsilon=2.0, noise=noise, request=request, **changes)


def told(release, format="text", audience="board"):
    return " ".join(render(release, format, audience).split())


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
@pytest.mark.parametrize("audience", ["board", "analyst"])
@pytest.mark.parametrize("noise", [BOX, SETS])
def test_every_format_tells_how_many_and_names_what_was_chosen(format, audience, noise):
    """The number of candidates, the selected ones, no model."""
    text = told(screening(noise), format, audience)
    assert "2 of 22283 candidate columns were selected for mdvis" in text
    assert "each by itself" in text
    assert "lncoins" in text
    assert "one at a time" in text
    assert "models" not in text.replace("whether models have an intercept", "")


def test_what_is_chosen_among_has_a_name():
    """Sets of columns, or columns."""
    assert "one-shot top-k, exponential noise, over 22,283 columns" in told(screening())
    assert "canonical Lipschitz mechanism, exponential noise, over about 1.00e+4000 sets of columns" in told(
        screening(SETS)
    )


def test_a_plan_tells_what_its_screening_left():
    """The step's columns, in the report and in the noise box's choice."""
    step = StepRecord(
        name="screening",
        event={"type": "SelectionEvent", "epsilon": 2.0},
        noise=BOX,
        columns=("lncoins", "site", "age"),
    )
    release = screening(steps=(step,))
    assert "lncoins, site and age" in told(release, "html")
    assert choice(release) == BOX
    assert (request_facts.candidates(release), request_facts.n_candidates(release)) == ((), 22283)


def test_a_few_hundred_names_are_left_to_the_analyst():
    """A board sees what was selected; up to two hundred names are shown as ever."""
    names = tuple(f"x{i}" for i in range(300))
    release = make(names=names, selected=("x7", "x250"), noise=BOX, method="sis")
    assert "x123" not in render(release, "html").split("declared public")[0]
    assert "298 further candidates were not selected" in told(release, "html")
    assert "x123" in render(release, "html", "analyst")
