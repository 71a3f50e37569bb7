"""Pictures of a release."""

import re
from xml.etree import ElementTree

import pytest

from discreet.report.pictures import draw

SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_do_not_depend_on_what_was_selected(build):
    """Two releases that differ only in their answer have the same pictures, byte for byte."""
    assert draw(build(selected=("age",))) == draw(build(selected=("lncoins", "site")))


def test_pictures_are_the_same_every_time(samples):
    """Nothing of time or chance is in them."""
    assert draw(samples["with ledger"]) == draw(samples["with ledger"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("with ledger", {"odds", "swap", "budget"}),
        ("without ledger", {"odds", "swap"}),
        ("unknown law", {"odds"}),
        ("not private", {"swap"}),
        ("seeded", {"swap"}),
        ("tuned", {"odds", "swap", "steps"}),
        ("linear", {"odds", "coefficients"}),
        ("run", {"odds", "swap", "budget", "coefficients", "steps"}),
        ("moments", {"odds", "sizes", "steps"}),
        ("moments alone", {"odds", "steps"}),
        ("derived fit", {"odds", "coefficients", "steps"}),
        ("intercept alone", {"odds"}),
        ("fit for study", {"coefficients"}),
    ],
)
def test_only_what_holds_is_drawn(samples, name, drawn):
    """No odds without a guarantee, no bar without a ledger, no swaps without a known law."""
    assert set(draw(samples[name])) == drawn


@pytest.mark.slow
def test_a_picture_is_well_formed_and_tells_itself(release):
    """Each is XML with a role and a label, without scripts, links, styles or events."""
    for svg in draw(release).values():
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
        assert root.get("role") == "img"
        assert len(root.get("aria-label")) > 20
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "g", "path", "line", "text", "tspan", "rect", "defs", "clipPath",
        }  # fmt: skip
        names = {name for element in root.iter() for name in element.attrib}
        assert not any(name.startswith("on") or "href" in name for name in names)


def test_the_bar_of_an_account_in_rho_is_in_rho(samples):
    """Its parts are those of rho: a third of the cap each."""
    bar = draw(samples["ledger in rho"])["budget"]
    parts = "other releases: 0.125, this release: 0.125, left: 0.125"
    assert f"rho 0.25 of 0.375 spent; {parts}." in bar
    assert "epsilon 1.5 of 3 spent" in draw(samples["with ledger"])["budget"]


def test_a_hostile_target_is_text(samples):
    """The target's name, drawn as the unit of an axis, stays text."""
    root = ElementTree.fromstring(draw(samples["hostile"])["swap"])  # noqa: S314 - our own drawing
    assert any("<script>t</script>" in (element.text or "") for element in root.iter())


def test_the_ids_of_two_pictures_differ(samples):
    """Pictures share a page, so no id may occur twice."""
    ids = [
        element.get("id")
        for svg in draw(samples["with ledger"]).values()
        for element in ElementTree.fromstring(svg).iter()  # noqa: S314 - our own drawing
        if element.get("id")
    ]
    assert len(ids) == len(set(ids))


def texts(svg):
    """Return the texts of a picture."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
    return [" ".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_coefficients_are_named_and_levels_stand_below_their_category(samples):
    """The category is a heading, and the intercept is left to the table."""
    told = texts(draw(samples["linear"])["coefficients"])
    assert {"lncoins", "age", "site", "fitchburg", "franklin"} <= set(told)
    assert not {"intercept", "site: fitchburg"} & set(told)


@pytest.mark.parametrize(("name", "ratio"), [("logistic", "Odds ratio for mdvis"), ("poisson", "Rate ratio for mdvis")])
def test_ratios_have_a_logarithmic_axis_that_says_so(samples, name, ratio):
    """One, no difference, is on it."""
    told = texts(draw(samples[name])["coefficients"])
    assert any(text.startswith(ratio) for text in told)
    assert "1" in told


def test_without_intervals_there_are_dots_alone(samples):
    """No bars, no legend that explains bars, and the label says so."""
    bare, usual = draw(samples["no intervals"])["coefficients"], draw(samples["logistic"])["coefficients"]
    assert "Estimates of 6 coefficients as dots, without intervals." in bare
    assert "with privacy noise" in texts(usual)
    assert not {"with privacy noise", "sampling alone"} & set(texts(bare))
    assert "#86abbc" in usual
    assert "#86abbc" not in bare
    assert {"age", "noise", "far"} <= set(texts(bare))


@pytest.mark.parametrize("name", ["open ends", "logistic open ends", "logistic says nothing"])
def test_a_bar_without_an_end_is_finite(samples, name):
    """It ends in an arrow at the picture's edge, and the label says of how many no limit can be told."""
    drawn = draw(samples[name])["coefficients"]
    n_open = sum(None in (one.low, one.high) for one in samples[name].fit.coefficients)
    assert f"; {n_open} without a known lower or upper limit." in drawn
    assert not re.search(r"\b(inf(inity)?|nan|none|null)\b", drawn.replace('"none"', ""), re.IGNORECASE)
    assert "without a known" not in draw(samples["linear"])["coefficients"]


def test_long_names_keep_their_ends(samples):
    """Two names that differ at their end are told apart."""
    told = [text for text in texts(draw(samples["moments of many"])["sizes"]) if "column" in text]
    assert len(told) == len(set(told)) == 26


def test_hostile_levels_are_text(samples):
    """Names of columns, levels and steps stay text in every picture."""
    drawn = draw(samples["hostile fit"])
    assert set(drawn) == {"odds", "coefficients", "sizes", "steps"}
    assert "<script>alert(1)</script>" in texts(drawn["coefficients"])


def test_numbers_beyond_all_bounds_are_drawn(samples):
    """Intervals of any length leave a picture of readable size."""
    root = ElementTree.fromstring(draw(samples["extreme fit"])["coefficients"])  # noqa: S314 - our own drawing
    assert 200 < float(root.get("width")) < 900
    assert "NaN" not in draw(samples["extreme fit"])["coefficients"]
