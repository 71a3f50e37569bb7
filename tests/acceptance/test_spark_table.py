"""A table of Spark as a user meets it: the same answers, a quiet terminal, and a ledger that stands."""

import importlib
import os
import resource
import signal
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli.main import run
from discreet.data import engine
from discreet.errors import ComputationFailedError
from discreet.kernels.moments.moments import exact_moments
from discreet.ledger import Ledger
from tests.acceptance.conftest import N_ROWS, Done, Place, in_process_of_its_own, people
from tests.effort import LONG
from tests.spark import spark, words

FAILED = f"Error: {ComputationFailedError.MESSAGE}\n"
CANARY = "zqcanary"


@pytest.fixture
def folder(place: Place):
    """The place's people in three files of a folder, in another order."""
    spark()
    path = place.folder / "people"
    path.mkdir()
    order = np.arange(N_ROWS)[::-1]
    for part in range(3):
        pq.write_table(people().take(pa.array(order[part::3])), path / f"part-{part}.parquet")
    return path


def states(place):
    """What became of each reservation."""
    with Ledger(place.ledger) as ledger:
        return [entry.state for entry in ledger.history() if entry.kind == "reserve"]


def charged_and_lost(place, done):
    """Check that a `select` failed with the rows open: one constant line, and the charge stands."""
    assert done.refused(5) == FAILED
    assert (place.spent(), states(place)) == (1, ["lost"])


# ---- as any other table


@pytest.mark.processes
def test_a_process_on_spark(place, monkeypatch):
    """`select`, then the same again: nothing on the terminal but the release, one charge, free the second time."""
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words())
    done = in_process_of_its_own(*place.words("--yes", "--quiet", data=f"spark:{place.data}", out="release.json"))
    assert (done.code, done.err) == (0, "")
    assert place.spent() == 1
    assert not list(place.folder.glob("*spark*"))
    assert not list((place.folder / "temporary").iterdir())
    again = place.select("--quiet", data=f"spark:{place.data}")
    assert (again.code, again.out, place.spent()) == (0, done.out, 1)
    assert place.run("budget", "verify", "release.json", "--ledger", place.ledger).code == 0


def test_metadata_from_the_header(place, folder):
    """A skeleton of the columns, from the schema alone."""
    done = place.run("metadata", "new", f"spark:{folder}")
    assert done.code == 0, done
    for name in people().column_names:
        assert f"{name}:" in done.out


@pytest.mark.parametrize("method", ["pcls", "moments"])
def test_a_folder(place, folder, method):
    """Three files are one table."""
    with Ledger(place.ledger) as ledger:
        ledger.grant("clinic", 10, 0.01)
    done = place.select("--method", method, data=f"spark:{folder}", delta=0.001 if method == "moments" else None)
    assert done.code == 0, done
    assert states(place) == ["released"]


def test_another_number_of_rows_costs_nothing(place, folder):
    """A row above the declared number is seen before the charge."""
    pq.write_table(people(1), folder / "part-3.parquet")
    assert "n_rows=240" in place.select(data=f"spark:{folder}").refused(5)
    assert (place.spent(), states(place)) == (0, [])


OTHER_FILES = {
    "text in place of numbers": lambda table: table.set_column(0, "age", pa.array([CANARY] * table.num_rows)),
    "a column less": lambda table: table.drop_columns("age"),
}


