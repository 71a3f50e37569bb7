"""`discreet plan`: what it tells, what it refuses, and that it opens and charges nothing."""

import csv
import hashlib
import json
import re
import shlex
from pathlib import Path

import pytest

from discreet.simulation import selection
from discreet.workflow.expectation_cache import cache_folder

pytestmark = pytest.mark.usefixtures("nothing_is_opened")

UNKIND = "overlap_on_unkind_tables"
FAST = ("--tables", 2, "--candidates", "age,income")


def plan(place, *words, **options):
    given = {"metadata": place.metadata, "target": "visits"} | options
    named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
    return place.run("plan", *(word for pair in named for word in pair), *words)


def figures(done):
    assert done.code == 0, done
    return json.loads(done.out)


def test_curve_and_comparison(place):
    """By default a row a method and a column an epsilon, then the comparison in full; the scenario stands above."""
    before = place.files()
    done = plan(place, *FAST, "--full")
    assert (done.code, done.err) == (0, "")
    text = done.out
    assert text.startswith("Assumed about the table, not read from it: 240 rows;")
    assert re.search(r"effects on visits: +age [0-9.]+; the other column none\n", text)
    assert re.search(r"Chance of the right columns +eps 0.1 +eps 0.3 +eps 1 +eps 3 +eps 10\n", text)
    assert re.search(r"At epsilon 1 +overlap +right +error +tables +explained +delta +models\n", text)
    assert re.search(r"\npcls, y_bound 5 .* 0 +4\n", text)
    assert "select a given number of columns" in text
    assert re.search(r"A linear fit of the right columns +error +half width +coverage +uninformative\n", text)
    assert len(re.findall(r"\nepsilon [0-9.]+ +[0-9.e+]+ +(?:-|[0-9.e+]+) +(?:-|[01]\.\d\d) +[01]\.\d\d", text)) == 5
    told = re.search(r"Lei et al., theorem 1 \(pcls, y_bound 10, epsilon 1\): (.*?apply\.)", " ".join(text.split()))[1]
    assert re.fullmatch(r"\d of its 5 conditions (is|are) not met, so it does not apply\.", told)
    assert re.search(r"\n  met: penalty [0-9.,]+, must be at least [0-9.]+ so that sampling error lets in no", text)
    assert "\nNo data were opened and nothing was spent.\n\nRecommended: " in text
    assert max(map(len, text.replace(str(place.metadata), "people.yaml").splitlines())) <= 100
    assert re.search(r"\n\n  discreet select --data DATA [\\\\\n ]*--metadata ", text)
    after = place.files()
    assert {name for name in after if name not in before} == {name for name in after if "expectations" in name}
    assert not (place.folder / "temporary" / "discreet" / "discreet.sqlite").exists()


def test_the_essentials_come_by_default(place):
    """The best selections, what is recommended and its command; the rest is named with where to find it."""
    text = plan(place, *FAST).out
    assert len(text.splitlines()) < 40
    table = text.split("Chance of the right columns")[1].split("\n\n")[0].splitlines()[2:]
    selections = [line for line in table if not line.startswith(("  ", "and "))]
    assert 5 <= len(selections) <= 6
    assert re.fullmatch(r"and \d+ selections more", table[-1])
    assert "A linear fit" not in text
    assert "--full" in text
    recommended = re.search(r"\nRecommended: (.*), at epsilon 1\.\n", text)[1]
    assert any(line.startswith(recommended) for line in selections)
    assert "\n  discreet select --data DATA " in text


def test_comparison_is_sorted(place):
    """--compare shows one epsilon, the best overlap first."""
    done = plan(place, *FAST, "--compare", epsilon="2,5")
    overlaps = [
        float(found) for found in re.findall(r"^\S.*?  +(\d\.\d\d) +\d\.\d\d +\d\.\d\d +\d+ +\d\.\d\d ", done.out, re.M)
    ]
    assert len(overlaps) > 5
    assert overlaps == sorted(overlaps, reverse=True)
    assert "At epsilon 2" in done.out
    assert "Chance of the right columns" not in done.out


