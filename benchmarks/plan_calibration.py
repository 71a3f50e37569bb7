"""What a plan tells beside what is had: on tables as stated, and on twelve kinds that no plan was made with."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from scipy import stats

from benchmarks.right_models import normals, uniforms
from discreet import workflow
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source
from discreet.simulation.supposition import Supposition
from discreet.workflow import expectation_cache

Floats = npt.NDArray[np.float64]

N_COLUMNS = 6
HALF = 10.0
"""Half the range of the target, whose middle is 0; columns lie in [-1, 1]."""

NAMES = tuple(f"x{j}" for j in range(1, N_COLUMNS + 1))
NEAR, MOST_ABOVE = 0.05, 1
PRIVATE_CLIP = {"y_bound": "private", "y_quantile": 0.5, "shares": {"y_bound": 0.05}, "l1_radius": 3.75}
METHODS = {
    "moments": ("moments", {"y_bound": "private"}, 0.0),
    "moments, delta": ("moments", {"y_bound": "private"}, 1e-6),
    "pcls": ("pcls", PRIVATE_CLIP, 0.0),
    "sis": ("sis", {"n_features_to_select": "auto"}, 0.0),
}

Columns = Callable[[Source, int], Floats]
Noise = Callable[[Source, Floats], Floats]


class Kind(NamedTuple):
    """What is stated, and what the table is like in truth: its columns, and noise of standard deviation 1."""

    name: str
    method: str
    n_rows: int
    epsilon: float
    n_true: int
    r_squared: float
    columns: Columns
    noise: Noise
    correlation: float = 0.0
    start: float = 0.0


def even(rng: Source, n_rows: int) -> Floats:
    """Columns that are spread evenly."""
    return 2.0 * uniforms(rng, n_rows, N_COLUMNS) - 1.0


def normal(rng: Source, columns: Floats) -> Floats:
    """Normal noise."""
    return normals(rng, len(columns))


def bells(rng: Source, n_rows: int) -> Floats:
    """Normal columns, whose bounds lie at four standard deviations."""
    return np.clip(normals(rng, n_rows, N_COLUMNS) / 4.0, -1.0, 1.0)


def incomes(rng: Source, n_rows: int) -> Floats:
    """Lognormal columns."""
    return np.clip(np.exp(0.8 * normals(rng, n_rows, N_COLUMNS)) / 6.0 - 1.0, -1.0, 1.0)


def spikes(rng: Source, n_rows: int) -> Floats:
    """Laplace columns, far narrower than their bounds."""
    return np.clip(stats.laplace(scale=0.15).ppf(uniforms(rng, n_rows, N_COLUMNS)), -1.0, 1.0)


def ones(share: float) -> Columns:
    """Columns of two values, of which the upper one has a share."""
    return lambda rng, n_rows: 2.0 * (uniforms(rng, n_rows, N_COLUMNS) < share) - 1.0


def counts(rng: Source, n_rows: int) -> Floats:
    """Poisson columns, whose upper bound is ten."""
    return np.minimum(stats.poisson(1.5).ppf(uniforms(rng, n_rows, N_COLUMNS)), 10) / 5.0 - 1.0


def factor(rng: Source, n_rows: int) -> Floats:
    """Columns that share a half of their variance."""
    return np.clip((normals(rng, n_rows, 1) + normals(rng, n_rows, N_COLUMNS)) / 4.0, -1.0, 1.0)


def chain(rng: Source, n_rows: int) -> Floats:
    """Columns of which half of the cells are those of the column before."""
    columns = even(rng, n_rows)
    for j in range(1, N_COLUMNS):
        same = uniforms(rng, n_rows) < 0.5
        columns[same, j] = columns[same, j - 1]
    return columns


def mostly_none(rng: Source, n_rows: int) -> Floats:
    """Columns with seven of ten cells at the lower bound."""
    return np.where(uniforms(rng, n_rows, N_COLUMNS) < 0.3, even(rng, n_rows), -1.0)


def gamma(rng: Source, columns: Floats) -> Floats:
    """Skewed noise."""
    return (stats.gamma(1.5).ppf(uniforms(rng, len(columns))) - 1.5) / np.sqrt(1.5)


def tails(rng: Source, columns: Floats) -> Floats:
    """Noise with heavy tails."""
    return stats.t(3.0).ppf(uniforms(rng, len(columns))) / np.sqrt(3.0)


def uneven(rng: Source, columns: Floats) -> Floats:
    """Noise that grows with the first column."""
    spread = 1.0 + columns[:, 0]
    return spread * normals(rng, len(columns)) / np.sqrt((spread**2).mean())


KINDS = (
    Kind("normal columns in wide bounds", "moments, delta", 600, 0.5, 3, 0.5, bells, normal),
    Kind("columns like incomes", "pcls", 1500, 1.0, 2, 0.4, incomes, normal),
    Kind("gamma noise", "moments", 600, 1.0, 3, 0.4, even, gamma),
    Kind("peaked columns, t noise", "sis", 500, 1.0, 2, 0.5, spikes, tails),
    Kind("five percent ones", "moments, delta", 900, 0.4, 2, 0.4, ones(0.05), normal),
    Kind("a fifth ones", "pcls", 1000, 1.0, 3, 0.5, ones(0.2), normal),
    Kind("counts", "moments", 500, 1.0, 2, 0.5, counts, normal),
    Kind("a common factor", "pcls", 2000, 0.5, 2, 0.5, factor, normal),
    Kind("cells of the column before", "moments, delta", 500, 1.0, 3, 0.5, chain, normal),
    Kind("mostly none", "sis", 500, 1.0, 1, 0.3, mostly_none, normal),
    Kind("a target at its floor", "moments, delta", 500, 0.5, 2, 0.4, even, normal, 0.0, -8.0),
    Kind("uneven noise, related columns stated", "pcls", 1200, 1.0, 3, 0.5, bells, uneven, 0.3),
)


def metadata_of(n_rows: int) -> Metadata:
    """Bounds of all columns, and a public number of rows."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "benchmark"}
    columns = dict.fromkeys(NAMES, box) | {"y": box | {"lower": -HALF, "upper": HALF}}
    return Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": columns}
    )


