"""One pass over tables larger than memory, and a whole selection: time and memory against rows, here and on Spark.

DuckDB's sums of each column stand beside them.

Run as ``python -m benchmarks.scale [--rows 1e6 1e7 1e8] [--folder DIR] [--chart FILE.svg]``. Tables of 20 columns are
made in the folder, 85 bytes a row on disk, and stay there for the next run if it is named.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.spark_pass import in_process_of_its_own
from discreet.data.metadata import Metadata
from discreet.report.drawing import STYLES, Key, panel, svg

TARGET = "y"

LOCAL = """
import sys, time
from pathlib import Path
from benchmarks.scale import METADATA, TARGET
from discreet.data.design import Design
from discreet.data.sources import open_table
start = time.perf_counter()
table = open_table(sys.argv[1], METADATA)
moments = table.moments(Design.plan(METADATA, TARGET))
wall = time.perf_counter() - start
assert moments[0, 0] == table.row_count() * 32767**2
print(wall, int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024)
"""
"""The peak is the kernel's mark of this very process."""


def _declared() -> Metadata:
    """Six integers, ten reals, three categories and a target."""
    columns: dict[str, Any] = {f"i{j}": {"type": "integer", "lower": 0, "upper": 10 * (j + 1)} for j in range(6)}
    columns |= {f"r{j}": {"type": "real", "lower": 0, "upper": j + 1} for j in range(8)}
    columns |= {f"f{j}": {"type": "real", "lower": 0, "upper": j + 1} for j in range(2)}
    columns |= {f"k{j}": {"type": "category", "levels": [chr(97 + c) for c in range(4 + j)]} for j in range(3)}
    columns[TARGET] = {"type": "real", "lower": 0, "upper": 1}
    return Metadata.from_value(
        {"dataset": "scale", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    )


METADATA = _declared()


def made(folder: Path, n_rows: int) -> Path:
    """Write a table of random cells, unless it is there."""
    path = folder / f"rows-{n_rows}.parquet"
    if not path.is_file():
        cells = [
            *(f"(random() * {10 * (j + 1)})::INTEGER AS i{j}" for j in range(6)),
            *(f"random() * {j + 1} AS r{j}" for j in range(8)),
            *(f"(random() * {j + 1})::FLOAT AS f{j}" for j in range(2)),
            *(f"chr(97 + (random() * {3 + j})::INTEGER) AS k{j}" for j in range(3)),
            f"random() AS {TARGET}",
        ]
        part = path.with_suffix(".part")
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT {', '.join(cells)} FROM range({n_rows})) TO '{part}' (FORMAT parquet)")
        part.rename(path)
    return path


def local_pass(path: Path) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of the second moments of all columns, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LOCAL, str(path)], capture_output=True, text=True, check=True)
    wall, peak = map(float, done.stdout.split())
    return wall, peak


def whole_command(path: Path, metadata: Path) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of `discreet select` as a user runs it, ledger and release and all."""
    words = [sys.executable, "-m", "discreet"]
    ledger = ["--ledger", str(metadata.with_name("budget.db"))]
    subprocess.run([*words, "budget", "grant", METADATA.dataset, "--epsilon", "1", *ledger], check=True)
    given = ["--data", str(path), "--metadata", str(metadata), "--target", TARGET, "--epsilon", "1", "--yes"]
    start = time.perf_counter()
    done = subprocess.Popen([*words, "select", *given, *ledger, "--quiet"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode != 0:
        raise RuntimeError(f"discreet select ended with code {done.returncode}")
    return time.perf_counter() - start, used.ru_maxrss / 1024


def duckdb_sums(path: Path) -> float:
    """Wall time of DuckDB's own sum of each column, on two threads; of text, how often it is one letter."""
    code = f"""
import duckdb, time
c = duckdb.connect(); c.execute("SET threads = 2; SET enable_progress_bar = false"); start = time.perf_counter()
sums = [f"sum({{n}})" if k != "VARCHAR" else f"count_if({{n}} = 'a')"
        for n, k, *_ in c.execute("DESCRIBE SELECT * FROM '{path}'").fetchall()]
c.execute(f"SELECT {{', '.join(sums)}} FROM '{path}'").fetchall(); print(time.perf_counter() - start)
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def measured(path: Path, n_rows: int) -> dict[str, float]:
    """All figures of one table."""
    wall, peak = local_pass(path)
    found = {"rows": n_rows, "local_s": wall, "peak_mb": peak, "duckdb_s": duckdb_sums(path)}
    with tempfile.TemporaryDirectory() as folder:
        metadata = Path(folder, "metadata.json")
        metadata.write_text(json.dumps(METADATA.to_dict()))
        select_s, select_mb = whole_command(path, metadata)
        spark = in_process_of_its_own(path, metadata, TARGET)
    start = spark.start + spark.trial
    found |= {"select_s": select_s, "select_mb": select_mb}
    return found | {"start_s": start, "first_s": start + spark.first, "pass_s": spark.second}


def chart(found: list[dict[str, float]]) -> str:
    """Time against rows, both on scales of powers of ten: an SVG."""
    names = {
        "local_s": "Discreet, second moments of 20 columns",
        "duckdb_s": "DuckDB, sum of each column",
        "pass_s": "Discreet on Spark, local[2], a pass",
        "first_s": "Discreet on Spark, with the start of JVM and workers",
    }
    rows = sorted(one["rows"] for one in found)
    drawing = panel(520, 300, (rows[0], rows[-1]), (0.1, 1000), log_x=True, log_y=True)
    drawing.x_axis([(n_rows, f"{n_rows:,.0f}") for n_rows in rows], "rows")
    drawing.y_axis([(seconds, f"{seconds:g}") for seconds in (0.1, 1, 10, 100, 1000)], "seconds, two cores")
    for key, (color, dash) in zip(names, STYLES, strict=False):
        drawing.line(sorted((one["rows"], one[key]) for one in found), color, dash=dash)
    keys = zip(names.values(), STYLES, strict=False)
    drawing.legend_below([Key(name, color, dash=dash) for name, (color, dash) in keys])
    return svg(drawing, "Curves of the time of one pass over tables of more and more rows.")


def show(found: list[dict[str, float]]) -> None:
    """Print the figures."""
    table = Table(title="One pass over n x 20 (asked: 10^8 rows under 90 s and 1 GB, two cores)", title_justify="left")
    columns = [
        "rows",
        "local",
        "peak memory",
        "DuckDB's sums",
        "ratio",
        "select",
        "Spark: start",
        "first pass",
        "next pass",
    ]
    for column in columns:
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(
            f"{one['rows']:.0e}", f"{one['local_s']:.1f} s", f"{one['peak_mb']:.0f} MB", f"{one['duckdb_s']:.1f} s",
            f"{one['local_s'] / one['duckdb_s']:.1f}", f"{one['select_s']:.1f} s", f"{one['start_s']:.1f} s",
            f"{one['first_s'] - one['start_s']:.1f} s", f"{one['pass_s']:.1f} s",
        )  # fmt: skip
    Console(width=120).print(table)


def main() -> None:
    """Measure, print, and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7, 1e8])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--chart", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        found = [measured(made(folder, int(n)), int(n)) for n in asked.rows]
    show(found)
    print(json.dumps(found))
    if asked.chart is not None:
        asked.chart.write_text(chart(found))


if __name__ == "__main__":
    main()