def test_several_numbers_of_rows(place):
    """A table for each number of rows; more rows do better."""
    found = figures(
        plan(place, *FAST, "--method", "moments", "--alone", "--json", n_rows="20,6000", epsilon="1", effect="age=9")
    )
    assert found["supposed"]["n_rows"] == [20, 6000]
    few, many = (sum(row["overlap"] for row in found["figures"] if row["n_rows"] == n) for n in (20, 6000))
    assert few < many
    shown = plan(place, *FAST, "--method", "moments", "--alone", n_rows="20,6000", epsilon="1,2", effect="age=9").out
    assert "with 20 rows" in shown
    assert "with 6,000 rows" in shown


def test_named_methods_with_parameters(place):
    """--method with --set plans that one request; without --set, its usual tunings; delta 0 is pure."""
    found = figures(plan(place, *FAST, "--method", "pcls", "--set", "l1_radius=3", "--alone", "--json", epsilon="1"))
    assert [row["rival"] for row in found["figures"]] == ["pcls, l1_radius 3"]
    assert found["choices"][0]["n_models"] == 4
    found = figures(
        plan(place, *FAST, "--method", "sis", "--method", "moments", "--alone", "--json", epsilon="1", delta="0")
    )
    assert {one["method"] for one in found["choices"]} == {"sis", "moments"}
    assert {one["delta"] for one in found["choices"]} == {0.0}
    found = figures(plan(place, *FAST, "--method", "pcpl", "--alone", "--json", epsilon="1"))
    assert [one["name"] for one in found["choices"]] == ["pcpl"]


def test_what_is_stated_is_told(place):
    """Effects, noise and correlation come back as they were stated."""
    words = ("--effect", "age=4", "--effect", "income=-2", "--noise-sd", "3", "--correlation", "0.5", "--seed", "4")
    found = figures(plan(place, *FAST, *words, "--json", epsilon="1"))
    assert found["schema"] == "discreet/expectation@1"
    assert found["supposed"]["effects"] == {"age": 4.0, "income": -2.0}
    assert (found["supposed"]["noise_sd"], found["supposed"]["correlation"], found["seed"]) == (3.0, 0.5, 4)
    shown = plan(place, *FAST, *words, epsilon="1").out
    assert "age 4, income -2" in shown
    assert "correlated 0.5 with the one before" in shown
    assert "standard deviation 3:" in shown


def test_goal(place):
    """The epsilon that is needed, least first; what does not reach it says so."""
    words = (
        "--tables",
        8,
        "--candidates",
        "age,income",
        "--effect",
        "age=8",
        "--method",
        "moments",
        "--method",
        "sis",
        "--alone",
    )
    done = plan(place, *words, goal="right>=0.7", delta="0")
    assert done.code == 0, done
    assert re.search(r"For right >= 0.7 +epsilon +right +error\n", done.out)
    found = figures(plan(place, *words, "--json", goal="p >= 70%", delta="0"))
    assert found["goal"] == {"measure": "right", "at_least": 0.7}
    assert {row["rival"] for row in found["figures"]} <= {one["name"] for one in found["choices"]}
    never = plan(
        place,
        "--tables",
        4,
        "--method",
        "sis",
        "--set",
        "n_features_to_select=1",
        "--alone",
        *words[2:6],
        goal="p>=.9",
        effect="income=8",
    )
    assert re.search(r"sis, n_features_to_select 1 +not reached +- +-\n", never.out), never


def test_figures_as_a_file(place):
    """--out writes the figures as CSV."""
    done = plan(place, *FAST, epsilon="1,2", out="plan.csv")
    assert (done.code, done.err) == (0, "Figures written to plan.csv.\n")
    rows = list(csv.DictReader(Path("plan.csv").read_text().splitlines()))
    assert {row["epsilon"] for row in rows} == {"1.0", "2.0"}
    assert set(rows[0]) >= {"rival", "right", "overlap", "explained", "error", "n_rows", "scenario", "noise_sd"}
    fits = [row for row in rows if row["rival"] == "a linear fit of the right columns"]
    assert len(fits) == 2
    assert all(float(row["coefficient_error"]) > 0 and not row["right"] for row in fits)


# ---- what is recommended


