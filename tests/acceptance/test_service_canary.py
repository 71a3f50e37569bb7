"""Nothing of a cell is found in any answer, log, file or row of a service, however a request ends."""

import os
import shutil
import sqlite3
import subprocess
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from sqlalchemy import MetaData, create_engine

from discreet.data.design import Design
from discreet_service.worker import delivery, job
from tests.effort import either
from tests.office import PEOPLE, open_office

N_ROWS = 60
READERS = either(("ann", "abe", "cora", "otto", "ada"), tuple(PEOPLE))
"""Who reads all there is: one of each role and project, or everybody."""
CELL = 7.7319052846137
COUNT = 4815162342
TEXT = "zqä7731kanarie"
CANARIES = ("7.7319052846", "4815162342", "7731kanarie")
"""As they would be printed: no hash, time or noise of these lengths holds them by chance."""

COLUMNS: dict[str, Any] = {
    "y": {"type": "real", "lower": 0, "upper": 10, "source": "by design"},
    "a": {"type": "real", "lower": 0, "upper": 10, "source": "by design"},
    "b": {"type": "integer", "lower": 0, "upper": 5_000_000_000, "source": "by design"},
    "s": {"type": "category", "levels": ["north", "south"], "source": "by design"},
}


def planted(**columns: Any) -> pa.Table:
    """A table with canaries in every column; columns given are replaced, None leaves one out."""
    usual = {
        "y": [CELL, *np.linspace(0, 9, N_ROWS - 1)],
        "a": [CELL, *np.linspace(9, 0, N_ROWS - 1)],
        "b": [COUNT, *range(N_ROWS - 1)],
        "s": [TEXT, *["north", "south"] * (N_ROWS // 2 - 1), "north"],
        "person": [f"{TEXT}{i // 2}" for i in range(N_ROWS)],
    }
    return pa.table({name: column for name, column in (usual | columns).items() if column is not None})


def write(path: Any, table: pa.Table) -> None:
    """Write a table as the kind of file that the path's ending says."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("planted", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM planted")
    else:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE people (y, a, b, s, person)")
            rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)


def _first(value: Any) -> list[Any]:
    return [value, *np.linspace(0, 9, N_ROWS - 1)]


def _broken(path: Any, share: float) -> None:
    write(path, planted())
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def _scratched(path: Any) -> None:
    """Spoil the pages and leave the footer: what reads a row before the charge would see it."""
    write(path, planted())
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 3] = b"\xab" * (len(content) // 3 - 4)
    path.write_bytes(content)


@dataclass(frozen=True)
class Case:
    """A table, what is asked of it, and what may come out."""

    table: Callable[[Any], Any]
    ends: tuple[str, ...]
    ending: str = "parquet"
    metadata: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)


def of(table: pa.Table, *ends: str, **more: Any) -> Case:
    """A case with this table."""
    return Case(lambda path: write(path, table), ends or ("released",), **more)


BY_UNIT = {"unit_id": "person", "rows_per_unit": 1, "neighboring": "add_or_remove_one", "n_rows": None}
WIDE, LATE, EARLY = ("released", "no_result"), ("no_result",), ("data_mismatch", "not_started")
CASES = {
    "a table": of(planted()),
    "CSV": of(planted(), ending="csv"),
    "Arrow": of(planted(), ending="arrow"),
    "DuckDB": of(planted(), ending="duckdb"),
    "SQLite": of(planted(), ending="sqlite"),
    "not a number": of(planted(y=_first(float("nan")))),
    "no value": of(planted(y=_first(None), a=_first(None))),
    "infinite": of(planted(y=_first(float("inf")), a=_first(-float("inf")))),
    "out of all bounds": of(planted(y=_first(1e308), a=_first(-1e308))),
    "constant": of(planted(y=[CELL] * N_ROWS, a=[CELL] * N_ROWS)),
    "an unknown level": of(planted(s=[TEXT] * N_ROWS)),
    "a huge text": of(planted(s=[TEXT * 200_000, *["north"] * (N_ROWS - 1)])),
    "cut by unit": of(planted(), metadata=BY_UNIT),
    "text where numbers belong": of(planted(y=[TEXT] * N_ROWS), *WIDE, *EARLY),
    "text where numbers belong, in CSV": of(planted(y=[TEXT] * N_ROWS), *WIDE, *EARLY, ending="csv"),
    "text where numbers belong, in SQLite": of(planted(y=[TEXT] * N_ROWS), *WIDE, *EARLY, ending="sqlite"),
    "numbers where levels belong": of(planted(s=[CELL] * N_ROWS), "data_mismatch"),
    "lists": of(planted(y=[[CELL]] * N_ROWS), *EARLY, *LATE),
    "a scratched file": Case(_scratched, WIDE),
    "no file": Case(lambda path: None, EARLY),
    "half a file": Case(lambda path: _broken(path, 0.5), EARLY),
    "half a CSV file": Case(lambda path: _broken(path, 0.5), WIDE + EARLY, ending="csv"),
    "half a database": Case(lambda path: _broken(path, 0.5), EARLY + LATE, ending="duckdb"),
    "no such kind of file": Case(lambda path: path.write_text(TEXT), EARLY, ending="parquet"),
    "no header": Case(lambda path: path.write_text(f"{CELL},{CELL},{COUNT},{TEXT}\n" * N_ROWS), EARLY, ending="csv"),
    "another header": of(planted(a=None), *EARLY),
    "fewer rows": of(planted().slice(0, 9), *EARLY, *LATE),
    "no rows": of(planted().slice(0, 0), *EARLY, *LATE),
    "noisy moments": of(planted(), asked={"method": "moments", "parameters": {"epsilon": 0.5, "delta": 1e-7}}),
    "a regression": of(planted(), asked={"method": "linear", "parameters": {"epsilon": 0.5, "delta": 1e-7}}),
    "screening": of(
        planted(),
        asked={"method": "sis", "parameters": {"epsilon": 0.5, "n_features_to_select": 1}, "candidates": ["a", "b"]},
    ),
}
FAILURES = {
    "a library's words": lambda: ValueError(f"could not convert string to float: {TEXT!r}"),
    "an engine's words": lambda: duckdb.ConversionException(f"Could not convert {TEXT!r}, {CELL} to INT64"),
    "a name of a type": lambda: type(TEXT, (Exception,), {})(str(COUNT)),
    "a cause behind the cause": lambda: _chained(),
    "memory": lambda: MemoryError(f"Unable to allocate an array for {CELL}"),
    "a warning": lambda: UserWarning(f"{TEXT} looks odd, {CELL}"),
    "the charge is refused": lambda: sqlite3.OperationalError(TEXT),
}


def _chained() -> Exception:
    found = RuntimeError(str(CELL))
    found.__cause__ = KeyError(TEXT)
    found.add_note(TEXT)
    return found


def ask(office: Any, number: int, case: Case) -> Any:
    """Register a case's table as a data set of its own, and ask."""
    name, path = f"set-{number}", f"table-{number}.{case.ending}"
    case.table(office.folder / "private" / path)
    usual = {"schema": "discreet/metadata@1", "unit": "person", "neighboring": "replace_one", "n_rows": N_ROWS}
    metadata = {**usual, "dataset": name, "columns": COLUMNS, **case.metadata}
    metadata = {key: value for key, value in metadata.items() if value is not None}
    body = {"metadata": metadata, "source": {"data": {"root": "tables", "path": path}}}
    for method, place, given in (
        ("POST", "/datasets", body),
        ("PUT", f"/datasets/{name}/budget", {"epsilon": 9, "delta": 1e-5}),
        ("PUT", f"/datasets/{name}/allotments/alpha", {"epsilon": 9, "delta": 1e-5}),
    ):
        done = office.call("cora", method, place, json=given)
        assert done.is_success, done.text
    asked = office.ask(f"key-{number:08}", dataset=name, **case.asked)
    assert office.approve(asked).status_code == 200
    return asked


@pytest.fixture
def office(tmp_path, monkeypatch):
    """An office whose jobs need not wait for the end of their slots."""
    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=lambda _: None))
    folder = tmp_path / "office"
    folder.mkdir()
    with open_office(folder, slot_s=60) as found:
        yield found


