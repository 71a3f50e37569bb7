"""Private rows that all lie on public points: with hardly any noise, estimates are those of the rows themselves."""

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.kernels.moments.moments import GRID

N = 3000
LEVELS = ("u", "v", "w")

TARGETS = {
    "linear": {"type": "real", "source": "design"},
    "huber": {"type": "real", "source": "design"},
    "logistic": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
    "poisson": {"type": "integer", "lower": 0, "upper": 40, "source": "design"},
    "location": {"type": "real", "source": "design"},
}


def metadata(kind, neighboring="replace_one", n_rows=N, **more):
    """Two numbers, a category and a target; no bounds but those of counts."""
    facts = {"dataset": "toy", "unit": "person", "neighboring": neighboring}
    if neighboring == "replace_one":
        facts["n_rows"] = n_rows
    columns = {
        "a": {"type": "integer", "source": "design"},
        "g": {"type": "category", "levels": list(LEVELS), "source": "design"},
        "b": {"type": "real", "source": "design"},
        "y": TARGETS[kind],
    }
    return dc.Metadata.from_value(facts | {"columns": columns} | more)


def rows(kind, n=N, seed=0, effect=1.0):
    """Few distinct values a column."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    a, b, g = rng.integers(2, 8, n), rng.choice([-2.0, -0.5, 0.0, 1.0], n), rng.choice(LEVELS, n, p=[0.5, 0.3, 0.2])
    eta = effect * (0.3 * (a - 5) + 0.6 * b - 0.5 * (g == "v") + 0.4 * (g == "w"))
    if kind == "logistic":
        y = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    elif kind == "poisson":
        y = np.minimum(rng.poisson(np.exp(0.5 + 0.5 * eta)), 40)
    else:
        y = 20.0 + np.round(2 * (3 * eta + rng.standard_t(3, n))) / 2
    return pa.table({"a": a, "g": g, "b": b, "y": y})


def joined(private, kind):
    """All private points once, with copies of some, and records of people who differ."""
    points = private.group_by(private.column_names).aggregate([]).select(private.column_names)
    return pa.concat_tables([points, points.slice(0, 100), rows(kind, 300, seed=1, effect=-1.0)])


def problem(kind, neighboring="replace_one"):
    """The private table, its metadata, and public records."""
    private, own = rows(kind), metadata(kind, neighboring)
    return dc.open_table(private, own), own, PublicRecords(joined(private, kind), own)


def design_matrix(table, constant):
    """In the columns' own units."""
    a, b, g = (np.asarray(table[name]) for name in "abg")
    columns = [a, (g == "v"), (g == "w"), b]
    return np.column_stack([np.ones(len(a)), *columns] if constant else columns).astype(float)


def estimates(release):
    """Of a release, in order."""
    return np.array([term.estimate for term in release.fit.coefficients])


def squared(cells, points, n_numeric):
    """All squared distances, in integers."""
    wide, far = cells.astype(np.int64), points.astype(np.int64)
    gaps = ((wide[:, None, :n_numeric] - far[None, :, :n_numeric]) ** 2).sum(axis=2)
    return gaps + 4 * GRID**2 * (wide[:, None, n_numeric:] != far[None, :, n_numeric:]).sum(axis=2)


def nearest(cells, points, n_numeric):
    """The first of the nearest points to each row."""
    return squared(cells, points, n_numeric).argmin(axis=1)