def test_the_recommended_command_is_ready_to_paste(place, monkeypatch):
    """The command asks for what is recommended: `discreet select` prices it, with the stated epsilon."""
    monkeypatch.undo()  # a dry run prices the request, as the command would
    words = ("--tables", 6, "--candidates", "age,income", "--effect", "age=9")
    for goal in (None, "overlap>=0.8"):
        found = figures(plan(place, *words, "--json", epsilon="0.5,1,2", goal=goal))
        chosen = found["recommended"]
        choice = next(each for each in found["choices"] if each["name"] == chosen["rival"])
        given = shlex.split(found["command"].replace("DATA", str(place.data)))
        assert given[:2] == ["discreet", "select"]
        done = place.run(*given[1:], "--dry-run", "--json")
        assert done.code == 0, done
        priced = json.loads(done.out)
        assert priced["method"] == choice["method"]
        assert priced["parameters"]["epsilon"] == chosen["epsilon"]
        assert choice["parameters"].items() <= priced["parameters"].items()
        if goal is None:
            assert chosen["epsilon"] == 1.0
            at = [row for row in found["figures"] if row["epsilon"] == 1.0 and not row["rival"].startswith("sis, ")]
            most = round(max(row["overlap"] for row in at), 2)
            assert round(most - round(chosen["figures"]["overlap"], 2), 2) <= (0.05 if found[UNKIND] else 0.0)


def test_the_request_at_hand_comes_first(place):
    """Then the alternatives; both are told on unkind tables and on tables of half the rows, if recommended or asked."""
    words = ("--method", "pcls", "--set", "l1_radius=3")
    found = figures(plan(place, *FAST, *words, "--json", epsilon="1"))
    assert found["asked"] == ["pcls, l1_radius 3"]
    assert found["figures"][0]["rival"] == "pcls, l1_radius 3"
    assert len({row["rival"] for row in found["figures"]}) > 5
    tried = {"pcls, l1_radius 3", found["recommended"]["rival"]}
    assert {row["rival"] for row in found["unlucky"]} == {row["rival"] for row in found["with_half_the_rows"]} == tried
    assert {row["n_rows"] for row in found["with_half_the_rows"]} == {120}
    assert {row["kind"] for row in found["unlucky"]} >= {
        "narrow columns",
        "a skewed target",
        "rare categories",
        "heavy tails",
    }
    text = plan(place, *FAST, *words, epsilon="1,2").out
    curve = text.split("Chance of the right columns")[1].split("\n\n")[0].splitlines()[2:]
    assert [line[:22].strip() for line in curve[:3]] == [
        "pcls, l1_radius 3",
        "if you are unlucky",
        "with half the people",
    ]
    assert re.search(r"\n  If you are unlucky: exactly the right columns in (all|none of the|about) \d+ ", text)
    assert re.search(r"\n  Overlap on other unfavorable tables: \d\.\d\d with [a-z ]+, ", text)


def test_curves_rise_and_nothing_stands_below_its_goal(place):
    """More epsilon never does worse; a goal's table holds what reaches it, and agrees with the curves."""
    found = figures(plan(place, *FAST[2:], "--tables", 5, "--json", epsilon="0.3,1,3,10"))
    curves = {}
    for row in found["figures"]:
        curves.setdefault(row["rival"], []).append((row["epsilon"], row["right"], row["overlap"]))
    for points in curves.values():
        assert points == sorted(points)
        assert [point[1] for point in points] == sorted(point[1] for point in points)
        assert [point[2] for point in points] == sorted(point[2] for point in points)
    needed = figures(plan(place, *FAST[2:], "--tables", 5, "--json", goal="right>=0.6"))["figures"]
    assert needed
    for row in needed:
        assert row["right"] >= 0.6
        for epsilon, right, _ in curves[row["rival"]]:
            assert (right >= 0.6) == (epsilon >= row["epsilon"]) or abs(right - 0.6) < 0.3


def test_an_interrupt_keeps_the_figures_so_far(place, monkeypatch):
    """Ctrl-C after the first figures prints them; they are not cached."""
    drawn = []

    def interrupted(*_, **__):
        drawn.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.workflow.expectation_stages.expected_fit", interrupted)
    done = plan(place, *FAST)
    assert done.code == 0
    assert drawn
    assert "Recommended: " in done.out
    assert "A linear fit" not in done.out.split("Recommended")[0].split("right: the")[0]
    assert not list(cache_folder().glob("*"))


