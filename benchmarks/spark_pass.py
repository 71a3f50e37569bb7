"""How long a pass over rows takes on Spark, beside the engine of this machine, and what of it is Spark's own start."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.design import Design
from discreet.data.sources import open_table

WORKERS = 2


@dataclass(frozen=True)
class SparkTimes:
    """Seconds of a process that opens a table on Spark and runs a pass twice; the same pass here."""

    start: float
    """Java, the session, and the header."""
    trial: float
    """The trial without rows: the first Python worker."""
    first: float
    """A pass: the other workers start, Java's code is compiled."""
    second: float
    """The same again."""
    local: float
    """The same pass in threads of one process."""


def spark_times(path: Path, metadata: Any, target: str, n_workers: int = WORKERS) -> SparkTimes:
    """Measure in this process, which must not have a session yet; the sums must be equal."""
    with_master(n_workers)
    design = Design.plan(metadata, target)
    begun = time.perf_counter()
    table = open_table(f"spark:{path}", metadata)
    start = time.perf_counter() - begun
    trial, _ = _timed(lambda: table.check(design.columns))
    first, found = _timed(lambda: table.moments(design))
    second, again = _timed(lambda: table.moments(design))
    local, expected = _timed(lambda: open_table(path, metadata).moments(design))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again, expected)
    return SparkTimes(start, trial, first, second, local)


def with_master(n_workers: int, **settings: str) -> None:
    """Let the session that a process starts next run here, with so many workers."""
    words = {"spark.master": f"local[{n_workers}]", "spark.driver.memory": "2g", **settings}
    chosen = [f'--conf "{name}={value}"' for name, value in words.items()]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*chosen, "pyspark-shell"])


def in_process_of_its_own(path: Path, metadata: Path, target: str, n_workers: int = WORKERS) -> SparkTimes:
    """Measure in a process that has no session yet."""
    code = (
        "import sys; from pathlib import Path; from discreet.data.metadata import Metadata; "
        "from benchmarks.spark_pass import spark_times; "
        "found = spark_times(Path(sys.argv[1]), Metadata.read(Path(sys.argv[2])), sys.argv[3], int(sys.argv[4])); "
        "print(*vars(found).values())"
    )
    command = [sys.executable, "-c", code, path, metadata, target, n_workers]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return SparkTimes(*map(float, done.stdout.split()))


def _timed(work: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found
