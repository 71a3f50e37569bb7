"""What reports say and draw of estimates on weighted public points."""

import itertools
import math
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from report_hybrids import HYBRIDS, bare, make_hybrid, number, points
from test_pictures import texts
from test_rendering import AUDIENCES, WORDS, Page, drawn_once, html_of, said

from discreet.release import HybridRecord
from discreet.report import coefficient_table, estimate_pictures, estimates, hybrids, pictures, render
from discreet.report.words import visible

TOLD = [
    ("hybrid", ["A logistic regression of mdvis on lncoins, age and site, from weighted public records"]),
    ("hybrid", ["How does mdvis, among the private rows, differ with each of the columns", "every one of the counts"]),
    ("hybrid", ["each person of the private table", "Whoever is in both tables is protected only as a private row"]),
    ("hybrid", ["nearest of 10 points of survey_2011.parquet", "those with a weight are published as they are"]),
    (
        "hybrid",
        [
            "correspond to 8 points of equal weight",
            "40.0% of the 10 points have half of the weight",
            "the heaviest one has 18.2%",
        ],
    ),
    (
        "hybrid",
        [
            "simulated on the public records alone",
            "0.0406",
            "what anybody can learn from the private table about one person",
        ],
    ),
    ("hybrid of few", ["A Huber regression of mdvis", "outlying rows have less weight"]),
    (
        "hybrid quantile",
        ["The 0.9 quantile of mdvis, from weighted", "What is the 0.9 quantile of mdvis among the private"],
    ),
    ("hybrid quantile", ["12.25", "-6.12", "Columns"]),
    ("hybrid mean", ["The mean of mdvis", "the average of mdvis over the rows"]),
    ("hybrid poisson", ["rate ratio", "each household of the private table"]),
    (
        "margins",
        [
            "4 sums over the private rows were computed",
            "weights that bring their own sums close to these",
            "every one of the sums",
        ],
    ),
    (
        "choice",
        ["best, after noise, of 6 estimates", "The chosen estimate: 10 points, ridge 0", "over 6 estimates", "13.25"],
    ),
    ("choice", ["rows predicted as wrongly as can be", "choice of the estimate", "had a public head start"]),
    ("choice", ["3 of the points have no weight", "It does not include the choice between estimates"]),
    ("choice of nothing", ["No effect at all was chosen"]),
    ("choice of public", ["from public records alone", "the private rows gave them no weights"]),
    ("choice of grid", ["A histogram was chosen", "from a noisy histogram"]),
    ("published", ["Nobody in the private table is protected either", "This noise is no protection", "1510 points"]),
    ("own", ["minimum of the contrast <b>trimmed</b> | *mean* of mdvis", "theta[2]", "1000000", "2000000"]),
    ("histogram", ["from a noisy histogram", "the 150 cells of a public grid", "laid over the declared ranges"]),
]
"""What each release says."""
OF_NOISE = ("every one of the", "This noise is no protection")
"""What the board's short text leaves to the noise box."""


def draw(release):
    """The pictures of a release."""
    with drawn_once():
        return pictures.draw(release)


@pytest.mark.slow
@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize(("name", "parts"), TOLD)
def test_each_kind_says_what_it_rests_on(samples, name, parts, format):
    """What was estimated, of whom, on which records, who is protected, and what was chosen among."""
    text = said(samples[name], format)
    for part in parts:
        if format != "text" or not part.startswith(OF_NOISE):
            assert part.casefold() in text.casefold(), part


@pytest.mark.slow
@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("name", HYBRIDS)
def test_nothing_is_said_of_selections_models_or_intervals(samples, name, audience, format):
    """There are none, and a delta would not make them."""
    text = said(samples[name], format, audience).casefold()
    for part in (
        "selected",
        "95%",
        "over 6 models",
        "without a delta",
        "a model ahead",
        "for intervals, request",
        " nan",
    ):
        assert part not in text, part
    assert text.count("no intervals") >= 1


@pytest.mark.parametrize("format", WORDS)
def test_a_histogram_says_nothing_of_public_records(samples, format):
    """It has none: neither as a basis nor as unprotected."""
    text = said(samples["histogram"], format, "analyst")
    assert "public records" not in text.replace("the public records, which are released as they are", "")
    assert "private table" not in text


