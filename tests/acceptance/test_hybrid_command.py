"""`hybrid` as a user meets it: what it prints, writes, charges and refuses, and that only public records leave."""

import hashlib
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import SHARED

from discreet import files
from discreet.methods.public_records.measures import Counts
from discreet.release import Release
from tests.acceptance.conftest import METADATA, N_ROWS, people

CANARIES = ("48.1516234", "zqcanary", "4815162342")
"""A number within the bounds, a name and a number beyond them: cells of private rows alone."""


def volunteers(n_rows=60):
    """Public records of other people: the same columns, two of them equal, no level `west`."""
    ages = [20 + 31 * i % 61 for i in range(n_rows - 1)]
    table = pa.table(
        {
            "site": [("north", "south")[i % 2] for i in range(n_rows - 1)],
            "visits": [min(20, age // 6 + i % 4) for i, age in enumerate(ages)],
            "age": ages,
            "income": [float(i * 7 % 53) + 0.5 for i in range(n_rows - 1)],
        }
    )
    return pa.concat_tables([table, table.slice(0, 1)])


def declared(path, **fields):
    """Metadata that declare a file public."""
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return METADATA | {"public": {"sha256": digest, "source": "they agreed"}} | fields


@pytest.fixture
def pair(place):
    """The place's people, and volunteers beside them."""
    rows = people().to_pydict()
    rows["income"][:2] = [48.1516234, 4815162342.0]
    rows["name"] = ["zqcanary"] * N_ROWS
    pq.write_table(pa.table(rows), place.data)
    public = place.folder / "public.parquet"
    pq.write_table(volunteers(), public)
    place.metadata.write_text(json.dumps(declared(public)))
    return place


def words(place, *more, **options):
    """Words of a `hybrid`; an option that is None is left out."""
    given = {
        "data": place.data,
        "public": place.folder / "public.parquet",
        "metadata": place.metadata,
        "target": "visits",
        "epsilon": 1,
        "ledger": place.ledger,
        "twins": 0,
    } | options
    named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
    return ["hybrid", *(str(word) for pair in named for word in pair), *map(str, more)]


def hybrid(place, *more, **options):
    """Run a `hybrid`."""
    return place.run(*words(place, *more, **options))


def records(table, names=("age", "income", "site", "visits")):
    """Rows as a set of tuples."""
    return set(zip(*(table[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("method", ["public-subset", "hybrid", "histogram"])
def test_one_run(pair, method):
    """Coefficients on standard output, one charge, a release that is the ledger's; the same again is free."""
    given = {"method": method, "epsilon": 2, "candidates": "age,site"}
    if method == "histogram":
        given |= {"public": None, "twins": None}
    done = hybrid(pair, "--yes", out="release.json", **given)
    assert done.code == 0, done
    assert "Estimate for visits, linear contrast" in done.out
    assert "epsilon 2, delta 0, replace_one, per person" in done.out
    release = Release.read(pair.folder / "release.json")
    assert (pair.spent(), release.guarantee.epsilon, release.method) == (2.0, 2.0, method)
    assert [one.name for one in release.fit.coefficients] == ["(intercept)", "age", "site=south", "site=west"]
    assert len([one for one in release.hybrid.candidates if one.chosen]) == (method == "public-subset")
    assert pair.run("budget", "verify", "release.json", "--ledger", pair.ledger).code == 0
    again = hybrid(pair, "--yes", "--json", **given)
    assert json.loads(again.out) == release.model_dump(mode="json", by_alias=True)
    assert (pair.spent(), "nothing was charged" in again.err) == (2.0, True)
    assert hybrid(pair, "--yes", "--fresh", **given).code == 0
    assert pair.spent() == 4.0


def test_a_plan_says_cost_and_expected_errors(pair):
    """A dry run opens no private table: it need not even be there."""
    pair.data.unlink()
    before = pair.files()
    done = hybrid(pair, "--dry-run", twins=2, measure="counts", points=8, candidates="age,site")
    assert done.code == 0, done
    for line in (
        "Dry run for visits on 2 candidates, 8 estimates",
        "counts                   epsilon 0.85",
        "points       8",
    ):
        assert line in done.out
    assert "sizes        2, 4, 8" in done.out
    assert "public records alone" in done.out
    assert "No private data were opened and nothing was spent." in done.out
    shown = json.loads(hybrid(pair, "--dry-run", "--json", twins=2, measure="counts", points=8, data=None).out)
    assert (shown["schema"], shown["cost"]["epsilon"]) == ("discreet/plan@1", 1.0)
    assert shown["parameters"]["n_points"] == 8
    names = [(one["name"], one["n_points"]) for one in shown["expected_errors"]]
    assert names[0] == ("public records alone", None)
    assert ("counts", 8) in names
    assert all(0 <= one["low"] <= one["error"] <= one["high"] for one in shown["expected_errors"])
    assert "expected_errors" not in json.loads(hybrid(pair, "--dry-run", "--json").out)
    assert (pair.files(), pair.spent()) == (before, 0.0)


def test_contrasts(pair):
    """A mean and a quantile are of the target; the other columns place a row."""
    for contrast in ("mean", "median", "quantile", "huber", "poisson"):
        done = hybrid(pair, "--yes", "--json", contrast=contrast, method="hybrid", epsilon=0.5)
        assert done.code == 0, done
        fit = json.loads(done.out)["fit"]
        location = contrast in ("mean", "median", "quantile")
        assert (fit["family"], len(fit["coefficients"])) == (contrast, 1 if location else 5)
        assert hybrid(pair, "--yes", contrast=contrast, method="hybrid", epsilon=0.5).code == 0
    done = hybrid(pair, "--yes", "--json", contrast="quantile", quantile=0.9, epsilon=0.5)
    assert json.loads(done.out)["request"]["parameters"]["quantile"] == 0.9


def test_options_reach_the_method(pair):
    """What was asked stands in the release, in the method's own words."""
    asked = {"points": "all", "sizes": "40,10", "ridges": "0.5,0", "share": "validation=0.3", "loss": "squared"}
    done = hybrid(pair, "--yes", "--json", "--no-intercept", "--set", "order=weight", **asked)
    assert done.code == 0, done
    release = json.loads(done.out)
    parameters = release["request"]["parameters"]
    assert (parameters["sizes"], parameters["ridges"], parameters["order"]) == ([10, 40], [0.5, 0.0], "weight")
    assert (parameters["shares"], parameters["fit_intercept"]) == ({"validation": 0.3}, False)
    assert parameters["n_points"] == release["hybrid"]["points"]["n_points"] == len(records(volunteers()))
    assert [one["name"] for one in release["hybrid"]["candidates"]][2:4] == [
        "10 points, ridge 0",
        "10 points, ridge 0.5",
    ]
    done = hybrid(pair, "--yes", "--json", candidates="age", share="histogram=0.2")
    names = [one["name"] for one in json.loads(done.out)["hybrid"]["candidates"]]
    assert (names[-1], names.count("histogram")) == ("histogram", 1)
    one = hybrid(pair, "--yes", "--json", method="hybrid", ridge=0.25, measure="margins")
    assert json.loads(one.out)["request"]["parameters"]["ridge"] == 0.25


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_weighted_records(pair, ending):
    """Public records alone, each with its weight in private rows; from the release again, free and the same."""
    out = pair.folder / f"weighted.{ending}"
    done = hybrid(pair, "--yes", method="hybrid", points=12, weighted_out=out, out="release.json")
    assert done.code == 0, done
    found = (pq.read_table if ending == "parquet" else pyarrow.csv.read_csv)(out)
    assert records(found) <= records(volunteers())
    points = Release.read(pair.folder / "release.json").hybrid.points
    assert sorted(found["weight"].to_pylist()) == sorted(weight for weight in points.weights if weight > 0)
    assert sum(found["weight"].to_pylist()) == pytest.approx(N_ROWS, rel=1e-6)
    assert f"{found.num_rows} public records with weights written" in done.err
    pair.data.unlink()
    again = pair.folder / f"again.{ending}"
    given = ["--from", "release.json", "--public", "public.parquet", "--metadata", pair.metadata]
    free = pair.run("hybrid", *given, "--weighted-out", again)
    assert (free.code, free.out, pair.spent()) == (0, "", 1.0)
    assert again.read_bytes() == out.read_bytes()


def test_a_spreadsheet_runs_no_cell(pair):
    """Text that looks like a formula gets a quote in front; numbers, and text that is one, stay what they are."""
    levels = ["=1+1", "@x", "-5", "plain", "-x"]
    public = pair.folder / "public.csv"
    rows = [f'{i % 20},{20 + i},"{levels[i % 5]}",-{i}.5' for i in range(40)]
    public.write_text("\n".join(["visits,age,site,income", *rows]) + "\n")
    columns = METADATA["columns"] | {
        "site": {"type": "category", "levels": levels},
        "income": {"type": "real", "lower": -100, "upper": 0},
    }
    pair.metadata.write_text(json.dumps(declared(public, columns=columns)))
    done = hybrid(pair, "--yes", public=public, method="hybrid", measure="margins", weighted_out="weighted.csv")
    assert done.code == 0, done
    lines = (pair.folder / "weighted.csv").read_text().splitlines()
    cells = {line.split(",")[2] for line in lines[1:]}
    assert lines[0].split(",")[2] == '"site"'
    assert cells == {'"\'=1+1"', '"\'@x"', '"-5"', '"plain"', '"\'-x"'}
    assert len(lines) == 41
    assert all(line.split(",")[1].startswith("-") for line in lines[1:])


def test_nothing_of_a_private_row_leaves(pair):
    """No cell of private rows alone is in what is printed or written, in the ledger neither."""
    endings = [
        hybrid(pair, "--dry-run", twins=1),
        hybrid(pair, "--yes", out="release.json", weighted_out="weighted.csv", measure="counts", points=20, twins=1),
        hybrid(pair, "--yes", "--json", method="hybrid", weighted_out="weighted.parquet"),
        hybrid(pair, "--yes", method="histogram", public=None, twins=None, candidates="age"),
        pair.run("budget", "history", "--json", "--ledger", pair.ledger),
        hybrid(pair, "--yes", candidates="name,age"),
    ]
    assert [done.code for done in endings] == [0, 0, 0, 0, 0, 3]
    texts = [done.out + done.err for done in endings]
    texts += [
        path.read_bytes().decode("latin-1")
        for path in pair.folder.rglob("*")
        if path.is_file() and not path.name.startswith("people.p")
    ]
    assert "zqcanary" in pair.data.read_bytes().decode("latin-1")
    for text in texts:
        for canary in CANARIES:
            assert canary not in text


# ---- what is refused, at no cost and without a trace


def change_public(place, change):
    """Other public records, declared as they should be."""
    path = place.folder / "public.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    place.metadata.write_text(json.dumps(declared(path)))


def write(place, name, content):
    """A public file of another kind, declared."""
    (place.folder / name).write_bytes(content)
    place.metadata.write_text(json.dumps(declared(place.folder / name)))


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


REFUSALS = {
    "nothing declared": (lambda p: p.metadata.write_text(json.dumps(METADATA)), {}, 3, "must say which file is public"),
    "another file": (
        lambda p: pq.write_table(volunteers(50), p.folder / "public.parquet"),
        {},
        3,
        "must be the one that the metadata declare public",
    ),
    "the private file as public": (lambda p: None, {"public": "people.parquet"}, 9, "must be two"),
    "the public file as private": (lambda p: None, {"data": "public.parquet"}, 9, "must be two"),
    "both exchanged": (
        lambda p: None,
        {"data": "public.parquet", "public": "people.parquet"},
        3,
        "Is it the private one?",
    ),
    "another name of one file": (
        lambda p: os.link(p.folder / "public.parquet", p.folder / "link.parquet"),
        {"data": "link.parquet"},
        9,
        "must be two",
    ),
    "no public file": (lambda p: None, {"public": "none.parquet"}, 2, "The public file must be readable"),
    "none named": (lambda p: None, {"public": None}, 2, "give --public FILE"),
    "an empty file": (lambda p: write(p, "public.csv", b""), {"public": "public.csv"}, 5, "In the public table"),
    "a header alone": (
        lambda p: change_public(p, lambda t: t.slice(0, 0)),
        {},
        5,
        "must have records",
    ),
    "not what it says": (
        lambda p: write(p, "public.parquet", b"PAR1 and nothing else"),
        {},
        5,
        "In the public table",
    ),
    "no such column": (lambda p: change_public(p, lambda t: t.drop_columns("income")), {}, 5, "In the public table"),
    "text for numbers": (
        lambda p: change_public(p, lambda t: replaced(t, "income", ["much"] * t.num_rows)),
        {},
        5,
        "In the public table: Column 'income' is declared as a number",
    ),
    "no number at all": (
        lambda p: change_public(p, lambda t: replaced(t, "income", [None] * t.num_rows)),
        {},
        5,
        "must have complete records",
    ),
    "one point": (lambda p: change_public(p, lambda t: t.slice(0, 1)), {}, 5, "at least two distinct points"),
    "an undeclared level": (
        lambda p: change_public(p, lambda t: replaced(t, "site", ["east"] * t.num_rows)),
        {},
        5,
        "must hold declared levels alone",
    ),
    "beyond the bounds": (
        lambda p: change_public(p, lambda t: replaced(t, "income", pc.add(t["income"], 1000).to_pylist())),
        {},
        3,
        "none does in column 'income'",
    ),
    "no such private column": (
        lambda p: pq.write_table(pq.read_table(p.data).drop_columns("income"), p.data),
        {},
        5,
        "income",
    ),
    "an empty private table": (lambda p: pq.write_table(people(0), p.data), {}, 5, "n_rows=240"),
    "no private table": (lambda p: None, {"data": None}, 2, "give --data FILE"),
    "no target": (lambda p: None, {"target": None}, 2, "give --target and --epsilon"),
    "a category as target": (lambda p: None, {"target": "site"}, 3, "must be numeric"),
    "an undeclared candidate": (lambda p: None, {"candidates": "shoe"}, 3, "shoe"),
    "the target as candidate": (lambda p: None, {"candidates": "age,visits"}, 2, "nor be the target"),
    "an unknown method": (lambda p: None, {"method": "magic"}, 2, "public-subset, hybrid, histogram"),
    "an unknown contrast": (lambda p: None, {"contrast": "magic"}, 2, "contrast must be one of"),
    "logistic of counts": (lambda p: None, {"contrast": "logistic"}, 2, "must have two values"),
    "a quantile of nothing": (lambda p: None, {"quantile": 0.5}, 2, "--contrast quantile"),
    "a ridge to choose": (lambda p: None, {"ridge": 0.5}, 2, "--ridges"),
    "margins of a mean": (lambda p: None, {"contrast": "mean", "measure": "margins"}, 2, "needs counts"),
    "points that are no number": (lambda p: None, {"points": "many"}, 2, "auto or all"),
    "sizes that are no numbers": (lambda p: None, {"sizes": "5,many"}, 2, "sizes must be a list of whole numbers"),
    "sizes beyond the points": (lambda p: None, {"points": 10, "sizes": "5,20"}, 2, "at most the 10"),
    "shares of all": (lambda p: None, {"share": "validation=1"}, 2, "shares must lie in [0.000001, 0.999999]"),
    "a share of nothing": (lambda p: None, {"share": "voting=0.1"}, 2, "validation, histogram"),
    "a negative ridge": (lambda p: None, {"ridges": "-1"}, 2, "ridges"),
    "too much epsilon": (lambda p: None, {"epsilon": 20}, 4, "10"),
    "a histogram of public records": (lambda p: None, {"method": "histogram"}, 2, "cannot have --public"),
    "too many cells": (
        lambda p: None,
        {"method": "histogram", "public": None, "twins": None, "set": "bins=1000"},
        2,
        "at most 1,000,000 cells",
    ),
    "a parameter of another method": (lambda p: None, {"method": "hybrid", "loss": "log"}, 2, "has no parameter loss"),
    "an output of no kind": (lambda p: None, {"weighted_out": "weighted.xlsx"}, 2, ".parquet, .pq, .csv"),
    "an output over the public file": (lambda p: None, {"weighted_out": "public.parquet"}, 2, "would replace"),
    "an output over the private file": (lambda p: None, {"weighted_out": "people.parquet"}, 2, "would replace"),
    "two outputs in one": (lambda p: None, {"weighted_out": "a.csv", "out": "a.csv"}, 2, "file of its own"),
    "an output in no folder": (lambda p: None, {"weighted_out": "none/a.csv"}, 2, "folder does not exist"),
    "a study of a charged data set": (lambda p: change_binary(p), {"as_published": ""}, 9, "has a cap in the ledger"),
    "weights of a study": (
        lambda p: change_binary(p),
        {"as_published": "", "weighted_out": "a.csv"},
        2,
        "must come with a guarantee",
    ),
}


def change_binary(place):
    """A target of two values in the public table."""
    path = place.folder / "public.parquet"
    table = pq.read_table(path)
    pq.write_table(replaced(table, "visits", [i % 2 for i in range(table.num_rows)]), path)
    columns = METADATA["columns"] | {"visits": {"type": "integer", "lower": 0, "upper": 1}}
    place.metadata.write_text(json.dumps(declared(path, columns=columns)))


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(pair, case):
    """One clear line, the right code, nothing charged, no file made, and no number of a private row."""
    change, options, code, hint = REFUSALS[case]
    change(pair)
    before = pair.files()
    study = ["--as-published"] if "as_published" in options else []
    options = {name: value for name, value in options.items() if name != "as_published"}
    line = hybrid(pair, "--yes", *study, **({"out": "release.json"} | options)).refused(code)
    assert hint in line
    assert not any(canary in line for canary in CANARIES)
    assert (pair.spent(), pair.files()) == (0.0, before)


@pytest.mark.parametrize(
    "case", ["nothing declared", "another file", "one point", "beyond the bounds", "no such column"]
)
def test_a_plan_finds_the_mistake_early(pair, case):
    """What is wrong with the public table is told by a dry run, too."""
    change, options, code, hint = REFUSALS[case]
    change(pair)
    assert hint in hybrid(pair, "--dry-run", **options).refused(code)


@pytest.mark.parametrize("case", ["nothing declared", "one point", "an output over the public file"])
def test_the_ledger_is_opened_last(pair, case):
    """A request that is refused for what is public makes no ledger."""
    change, options, code, _ = REFUSALS[case]
    change(pair)
    hybrid(pair, ledger=pair.folder / "other.sqlite", **options).refused(code)
    assert not (pair.folder / "other.sqlite").exists()


def test_odd_cells_are_no_error(pair):
    """Rows of missing cells, text for numbers and levels that no public record has are counted somewhere."""
    rows = pq.read_table(pair.data)
    rows = replaced(rows, "age", ["many"] * N_ROWS)
    rows = replaced(rows, "income", [float("nan")] * N_ROWS)
    rows = replaced(rows, "visits", [None, 1e300, -1e300] * (N_ROWS // 3))
    pq.write_table(rows, pair.data)
    assert "'age' is declared as a number" in hybrid(pair, "--yes").refused(5)
    assert pair.spent() == 0
    pair.data = pair.folder / "untyped.csv"
    pyarrow.csv.write_csv(rows, pair.data)
    for measure in ("counts", "margins"):
        assert hybrid(pair, "--yes", measure=measure).code == 0
    assert pair.spent() == 2.0


def test_a_table_without_rows_is_answered(pair):
    """Where the number of rows is private, none is a number as any other."""
    public = pair.folder / "public.parquet"
    fields = {key: field for key, field in declared(public).items() if key != "n_rows"}
    pair.metadata.write_text(json.dumps(fields | {"neighboring": "add_or_remove_one"}))
    pq.write_table(people(0), pair.data)
    for measure in ("counts", "margins"):
        done = hybrid(pair, "--yes", measure=measure, n0=200)
        assert done.code == 0, done


FREE_REFUSALS = {
    "not all files": (["--weighted-out", "a.csv"], 2, "give --public FILE"),
    "an option that spends": (
        ["--public", "public.parquet", "--weighted-out", "a.csv", "--epsilon", "1"],
        2,
        "--epsilon",
    ),
    "a private table": (["--public", "public.parquet", "--weighted-out", "a.csv", "--data", "people.csv"], 2, "--data"),
    "over the release": (["--public", "public.parquet", "--weighted-out", "release.json"], 2, "would replace"),
}


@pytest.fixture
def paid(pair):
    """A place with a release."""
    assert hybrid(pair, "--yes", method="hybrid", points=12, out="release.json").code == 0
    return pair


@pytest.mark.parametrize("case", FREE_REFUSALS)
def test_what_is_free_cannot_be_asked_for_more(paid, case):
    """One clear line, and no file."""
    more, code, hint = FREE_REFUSALS[case]
    assert hint in paid.run("hybrid", "--from", "release.json", "--metadata", paid.metadata, *more).refused(code)
    assert not (paid.folder / "a.csv").exists()


def test_weights_go_to_the_records_they_were_made_for(paid):
    """Other public records, other metadata, or a release of another kind are refused."""
    ask = ["hybrid", "--from", "release.json", "--public", "public.parquet", "--weighted-out", "a.csv"]
    ask += ["--metadata", paid.metadata]
    change_public(paid, lambda table: table.slice(1, 40))
    assert "differ" in paid.run(*ask).refused(8)
    pq.write_table(volunteers(), paid.folder / "public.parquet")
    assert "must be the one" in paid.run(*ask).refused(3)
    paid.metadata.write_text(json.dumps(declared(paid.folder / "public.parquet")))
    assert (
        hybrid(paid, "--yes", method="histogram", public=None, twins=None, candidates="age", out="release.json").code
        == 0
    )
    assert "weighted public records" in paid.run(*ask).refused(2)
    assert not (paid.folder / "a.csv").exists()


def test_interrupted_while_counting(pair, monkeypatch):
    """The charge stands, no file is left; asked again, it is drawn and charged again."""

    def stopped(*_, **__):
        raise KeyboardInterrupt

    ask = {"measure": "counts", "weighted_out": "weighted.csv", "out": "release.json"}
    before = pair.files()
    with monkeypatch.context() as patch:
        patch.setattr(Counts, "draw", stopped)
        done = hybrid(pair, "--yes", **ask)
    assert (done.code, done.out, done.err.startswith("Error: Interrupted")) == (130, "", True)
    assert (pair.spent(), pair.files()) == (1.0, before)
    assert hybrid(pair, "--yes", **ask).code == 0
    assert pair.spent() == 2.0


def test_interrupted_while_writing(pair, monkeypatch):
    """What was paid for is printed and stored, no file is half there; asked again, it is free."""
    replace = files.os.replace

    def stopped(source, target):
        if str(target).endswith(".csv"):
            raise KeyboardInterrupt
        replace(source, target)

    ask = {"method": "hybrid", "points": 12, "weighted_out": "weighted.csv", "out": "release.json"}
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", stopped)
        done = hybrid(pair, "--yes", **ask)
    assert (done.code, "Estimate for visits" in done.out) == (130, True)
    assert not [name for name in pair.files() if "weighted" in name]
    again = hybrid(pair, "--yes", **ask)
    assert (again.code, again.out, pair.spent()) == (0, done.out, 1.0)
    assert (pair.folder / "weighted.csv").is_file()


# ---- a real pair

COLUMNS = ("day30", "sex", "dia", "hyp", "hrt", "ttr", "ant", "pmi", "htn", "fam")
"""Deaths within 30 days of an infarction, and what was known before."""


def test_a_real_pair_of_hospitals(place):
    """Patients of one group of hospitals, beside those of another: a plan, an estimate and its weighted table."""
    path = SHARED / "gusto_ami.parquet"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there: set DISCREET_SHARED to the folder that holds data/")
    table = pq.read_table(path)
    private, public = (table.filter(pc.equal(table["grpl"], group)).select(COLUMNS) for group in (45, 7))
    pq.write_table(private, place.data)
    pq.write_table(public, place.folder / "public.parquet")
    binary = {
        name: {"type": "integer", "lower": 0, "upper": 1} for name in ("day30", "dia", "hyp", "hrt", "ttr", "ant")
    }
    ones = {name: {"type": "integer", "lower": 1, "upper": 2} for name in ("htn", "fam")}
    words = {
        "sex": {"type": "category", "levels": ["female", "male"]},
        "pmi": {"type": "category", "levels": ["no", "yes"]},
    }
    fields = declared(place.folder / "public.parquet", columns=binary | ones | words, n_rows=private.num_rows)
    place.metadata.write_text(json.dumps(fields))
    asked = {"target": "day30", "epsilon": 2}
    plan = json.loads(hybrid(place, "--dry-run", "--json", twins=1, **asked).out)
    assert plan["parameters"]["contrast"] == "logistic"
    assert len(plan["expected_errors"]) == 2
    done = hybrid(place, "--yes", weighted_out="weighted.parquet", out="release.json", **asked)
    assert done.code == 0, done
    release = Release.read(place.folder / "release.json")
    assert len(release.fit.coefficients) == len(COLUMNS)
    assert release.hybrid.points.n_records == public.num_rows
    chosen = next(one for one in release.hybrid.candidates if one.chosen)
    if chosen.n_points:
        found = pq.read_table(place.folder / "weighted.parquet")
        assert records(found, COLUMNS) <= records(public, COLUMNS)
    assert place.spent() == 2.0