def said(office: Any, asked: list[Any]) -> dict[str, str]:
    """Everything that anybody can read, of every request and besides."""
    paths = ["/datasets", "/requests?limit=200", "/audit?limit=200", "/metrics", "/health", "/me", "/keys", "/users"]
    for one in asked:
        paths += [f"/requests/{one['id']}", f"/requests/{one['id']}/failure", f"/requests/{one['id']}/release"]
        paths += [f"/datasets/{one['dataset']}{part}" for part in ("", "/budget", "/history")]
    found = {f"{who} {path}": office.call(who, "GET", path).text for path in paths for who in READERS}
    found["verify"] = office.call("otto", "POST", "/verification").text
    return found


def reports(office: Any, asked: Any, folder: Any, audiences: tuple[str, ...]) -> dict[str, str]:
    """A release in every form, for readers of some kinds."""
    found = {}
    for form in ("json", "html", "csv", "markdown", "text", "pdf"):
        for audience in audiences:
            path = f"/requests/{asked['id']}/release?format={form}&audience={audience}"
            answer = office.call("ann", "GET", path)
            assert answer.status_code == 200, answer.text
            found[path] = _text_of(answer.content, folder) if form == "pdf" else answer.text
    return found


def _text_of(content: bytes, folder: Any) -> str:
    """The text of a PDF, where the tool for it is installed."""
    if shutil.which("pdftotext") is None:
        return content.decode("latin-1")
    (folder / "report.pdf").write_bytes(content)
    return subprocess.run(["pdftotext", folder / "report.pdf", "-"], capture_output=True, text=True, check=True).stdout


