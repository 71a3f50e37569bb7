"""A session of Spark on this machine, started once in a process that needs one."""

import atexit
import shutil
import tempfile
from functools import cache
from typing import Any

import pytest

from discreet.data.engines import spark_session

SETTINGS = {
    "spark.master": "local[2,2]",  # two workers; a task that fails is tried once more
    "spark.driver.memory": "1g",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
}
"""Of a session on this machine, in little memory, with few partitions."""


@cache
def spark() -> Any:
    """Return the session, whose files are in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="discreet-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    places = {
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:TieredStopAtLevel=1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
    words = [f'--conf "{name}={value}"' for name, value in (SETTINGS | places).items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*words, "pyspark-shell"]))
        return spark_session.session()


def spark_parquet(table: Any, folder: Any, place: Any) -> str:
    """Store a table by another engine's function, and return Spark's address of it."""
    spark()
    return f"spark:{place(table, folder)}"
