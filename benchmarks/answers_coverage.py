"""How often answers of released fits hold the truth: `python -m benchmarks.answers_coverage --tables 100`.

Predictions at three places, the joint region of a category and its simultaneous intervals, and marginal effects. With
and without an effect of the category; of counts with an exposure; linear errors are of unequal variance.
"""

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from scipy.special import expit

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.answers.fit_answers import FitAnswers
from discreet.methods.registry import method_of
from discreet.typing import Floats
from discreet.workflow import answer

CELLS = (("linear", 2000, 2.0, 1e-6), ("logistic", 20_000, 1.0, 1e-6), ("poisson", 20_000, 1.0, 1e-6))
CELLS_WITHOUT_DELTA = (("logistic", 20_000, 1.0, 0.0), ("poisson", 20_000, 1.0, 0.0))

COLUMNS: dict[str, Any] = {
    "year": {"type": "real", "lower": 1990, "upper": 2020, "source": "design"},
    "bmi": {"type": "real", "lower": 10, "upper": 60, "source": "design"},
    "region": {"type": "category", "levels": list("neswx"), "reference": "w", "source": "design"},
    "smokes": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
    "years": {"type": "real", "lower": 0.25, "upper": 5, "source": "design"},
}
TARGETS = {"linear": ("real", -10, 30), "logistic": ("integer", 0, 1), "poisson": ("integer", 0, 25)}
START, SIZE = {"linear": 10.0, "logistic": -0.6, "poisson": -0.2}, {"linear": 3.0, "logistic": 1.0, "poisson": 0.7}
REGIONS = {"n": 0.3, "e": -0.2, "s": 0.1, "w": 0.0, "x": -0.5}
PLACES = (
    {"year": 2005, "bmi": 27, "region": "n", "smokes": 0},
    {"year": 1991, "bmi": 40, "region": "x", "smokes": 1},
    {"year": 2019, "bmi": 22, "region": "w", "smokes": 1},
)
LINE = "{:40} {:>14} {:>12} {:>14} {:>12}"


def predictor(family: str, regions: dict[str, float], year: Any, bmi: Any, region: Any, smokes: Any) -> Floats:
    """Return the true linear predictor."""
    of_region = np.array([regions[one] for one in np.atleast_1d(region)])
    slopes = 0.02 * (np.asarray(year) - 2005) + 0.03 * (np.asarray(bmi) - 27) + 0.5 * np.asarray(smokes)
    return np.asarray(START[family] + SIZE[family] * (slopes + of_region), dtype=np.float64)


def mean(family: str, eta: Floats) -> float:
    """Return the mean at a linear predictor."""
    inverse = {"linear": lambda value: value, "logistic": expit, "poisson": np.exp}
    return float(inverse[family](eta)[0])