@pytest.mark.parametrize("other", OTHER_FILES.values(), ids=OTHER_FILES)
def test_a_file_of_other_columns_costs_nothing(place, folder, other):
    """The third file differs in a column: seen in its footer, and no cell is told."""
    pq.write_table(other(people(N_ROWS // 3)), folder / "part-2.parquet")
    done = place.select(data=f"spark:{folder}")
    assert CANARY not in done.refused(5)
    assert (place.spent(), states(place)) == (0, [])


def test_other_files_beside_the_table(place, folder):
    """A note and a mark of success change nothing."""
    for name in ("z.txt", "_SUCCESS"):
        (folder / name).write_text("no Parquet")
    assert place.select(data=f"spark:{folder}").code == 0


def test_a_link_costs_nothing(place, folder):
    """The rows of a file that is there twice would count twice."""
    (folder / "latest.parquet").symlink_to("part-0.parquet")
    assert "must be without links" in place.select(data=f"spark:{folder}").refused(2)
    assert (place.spent(), states(place)) == (0, [])


@pytest.mark.parametrize("name", ["seen", "nothing", "relative/path"])
def test_what_is_no_table_costs_nothing(place, folder, name):
    """Views, names of nothing and relative paths."""
    spark().read.parquet(str(folder)).createOrReplaceTempView("seen")
    place.select(data=f"spark:{name}").refused(2)
    assert place.spent() == 0


# ---- what goes wrong with the rows open


def in_process_of_ours(*words):
    """Run the command here; what reaches the terminal behind Python's back is told as well."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        with tempfile.TemporaryFile() as heard:
            for number in (1, 2):
                os.dup2(heard.fileno(), number)
            code = run(list(words))
            heard.seek(0)
            return code, heard.read().decode()
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)


@pytest.mark.processes
def test_a_file_that_is_cut_short(place, folder, capsys, monkeypatch):
    """Not a word on the terminal, from Java or from Python, of a file that is damaged; in a process of its own, too."""
    for path in folder.glob("part-*"):
        whole = path.read_bytes()
        path.write_bytes(whole[:4] + CANARY.encode() * (len(whole) // 16) + whole[4 + 8 * (len(whole) // 16) :])
    asked = place.words("--yes", "--quiet", data=f"spark:{folder}")
    code, heard = in_process_of_ours(*asked)
    charged_and_lost(place, Done(code, *capsys.readouterr()))
    assert heard == ""
    if LONG:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words())
        assert in_process_of_its_own(*asked, "--fresh").refused(5) == FAILED
        assert (place.spent(), states(place)) == (2, ["lost"] * 2)


def test_workers_that_die(place, folder, monkeypatch):
    """Killed at each trial, the pass fails: the charge stands, nothing is told."""

    def dies(_):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(engine, "exact_moments", dies)
    charged_and_lost(place, place.select(data=f"spark:{folder}"))


@pytest.mark.processes
def test_ctrl_c_ends_the_job(place, folder, monkeypatch):
    """In mid-pass: one line, code 130, the charge stands, and no task goes on."""
    begun = place.folder / "temporary" / "begun"

    def slow(cells):
        begun.touch()
        time.sleep(120)
        return exact_moments(cells)

    importlib.import_module("polars").LazyFrame({"x": [1]}).collect()  # whose own handler must not be in the way
    heard = threading.Event()

    def interrupt():
        while not begun.exists():
            time.sleep(0.02)
        while not heard.is_set():  # as people do who were not heard
            os.kill(os.getpid(), signal.SIGINT)
            heard.wait(10)

    monkeypatch.setattr(engine, "exact_moments", slow)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        done = place.select(data=f"spark:{folder}")
    finally:
        heard.set()
        signal.signal(signal.SIGINT, before)
    assert (done.code, done.err.count("\n")) == (130, 1)
    assert (place.spent(), states(place)) == (1, ["lost"])
    tracker = spark().sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()


def test_a_full_disk(place, folder):
    """Rows of people that cannot be shuffled end the request; with room again, it is answered."""

    def cut(value):
        value["columns"].pop("income")
        del value["n_rows"]

    metadata = place.write_metadata(cut, neighboring="add_or_remove_one", unit_id="income", rows_per_unit=2)
    assert place.select(data=f"spark:{folder}", metadata=metadata).code == 0  # whatever starts, starts with room
    java = spark().sparkContext._gateway.proc.pid
    soft, hard = resource.prlimit(java, resource.RLIMIT_FSIZE)
    resource.prlimit(java, resource.RLIMIT_FSIZE, (16, hard))
    try:
        done = place.select("--fresh", data=f"spark:{folder}", metadata=metadata)
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, (soft, hard))
    assert done.refused(5) == FAILED
    assert states(place) == ["released", "lost"]
    assert place.select("--fresh", data=f"spark:{folder}", metadata=metadata).code == 0
    assert (place.spent(), states(place)) == (3, ["released", "lost", "released"])


def test_nothing_is_left_beside_the_table(place, folder):
    """No checkpoint, no mark of success, no lock."""
    before = sorted(path.name for path in [*place.folder.iterdir(), *folder.iterdir()])
    assert place.select(data=f"spark:{folder}").code == 0
    assert sorted(path.name for path in [*place.folder.iterdir(), *folder.iterdir()]) == before