def related(correlation: float) -> Columns:
    """Evenly spread columns, each correlated with the one before: what is stated, made without the plan's own draws."""

    def columns(rng: Source, n_rows: int) -> Floats:
        latent = normals(rng, n_rows, N_COLUMNS)
        for j in range(1, N_COLUMNS):
            latent[:, j] = correlation * latent[:, j - 1] + np.sqrt(1.0 - correlation**2) * latent[:, j]
        return np.asarray(2.0 * stats.norm.cdf(latent) - 1.0)

    return columns


class Had(NamedTuple):
    """Means over tables, and their errors."""

    right: float
    right_error: float
    overlap: float
    overlap_error: float


def had(kind: Kind, columns: Columns, noise: Noise, start: float, n_tables: int, seed: int) -> Had:
    """Run the product's method on tables that are made here."""
    metadata = metadata_of(kind.n_rows)
    name, parameters, delta = METHODS[kind.method]
    method = workflow.method_of(name, epsilon=kind.epsilon, **parameters, **({"delta": delta} if delta else {}))
    prepared = method.prepare(metadata, "y", NAMES)
    stated = Supposition.of(supposed(kind)).scenarios(metadata, "y", NAMES)[0]
    slopes = np.array([stated.effects.get(each, 0.0) for each in NAMES])
    right, overlap = [], []
    for number in range(n_tables):
        rng = Source.seeded(seed * 100_003 + number)
        x = columns(rng, kind.n_rows)
        y = np.clip(start + x @ slopes + stated.noise_sd * noise(rng, x), -HALF, HALF)
        table = FrameTable(pa.table({**dict(zip(NAMES, x.T, strict=True)), "y": y}), metadata, "benchmark")
        selected = set(prepared.run(table, rng).selected)
        right.append(selected == stated.truth)
        overlap.append(len(selected & stated.truth) / len(selected | stated.truth))
    root = np.sqrt(n_tables)
    return Had(np.mean(right), np.std(right) / root, np.mean(overlap), np.std(overlap) / root)  # type: ignore[arg-type]


def supposed(kind: Kind) -> dict[str, float | int]:
    """What is stated of a kind of tables."""
    return {"n_true": kind.n_true, "r_squared": kind.r_squared, "correlation": kind.correlation}


def planned(kind: Kind, seed: int) -> workflow.Expectation:
    """Ask the plan, as the command does where the request is named."""
    name, parameters, delta = METHODS[kind.method]
    return workflow.expect(
        workflow.Question(
            metadata_of(kind.n_rows),
            "y",
            None,
            epsilons=(kind.epsilon,),
            delta=delta,
            supposed=supposed(kind),
            methods=(name,),
            parameters=parameters,
            is_alone=True,
            seed=seed,
        )
    )


def main() -> None:
    """Print what is planned beside what is had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400, help="tables of each kind on which the request is run")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    console, start = Console(width=140), time.perf_counter()
    shown = Table(title=f"Plan and truth, {given.tables} tables of each kind, seed {given.seed}")
    for head in ("kind", "method", "rows", "epsilon", "overlap: likely", "had as stated", "if unlucky", "had"):
        shown.add_column(head)
    for head in ("right: likely", "had as stated", "if unlucky", "had"):
        shown.add_column(head)
    distances, above = [], 0
    with tempfile.TemporaryDirectory() as folder:
        expectation_cache.cache_folder = lambda: Path(folder)  # what was planned before is no matter
        for place, kind in enumerate(KINDS):
            plan = planned(kind, given.seed)
            (row,) = plan.rows
            worst = {
                measure: plan.worst(row["rival"], kind.epsilon, measure)[measure]  # type: ignore[index]
                for measure in ("overlap", "right")
            }
            seed = given.seed * 1000 + 2 * place + 1
            as_stated = had(kind, related(kind.correlation), normal, 0.0, given.tables, seed)
            unkind = had(kind, kind.columns, kind.noise, kind.start, given.tables, seed + 1)
            distances.append(abs(row["overlap"] - as_stated.overlap))
            above += worst["overlap"] > unkind.overlap
            cells = [f"{row['overlap']:.3f}", f"{as_stated.overlap:.3f} ± {as_stated.overlap_error:.3f}"]
            cells += [f"{worst['overlap']:.3f}", f"{unkind.overlap:.3f} ± {unkind.overlap_error:.3f}"]
            cells += [f"{row['right']:.3f}", f"{as_stated.right:.3f} ± {as_stated.right_error:.3f}"]
            cells += [f"{worst['right']:.3f}", f"{unkind.right:.3f} ± {unkind.right_error:.3f}"]
            shown.add_row(kind.name, kind.method, str(kind.n_rows), f"{kind.epsilon:g}", *cells)
            console.print(f"[{place + 1}/{len(KINDS)}] {kind.name}: {' '.join(cells)}", markup=False, highlight=False)
    console.print(shown)
    console.print(
        f"As stated: {sum(distance <= NEAR for distance in distances)} of {len(KINDS)} within {NEAR}, largest "
        f"{max(distances):.3f}; asked all. If unlucky: above what is had in {above} of {len(KINDS)}; asked at most "
        f"{MOST_ABOVE}. {time.perf_counter() - start:.0f} s."
    )


if __name__ == "__main__":
    main()