# ---- several scenarios, and a public table


def test_several_scenarios(place):
    """Figures of each scenario, their worst and mean, best mean overlap first; the rows say which scenario they are."""
    words = (*FAST, "--times", "0.5,2", "--correlation", "0,0.5", "--method", "moments", "--method", "sis", "--alone")
    text = plan(place, *words, epsilon="1,2").out
    assert re.search(r"\n  scenario  times  correlation    R²  noise sd  effects on visits\n  A +0.5 +0 ", text)
    assert re.search(r"Right columns: mean chance \(worst\) +eps 1 +eps 2\n", text)
    assert re.search(r"Overlap at epsilon 2 +A +B +C +D +worst +mean\n", text)
    assert re.search(r"Chance of the right columns at epsilon 2 +A +B +C +D +worst +mean\n", text)
    assert re.search(r"A linear fit of the right columns +mean error +worst +mean half width +worst +least", text)
    assert max(map(len, text.replace(str(place.metadata), "people.yaml").splitlines())) <= 100
    assert "Explained at epsilon 1" in plan(place, *words, "--compare", epsilon="1,2").out
    found = figures(plan(place, *words, "--json", epsilon="1,2"))
    assert [one["times"] for one in found["supposed"]["scenarios"]] == [0.5, 2.0, 0.5, 2.0]
    rows = [row for row in found["figures"] if row["rival"] == "sis, 1 column" and row["epsilon"] == 2.0]
    assert [(row["scenario"], row["correlation"]) for row in rows] == [("A", 0), ("B", 0), ("C", 0.5), ("D", 0.5)]
    assert rows[0]["noise_sd"] == rows[1]["noise_sd"]
    overlaps = [row["overlap"] for row in rows]
    line = next(one for one in text.splitlines() if re.match(r"sis, 1 column +\d\.\d\d +\d\.\d\d  ", one))
    shown = [float(one) for one in line.split()[3:]]
    assert shown == pytest.approx([*overlaps, min(overlaps), sum(overlaps) / 4], abs=0.006)
    means = [float(one) for one in re.findall(r"(\d\.\d\d)$", text.split("Overlap at")[1].split("\n\n")[0], re.M)]
    assert means == sorted(means, reverse=True)
    assert {row["scenario"] for row in found["fits"]} == {"A", "B", "C", "D"}


def test_many_scenarios_are_shown_by_worst_and_mean(place):
    """Of more scenarios than fit side by side, each stands in the files alone."""
    lists = ("--times", "0.5,1,2", "--correlation", "0,0.3,0.6", "--method", "sis", "--alone", "--tables", 1)
    text = plan(place, "--candidates", "age,income", *lists, epsilon="1").out
    assert re.search(r"Overlap at epsilon 1 +worst +mean\n", text)
    assert re.search(r"\n  I +2 +0.6 ", text)
    assert max(map(len, text.replace(str(place.metadata), "people.yaml").splitlines())) <= 100


def test_a_goal_in_several_scenarios(place):
    """The epsilon of each scenario, and the one that does in all: larger effects need less."""
    words = (
        "--tables",
        60,
        "--candidates",
        "age,income",
        "--effect",
        "age=0.5",
        "--noise-sd",
        2,
        "--method",
        "sis",
        "--alone",
    )
    asked = ("--set", "n_features_to_select=1", "--times", "1,4")
    found = figures(plan(place, *words, *asked, "--json", goal="right>=0.9"))
    small, large = (row["epsilon"] for row in found["figures"])
    assert large < small
    text = plan(place, *words, *asked, goal="right>=0.9").out
    line = re.search(r"\nsis, n_features_to_select 1 +([0-9.e-]+) +([0-9.e-]+) +([0-9.e-]+)\n", text)
    assert line[3] == max(line[1], line[2], key=float)
    assert re.search(r"Epsilon for right >= 0.9 +A +B +in all\n", text)


