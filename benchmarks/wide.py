"""DP-SIS end to end: a Parquet file of 22,283 columns, and a long table of 10^8 values."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WIDE = """\
schema: discreet/metadata@1
dataset: wide
unit: person
neighboring: add_or_remove_one
columns:
  y: {type: category, levels: [a, b], source: "diagnosis"}
features: {type: real, lower: -4, upper: 4, source: "public scale of the assay"}
"""

LONG = """\
schema: discreet/metadata@1
dataset: long
unit: person
neighboring: add_or_remove_one
columns:
  y: {type: real, lower: -1, upper: 1, source: "public scale"}
features: {type: real, lower: 0, upper: 9, count: 1000000, source: "counts, cut at nine"}
layout: {row: person, feature: item, value: times}
"""

PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); \
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"


def wide_file(folder: Path) -> list[str]:
    """Write 100 x 22,283 floats and their metadata; return the options that name them."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = rng.standard_normal((100, 22_283)).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(100) > 0, "a", "b")
    columns = {f'probe "{j}"': X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), folder / "wide.parquet")
    (folder / "wide.yaml").write_text(WIDE)
    return ["--data", str(folder / "wide.parquet"), "--metadata", str(folder / "wide.yaml")]


def long_file(folder: Path, values: int = 10**8) -> list[str]:
    """Write 10^8 values of 10^5 people and 10^6 features, and the people's target."""
    data, people = folder / "long.parquet", folder / "people.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT (random() * 100000)::INTEGER AS person, (random() * 999999)::INTEGER AS item, "
            f"(1 + random() * 8)::TINYINT AS times FROM range({values})) TO '{data}' (FORMAT parquet)"
        )
        connection.execute(
            f"COPY (SELECT range::INTEGER AS person, (2 * random() - 1)::DOUBLE AS y FROM range(100001)) "
            f"TO '{people}' (FORMAT parquet)"
        )
    (folder / "long.yaml").write_text(LONG)
    return ["--data", str(data), "--targets", str(people), "--metadata", str(folder / "long.yaml")]


def run(options: list[str], dataset: str, ledger: Path) -> tuple[float, int]:
    """Wall time in seconds and peak memory in MB of one `discreet select --method sis`."""
    discreet = [sys.executable, "-m", "discreet"]
    grant = ["budget", "grant", dataset, "--epsilon", "100", "--ledger", str(ledger)]
    subprocess.run([*discreet, *grant], check=True, capture_output=True)
    select = [
        *discreet, "select", *options, "--target", "y", "--method", "sis", "--epsilon", "1", "--n-features", "10",
        "--ledger", str(ledger), "--fresh", "--yes", "--quiet",
    ]  # fmt: skip
    start = time.perf_counter()
    found = subprocess.run([sys.executable, "-c", PEAK, *select], check=True, capture_output=True, text=True)
    return time.perf_counter() - start, int(found.stdout)


COLUMNS = ["table", "asked", "wall, first", "wall", "peak memory"]


def rows(values: int = 10**8) -> list[list[str]]:
    """One row a table; the first run of a fresh machine compiles."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wide, ledger = wide_file(folder), folder / "ledger.sqlite"
        walls = [run(wide, "wide", ledger) for _ in range(3)]
        found.append(["100 x 22,283 Parquet", "5 s", *told(walls)])
        long = long_file(folder, values)
        walls = [run(long, "long", ledger) for _ in range(2)]
        found.append([f"long, {values:.0e} values, 10^6 features", "60 s, 2 GB", *told(walls)])
    return found


def told(walls: list[tuple[float, int]]) -> list[str]:
    """First and last wall time, largest memory."""
    return [f"{walls[0][0]:.1f} s", f"{walls[-1][0]:.1f} s", f"{max(peak for _, peak in walls)} MB"]


if __name__ == "__main__":
    print(COLUMNS, *rows(), sep="\n")
