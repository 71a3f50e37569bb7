"""What reports say of steps, coefficients, models by size, noisy moments and delta."""

import json
import re

import pytest
from markdown_it import MarkdownIt
from pdf_text import text_of
from test_rendering import AUDIENCES, WORDS, Page, html_of, said

from discreet.release import Release
from discreet.report import FORMATS, render
from discreet.report.words import visible

TOLD = [
    ("tuned", ["largest l1 norm", "epsilon 0.15", "24", "Laplace noise on whole numbers", "over 32 models"]),
    ("tuned", ["over 5 values", "20.312", "epsilon 0.6", "2 of 5 candidate columns were selected for mdvis"]),
    ("pcpl", ["penalized constrained profile likelihood", "epsilon 0.8, delta 0.000001", "412,346"]),
    ("pcpl", ["of this, 0.000001 is the chance that a bound fails on which the noise depends"]),
    ("linear", ["A linear regression of mdvis on lncoins, age and site", "others being equal?", "Estimate"]),
    ("linear", ["-0.081", "-0.115 to -0.048", "31%", "site: fitchburg", "Levels of site are compared with dayton"]),
    (
        "linear",
        [
            "explain an estimated 0.0712 of the target's variance",
            "residual standard deviation is 4.504",
            "mdvis is higher by the estimate",
        ],
    ),
    (
        "linear",
        ["Delta is a small probability that the factor", "by at most 1 in 1,000,000", "epsilon 1 at delta 0.000001"],
    ),
    ("logistic", ["odds that mdvis is 30 are multiplied by the odds ratio", "0.922", "1.40"]),
    ("poisson", ["the expected mdvis is multiplied by the rate ratio", "0.922"]),
    (
        "run",
        ["3 of 5 candidate columns were selected for mdvis: lncoins, site and age", "all others being equal?"],
    ),
    ("run", ["The level of these intervals is not guaranteed", "rho 0.0071", "intervals too narrow"]),
    ("run by half", ["which the choice did not use", "each interval holds as if"]),
    ("run in parts", ["one chose the columns, the other gave", "each interval holds as if", "equal variance"]),
    ("moments", ["R squared", "+ female", "(selected)", "28 noisy sums of products", "without a further charge"]),
    ("moments alone", ["Noisy moments of mdvis and 5 candidate columns", "answered without the rows?"]),
    ("moments of many", ["a noisy number of rows, 20,190 with standard deviation 3", "a_rather_long_column_name_24"]),
    ("moments of none", ["No column was selected for mdvis", "no column"]),
    ("derived fit", ["Computed for free from release 0a0a0a0a0a0a0a0a", "Nothing was charged", "named in advance"]),
    ("derived choice", ["Computed for free", "1 of 5 candidate columns was selected for mdvis: lncoins"]),
    (
        "fit says nothing",
        ["2 coefficients, marked with an asterisk, are uninformative", "female *", "more than 99%. Near"],
    ),
    (
        "logistic says nothing",
        ["One coefficient, marked with an asterisk, is uninformative", "neither a lower nor an upper"],
    ),
    ("intercept alone", ["an intercept alone", "2.4"]),
]
EXTRA = {"(selected)": "text", "Estimate": "text", "more than 99%. Near": "text"}
"""What the short text of the terminal says in other words."""


@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize(("name", "parts"), TOLD)
def test_each_kind_of_release_says_what_it_is_about(samples, name, parts, format):
    """Steps with prices, coefficients with intervals, models by size, noisy sums, where they come from."""
    text = said(samples[name], format)
    for part in parts:
        if EXTRA.get(part) != format:
            assert part.casefold() in text.casefold(), part


@pytest.mark.parametrize("format", WORDS)
def test_the_analyst_reads_every_noise_box(samples, format):
    """One for each step, and the Gaussian cost as rho."""
    text = said(samples["run"], format, "analyst")
    assert text.count("methods/subset_selection/pcls.privacy.md") == 2
    assert text.count("sqrt(m^2 + categories)") == 1
    assert "zero-concentrated cost (zCDP) is rho 0.0071" in text
    assert "zero-concentrated" not in said(samples["run"], format)


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_the_analyst_reads_what_either_noise_does(samples, format):
    """Half the interval's width by sampling alone and by privacy noise alone; the noise of the sums."""
    text = said(samples["linear"], format, "analyst")
    assert "sampling" in text
    assert "0.028" in text
    assert "0.28" not in said(samples["linear"], format)
    assert "0.0012 for two columns" in said(samples["moments"], format, "analyst")


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("name", ["open ends", "logistic open ends"])
def test_an_open_end_is_told_in_words(samples, name, format, audience):
    """The end that there is, and that no other can be told."""
    text = said(samples[name], format, audience)
    for part in ("above 1.2", "below -0.8", "uninformative"):
        assert part in text
    for part in ("above", "no upper limit is known", "below", "no lower limit is known", "One coefficient"):
        assert part in text


def older(release, limit=4321.5):
    """Return a release as an older version wrote it: the limits of the method stand where there is no end."""
    value = json.loads(release.to_json())
    for one in value["fit"]["coefficients"]:
        if one["uninformative"]:
            one |= {"low": -limit, "high": limit}
        one |= {end: sign * 1e300 for end, sign in (("low", -1), ("high", 1)) if one[end] is None}
    return json.dumps(value)