def kept(office: Any) -> dict[str, str]:
    """Every file but the private tables, and every value of every row."""
    found = {}
    for path in office.folder.rglob("*"):
        if path.is_file() and "private" not in path.relative_to(office.folder).parts:
            found[str(path)] = path.read_bytes().decode("latin-1")
    engine = create_engine(f"sqlite:///{office.context.settings.database}")
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        for table in tables.sorted_tables:
            found[f"rows of {table.name}"] = "\n".join(str(tuple(row)) for row in connection.execute(table.select()))
    engine.dispose()
    return found


def assert_clean(texts: dict[str, str]) -> None:
    """Look for the canaries, also as JSON and as bytes of UTF-8 read one by one."""
    for name, text in texts.items():
        short = () if text.startswith("%PDF") else ("zqä",)  # three bytes of a compressed file are these by chance
        for canary in (*CANARIES, *short, "zq\\u00e4", "zqÃ¤"):
            assert canary not in text, (name, canary)


def test_the_search_finds(office):
    """Control: the canaries stand in the tables, and would be found beside them and in a row."""
    asked = ask(office, 0, CASES["a table"])
    path = office.folder / "private" / "table-0.parquet"
    assert TEXT.encode() in path.read_bytes()
    for text in (f"no number: {CELL}", f"{COUNT}.0", TEXT, TEXT.encode().decode("latin-1")):
        with pytest.raises(AssertionError):
            assert_clean({"a log": text})
    office.call("ann", "PUT", f"/requests/{asked['id']}", json=None)
    office.ask("key-of-canary", dataset="set-0", purpose=TEXT)
    with pytest.raises(AssertionError):
        assert_clean({name: text for name, text in kept(office).items() if name.startswith("rows")})


@pytest.mark.processes
def test_nothing_of_a_cell_leaves(office, tmp_path, capfd):
    """Success and twenty kinds of failure: no canary in any answer to anybody, any output, any file, any row."""
    asked = {name: ask(office, number, case) for number, (name, case) in enumerate(CASES.items())}
    for _ in CASES:
        office.work()
    ends = {name: office.read(one) for name, one in asked.items()}
    wrong = {name: one["code"] for name, one in ends.items() if (one["code"] or one["state"]) not in CASES[name].ends}
    assert wrong == {}
    _check_charges(office, ends)
    texts = said(office, list(asked.values()))
    both, analyst = ("board", "analyst"), ("analyst",)
    for name, audiences in (
        ("a table", both),
        ("noisy moments", either(analyst, both)),
        ("a regression", either(analyst, both)),
    ):
        texts |= reports(office, asked[name], tmp_path, audiences)
    out, err = capfd.readouterr()
    assert '"event": "call"' in err
    assert_clean(texts | kept(office) | {"out": out, "err": err})
    assert set(out) <= {".", "\n"}


