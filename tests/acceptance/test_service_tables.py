"""One table has one data set, and so one budget, however it is spelled: at registration, and before a row is opened."""

import os

import pytest

from discreet_service.access.roles import Principal, Role
from discreet_service.store import datasets
from tests.office import METADATA, PASSWORD, open_office, write_table

TABLES = {"root": "tables", "path": "toy.parquet"}
SPELLINGS = {
    "a dot": {"path": "./toy.parquet"},
    "a dot in the middle": {"path": "folder/./part.parquet"},
    "two slashes": {"path": "folder//part.parquet"},
    "a slash behind": {"path": "toy.parquet/"},
    "case": {"path": "Toy.PARQUET"},
    "as in an address": {"path": "toy%2Eparquet"},
    "a link": {"path": "link.parquet"},
    "a linked folder": {"path": "linked/part.parquet"},
    "a hard link": {"path": "hard.parquet"},
    "a folder with a hard link": {"path": "more"},
    "the folder around it": {"path": "folder"},
    "a second name of the root": {"root": "again"},
    "a link to the root": {"root": "linked-root"},
    "a folder in the root as a root": {"root": "inner", "path": "part.parquet"},
}
UNCLEAR = {
    "a table of a file with one": ({"table": "x"}, "table must be empty"),
    "two dots": ({"path": "folder/../toy.parquet"}, "plain path"),
    "from the root": ({"path": "/toy.parquet"}, "plain path"),
    "an address": ({"path": "file:///toy.parquet"}, "plain path"),
    "a link to nobody's": ({"path": "other-link.parquet"}, "leads over a link"),
}


def other_place(place):
    """The body that registers a place as another data set."""
    return {"metadata": METADATA | {"dataset": "other"}, "source": {"data": TABLES | place}}


def furnish(folder):
    """Links beside the table, hard and soft, and a folder that is a table."""
    private = folder / "private"
    (private / "more").mkdir()
    (private / "folder").mkdir()
    write_table(folder, "folder/part.parquet")
    write_table(folder, "nobodys.parquet")
    os.link(private / "toy.parquet", private / "hard.parquet")
    os.link(private / "toy.parquet", private / "more" / "hard.parquet")
    os.symlink("toy.parquet", private / "link.parquet")
    os.symlink("nobodys.parquet", private / "other-link.parquet")
    os.symlink("folder", private / "linked")
    os.symlink(private, folder / "linked-root")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """Data sets toy, a file, and parts, a file in a folder; with further names of the root."""
    folder = tmp_path_factory.mktemp("office")
    roots = {"tables": "private", "again": "private", "linked-root": "linked-root", "inner": "private/folder"}
    private = {name: folder / path for name, path in roots.items()}
    with open_office(folder, slot_s=1, private=private) as opened:
        furnish(folder)
        parts = {
            "metadata": METADATA | {"dataset": "parts"},
            "source": {"data": TABLES | {"path": "folder/part.parquet"}},
        }
        assert opened.call("cora", "POST", "/datasets", json=parts).status_code == 201
        yield opened


def is_refused_by_text(office, place):
    """What was compared before: the place as it is written. A stand-in of the faulty check."""
    with office.context.database.read() as connection:
        full = {**TABLES, "table": None, **place}
        return any(dataset.source["data"] == full for dataset in datasets.newest(connection))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_is_the_same_table(office, spelling):
    """It is refused, with the name of the data set that has it; a comparison of texts lets every one of them in."""
    refused = office.call("cora", "POST", "/datasets", json=other_place(SPELLINGS[spelling]))
    assert refused.status_code == 409, refused.text
    assert ("'toy'" in refused.text) != ("'parts'" in refused.text)
    assert not is_refused_by_text(office, SPELLINGS[spelling])
    assert is_refused_by_text(office, {})


@pytest.mark.parametrize("place", UNCLEAR)
def test_an_unclear_place_is_refused(office, place):
    """A table of a file that holds one, a path that climbs, an address, and a link, which could be led elsewhere."""
    source, reason = UNCLEAR[place]
    refused = office.call("cora", "POST", "/datasets", json=other_place(source))
    assert refused.status_code == 422, refused.text
    assert reason in refused.text


def test_a_table_of_its_own_is_no_other(office):
    """Control: a file beside it becomes a data set; targets that another data set has do not."""
    body = other_place({"path": "nobodys.parquet"})
    assert office.call("cora", "POST", "/datasets", json=body).status_code == 201
    shared = other_place({"path": "long.parquet"})
    shared["metadata"] = METADATA | {"dataset": "long"}
    shared["source"]["targets"] = TABLES
    assert "'toy'" in office.call("cora", "POST", "/datasets", json=shared).text


def test_a_further_version_may_spell_its_table_anew(office):
    """It stays one data set; its place is kept in one spelling, so that what was asked before is known again."""
    made = office.call(
        "cora", "POST", "/datasets/toy/versions", json={"metadata": METADATA, "source": {"data": TABLES}}
    )
    again = {"metadata": METADATA, "source": {"data": TABLES | {"path": ".//toy.parquet/"}}}
    other = office.call("cora", "POST", "/datasets/toy/versions", json=again)
    assert (made.status_code, other.status_code) == (201, 201)
    assert made.json()["source"] == other.json()["source"]


