"""The tables that the pages of the documentation name, made small; real ones come from the shared folder."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import SHARED

import discreet as dc
from discreet.ledger import Ledger
from discreet.workflow.demo import write_demo

N_ROWS = 600
REAL = {
    "policies.parquet": "fremtpl2freq.parquet",
    "golub.parquet": "microarray/golub.parquet",
    "gusto_ami.parquet": "gusto_ami.parquet",
}
"""Tables that readers get elsewhere, and where they lie in the shared folder."""

COLUMNS: dict[str, Any] = {
    "visits": {"type": "integer", "lower": 0, "upper": 20, "source": "questionnaire"},
    "cost": {"type": "real", "lower": 0, "upper": 2000, "source": "tariff"},
    "sick": {"type": "integer", "lower": 0, "upper": 1, "source": "by definition"},
    "age": {"type": "integer", "lower": 18, "upper": 90, "source": "adults; older people count as 90"},
    "income": {"type": "real", "lower": 0, "upper": 100, "source": "questionnaire"},
    "site": {"type": "category", "levels": ["north", "south", "west"], "source": "study design"},
}


def people(n_rows: int = N_ROWS, seed: int = 0) -> pa.Table:
    """People whose visits follow their age and income."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - made-up data, not noise
    age, income = rng.integers(18, 91, n_rows), rng.uniform(0, 100, n_rows).round(2)
    visits = np.clip(np.rint((age - 18) / 6 + income / 20 + rng.normal(0, 1, n_rows)), 0, 20).astype(int)
    site = np.array(["north", "south", "west"])[rng.integers(0, 3, n_rows)]
    sick = (rng.uniform(0, 100, n_rows) < age).astype(int)
    return pa.table(
        {
            "visits": visits,
            "cost": 80.0 * visits + rng.uniform(0, 200, n_rows),
            "sick": sick,
            "age": age,
            "income": income,
            "site": site,
        }
    )


def genes(path: Path) -> None:
    """Two thousand people and three thousand columns, two of which matter."""
    rng = np.random.default_rng(0)  # noqa: TID251 - made-up data, not noise
    cells = rng.integers(-100, 101, (2000, 3000)) / np.float32(100)
    table = pa.table({f"gene_{j}": cells[:, j] for j in range(3000)})
    dose = np.clip(0.7 * cells[:, 5] - 0.7 * cells[:, 77], -1, 1)
    pq.write_table(table.append_column("dose", pa.array(dose)), path)


def purchases(path: Path) -> None:
    """A value a row: who bought what how often."""
    rng = np.random.default_rng(0)  # noqa: TID251 - made-up data, not noise
    pq.write_table(
        pa.table(
            {"person": rng.integers(0, 300, 3000), "item": rng.integers(0, 50, 3000), "times": np.ones(3000, int)}
        ),
        path,
    )


def leavers(path: Path) -> None:
    """A row for each person of `purchases`, with the target."""
    pq.write_table(pa.table({"person": np.arange(300), "churn": ["no", "yes"] * 150}), path)


def claims(path: Path) -> None:
    """A folder of two files."""
    path.mkdir()
    for part in range(2):
        pq.write_table(people(300, part), path / f"part-{part}.parquet")


TABLES: dict[str, Callable[[Path], object]] = {
    "clinic.parquet": lambda path: pq.write_table(people(), path),
    "survey.parquet": lambda path: pq.write_table(people(), path),
    "volunteers.parquet": lambda path: pq.write_table(people(150, 1), path),
    "census.csv": lambda path: pyarrow.csv.write_csv(people(200, 2), path),
    "claims/": claims,
    "demo/rand_hie.parquet": lambda path: write_demo(path.parent),
    "genes.parquet": genes,
    "purchases.parquet": purchases,
    "people.parquet": leavers,
}
"""Who writes what, where a page names it."""

BOOKS = {"clinic.yaml": "clinic-visits", "survey.yaml": "survey", "claims.yaml": "claims"}
"""Metadata files of people, and the data set's key in each."""

DATASETS = ("rand-hie", "genes", "purchases", *BOOKS.values())


def prepare(folder: Path, text: str) -> list[str]:
    """Write what a page names, and grant what it spends; return the names of the metadata files."""
    for name, source in REAL.items():
        if name in text:
            if not (SHARED / source).is_file():
                pytest.skip(f"{name} is not in the shared folder")
            shutil.copy(SHARED / source, folder / name)
    for name, write in TABLES.items():
        if name in text and f"--out {name}" not in text:
            write(folder / name)
    given = [name for name in BOOKS if name in text]
    fill_in(folder, given)
    with Ledger(folder / "ledger.sqlite") as ledger:
        for dataset in DATASETS:
            if f"budget grant {dataset}" not in text:
                ledger.grant(dataset, 1000, 0.01)
        if "--from release.json" in text and "--out release.json" not in text:
            earlier(folder, given[0], ledger)
    return given


def earlier(folder: Path, book: str, ledger: Ledger) -> None:
    """Write the release that a page goes on from."""
    table = dc.open_table(folder / "clinic.parquet", dc.Metadata.read(folder / book))
    dc.PCLS(epsilon=1.0).fit(table, target="visits", ledger=ledger).release_.save(folder / "release.json")


def fill_in(folder: Path, names: list[str]) -> None:
    """Write metadata as the reader would fill them in."""
    for name in names:
        book: dict[str, Any] = {
            "schema": "discreet/metadata@1",
            "dataset": BOOKS[name],
            "unit": "person",
            "neighboring": "replace_one",
            "n_rows": N_ROWS,
            "columns": COLUMNS,
        }
        public = next(
            (folder / file for file in ("census.csv", "volunteers.parquet") if (folder / file).is_file()), None
        )
        if public is not None:
            digest = hashlib.sha256(public.read_bytes()).hexdigest()
            book["public"] = {"sha256": digest, "source": "people who agreed"}
        (folder / name).write_text(json.dumps(book))