@pytest.mark.parametrize("format", [*FORMATS, "json"])
@pytest.mark.parametrize("name", ["open ends", "logistic open ends", "logistic says nothing", "no intervals"])
def test_an_open_end_is_a_number_in_no_format(samples, name, format):
    """Nor is one in a release that an older version wrote with the method's limits, or as large as floats are."""
    release = Release.from_json(older(samples[name]))
    assert release == samples[name]
    if format == "json":
        text = release.to_json()
        assert json.loads(text, parse_constant=pytest.fail)["fit"]["coefficients"][-1]["high"] is None
    else:
        text = render(release, format)
    if format == "pdf":
        pytest.importorskip("typst")
        text = text_of(text)
    text = re.sub("<svg.*?</svg>", "", text, flags=re.DOTALL)  # its coordinates are numbers of all kinds
    assert not re.search(r"432[0-9]|e\+?300|\b(inf|nan|None)\b", text)


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("name", ["no intervals", "run without intervals"])
def test_a_method_without_intervals_says_so(samples, name, format, audience):
    """What to do for intervals; nothing about shares of chance, asterisks or intervals that are too narrow."""
    text = said(samples[name], format, audience)
    for part in ("gave none without a delta", "request the fit again", "No p-values or intervals"):
        assert part in text
    for part in (
        "two sources of",
        "argest share",
        "y's share",
        "95%",
        "marked with an asterisk",
        "too narrow",
        "sampling",
        "inner bar",
    ):
        assert part not in text, part
    assert ("The same rows first chose the columns" in text) == (name == "run without intervals")


def test_a_confidence_that_was_not_used_is_told_so(samples):
    """The parameter is public, but no interval has its level."""
    request = {"target": "mdvis", "candidates": ["age"], "parameters": {"confidence": 0.95}}
    release = samples["no intervals"].model_copy(update={"request": request})
    assert "confidence 0.95 confidence level of the intervals, if there were any" in said(release, "markdown")


@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("name", ["linear", "moments alone", "derived choice"])
def test_no_caution_without_a_selection_before_a_fit(samples, name, format):
    """Intervals of columns named in advance hold."""
    assert "The level of these intervals is not guaranteed" not in said(samples[name], format)


@pytest.mark.parametrize("format", WORDS)
def test_a_selection_with_pure_privacy_does_not_speak_of_delta(samples, format):
    """Nothing to explain, no Gaussian noise, and no coefficients."""
    text = said(samples["with ledger"], format)
    for part in ("Delta is a small", "Gaussian", "zero-concentrated", "Estimate", "Steps", "R squared"):
        assert part not in text


@pytest.mark.parametrize("format", WORDS)
def test_a_derived_release_was_not_left_uncounted(samples, format):
    """It was paid with the release it comes from."""
    text = said(samples["derived fit"], format)
    assert "were not counted" not in text
    assert "0a" * 32 in said(samples["derived fit"], format, "analyst")


@pytest.mark.parametrize("format", WORDS)
def test_a_fit_for_study_promises_nothing(samples, format):
    """The banner stands first, and the noise is no protection."""
    text = said(samples["fit for study"], format, "analyst")
    assert text.casefold().index("not private") < text.index("linear regression")
    assert "This noise is no protection" in text
    assert "anybody's beliefs" not in text


def test_the_settings_of_a_run_are_told_one_by_one(build):
    """Those of its steps by the step's name, each with its meaning."""
    parameters = {"epsilon": 1.0, "select": {"method": "pcls", "forced": ["age"]}, "fit": {"confidence": 0.95}}
    release = build(request={"target": "mdvis", "candidates": ["age", "idp"], "parameters": parameters})
    text = said(release, "markdown")
    assert "fit: confidence 0.95 confidence level of the intervals" in text
    assert "By request, age was in every model" in text


@pytest.mark.parametrize("audience", AUDIENCES)
def test_hostile_levels_and_steps_make_nothing(samples, audience):
    """Names of levels and of steps are text in Markdown and on the page."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(render(samples["hostile fit"], "markdown", audience))
    inner = {child.type for token in tokens for child in token.children or []}
    assert not {"html_inline", "link_open", "image", "code_inline"} & inner
    assert "html_block" not in {token.type for token in tokens}
    page = Page(html_of(samples["hostile fit"], audience))
    for one in samples["hostile fit"].fit.coefficients:
        assert visible(one.name) in page.text or one.level is not None


def test_every_picture_of_a_fit_can_be_read_aloud(samples):
    """Each has a label and a caption, and stands once."""
    page = Page(html_of(samples["run"]))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("figcaption") == tags.count("figure") == tags.count("svg") == 5
    assert all(given["aria-label"] for tag, given in page.elements if tag == "svg")


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", WORDS)
def test_thousands_stand_apart(samples, format, audience):
    """In bounds, budgets, parameters and noise; only dates, digests and names are written otherwise."""
    release = samples["with ledger"]
    public = tuple(
        column.model_copy(update={"upper": 123456.0}) if column.upper is not None else column
        for column in release.public
    )
    ledger = release.provenance.ledger.model_copy(update={"epsilon_cap": 20000.0})
    noise = release.noise.model_copy(update={"scale": 54321.0, "sensitivity": 54321.0})
    request = {**release.request, "parameters": {"epsilon": 1.0, "y_bound": 20190.0}}
    text = said(
        release.model_copy(
            update={
                "public": public,
                "noise": noise,
                "request": request,
                "provenance": release.provenance.model_copy(update={"ledger": ledger}),
            }
        ),
        format,
        audience,
    )
    for part in ("123,456", "20,000", "54,321"):
        assert part in text
    assert "20,190" in text or audience == "board"
    assert re.findall(r"(?<![\w.,-])\d{4,}(?![\w-])", text) == []
