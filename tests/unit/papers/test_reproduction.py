"""Parts of studies are kept when done, absent tables are said, and files are written whole."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tables import SHARED

from discreet.errors import InvalidParameterError
from discreet.report.study import Column, Picture, Row, Study
from discreet_papers import lei_flights, public_tables, registry
from discreet_papers import reproduction as module
from discreet_papers.experiment import Experiment, Work
from discreet_papers.reproduction import studies

CALLS: list[Work] = []
COLUMNS = (Column("as printed", False, "Theirs."), Column("ours", True, "Ours."))


def work(one: Work) -> list[Row]:
    CALLS.append(one)
    if one.part == "broken":
        raise KeyboardInterrupt
    if one.part == "unreadable":
        raise ZeroDivisionError
    return [Row("ours", {"x": x, "part": one.part}, float(x) / one.repeats, 0.1) for x in (1, 2, 3)]


def toy(name: str, parts=("a", "b"), files=()) -> Experiment:
    picture = Picture("curve", "A curve", "lines", "x", "x", "y", down="part")
    study = Study(name, "Toy", f"Toys, {name}", (), COLUMNS, (), (), (picture,), tuple(files), 4)
    return Experiment(study, tuple(parts), work)


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """Experiments of ten lines instead of the papers'."""
    known = {
        "toy-1": toy("toy-1"),
        "toy-2": toy("toy-2", files=["needed.parquet"]),
        "toy-3": toy("toy-3", ["a", "broken"]),
        "toy-4": toy("toy-4", ["unreadable"], ["needed.parquet"]),
    }
    monkeypatch.setattr(
        registry, "experiments", lambda names: [known[n] for n in known if n in names or "all" in names]
    )
    monkeypatch.setattr(registry, "experiment", known.__getitem__)
    CALLS.clear()
    return known


def test_done_parts_are_not_done_again(tmp_path):
    """A second run computes nothing; other repeats are other figures."""
    told = []
    first = module.reproduce(["toy-1"], None, tmp_path, progress=lambda *words: told.append(words))
    assert [one.part for one in CALLS] == ["a", "b"]
    assert told == [("Computing parts", 1, 2)] * 2
    second = module.reproduce(["toy-1"], None, tmp_path)
    assert len(CALLS) == 2
    assert second == first
    module.reproduce(["toy-1"], None, tmp_path, repeats=8)
    assert [one.repeats for one in CALLS] == [4, 4, 8, 8]
    assert CALLS[0].seed == CALLS[2].seed != CALLS[1].seed


def test_an_interruption_keeps_what_is_done(tmp_path):
    """The part before it is there, and the next run starts with the one that was not done."""
    with pytest.raises(KeyboardInterrupt):
        module.reproduce(["toy-3"], None, tmp_path)
    assert [one.part for one in CALLS] == ["a", "broken"]
    with pytest.raises(KeyboardInterrupt):
        module.reproduce(["toy-3"], None, tmp_path)
    assert [one.part for one in CALLS] == ["a", "broken", "broken"]
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", ["", "{", '{"schema": "other"}', "null", '{"schema": "discreet/part@1", "key": "x"}']
)
def test_a_damaged_part_is_computed_again(tmp_path, damage):
    """Whatever stands in its file, the figures are those of the work."""
    first = module.reproduce(["toy-1"], None, tmp_path)
    kept = sorted((tmp_path / "parts").glob("*.json"))
    kept[0].write_text(damage)
    assert module.reproduce(["toy-1"], None, tmp_path) == first
    assert len(CALLS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.123456, None, "x"])
def test_an_edited_figure_is_computed_again(tmp_path, value):
    """The rows of a part carry their digest."""
    first = module.reproduce(["toy-1"], None, tmp_path)
    kept = sorted((tmp_path / "parts").glob("*.json"))[0]
    read = json.loads(kept.read_text())
    read["rows"][0]["value"] = value
    kept.write_text(json.dumps(read))
    assert module.reproduce(["toy-1"], None, tmp_path) == first
    assert len(CALLS) == 3


def test_a_page_of_others_is_not_replaced(tmp_path):
    """Nor is anything computed; one's own page is."""
    page = tmp_path / "toy-1.html"
    page.write_text("MY OWN PAGE")
    with pytest.raises(InvalidParameterError, match="must not replace a file of others"):
        module.reproduce(["toy-1"], None, tmp_path)
    assert page.read_text() == "MY OWN PAGE"
    assert CALLS == []
    page.unlink()
    module.reproduce(["toy-1"], None, tmp_path)
    module.reproduce(["toy-1"], None, tmp_path)
    assert "MY OWN" not in page.read_text()


