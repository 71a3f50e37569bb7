"""`predict`, `joint` and `effects` as a user meets them: free, from a release alone."""

import json

import pytest

from discreet.release import Release


@pytest.fixture
def fits(place):
    """A place with a linear fit."""
    assert place.run("budget", "grant", "clinic", "--epsilon", 10, "--delta", 0.01, "--ledger", place.ledger).code == 0
    words = f"--data {place.data} --metadata {place.metadata} --ledger {place.ledger} --epsilon 4 --delta 1e-4 --yes"
    done = place.run("fit", *words.split(), "--target", "visits", "--columns", "age,site", "--out", "linear.json")
    assert done.code == 0, done
    return place


def test_answers_cost_nothing_and_need_no_table(fits):
    """The ledger stays, the data may be gone, and what is printed is what JSON says."""
    fits.data.unlink()
    spent, files = fits.spent(), fits.files()
    release = Release.read("linear.json")
    shown = fits.run("predict", "linear.json", "--at", "age=40,site=south", "--at", "age=60,site=west")
    told = fits.run("predict", "linear.json", "--at", "age=40,site=south", "--confidence", "0.8", "--json")
    prediction = json.loads(told.out)["predictions"][0]
    assert (shown.code, told.code) == (0, 0)
    assert "age=40, site=south" in shown.out
    assert shown.out.count("\n") == 3
    assert prediction["values"] == {"age": 40.0, "site": "south"}
    assert prediction["confidence"] == 0.8
    shown, told = (
        fits.run("joint", "linear.json", "--columns", "site"),
        fits.run("joint", "linear.json", "--columns", "site", "--json"),
    )
    assert "ruled out, at 95% confidence" in shown.out
    assert json.loads(told.out)["zero_inside"] == release.fit.joint[0].zero_inside
    assert (fits.spent(), fits.files()) == (spent, files)


def test_values_in_a_file_are_those_of_the_options(fits):
    """So that values of people need not stand in a list of processes."""
    (fits.folder / "values.json").write_text('[{"age": 40, "site": "south"}, {"age": "60", "site": "west"}]')
    of_file = fits.run("predict", "linear.json", "--values", "values.json", "--json")
    of_options = fits.run("predict", "linear.json", "--at", "age=40,site=south", "--at", "age=60,site=west", "--json")
    assert (of_file.code, of_file.out) == (0, of_options.out)
    (fits.folder / "values.json").write_text('{"age": 40}')
    assert "a list of {NAME: VALUE}" in fits.run("predict", "linear.json", "--values", "values.json").refused(2)


@pytest.mark.parametrize(
    "words",
    [
        "predict linear.json --at age=40",
        "predict linear.json --at age",
        "predict linear.json --at age=40,age=41,site=west",
        "predict linear.json --at age=400,site=west",
        "predict linear.json --at age=40,site=moon",
        "predict linear.json",
        "predict linear.json --values linear.json --at age=40,site=west",
        "predict linear.json --values linear.json",
        "joint linear.json --columns shoe",
        "joint linear.json",
        "effects linear.json",
        "joint linear.json --columns site --confidence 1",
    ],
)
def test_what_cannot_be_answered_is_one_line(fits, words):
    """It says what to do."""
    fits.run(*words.split()).refused(2)


def test_a_derived_release_of_an_older_version_is_verified(fits):
    """It says nothing of categories as a whole, which is no reason to distrust it."""
    assert fits.run("fit", "--from", "linear.json", "--columns", "site", "--out", "part.json").code == 0
    check = ("budget", "verify", "part.json", "--ledger", fits.ledger)
    assert fits.run(*check).code == 0
    value = json.loads((fits.folder / "part.json").read_text())
    assert value["fit"].pop("joint")
    (fits.folder / "part.json").write_text(json.dumps(value))
    assert fits.run(*check).code == 0


def test_effects_are_of_models_with_a_link(fits):
    """Of a logistic fit, with where the other columns are."""
    columns = {"old": {"type": "integer", "lower": 0, "upper": 1, "source": "design"}}
    import pyarrow.parquet as pq

    table = pq.read_table(fits.data)
    old = [int(age > 50) for age in table["age"].to_pylist()]
    pq.write_table(table.append_column("old", [old]), fits.folder / "old.parquet")
    metadata = fits.write_metadata(lambda value: value["columns"].update(columns))
    words = f"--data old.parquet --metadata {metadata} --ledger {fits.ledger} --epsilon 4 --delta 1e-4 --yes"
    done = fits.run(
        "fit",
        *words.split(),
        "--family",
        "logistic",
        "--target",
        "old",
        "--columns",
        "income,site",
        "--out",
        "logistic.json",
    )
    assert done.code == 0, done
    shown = fits.run("effects", "logistic.json", "--at", "income=20")
    told = json.loads(fits.run("effects", "logistic.json", "--at", "income=20", "--json").out)
    assert (shown.code, "income: 20 to 21" in shown.out, "the others at income=20, site=north" in shown.out) == (
        0,
        True,
        True,
    )
    assert [(one["column"], one["end"]) for one in told["effects"]] == [
        ("income", 21.0),
        ("site", "south"),
        ("site", "west"),
    ]