def public_csv(n_rows=120):
    """Other people: visits follow income, age follows it too."""
    rows = [(20 + i * 7 % 60, i * 13 % 97) for i in range(n_rows)]
    lines = [
        f"{(age + income) // 2},{income},{('north', 'south')[age % 2]},{min(20, income // 5)}" for age, income in rows
    ]
    path = Path("census.csv")
    path.write_text("\n".join(["age,income,site,visits", *lines]) + "\n")
    return path


def declare(place, path):
    """Metadata that declare a file public."""
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return place.write_metadata(public={"sha256": digest, "source": "test"})


def test_like_a_public_table(place):
    """Effects are those of the public table, whose digest is told; another table is another question."""
    path = public_csv()
    words = {"metadata": declare(place, path), "epsilon": "1"}
    found = figures(plan(place, *FAST, "--like", path, "--method", "moments", "--alone", "--json", **words))
    like = found["supposed"]["like"]
    assert like == {
        "name": "census.csv",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "n_records": 120,
        "n_dropped": 0,
    }
    assert set(found["supposed"]["effects"]) == {"income"}
    assert found["supposed"]["effects"]["income"] == pytest.approx(10, rel=0.1)
    text = plan(place, *FAST, "--like", path, "--method", "moments", "--alone", **words).out
    assert "drawn from the 120 complete records of the public table census.csv" in " ".join(text.split())
    assert "No private data were opened and nothing was spent.\n" in text
    declare(place, public_csv(121))
    again = figures(plan(place, *FAST, "--like", path, "--method", "moments", "--alone", "--json", **words))
    assert again["supposed"]["like"]["sha256"] != like["sha256"]
    twice = figures(
        plan(place, *FAST, "--like", path, "--times", "1,2", "--method", "sis", "--alone", "--json", **words)
    )
    first, second = (one["effects"]["income"] for one in twice["supposed"]["scenarios"])
    assert second == pytest.approx(2 * first)


def test_a_public_table_that_does_not_fit(place):
    """A missing column, too few records, a file that is not there, and what contradicts it."""
    declared = declare(place, public_csv(20))
    assert "at least 30 records" in plan(place, *FAST, like="census.csv", metadata=declared).refused(5)
    plan(place, *FAST, like="none.csv", metadata=declared).refused(2)
    Path("narrow.csv").write_text("age,visits\n1,2\n")
    declared = declare(place, "narrow.csv")
    assert "'income'" in plan(place, *FAST, like="narrow.csv", metadata=declared).refused(5)
    assert "Leave out correlation" in plan(place, *FAST, like="census.csv", correlation="0.5").refused(2)
    assert "would replace" in plan(place, *FAST, like="census.csv", out="census.csv").refused(2)


def test_the_private_table_is_not_taken_for_a_public_one(place):
    """Without a declaration no table is read, nor another than the one declared: its effects would be shown."""
    before = place.files()
    line = plan(place, *FAST, like=place.data).refused(3)
    assert "they declare none. Declare `public: {sha256: ..., source: ...}`" in line
    assert "`sha256sum FILE`" in line
    assert place.files() == before
    declared = declare(place, public_csv())
    assert "is not the public.sha256" in plan(place, *FAST, like=place.data, metadata=declared).refused(3)


def test_theorem_2_where_pcpl_is_planned(place):
    """Conditions of both theorems stand in the JSON, with what each needs and whether it holds."""
    bounds = ("--set", "l1_radius=10", "--set", "y_bound=10", "--set", "y_center=middle")
    words = ("--method", "pcls", "--method", "pcpl", *bounds, "--alone", "--json")
    found = figures(plan(place, *FAST, *words, epsilon="1", delta="0"))
    assert [one["theorem"] for one in found["theory"]] == [1, 2]
    assert [len(one["conditions"]) for one in found["theory"]] == [5, 6]
    for one in found["theory"]:
        assert one["holds"] == all(each["holds"] for each in one["conditions"])
        assert {each["quantity"] for each in one["conditions"]} >= {"penalty", "R", "rows"}


def test_a_fit_that_cannot_be_had_says_why(place):
    """Where no column matters there is nothing to fit."""
    done = plan(place, *FAST, "--effect", "age=0", "--method", "moments", "--alone", epsilon="1")
    assert "Left out: a fit of the right columns. No column has an effect" in " ".join(done.out.split())
    assert "A linear fit" not in done.out