@pytest.mark.parametrize("format", WORDS)
def test_what_is_published_is_not_private(samples, format):
    """No promise is made to rows of either table, and no head start is told of."""
    text = said(samples["published"], format, "analyst")
    assert "not private" in text.casefold()[:400]
    for part in ("of the private table is protected", "anybody's beliefs", "head start", "computed from that for free"):
        assert part not in text


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("name", ["margins", "published"])
def test_neither_points_nor_many_candidates_are_listed(samples, name, format, audience):
    """Twenty thousand weights and sixty estimates leave a report of usual length, the chosen estimate in it."""
    report = html_of(samples[name], audience) if format == "html" else render(samples[name], format, audience)
    assert report.count("\n") < (700 if format == "html" else 220)
    assert len(report) < (120_000 if format == "html" else 20_000)
    if name == "published":
        assert "10, 60, 110 ... 2,960 (60 of them)" in said(samples[name], format, "analyst")
        text = said(samples[name], format, "analyst")
        assert "36 further estimates are not listed" in text
        assert "1510 points (chosen)" in text
        assert "2960 points" not in text


def test_the_analyst_reads_the_digest_and_what_to_do_with_weights(samples):
    """The points' digest, and that standard errors of other software are too small."""
    text = said(samples["hybrid"], "markdown", "analyst")
    assert text.count("ba" * 32) == 2
    assert "ignore the noise and are too small" in text


@pytest.mark.parametrize("format", WORDS)
def test_hostile_names_stay_text(samples, format):
    """Those of the public table, of candidates, of twins and of a contrast."""
    for name, parts in {
        "hostile hybrid": ["<img src=x>|`a`.csv", "<i>a</i>|*b*"],
        "own": ["<b>trimmed</b> | *mean*"],
    }.items():
        text = said(samples[name], format, "analyst")
        assert all(part in text for part in parts)


@pytest.mark.parametrize("name", ["hostile hybrid", "own"])
def test_hostile_names_make_nothing_in_markdown(samples, name):
    """Neither an element nor a cell more."""
    tokens = (
        MarkdownIt("commonmark", {"html": True}).enable("table").parse(render(samples[name], "markdown", "analyst"))
    )
    inner = {child.type for token in tokens for child in token.children or []}
    assert not {"html_inline", "link_open", "image", "code_inline", "em_open"} & inner
    page = Page(html_of(samples[name]))
    assert all(visible(one.name) in page.text for one in samples[name].fit.coefficients)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("hybrid", {"odds", "budget", "coefficients", "weights", "twins"}),
        ("hybrid quantile", {"odds", "weights", "twins"}),
        ("margins", {"odds", "coefficients", "weights", "twins"}),
        ("choice", {"odds", "swap", "coefficients", "weights", "twins", "steps"}),
        ("choice of nothing", {"odds", "swap", "coefficients", "twins", "steps"}),
        ("choice of public", {"odds", "swap", "coefficients", "twins", "steps"}),
        ("published", {"swap", "coefficients", "weights"}),
        ("own", {"odds", "weights"}),
        ("histogram", {"odds", "coefficients"}),
        ("weightless", {"odds", "coefficients"}),
    ],
)
def test_only_what_there_is_is_drawn(samples, name, drawn):
    """No weights where the private rows gave none, no errors where none were simulated."""
    assert set(draw(samples[name])) == drawn


def test_coefficients_stand_beside_those_of_public_records(samples):
    """In pairs with a legend; of a histogram they stand alone."""
    told = draw(samples["hybrid"])["coefficients"]
    assert {"with the private rows", "public records alone"} <= set(texts(told))
    assert "each beside that of the public records alone; 4 of them have another sign there." in told
    assert "public records alone" not in texts(draw(samples["histogram"])["coefficients"])


def test_the_errors_are_drawn_by_number_of_points(samples):
    """The numbers tried stand on the axis, the one that was used and public records alone in words."""
    told = draw(samples["hybrid"])["twins"]
    assert {"5", "10", "20", "10 used", "public records alone"} <= set(texts(told))
    assert "5 points 2%; 10 points 0.84%; 20 points 1.1%; public records alone 14%; 10 points were used." in told
    assert "used" not in " ".join(texts(draw(samples["choice of public"])["twins"]))