def table(
    family: str, n: int, regions: dict[str, float], has_exposure: bool, seed: int, is_dispersed: bool = False
) -> dict[str, Any]:
    """Draw a table; dispersed counts have a variance of the mean plus half its square."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    columns: dict[str, Any] = {
        "year": rng.integers(1990, 2021, n).astype(float),
        "bmi": np.clip(rng.gamma(20, 1.35, n), 10, 60),
        "region": rng.choice(list("neswx"), n, p=[0.35, 0.25, 0.2, 0.12, 0.08]),
        "smokes": (rng.random(n) < 0.3).astype(int),
    }
    years, eta = rng.uniform(0.25, 5, n), predictor(family, regions, **columns)
    if family == "linear":
        y = np.clip(eta + rng.normal(0, 4, n) * (0.6 + 0.8 * columns["smokes"]), -10, 30)
    elif family == "logistic":
        y = (rng.random(n) < expit(eta)).astype(int)
    else:
        rates = np.exp(eta) * (years if has_exposure else 1.0) * (rng.gamma(2.0, 0.5, n) if is_dispersed else 1.0)
        y = np.minimum(rng.poisson(rates), 25)
    return columns | {"years": years, "y": y}


def asked(family: str, answers: FitAnswers, regions: dict[str, float], held: Counter[str]) -> None:
    """Count the answers of one release, and those that hold the truth."""

    def count(kind: str, ends: tuple[float, float], truth: float) -> bool:
        held[kind] += 1
        held[f"{kind}, right"] += ends[0] <= truth <= ends[1]
        return ends[0] <= truth <= ends[1]

    for place in PLACES:
        count("predictions", answers.predict(place).mean.ends, mean(family, predictor(family, regions, **place)))
    region = answers.joint_region("region")
    held["zero is inside"] += region.zero.zero_inside is not False
    ends = {name[-1]: interval.ends for name, interval in region.intervals.items()}
    together = all(low <= SIZE[family] * regions[one] <= high for one, (low, high) in ends.items())
    held["together"] += together
    for effect in answers.marginal_effects(PLACES[1]) if family != "linear" else ():
        way = [{**PLACES[1], effect.column: end} for end in (effect.start, effect.end)]
        start, end = (mean(family, predictor(family, regions, **place)) for place in way)
        count("effects", effect.change.ends, end - start)


def measured(
    family: str,
    n: int,
    epsilon: float,
    delta: float,
    is_null: bool,
    tables: int,
    seed: int,
    is_dispersed: bool = False,
) -> Counter[str]:
    """Return how many answers of how many tables hold the truth."""
    held: Counter[str] = Counter()
    regions = dict.fromkeys(REGIONS, 0.0) if is_null else REGIONS
    kind, low, high = TARGETS[family]
    target = {"type": kind, "lower": low, "upper": high, "source": "design"}
    value = {"dataset": "simulated", "unit": "person", "neighboring": "replace_one", "n_rows": n}
    metadata = Metadata.from_value(value | {"columns": {**COLUMNS, "y": target}})
    has_exposure = family == "poisson" and delta > 0
    method = method_of(family, epsilon=epsilon, delta=delta, **({"exposure": "years"} if has_exposure else {}))
    for at in range(seed, seed + tables):
        rows = open_table(pa.table(table(family, n, regions, has_exposure, at, is_dispersed)), metadata)
        names = ["year", "bmi", "region", "smokes"]
        asked(family, FitAnswers(answer(method, rows, "y", names, rng=Source.seeded(at)).release), regions, held)
    return held


def main() -> None:
    """Print coverage of each kind of answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100, help="Tables of each cell.")
    parser.add_argument("--seed", type=int, default=50_000)
    parser.add_argument("--without-delta", action="store_true", help="Cells without a delta instead.")
    parser.add_argument("--only", choices=TARGETS, help="One family.")
    parser.add_argument("--epsilon", type=float, help="In place of the cells' own.")
    parser.add_argument("--dispersed", action="store_true", help="Counts of more variance than a Poisson law's.")
    given = parser.parse_args()
    start, console = time.perf_counter(), Console(width=120)
    console.print(LINE.format("cell", "predictions", "zero inside", "intervals of", "effects"), highlight=False)
    console.print(LINE.format("", "right", "the region", "levels together", "right"), highlight=False)
    cells = CELLS_WITHOUT_DELTA if given.without_delta else CELLS
    for family, n, epsilon, delta in [cell for cell in cells if given.only in (None, cell[0])]:
        epsilon = epsilon if given.epsilon is None else given.epsilon
        for is_null in (True, False):
            held = measured(family, n, epsilon, delta, is_null, given.tables, given.seed, given.dispersed)
            name = f"{family}, n {n}, epsilon {epsilon:g}, {'no effect' if is_null else 'an effect'}"
            shares = [f"{held[f'{kind}, right']}/{held[kind]}" for kind in ("predictions", "effects")]
            alone = [f"{held[kind]}/{given.tables}" for kind in ("zero is inside", "together")]
            console.print(LINE.format(name, shares[0], *alone, shares[1]), highlight=False)
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