# ---- the cache


def test_the_second_time_is_kept(place, monkeypatch):
    """The same question is answered from the cache, word for word; another one is not."""
    first = plan(place, *FAST)
    assert first.code == 0

    def simulated(*_, **__):
        raise AssertionError("simulated")

    monkeypatch.setattr(selection.Simulation, "rated", simulated)
    assert plan(place, *FAST) == first
    for words in (("--seed", 1), ("--draws", 2), ("--epsilon", "1"), ("--r-squared", "0.4"), ("--n-rows", "500")):
        assert plan(place, *FAST, *words).code == 1, words
    other = place.write_metadata(lambda value: value["columns"]["age"].update(upper=100))
    assert plan(place, *FAST, metadata=other).code == 1


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": "discreet/expectation-cache@2"}', "\0"])
def test_a_broken_cache_is_ignored(place, content):
    """A cache file that cannot be read is simulated anew and replaced."""
    first = plan(place, *FAST, epsilon="1")
    (kept,) = cache_folder().iterdir()
    whole = kept.read_text()
    kept.write_text(content)
    assert plan(place, *FAST, epsilon="1") == first
    assert kept.read_text() == whole


def test_no_cache_at_all(place):
    """Where no cache can be written the plan is told all the same."""
    folder = place.folder / "temporary" / "discreet"
    folder.write_text("a file in its place")
    assert plan(place, *FAST, epsilon="1").code == 0


def test_cache_holds_public_facts_alone(place):
    """What is kept are the figures and what was stated."""
    plan(place, *FAST, epsilon="1")
    (kept,) = cache_folder().iterdir()
    value = json.loads(kept.read_text())
    told = {"supposed", "choices", "rows", "refused", "theory", "fits", "fits_refused"}
    told |= {"asked", "on_unkind", "recommended", "unlucky", "fewer", "is_final"}
    assert set(value) == {"schema", "key", "sha256", "value"}
    assert set(value["value"]) == told
    assert str(place.folder) not in kept.read_text()