def test_the_errors_of_margins_are_two_rows(samples):
    """All points take part: there is no number to vary."""
    told = draw(samples["margins"])["twins"]
    assert {"public records alone", "with private margins"} <= set(texts(told))
    assert "public records alone 14%; with private margins 4%." in told


def test_the_curve_of_weights_is_small_however_many_points(samples):
    """Its label tells what the eye reads: where half of the weight lies, and how many points have none."""
    many, few = draw(samples["margins"])["weights"], draw(samples["choice"])["weights"]
    assert len(many) < 20_000
    assert "half of it lies on 29.3% of 20,000 points." in many
    assert "half of it lies on 30.0% of 10 points; 3 have none." in few


def test_every_picture_is_well_formed(samples):
    """No number that is none, and nothing of the public table's name that is markup."""
    for name in HYBRIDS:
        for svg in draw(samples[name]).values():
            root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
            assert 100 < float(root.get("width")) < 900
            assert "NaN" not in svg
            assert "Infinity" not in svg


@pytest.mark.parametrize(
    ("n_zero", "part"), [(1, "1 of the points has no weight"), (2, "2 of the points have no weight")]
)
def test_points_without_a_weight_are_counted(n_zero, part):
    """One has none, several have none."""
    release = make_hybrid(hybrid=HybridRecord(points=points(n_zero=n_zero)))
    assert part in said(release, "text")


def test_the_ticks_of_ratios_have_room():
    """Neighbors on the axis stand apart, whatever its ends are."""
    for low, high in [(-0.92, 0.83), (-0.01, 0.01), (-4.2, 4.4), (0.0, 3.0), (-600.0, 0.0)]:
        ticks = estimate_pictures._ratios(low, high)
        assert 0 < len(ticks) <= 10
        gaps = [math.log(right / left) for left, right in itertools.pairwise(ticks)]
        assert all(gap > (high - low) / 20 for gap in gaps)


@pytest.mark.parametrize(
    ("weights", "effective", "half"),
    [
        ((1.0,) * 8, 8.0, 4),
        ((1.0, 0.0, 0.0), 1.0, 1),
        ((3.0, 1.0), 1.6, 1),
        ((0.0, 0.0), 0.0, 0),
        ((), 0.0, 0),
        ((1e300, 1e300), 2.0, 1),
    ],
)
def test_the_effective_number_of_points(weights, effective, half):
    """Equal weights count as they are, one that has all counts as one, none as none."""
    assert hybrids.effective(weights) == pytest.approx(effective)
    assert hybrids.half_at(weights) == half


def test_the_heaviest_points_come_first():
    """Shares of the weight rise, less and less, to the whole."""
    found = hybrids.shares((1.0, 5.0, 0.0, 4.0))
    assert found == pytest.approx([0.0, 0.5, 0.9, 1.0, 1.0])
    assert hybrids.shares((0.0,)) == []


def test_estimates_in_the_targets_unit_have_its_digits():
    """A wider target takes fewer decimals; a contrast of one's own has its own scale."""
    release = make_hybrid("mean", number("mean", "mdvis", 12.34567))
    assert estimates.fit(release).coefficients[0].estimate == "12.35"
    wide = tuple(
        column.model_copy(update={"upper": 3e6}) if column.role == "target" else column for column in release.public
    )
    assert estimates.fit(release.model_copy(update={"public": wide})).coefficients[0].estimate == "0"


def test_a_table_without_public_estimates_has_no_column_for_them():
    """A heading stands above something."""
    fitted = bare(make_hybrid().fit)
    alone = make_hybrid(fit=fitted, hybrid=HybridRecord(points=points()))
    assert "public alone" not in coefficient_table(alone)
    table = coefficient_table(make_hybrid(fit=fitted))
    assert "public alone: from the public records without weights, at no cost" in table
    assert "interval" not in table.replace("no intervals: this method gives none", "")
    assert all(math.isfinite(float(row.split()[-1])) for row in table.split("\n")[2:7])
