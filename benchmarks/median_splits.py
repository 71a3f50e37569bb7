"""Microarrays without bounds: columns split at their medians, beside products in one box for all columns.

    python -m benchmarks.median_splits --tables 20 --seed 1

Five columns are selected for the first class against all others, pure epsilon, a patient added or removed. A column's
advantage is how far its area under the ROC curve lies from a half. The share is that of the selected columns between
the mean column (0) and the five best (1); beside it the share of the five that a lasso of all rows takes for best.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import rankdata

import discreet as dc
from benchmarks.tables import SHARED
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.typing import Floats
from discreet_papers.swope_tables import by_lasso, microarray, scaled

K, EPSILONS = 5, (2.0, 5.0, 10.0)
ASKED = (0.30, 0.60, 0.80)
METHODS: dict[str, dict[str, Any]] = {
    "one box": {"association": "products"},
    "median splits": {"association": "median_split"},
    "kendall": {"association": "kendall"},
}


@dataclass(frozen=True, eq=False)
class Patients:
    """A microarray: its rows, how far each column's area lies from a half, and the lasso's best columns."""

    rows: pa.Table
    box: float
    advantage: Floats
    lasso: frozenset[int]

    @classmethod
    def read(cls, name: str) -> "Patients":
        """Return a table of ``shared/data``; its columns are called x0, x1 and so on."""
        x, classes = microarray(pq.read_table(SHARED / "microarray" / f"{name}.parquet"))
        is_first = classes == 1.0
        n_first, n_others = int(is_first.sum()), int((~is_first).sum())
        ranks = rankdata(x, axis=0)
        areas = (ranks[is_first].sum(axis=0) - n_first * (n_first + 1) / 2.0) / (n_first * n_others)
        best = np.argsort(-by_lasso(scaled(x), scaled(is_first.astype(float))))[:K]
        cells = {f"x{j}": x[:, j] for j in range(x.shape[1])}
        box = 2.0 ** np.ceil(np.log2(np.abs(x).max()))  # as a code book would say, of all columns
        rows = pa.table({**cells, "class": np.where(is_first, "first", "other")})
        return cls(rows, float(box), np.abs(areas - 0.5), frozenset(int(j) for j in best))

    def metadata(self) -> dc.Metadata:
        """Levels of the class, and one box for all columns."""
        return dc.Metadata.from_value(
            {
                "dataset": "microarray",
                "unit": "person",
                "neighboring": "add_or_remove_one",
                "columns": {"class": {"type": "category", "levels": ["first", "other"], "source": "design"}},
                "features": {"type": "real", "match": "x*", "lower": -self.box, "upper": self.box, "source": "design"},
            }
        )

    def shares(self, selected: tuple[str, ...]) -> tuple[float, float]:
        """Return the share of the best five's advantage, and of the lasso's best five."""
        places = [int(name[1:]) for name in selected]
        mean, best = self.advantage.mean(), np.sort(self.advantage)[-K:].mean()
        return (self.advantage[places].mean() - mean) / (best - mean), len(self.lasso & set(places)) / K


def main() -> None:
    """Print one row a table and epsilon, and their means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=20, help="draws of each cell")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    heads = [f"{name}: {what}" for name in METHODS for what in ("share", "lasso")]
    print("| table | epsilon | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 2) + "|")
    means: dict[float, list[Floats]] = {epsilon: [] for epsilon in EPSILONS}
    for path in sorted((SHARED / "microarray").glob("*.parquet")):
        patients = Patients.read(path.stem)
        public = patients.metadata()
        table = dc.open_table(patients.rows, public)
        size = f"{patients.rows.num_rows} x {patients.rows.num_columns - 1}"
        for epsilon in EPSILONS:
            cells = []
            for parameters in METHODS.values():
                method = method_of("sis", epsilon=epsilon, n_features_to_select=K, **parameters)
                prepared = method.prepare(public, "class", table.feature_names("class"))
                seeds = [asked.seed * 1000 + draw for draw in range(asked.tables)]
                drawn = [patients.shares(prepared.run(table, Source.seeded(seed)).selected) for seed in seeds]
                cells += list(np.mean(drawn, axis=0))
            means[epsilon].append(np.array(cells))
            print(f"| {path.stem} {size} | {epsilon:g} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    for epsilon, share in zip(EPSILONS, ASKED, strict=True):
        mean = np.mean(means[epsilon], axis=0)
        print(f"| mean (asked {share:.2f}) | {epsilon:g} | " + " | ".join(f"{cell:.2f}" for cell in mean) + " |")


if __name__ == "__main__":
    main()