# ---- bad input


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"target": "height"}, 3, "'height' is not"),
        ({"target": "site"}, 3, "must be numeric"),
        ({"candidates": "age,height"}, 3, "Column 'height' is not declared"),
        ({"metadata": "none.yaml"}, 2, "cannot be read"),
        ({"epsilon": "0"}, 2, r"epsilon must lie in \[0\.000001, 1000\]"),
        ({"epsilon": "1e-300"}, 2, r"epsilon must lie in \[0\.000001, 1000\], but 1e-300 does not"),
        ({"epsilon": "1,nan"}, 2, r"epsilon must lie in \[0\.000001, 1000\]"),
        ({"epsilon": "1;2"}, 2, "E,E"),
        ({"delta": "1"}, 2, "delta must lie in"),
        ({"delta": "-1"}, 2, "delta must lie in"),
        ({"n_rows": "0"}, 2, "n_rows=0"),
        ({"n_rows": "many"}, 2, "N,N"),
        ({"n_rows": "1000000000"}, 2, "cells"),
        ({"effect": "height=1"}, 2, "height"),
        ({"effect": "age"}, 2, "--effect COL=SIZE"),
        ({"effect": "age=big"}, 2, "--effect COL=SIZE"),
        ({"effect": "age=nan"}, 2, "finite and at most .* but found age=nan"),
        ({"effect": "age=1e200"}, 2, r"finite and at most .* but found age=1e\+200"),
        ({"noise_sd": "1e200"}, 2, r"noise_sd=1e\+200"),
        ({"noise_sd": "1e-200"}, 2, "noise_sd=1e-200"),
        ({"noise_sd": "nan"}, 2, "noise_sd=nan"),
        ({"effect": "age=1", "r_squared": "5e-324"}, 2, "r_squared nearer"),
        ({"times": "1e300"}, 2, r"times=1e\+300"),
        ({"times": "nan"}, 2, "times=nan"),
        ({"effect": "age=1e9", "times": "1e8"}, 2, r"but found age=1e\+17"),
        ({"n_true": "9"}, 2, "n_true must be"),
        ({"r_squared": "1"}, 2, "r_squared"),
        ({"noise_sd": "-1"}, 2, "noise_sd"),
        ({"correlation": "1"}, 2, "correlation"),
        ({"correlation": "a"}, 2, "--correlation must be numbers"),
        ({"times": "0"}, 2, "times"),
        ({"times": "1,,2"}, 2, "--times must be numbers"),
        ({"r_squared": "0.5,x"}, 2, "--r-squared must be numbers"),
        ({"times": "1,2,3,4,5", "correlation": "0,.1,.2,.3,.4"}, 2, "At most 24 scenarios"),
        ({"method": "magic"}, 2, "method must be one of pcls, .*, but method='magic'"),
        ({"set": "l1_radius=1"}, 2, "Give --method"),
        ({"method": "pcls", "set": "colour=1"}, 2, "colour"),
        ({"method": "pcls", "set": "y_bound=NaN"}, 2, "must be finite, but y_bound=nan"),
        ({"method": "pcls", "set": "y_bound=-Infinity"}, 2, "must be finite, but y_bound=-inf"),
        ({"goal": "right"}, 2, "form"),
        ({"goal": "wrong>=0.9"}, 2, "form"),
        ({"goal": "right>=0.9.1"}, 2, "form"),
        ({"goal": "right>=1"}, 2, r"goal must lie in \(0, 1\)"),
        ({"goal": "right>=0"}, 2, r"goal must lie in \(0, 1\)"),
        ({"goal": "right>=0.9", "draws": "2"}, 2, "--draws"),
        ({"tables": "0"}, 2, "at least one table"),
        ({"draws": "0"}, 2, "at least one table"),
        ({"seed": "-1"}, 2, "not negative"),
        ({"out": "plan.svg"}, 2, "csv"),
        ({"out": "nowhere/plan.csv"}, 2, "folder does not exist"),
        ({"data": "people.parquet"}, 2, "--data"),
    ],
    ids=str,
)
def test_bad_input(place, options, code, hint):
    """One clear line, the right exit code, nothing written."""
    before = place.files()
    line = plan(place, **options).refused(code)
    assert re.search(hint, line), line
    assert place.files() == before


def test_options_that_contradict(place):
    """Two options that say different things about one matter are refused."""
    for words in (
        ("--effect", "age=1", "--n-true", "1"),
        ("--effect", "age=1", "--noise-sd", "1", "--r-squared", "0.5"),
        ("--compare", "--goal", "p>=0.5"),
    ):
        plan(place, *words).refused(2)


def test_private_number_of_rows(place):
    """Where the number of rows is private a guess must be given."""
    other = place.write_metadata(neighboring="add_or_remove_one", n_rows=None)
    assert "Give n_rows" in plan(place, metadata=other).refused(2)
    assert plan(place, *FAST, metadata=other, n_rows="300", epsilon="1").code == 0


def test_parts_below_a_ceiling_are_simulated(place):
    """What is spent is never above the ceiling; an easy aim stops early, an absurd one never."""
    words = ("--tables", 4, "--candidates", "age,income", "--at-most", 4, "--json", "--quiet")
    (easy,) = figures(plan(place, *words, until=0.51))["scenarios"]
    (never,) = figures(plan(place, *words, until_width=1e-9))["scenarios"]
    assert easy["n_tables"] == 4
    assert easy["mean"] <= easy["worst"] <= 4
    assert easy["mean"] < never["mean"]
    assert never["reached"] == 0
    assert 3.99 < never["median"] <= never["worst"] <= 4
    assert [row["epsilon"] for row in never["fixed"]] == [4 / 2**power for power in (5, 4, 3, 2, 1, 0)]
    assert "worst" in plan(place, *words[:6], until=0.6).out
    for wrong in (("--until", 0.9), ("--at-most", 1), ("--until", 0.9, "--until-width", 1, "--at-most", 1)):
        assert "--until-width, and --at-most" in plan(place, *wrong).refused(2)


def test_output_spares_the_metadata(place):
    """The figures do not replace the metadata."""
    Path("people.csv").write_text(place.metadata.read_text())
    assert "would replace" in plan(place, metadata="people.csv", out="people.csv").refused(2)
