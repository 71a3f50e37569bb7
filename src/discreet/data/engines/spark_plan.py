"""What Spark's plan of a DataFrame, or its catalog, tells of rows that depend on one another, before any is read."""

import re
from collections.abc import Iterator
from typing import Any

from discreet.data.engines.spark_session import call_spark
from discreet.errors import InvalidParameterError

STORED_AS = ("avro", "delta", "hudi", "iceberg", "orc", "paimon", "parquet")
"""Providers that store rows, with types. Others compute them, as a query by JDBC, or read text, in which one cell may
end the table, or a row in it."""

_OF_MANY_ROWS = re.compile(
    "Join|Aggregate|Deduplicate|Distinct|Limit|Tail|Offset|Sample|Window|Generate|Expand|Pivot|Intersect|Except|Group"
)
"""Steps of a plan that do not map rows to rows one by one."""
_DETAILS = "# Detailed Table Information"


def require_rows_one_by_one(frame: Any, *, is_counted: bool) -> None:
    """Refuse a DataFrame whose plan joins, aggregates, samples or draws: each row must be made of one row alone.

    `is_counted`: whether the number of rows is public, as that of those which a filter leaves is not. A plan of Spark
    Connect is on the server, and is not looked at; nor is what functions of Python do.
    """
    if not hasattr(frame, "_jdf"):
        return
    refusal = InvalidParameterError("A DataFrame must have a plan, but Spark finds none. Check its query.")
    steps, sources, is_fixed = call_spark(lambda: _looked_at(frame._jdf.queryExecution().analyzed()), refusal)
    if not is_fixed:
        raise InvalidParameterError(
            "A DataFrame must give the same rows each time, but this one draws at random, or depends on where its rows "
            "lie. Store it as a table, and open that."
        )
    bad = next((step for step in steps if _OF_MANY_ROWS.search(step) or (is_counted and step == "Filter")), None)
    if len(set(sources)) < len(sources):
        bad = "Union"  # of a table with itself, as there is no join
    if bad is not None:
        raise InvalidParameterError(
            f"Each row of a DataFrame must be made of one row of its source, but its plan has a step {bad[:40]!r}. "
            "Store it as a table, if its rows are still one person's each, and open that."
        )


def _looked_at(plan: Any) -> tuple[list[str], list[int], bool]:
    """Return the names of a plan's steps, what tells its sources apart, and whether no step draws."""
    nodes = list(_nodes(plan))
    sources = [int(node.semanticHash()) for node in nodes if not node.children().size()]
    return (
        [str(node.getClass().getSimpleName()) for node in nodes],
        sources,
        all(bool(node.deterministic()) for node in nodes),
    )


def _nodes(plan: Any) -> Iterator[Any]:
    """Yield a plan's steps, those of queries within expressions among them, which look at other rows by themselves."""
    yield plan
    for below in (plan.children(), plan.subqueries()):
        for place in range(below.size()):
            yield from _nodes(below.apply(place))


def require_stored(spark: Any, table: str) -> None:
    """Refuse a table of the catalog that its provider computes, or reads as text."""
    refusal = InvalidParameterError(
        f"{table[:200]!r} must say how it is stored, but Spark cannot describe it. Check what Spark may see."
    )
    described = call_spark(lambda: spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect(), refusal)
    words = [(str(row[0]).strip(), str(row[1] or "").strip()) for row in described]
    # Columns come first, and one may be named as a detail is; a comment of a table comes after its provider.
    places = [place for place, (name, _) in enumerate(words) if name == _DETAILS]
    details = words[places[-1] :] if places else []
    value_of = {name: value.lower() for name, value in reversed(details)}
    provider = value_of.get("Provider", "")
    if provider == "hive":
        provider = next((name for name in ("parquet", "orc") if name in value_of.get("Serde Library", "")), "hive")
    if provider not in STORED_AS:
        raise InvalidParameterError(
            f"{table[:200]!r} must be stored as one of {', '.join(STORED_AS)}, but its provider is another, which may "
            "compute rows, or read text in which one cell may end the table. Store it as one of these."
        )