def test_other_tables_than_the_published_ones_are_said(tmp_path):
    """Figures of another table under the same name are doubtful; a table that breaks the work is named."""
    (tmp_path / "needed.parquet").write_bytes(b"one")
    found = module.reproduce(["toy-2"], tmp_path, tmp_path / "out")
    assert found[0].doubts == (
        "needed.parquet is not the table as it was published: its SHA-256 is another. What is told of it may not hold.",
    )
    assert "its SHA-256 is another" in (tmp_path / "out" / "toy-2.html").read_text()
    assert "its SHA-256 is another" in (tmp_path / "out" / "toy-2.md").read_text()
    with pytest.raises(
        InvalidParameterError, match=r"needs its public tables as they were published, but needed\.parquet"
    ):
        module.reproduce(["toy-4"], tmp_path, tmp_path / "out")


def test_absent_tables(tmp_path):
    """Named alone it is refused before anything is computed; among others it is said."""
    with pytest.raises(InvalidParameterError, match=r"Toys, toy-2 needs the public table needed\.parquet"):
        module.reproduce(["toy-2", "toy-1"], None, tmp_path)
    assert CALLS == []


@pytest.mark.slow
def test_absent_tables_among_all(tmp_path, toys):
    """The page says what could not be had, and other tables than before are other figures."""
    toys.pop("toy-3")
    toys.pop("toy-4")
    found = module.reproduce(["all"], tmp_path, tmp_path / "out")
    assert [bool(one.absent) for one in found] == [False, True]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "needed.parquet, which is not there" in page
    (tmp_path / "needed.parquet").write_bytes(b"one")
    module.reproduce(["all"], tmp_path, tmp_path / "out")
    assert [one.folder for one in CALLS[2:]] == [tmp_path] * 2
    (tmp_path / "needed.parquet").write_bytes(b"two")
    module.reproduce(["all"], tmp_path, tmp_path / "out")
    assert len(CALLS) == 6


def test_files(tmp_path):
    """Tables as CSV and Markdown, pictures as SVG, one page, and nothing else but the parts."""
    module.reproduce(["toy-1"], None, tmp_path)
    names = {one.name for one in tmp_path.iterdir()}
    assert names == {"toy-1.html", "parts", "toy-1-curve.svg", "toy-1.csv", "toy-1.md"}
    assert (tmp_path / "toy-1-curve.svg").read_text().startswith("<svg ")
    for part in (tmp_path / "parts").iterdir():
        assert json.loads(part.read_text())["study"] == "toy-1"


def test_refusals(tmp_path):
    """A file in the folder's place, and repeats below one."""
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(InvalidParameterError, match="--out must be a folder"):
        module.reproduce(["toy-1"], None, taken)
    assert taken.read_text() == "mine"
    with pytest.raises(InvalidParameterError, match="at least 1"):
        module.reproduce(["toy-1"], None, Path(tmp_path), repeats=0)


def test_studies_are_listed():
    """All of them, by name."""
    assert [one.name for one in studies()] == ["toy-1", "toy-2", "toy-3", "toy-4"]


def test_tables_that_may_be_shipped_are_there(tmp_path):
    """The package's own table is the one that was published, as far as its study reads it; a folder's comes first."""
    own = public_tables.path_of(lei_flights.FILE, None)
    assert hashlib.sha256(own.read_bytes()).hexdigest() == public_tables.OWN_SHA256[lei_flights.FILE]
    assert public_tables.is_published(lei_flights.FILE, public_tables.OWN_SHA256[lei_flights.FILE])
    assert public_tables.path_of(lei_flights.FILE, tmp_path) == own
    (tmp_path / lei_flights.FILE).write_bytes(b"")
    assert public_tables.path_of(lei_flights.FILE, tmp_path) == tmp_path / lei_flights.FILE
    shipped = lei_flights.Flights.read(Work("", None, 1, 1))
    assert shipped.raw.shape == (272_467, 12)
    published = SHARED / lei_flights.FILE
    if published.is_file():
        given = lei_flights.Flights.read(Work("", SHARED, 1, 1))
        assert np.array_equal(shipped.raw, given.raw)
        assert np.array_equal(shipped.y, given.y)
