"""One table has one identity, however its place is spelled; two tables have two."""

import os
from dataclasses import replace
from itertools import pairwise, product

import pytest
from tests.warehouse import run, with_user

from discreet_service.store.names import fold_name
from discreet_service.use_cases.identity import check_servers, tables_at

ONE_DATABASE = [
    "postgresql://reader@db.example.org/clinic",
    "postgres://db.example.org/clinic",
    "postgresql+psycopg://writer@DB.Example.ORG:5432/clinic",
    "postgresql://db.example.org./clinic?connect_timeout=3",
    "postgresql://reader@db.example.org/%63linic",
    "postgresql:///clinic?host=db.example.org",
    "postgresql://other.example.org/other?host=db.example.org&dbname=clinic&port=5432",
    "postgresql://spare.example.org,db.example.org:5432/clinic",
    "postgresql:///clinic?service=warehouse",
]
ON_THIS_MACHINE = [
    "postgresql://localhost/clinic",
    "postgresql://127.0.0.1:5432/clinic",
    "postgresql://[::1]/clinic",
    "postgresql://[::1]:5432/clinic",
    "postgresql:///clinic",
    "postgresql:///clinic?host=/var/run/postgresql",
    "postgresql://clinic@",
]
OTHERS = [
    "postgresql://db.example.org/research",
    "postgresql://db.example.org:5433/clinic",
    "postgresql://db2.example.org/clinic",
    "postgresql://[2001:db8::1]/clinic",
]
ONE_RELATION = ["clinic.people", "Clinic.People", '"clinic"."people"', "clinic.\N{LATIN SMALL LETTER P}eople"]


def in_database(url, path="clinic.people"):
    """A table of a database."""
    (identity,) = tables_at({"r": url}, {"data": {"root": "r", "path": path, "table": None}})
    return identity


def in_folder(root, path, table=None):
    """A table in a folder."""
    (identity,) = tables_at({"r": root}, {"data": {"root": "r", "path": path, "table": table}, "targets": None})
    return identity


@pytest.mark.parametrize("urls", [ONE_DATABASE, ON_THIS_MACHINE], ids=["afar", "here"])
def test_addresses_of_one_database(urls):
    """User, case, dots, the default port, options, another name for this machine: none makes it another database."""
    assert all(in_database(url).shares(in_database(other)) for url, other in product(urls, urls))
    assert not any(in_database(url) == in_database(other) for url, other in pairwise(urls))


def test_addresses_of_several_databases():
    """Control: another name, port or host is another database, and another schema or name another table."""
    alone = [*ONE_DATABASE[:1], *ON_THIS_MACHINE[:1], *OTHERS]
    for i, url in enumerate(alone):
        assert [in_database(url).shares(in_database(other)) for other in alone] == [i == j for j in range(len(alone))]
    first = in_database(ONE_DATABASE[0])
    assert not any(first.shares(in_database(ONE_DATABASE[0], path)) for path in ("clinic.staff", "public.people"))


def test_names_of_one_relation():
    """Quotes and case are how a name is written."""
    tables = [in_database(ONE_DATABASE[0], path) for path in ONE_RELATION]
    assert all(table.shares(other) for table, other in product(tables, tables))


def test_tables_of_database_files(tmp_path):
    """Two tables of one file are two; the only one has no name or its own; another kind of file has one table."""
    for ending in ("duckdb", "sqlite", "db"):
        table, same, other, only = (in_folder(tmp_path, f"a.{ending}", name) for name in ("x", '"X"', "y", None))
        assert table.shares(same)
        assert only.shares(table)
        assert table.shares(only)
        assert not table.shares(other)
    assert in_folder(tmp_path, "a.parquet", "x").shares(in_folder(tmp_path, "a.parquet", "y"))


def test_files_and_folders(tmp_path):
    """A file within a folder that is a table is a part of it, by its path or by a hard link; one beside it is not."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.parquet").write_text("a")
    (tmp_path / "beside.parquet").write_text("a")
    os.link(tmp_path / "folder" / "part.parquet", tmp_path / "hard.parquet")
    folder = in_folder(tmp_path, "folder")
    assert folder.shares(in_folder(tmp_path, "folder/part.parquet"))
    assert in_folder(tmp_path, "folder/part.parquet").shares(folder)
    assert in_folder(tmp_path, "hard.parquet").shares(folder)
    assert not in_folder(tmp_path, "beside.parquet").shares(folder)
    assert not in_folder(tmp_path, "folder2").shares(folder)
    assert not in_folder(tmp_path, "folder").shares(in_database(ONE_DATABASE[0]))


def test_names_alike():
    """Case and the form of a character make no other name."""
    assert len({fold_name(name) for name in ("Stra\u00dfe", "STRASSE", "strasse")}) == 1
    assert fold_name("e\u0301") == fold_name("\u00e9") == fold_name("\u00c9")
    assert fold_name("\uff41nn") == fold_name("Ann")
    assert fold_name("ann") != fold_name("anna")


def test_a_server_tells_its_names_apart_from_another_database(postgres):
    """What addresses do not tell, the server does: one database by two names, and a part of a table."""
    first, second = postgres(), postgres()
    for url in (first, second):
        run(url, "CREATE TABLE people (site int) PARTITION BY LIST (site)")
        run(url, "CREATE TABLE north PARTITION OF people FOR VALUES IN (1)", "CREATE TABLE staff (id int)")
    run(first, "CREATE ROLE plain LOGIN", "GRANT SELECT ON people, north, staff TO plain")
    here = replace(in_database(first, "public.people"), servers=frozenset({("one", "5432")}))
    by_another_name = replace(here, url=with_user(first, "plain"), servers=frozenset({("two", "5432")}))
    assert not here.shares(by_another_name)
    assert check_servers(here, [by_another_name])
    assert check_servers(replace(by_another_name, table="public.north"), [here])
    assert check_servers(here, [replace(by_another_name, table="public.north")])
    assert not check_servers(replace(here, table="public.staff"), [by_another_name])
    assert not check_servers(here, [in_database(second, "public.people")])
    assert not check_servers(here, [])
