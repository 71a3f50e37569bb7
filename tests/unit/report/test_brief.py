"""The first page of a report: the question in the words of the descriptions, the answer, the guarantee, the budget."""

import pytest
from report_fits import coefficient, make_fit

from discreet.report.brief import answer
from discreet.report.facts import gather
from discreet.report.report_page import page_for


def entries(release):
    """What the first section tells, by its labels."""
    (block,) = [block for block in page_for(release, "board").sections[0].blocks if block.kind == "entries"]
    return {entry.label: entry.value for entry in block.entries}


def described(release):
    """The release with a description of the table and of each column."""
    public = tuple(one.model_copy(update={"description": f"what {one.name} is"}) for one in release.public)
    origin = release.provenance.model_copy(update={"description": "The survey of 2020."})
    return release.model_copy(update={"public": public, "provenance": origin})


def test_a_first_page_answers_without_the_rest(release):
    """Question and answer always; a guarantee where one is promised, and then its picture on the same page."""
    told, first = entries(release), page_for(release, "board").sections[0]
    assert first.title == "In brief"
    assert told["Question"]
    assert told["Answer"]
    has_promise = release.private and release.provenance.randomness != "seeded"
    assert ("Guarantee" in told) == has_promise == ("odds" in [block.name for block in first.blocks[1:]])


def test_descriptions_stand_beside_names(samples):
    """In the question, the answer and the tables; the table's description heads the page."""
    told = entries(described(samples["with ledger"]))
    assert told["Table"] == "The survey of 2020."
    assert "mdvis (what mdvis is)" in told["Question"]
    assert "lncoins (what lncoins is)" in told["Answer"]
    assert "Table" not in entries(samples["with ledger"])


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("with ledger", "2 of 5 candidate columns were selected for what mdvis is: what lncoins is and what site is"),
        ("none selected", "No column was selected for what mdvis is, out of 5 candidate columns"),
        ("fifty candidates", "12 of 50 candidate columns were selected for what mdvis is"),
    ],
)
def test_titles_call_columns_by_what_they_are(samples, name, title):
    """The title and the heading hold descriptions where they are declared, and no code beside them."""
    page = page_for(described(samples[name]), "board")
    assert (page.title, page.heading) == (title, title)


def test_a_title_parts_descriptions_that_hold_commas(samples):
    """By semicolons; a title too long for them names no column, and a description ends without its full stop."""
    release = described(samples["with ledger"])
    texts = {"site": "Site, in Ohio.", "lncoins": "Rate of coinsurance and its logarithm", "mdvis": "Visits."}

    def heading(**texts):
        public = [one.model_copy(update={"description": texts.get(one.name)}) for one in release.public]
        return page_for(release.model_copy(update={"public": tuple(public)}), "board").heading

    start = "2 of 5 candidate columns were selected for "
    assert heading(**texts) == f"{start}Visits: Rate of coinsurance and its logarithm; Site, in Ohio"
    assert heading(mdvis="Visits") == f"{start}Visits: lncoins and site"
    assert heading(site="x" * 200) == f"{start}mdvis: lncoins and {'x' * 57}..."


def test_a_fit_is_told_in_the_words_of_the_descriptions():
    """In its title; names stand beside in the answer."""
    release = described(make_fit("linear"))
    page = page_for(release, "board")
    assert page.heading == "A linear regression of what mdvis is on what lncoins is, what age is and what site is"
    start = "The mean of what mdvis is is higher with age (what age is) and site (what site is): fitchburg and "
    answer = f"{start}lower with lncoins ("
    assert entries(release)["Answer"].startswith(answer)


def answered(*terms):
    """The answer of a linear regression of these terms."""
    release = make_fit("linear")
    fit = release.fit.model_copy(update={"coefficients": terms})
    return answer(gather(release.model_copy(update={"fit": fit}), "board", None))


def test_signs_are_told_as_far_as_intervals_tell_them():
    """Above zero, below zero, and unknown; an end at zero, or none, leaves the sign open."""
    up, down = coefficient("up", 1.0, ends=(0.5, 1.5)), coefficient("down", -1.0, ends=(-1.5, -0.5))
    unknown = coefficient("age", 0.1, ends=(0.0, 0.7)), coefficient("open", 0.1, ends=(None, 0.7))
    text = "The mean of mdvis is higher with up and lower with down (95% intervals)."
    assert answered(up, down, *unknown) == f"{text} Intervals of 2 others include zero."
    assert answered(up, down, unknown[0]) == f"{text} The interval of 1 other includes zero."
    assert answered(*unknown) == "All 95% intervals include zero."
    assert answered(unknown[0]) == "The 95% interval includes zero."


def test_nothing_is_called_nothing():
    """Where no interval tells anything, the answer says so and names no sign."""
    assert answered(coefficient("none", 5.0, ends=(None, None))).startswith("The intervals are uninformative")


def test_chance_is_the_answer_where_chance_gives_as_much(samples):
    """A selection that chance gives is no finding, on the first page as elsewhere."""
    for release in samples.values():
        chance = release.chance
        if chance is not None and chance.called_noise and release.fit is None:
            assert not entries(release)["Answer"].startswith("Selected")
