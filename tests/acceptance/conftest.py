"""A small table about people, its metadata and its ledger, and the command as a user would run it."""

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.cli.main import run
from discreet.ledger import Ledger
from tests.programs import need

if TYPE_CHECKING:
    from playwright.sync_api import Browser

N_ROWS = 240
CAP = 10

METADATA: dict[str, Any] = {
    "schema": "discreet/metadata@1",
    "dataset": "clinic",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": N_ROWS,
    "columns": {
        "visits": {"type": "integer", "lower": 0, "upper": 20, "source": "questionnaire"},
        "age": {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"},
        "income": {"type": "real", "lower": 0, "upper": 100, "source": "questionnaire"},
        "site": {"type": "category", "levels": ["north", "south", "west"], "source": "study design"},
    },
}


def people(n_rows: int = N_ROWS) -> pa.Table:
    """Rows that fit `METADATA`; visits follow age."""
    ages = [18 + 37 * i % 70 for i in range(n_rows)]
    return pa.table(
        {
            "age": ages,
            "income": [float(i * i % 97) + 0.25 for i in range(n_rows)],
            "site": [("north", "south", "west")[i % 3] for i in range(n_rows)],
            "visits": [min(20, age // 5 + i % 3) for i, age in enumerate(ages)],
        }
    )


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def refused(self, code: int) -> str:
        """Check that the command ended with one clear line and no result; return the line."""
        assert (self.code, self.out) == (code, ""), self
        assert self.err.startswith("Error: "), self
        assert self.err.count("\n") == 1, self
        assert self.err.endswith("\n"), self
        assert "Traceback" not in self.err
        assert len(self.err.replace(str(Path.cwd()), "")) < 700, self  # without folders that are long by chance
        return self.err


class Place:
    """A folder with a table, its metadata, and a ledger that allows epsilon 10."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.data = folder / "people.parquet"
        self.metadata = folder / "people.yaml"
        self.ledger = folder / "ledger.sqlite"
        self._capture = capture

    def run(self, *words: object) -> Done:
        """Run the command in this process."""
        self._capture.readouterr()
        code = run([str(word) for word in words])
        return Done(code, *self._capture.readouterr())

    def words(self, *more: object, asks: bool = False, **options: object) -> list[str]:
        """Return the words of a `select`, with --yes unless it asks; an option that is None is left out."""
        given = {
            "data": self.data,
            "metadata": self.metadata,
            "target": "visits",
            "epsilon": 1,
            "ledger": self.ledger,
        } | options
        named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
        yes = [] if asks else ["--yes"]
        return ["select", *yes, *(str(word) for pair in named for word in pair), *map(str, more)]

    def select(self, *more: object, **options: object) -> Done:
        """Run a `select` in this process."""
        return self.run(*self.words(*more, **options))

    def write_metadata(self, change: Callable[[dict[str, Any]], object] = lambda _: None, **fields: Any) -> Path:
        """Write other metadata: fields replaced, None left out, then changed at will."""
        value = copy.deepcopy(METADATA) | fields
        change(value)
        path = self.folder / "other.json"
        path.write_text(json.dumps({key: field for key, field in value.items() if field is not None}))
        return path

    def spent(self, dataset: str = "clinic") -> float:
        """Return what the ledger says is spent, after checking the ledger."""
        with Ledger(self.ledger) as ledger:
            ledger.verify()
            return float(ledger.account(dataset).epsilon_spent)

    def files(self) -> dict[str, bytes]:
        """Return all files but the ledger's, temporary ones included."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and not path.name.startswith("ledger."))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that each test gets a copy of."""
    folder = tmp_path_factory.mktemp("template")
    pyarrow.parquet.write_table(people(), folder / "people.parquet")
    pyarrow.csv.write_csv(people(), folder / "people.csv")
    (folder / "people.yaml").write_text(json.dumps(METADATA))
    (folder / "temporary").mkdir()
    with Ledger(folder / "ledger.sqlite") as ledger:
        ledger.grant("clinic", CAP)
    return folder


@pytest.fixture
def place(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place of the test's own; nothing outside it is read or written."""
    folder = Path(shutil.copytree(template, tmp_path / "place"))
    for name in ("TMPDIR", "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(folder / "temporary"))
    monkeypatch.delenv("DISCREET_OWNER_LOG", raising=False)
    monkeypatch.delenv("DISCREET_WITNESS", raising=False)
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(folder)
    return Place(folder, capsys)


def in_process_of_its_own(*words: object, **options: Any) -> Done:
    """Run the command as a process."""
    command = [sys.executable, "-m", "discreet", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=os.environ, **options)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """No data and no ledger."""

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr("discreet.workflow.open_table", opened)
    monkeypatch.setattr("discreet.workflow.Ledger", opened)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Debian's Chromium, without a window."""
    chromium = need("chromium")
    from playwright.sync_api import sync_playwright  # it takes a while, and few tests need it

    with sync_playwright() as playwright:
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=chromium, args=as_root)
        yield opened
        opened.close()
