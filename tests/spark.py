"""A session of Spark on this machine, started once in a process that needs one."""

import atexit
import shutil
import tempfile
from functools import cache
from typing import Any

import pytest

from discreet.data.engines import spark_session
from tests.programs import need

SETTINGS = {
    "spark.master": "local[2,2]",  # two workers; a task that fails is tried once more
    "spark.driver.memory": "1g",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
}
"""Of a session on this machine, in little memory, with few partitions."""
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of a Java that ends soon: what compiles long and collects by many threads is not worth its start."""


def words(folder: Any = None) -> str:
    """Return what starts such a session, from the environment; with a folder, all its files are there."""
    need("java")
    given = {"spark.driver.extraJavaOptions": JAVA}
    if folder is not None:
        given = {"spark.driver.extraJavaOptions": f"{JAVA} -Djava.io.tmpdir={folder}", "spark.local.dir": str(folder)}
    return " ".join([*(f'--conf "{name}={value}"' for name, value in (SETTINGS | given).items()), "pyspark-shell"])


@cache
def spark() -> Any:
    """Return the session, whose files are in a folder of its own."""
    need("java")
    folder = tempfile.mkdtemp(prefix="discreet-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warehouse = f'--conf "spark.sql.warehouse.dir={folder}/warehouse"'
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{warehouse} {words(folder)}")
        return spark_session.session()


def spark_parquet(table: Any, folder: Any, place: Any) -> str:
    """Store a table by another engine's function, and return Spark's address of it."""
    spark()
    return f"spark:{place(table, folder)}"
