"""`discreet plan --out plan.html`: pictures of what to expect, a table under each, from public facts alone."""

import math
import re
import shlex

import pytest

pytestmark = pytest.mark.usefixtures("nothing_is_opened")


def page(place, *words):
    """The page's text, and the command's end."""
    out = place.folder / "plan.html"
    done = place.run("plan", "--metadata", place.metadata, "--target", "visits", "--out", out, "--tables", 2, *words)
    assert done.code == 0, done
    return out.read_text()


def titles(html):
    return re.findall(r"<h2[^>]*>([^<]+)</h2>", html)


def test_sections_and_pictures(place):
    """Accuracy, comparison, fit, what it is spent on, what repeats add up to, and the odds; each drawn and told."""
    only = ("--method", "sis", "--set", "n_features_to_select=1", "--alone")
    html = page(place, "--candidates", "age,income", "--delta", 0, *only)
    assert titles(html) == [
        "Try it",
        "What is recommended",
        "Exactly the right columns, against epsilon",
        "Overlap, against epsilon",
        "All selections at epsilon 1",
        "Coefficients of the right columns",
        "What epsilon is spent on",
        "What repeated requests add up to",
        "What a release can tell of a person",
        "What the figures mean",
    ]
    assert html.count("<svg ") == 8
    assert html.count("The figures as a table") == 6
    assert "no private data were opened and nothing was spent" in html
    assert "not private" not in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)


def test_what_is_recommended_is_whole(place):
    """A sentence is a paragraph, however long; the command has an option a line, ready to paste."""
    html = page(place, "--candidates", "age,income", "--method", "pcls", "--alone", "--epsilon", "0.5,1")
    section = html.split("What is recommended</h2>")[1].split("</section>")[0]
    paragraphs = re.findall(r"<p>(.*?)</p>", section, re.DOTALL)
    assert paragraphs
    assert all(text.rstrip()[-1] == "." and text[0].isupper() for text in paragraphs)
    [command] = re.findall(r"<pre><code>(.*?)</code></pre>", section, re.DOTALL)
    assert command.startswith("discreet select \\\n  --data DATA \\\n  --")
    assert shlex.split(command.replace("\\\n", ""))[:4] == ["discreet", "select", "--data", "DATA"]


def test_totals_of_repeated_requests(place):
    """20 requests at epsilon .5 add up to 10; concentrated accounting says less for the exponential mechanism."""
    only = ("--method", "pcls", "--set", 'mechanism="exponential"', "--alone")
    html = page(place, "--candidates", "age,income", "--delta", 0, "--epsilon", "0.2,0.5,1", *only)
    table = html.split("What repeated requests add up to</h2>")[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col" class="figure">([^<]+)</th>', table)
    assert heads == [
        "epsilon 0.25 each, added up",
        "epsilon 0.25 each, composed",
        "epsilon 0.5 each, added up",
        "epsilon 0.5 each, composed",
    ]
    last = [float(cell) for cell in re.findall(r'<td class="figure">([^<]+)</td>', table)][-4:]
    assert (last[0], last[2]) == (5, 10)
    rho = 20 * 0.5**2 / 8  # of the exponential mechanism
    assert 0.5 * math.sqrt(rho * math.log(1e6)) < last[3] < rho + 2 * math.sqrt(rho * math.log(1e6)) < 10
    assert last[1] < 5


def test_several_rows_and_scenarios(place):
    """Curves against the number of rows, a panel a scenario, and a table of what is supposed."""
    html = page(place, "--candidates", "age,income", "--n-rows", "100,400", "--times", "0.5,1", "--epsilon", "1,5")
    assert titles(html)[2] == "What is supposed"
    assert "Exactly the right columns, against the rows" in titles(html)
    shown = re.findall(r">(supposed = [AB], rows = \d+)<", html)
    assert {"supposed = A, rows = 100", "supposed = B, rows = 400"} <= set(shown)


def test_goal(place):
    """The epsilon that each selection needs, as dots and as a table."""
    html = page(place, "--candidates", "age", "--method", "pcls", "--alone", "--goal", "overlap>=0.5")
    assert titles(html) == ["What is recommended", "The epsilon that is needed", "What the figures mean"]
    assert html.count("<svg ") == 1


def test_names_are_shown_as_they_are(place):
    """A column's name with marks of a page is text on it."""
    other = place.write_metadata(lambda value: value["columns"].update({"<b>&": value["columns"].pop("income")}))
    html = page(place, "--candidates", "<b>&", "--epsilon", "1", "--metadata", other)
    assert "<b>&" not in html.replace("<b>Discreet</b>", "").replace("<figcaption><b>", "")
    assert "&lt;b&gt;&amp;" in html


def test_other_endings_are_refused(place):
    """Neither CSV nor a page: said before anything is simulated."""
    done = place.run("plan", "--metadata", place.metadata, "--target", "visits", "--out", place.folder / "plan.pdf")
    assert ".csv or .html" in done.refused(2)


def test_the_title_calls_the_target_by_what_it_is(place):
    """By its description where one is declared, as the title of a report does."""
    described = place.write_metadata(lambda value: value["columns"]["visits"].update(description="Visits <a> year."))
    words = ("--candidates", "age", "--method", "pcls", "--alone", "--epsilon", "1")
    assert "<h1>What to expect of a selection for visits</h1>" in page(place, *words)
    title = "What to expect of a selection for Visits &lt;a&gt; year</h1>"
    assert title in page(place, "--metadata", described, *words)