@pytest.mark.parametrize("name", ["Toy", "TOY"])
def test_a_name_alike_is_no_other_data_set(office, name):
    """Names that differ in case alone are one for people who read budgets."""
    body = {"metadata": METADATA | {"dataset": name}, "source": {"data": TABLES | {"path": "free.parquet"}}}
    refused = office.call("cora", "POST", "/datasets", json=body)
    assert (refused.status_code, "'toy'" in refused.text) == (409, True)


def test_a_name_alike_is_no_other_account(office):
    """Nor is Ann another person than ann."""
    made = office.call("ada", "POST", "/users", json={"name": "Ann", "role": "analyst", "password": PASSWORD})
    assert (made.status_code, "'ann'" in made.text) == (409, True)
    assert office.call("ada", "POST", "/users", json={"name": "Anna", "role": "auditor"}).status_code == 201


def swapped(office, folder):
    """Between registration and run, the file becomes a link to another data set's."""
    (folder / "private" / "late.parquet").unlink()
    os.symlink("toy.parquet", folder / "private" / "late.parquet")


def linked(office, folder):
    """Between registration and run, the file becomes another data set's by a hard link."""
    (folder / "private" / "late.parquet").unlink()
    os.link(folder / "private" / "toy.parquet", folder / "private" / "late.parquet")


def moved_to_nobodys(office, folder):
    """The file becomes a link to a file of no data set: today's rows would be charged with those of tomorrow."""
    write_table(folder, "tomorrow.parquet")
    (folder / "private" / "late.parquet").unlink()
    os.symlink("tomorrow.parquet", folder / "private" / "late.parquet")


def registered_unseen(office, folder):
    """The server could not see that it registers one table twice, as the rows of an older version show it."""
    cora = Principal("cora", Role.CURATOR)
    source = {"data": TABLES | {"path": "late.parquet", "table": None}, "targets": None, "public": None}
    with office.context.database.write() as connection:
        datasets.add(connection, "twin", METADATA | {"dataset": "twin"}, "0" * 64, source, 1, cora.name)


def nothing(office, folder):
    """Control: the table is its own."""


@pytest.mark.parametrize("change", [swapped, linked, moved_to_nobodys, registered_unseen, nothing])
def test_the_worker_looks_again(tmp_path, change):
    """What the server could not see, or what changed since, is found before a row is opened; the cost is given back."""
    with open_office(tmp_path, slot_s=1) as office:
        write_table(tmp_path, "late.parquet")
        late = {"metadata": METADATA | {"dataset": "late"}, "source": {"data": TABLES | {"path": "late.parquet"}}}
        assert office.call("cora", "POST", "/datasets", json=late).status_code == 201
        assert office.call("cora", "PUT", "/datasets/late/budget", json={"epsilon": 1}).status_code == 200
        assert office.call("cora", "PUT", "/datasets/late/allotments/alpha", json={"epsilon": 1}).status_code == 200
        request = office.ask(dataset="late")
        assert office.approve(request).status_code == 200
        change(office, tmp_path)
        office.work()
        is_released = change is nothing
        answered = office.read(request)
        assert (answered["state"], answered["code"]) == (
            ("released", None) if is_released else ("failed", "not_its_own_table")
        )
        assert office.context.ledger.account("late").epsilon_spent == (0.5 if is_released else 0)
        kinds = [entry.kind for entry in office.context.ledger.history("late")]
        assert ("touch" in kinds) == is_released


def test_a_table_that_was_charged_stays_taken(tmp_path):
    """A version that moves on leaves its old table free only while nobody was answered from it."""
    with open_office(tmp_path, slot_s=1) as office:
        write_table(tmp_path, "next.parquet")
        write_table(tmp_path, "third.parquet")
        assert office.approve(office.ask()).status_code == 200
        office.work()
        for path in ("next.parquet", "third.parquet"):
            body = {"metadata": METADATA, "source": {"data": TABLES | {"path": path}}}
            assert office.call("cora", "POST", "/datasets/toy/versions", json=body).status_code == 201
        answers = [office.call("cora", "POST", "/datasets", json=other_place({"path": path})) for path in _PATHS]
        assert [answer.status_code for answer in answers] == [409, 201, 409]


_PATHS = ("toy.parquet", "next.parquet", "third.parquet")


def test_keys_of_one_account_are_limited(tmp_path):
    """At most fifty are valid at once; a revoked one makes room."""
    with open_office(tmp_path) as office:
        made = [office.call("ann", "POST", "/keys", json={"label": f"key {i}"}) for i in range(50)]
        assert [answer.status_code for answer in made] == [201] * 49 + [409]  # the office has made one
        assert "Revoke" in made[-1].json()["detail"]
        assert office.call("abe", "POST", "/keys", json={"label": "another's"}).status_code == 201
        assert office.call("ann", "DELETE", f"/keys/{made[0].json()['id']}").status_code == 200
        assert office.call("ann", "POST", "/keys", json={"label": "in its place"}).status_code == 201
