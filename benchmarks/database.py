"""Rows streamed from PostgreSQL and summed here, beside the same sums asked of the server itself.

Run as ``python -m benchmarks.database [--rows 1e6] [--columns 20]``; needs Debian's postgresql.
"""

import argparse
from itertools import combinations_with_replacement

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url
from tests.servers import running_postgres

from benchmarks.timing import seconds
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID


def made(url: str, names: list[str], n_rows: int) -> None:
    """Write a table of random cells from 0 to 1."""
    cells = ", ".join(f"random() AS {name}" for name in names)
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT {cells} FROM generate_series(1, {n_rows})")


def sums_of_the_server(url: str, names: list[str]) -> list[int]:
    """All products, of cells that the server clips and rounds itself; what is missing counts as the middle."""
    cells = ", ".join(
        f"round((coalesce(least(greatest({name}, 0), 1), 0.5) - 0.5) * 2 * {GRID})::bigint AS {name}" for name in names
    )
    products = ", ".join(f"sum({one} * {other})" for one, other in combinations_with_replacement(names, 2))
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT {products} FROM (SELECT {cells} FROM people) AS c").fetchone()
    return list(map(int, found))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=20)
    asked = parser.parse_args()
    names = ["y", *(f"x{j}" for j in range(1, asked.columns))]
    columns = {name: {"type": "real", "lower": 0, "upper": 1} for name in names}
    about = {"dataset": "people", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    metadata = Metadata.from_value(about)
    design = Design.plan(metadata, "y")
    with running_postgres(on_disk=False) as postgres:
        url = make_url(postgres()).set(drivername="postgresql").render_as_string(hide_password=False)
        made(url, names, int(asked.rows))
        table = open_table(url, metadata, table="people")
        ours, theirs = table.moments(design), sums_of_the_server(url, names)
        of_cells = {name: 1 + place for place, name in enumerate(design.columns)}  # a constant comes first
        for value, pair in zip(theirs, combinations_with_replacement(names, 2), strict=True):
            np.testing.assert_allclose(ours[tuple(of_cells[name] for name in pair)], value, rtol=1e-6, atol=GRID**2)
        streamed = seconds(lambda: table.moments(design), 3)
        pushed = seconds(lambda: sums_of_the_server(url, names), 3)
    shown = Table(title=f"{asked.rows:.0e} rows of {asked.columns} columns in PostgreSQL", title_justify="left")
    for title in ("streamed, summed here", "summed by the server", "ratio"):
        shown.add_column(title, justify="right")
    shown.add_row(f"{streamed:.1f} s", f"{pushed:.1f} s", f"{pushed / streamed:.1f}")
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