def _check_charges(office, ends):
    """What was refused before a row was read is given back; all that was touched stays charged."""
    for one in ends.values():
        spent = office.call("cora", "GET", f"/datasets/{one['dataset']}/budget").json()["epsilon_spent"]
        assert spent == (0 if one["code"] in EARLY else 0.5)


def test_nothing_of_a_cell_leaves_with_an_error(office, monkeypatch, capfd):
    """Errors that carry cells in texts, types, notes and causes: one code, and places in the code for a curator."""
    asked = {name: ask(office, number, CASES["a table"]) for number, name in enumerate(FAILURES)}

    def fail(error: Exception) -> None:
        if isinstance(error, Warning):
            warnings.warn(error, stacklevel=1)
        raise error

    for name, failure in FAILURES.items():
        with monkeypatch.context() as patch:
            target, method = (job, "_open_table") if name == "the charge is refused" else (Design, "encode")
            patch.setattr(target, method, lambda *_, failure=failure, **__: fail(failure()))
            if target is job:
                with pytest.raises(sqlite3.OperationalError):  # the process ends by it; nobody sees its words
                    office.work()
            else:
                office.work()
    office_rows = [office.read(one) for name, one in asked.items() if name != "the charge is refused"]
    assert {(one["state"], one["code"]) for one in office_rows} == {("failed", "no_result")}
    details = {office.call("cora", "GET", f"/requests/{one['id']}/failure").json()["detail"] for one in office_rows}
    assert {detail.partition(":")[0] for detail in details} >= {"ValueError", "Exception", "MemoryError"}
    out, err = capfd.readouterr()
    assert_clean(said(office, list(asked.values())) | kept(office) | {"out": out, "err": err})


def test_an_error_of_the_server_leaves_its_kind_alone(office, monkeypatch, capfd):
    """Whatever goes wrong while a call is answered: a constant for the caller, and for the log what kind it was of."""
    texts = {}
    for name in FAILURES.keys() - {"a name of a type"}:  # the server opens no rows that a type could be named after

        def fail(*_: Any, failure: str = name) -> None:
            raise FAILURES[failure]()

        monkeypatch.setattr("discreet_service.use_cases.people.me", fail)
        answer = office.call("ann", "GET", "/me")
        assert (answer.status_code, answer.json()["type"]) == (500, "urn:discreet:problem:internal")
        texts[name] = answer.text
    texts["out"], texts["err"] = capfd.readouterr()
    assert texts["err"].count('"event": "error"') == len(texts) - 2
    assert_clean(texts)


def test_requests_for_study_are_refused(office):
    """What gives no guarantee is refused before it is kept: nothing is charged, and no row is there to be answered."""
    ask(office, 0, CASES["a table"])
    body = {"dataset": "set-0", "project": "alpha", "method": "pcpl", "target": "y", "purpose": "to learn"}
    published = body | {"parameters": {"epsilon": 0.5, "as_published": True}}
    answer = office.call("ann", "POST", "/requests", json=published, headers={"Idempotency-Key": "for-study"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:discreet:problem:policy")
    assert len(office.call("ann", "GET", "/requests").json()["items"]) == 1


def test_the_owner_log_is_not_written(office, monkeypatch, tmp_path):
    """The variable that names an owner's log on a laptop opens no second way out of a service."""
    monkeypatch.setenv("DISCREET_OWNER_LOG", str(tmp_path / "owner.log"))
    monkeypatch.setattr(Design, "encode", lambda *_, **__: 1 / 0)
    asked = ask(office, 0, CASES["a table"])
    office.work()
    assert office.read(asked)["code"] == "no_result"
    assert not os.path.exists(tmp_path / "owner.log")
