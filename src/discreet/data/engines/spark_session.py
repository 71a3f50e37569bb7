"""The session of Spark that reads an address, and what becomes of its errors."""

import atexit
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import pyarrow as pa

from discreet.data.engines import spark_worker
from discreet.data.engines.each import interruptible
from discreet.errors import DiscreetError, InvalidParameterError

T = TypeVar("T")

SCHEME = "spark:"
QUIET = {
    "spark.app.name": "discreet",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",  # its pages count rows, for whoever can reach this machine
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that is started here."""


def is_spark(source: object) -> bool:
    """Tell whether a source is ``spark:...``, or a DataFrame of Spark or of Spark Connect, without loading Spark."""
    if isinstance(source, str):
        return source.startswith(SCHEME)
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def call_spark(call: Callable[[], T], refusal: Exception) -> T:
    """Call Spark, and raise the refusal in place of its errors, which may show paths and values."""
    try:
        return call()
    except DiscreetError:
        raise
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from None
        raise refusal from None


_tags = itertools.count()


class Jobs:
    """Jobs of Spark that end together.

    Parameters
    ----------
    spark : SparkSession
        The session.
    """

    def __init__(self, spark: Any) -> None:
        self._tag = f"discreet-{os.getpid()}-{next(_tags)}"
        context = getattr(spark, "_sc", None)  # a session's own tags are of one thread, except in Spark Connect
        self._add = spark.addTag if context is None else context.addJobTag
        self._remove = spark.removeTag if context is None else context.removeJobTag
        self._interrupt = spark.interruptTag if context is None else context.cancelJobsWithTag

    def wait(self, task: Callable[[], T]) -> T:
        """Run jobs to their end, and return their result; an interruption ends them at once."""

        def tagged() -> T:
            self._add(self._tag)  # of this thread
            try:
                with unwarned():
                    return task()
            finally:
                self._remove(self._tag)

        return interruptible(tagged, self.cancel)

    def cancel(self) -> None:
        """End those that run."""
        with suppress(Exception):
            self._interrupt(self._tag)


def is_interruption(error: BaseException | None) -> bool:
    """Tell whether ctrl-C led to an error: Spark then raises that a job was cancelled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def session() -> Any:
    """Return the active session, or start one as the environment says, silent and stopped at the end."""
    try:
        with unwarned():
            from pyspark.sql import SparkSession
    except ImportError:
        raise InvalidParameterError(
            "An address that begins with spark: needs pyspark, but it is not installed. "
            "Install it with: pip install 'discreet[spark]'."
        ) from None
    refusal = InvalidParameterError(
        "Spark must start for an address that begins with spark:, but it does not. Check that Java 17 or later is "
        "installed (JAVA_HOME) and that SPARK_HOME, SPARK_CONF_DIR or SPARK_REMOTE are right; the command pyspark "
        "tells more."
    )
    with unwarned():
        active = call_spark(SparkSession.getActiveSession, refusal)
        return active if active is not None else call_spark(_started, refusal)


def _started() -> Any:
    """Start a session."""
    from pyspark.sql import SparkSession

    if "SPARK_REMOTE" in os.environ or os.environ.get("SPARK_API_MODE") == "connect":
        with _no_terminal():
            new_session = SparkSession.builder.getOrCreate()
    else:
        _start_java()
        new_session = SparkSession.builder.getOrCreate()
    atexit.register(new_session.stop)
    return new_session


@contextmanager
def _no_terminal() -> Iterator[None]:
    """Keep a server that Spark Connect starts on this machine from writing to the terminal."""
    copies = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in zip((1, 2), copies, strict=True):
            os.dup2(copy, number)
        for number in (nowhere, *copies):
            os.close(number)


def _start_java() -> None:
    """Start Spark's process without a terminal: its output and its workers' may show private values."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._active_spark_context is not None or SparkContext._gateway is not None:
        return
    folder = tempfile.mkdtemp(prefix="discreet-")  # else Spark makes one where we stand
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    places = {"spark.sql.warehouse.dir": f"file:{folder}"}
    settings = SparkConf(loadDefaults=False).setAll(list((QUIET | places).items()))
    no_output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    context = SparkContext(gateway=launch_gateway(settings, popen_kwargs=no_output))
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # workers of this machine are as we are


@contextmanager
def unwarned() -> Iterator[None]:
    """Keep to itself what pyspark would write: warnings, and errors, which may show cells, to standard error."""
    token = _is_quiet.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for channel in _loggers():
                channel.addFilter(_is_heard)
            yield
    finally:
        _is_quiet.reset(token)


_is_quiet = ContextVar("is_quiet", default=False)
"""Of each thread by itself."""


def _is_heard(_: object) -> bool:
    return not _is_quiet.get()


def _loggers() -> list[Any]:
    """Return those by which pyspark writes an error's text, with the cell that it is about, while it is raised."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


_tried: set[str] = set()


def check_workers(spark: Any) -> None:
    """Try a pass over no private row, before anything is charged: once for each session."""
    key = _key_of(spark)
    if key in _tried:
        return
    own = spark_worker.own_versions()
    refusal = InvalidParameterError(
        f"Spark's workers must have {own} to run a pass, but a trial without data failed. Install the same version of "
        "discreet where they run, or name its Python with PYSPARK_PYTHON."
    )

    def trial() -> pa.Table:
        return spark.range(64).mapInArrow(spark_worker.versions, "versions string").toArrow()

    reported = call_spark(lambda: Jobs(spark).wait(trial), refusal)
    others = sorted(set(reported.column(0).to_pylist()) - {own})
    if others:
        raise InvalidParameterError(
            f"Spark's workers must have {own}, as here, but some have {others[0][:200]}. Install the same version."
        )
    _tried.add(key)


def _key_of(spark: Any) -> str:
    """Return what identifies a session within this process."""
    context = getattr(spark, "_sc", None)
    return str(context.applicationId) if context is not None else str(getattr(spark, "session_id", id(spark)))
