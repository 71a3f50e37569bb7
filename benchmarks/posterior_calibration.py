"""Whether the stated chance of a column is how often it matters: ``python -m benchmarks.posterior_calibration``.

Tables of four kinds: columns and effects drawn from the prior itself; one column alone that matters; four of six, each
with a strong effect; the prior's own with columns of correlation .6. Each has one release of noisy moments. Rows are
tenths of the stated chance: how many, what was said on the mean, how often it was true. ``--prior`` makes the tables of
the first and the last kind. Beside them: the same with the noise of X'X and X'y left out of the evidence.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.kernels.posterior.noisy_sums import NoisySums
from discreet.mechanisms.rng import Source
from discreet.methods.answers.posterior import PRIORS, of_moments
from discreet.methods.registry import method_of
from discreet.typing import Bools, Floats

D, Y_BOUND, ROOM = 6, 4.0, 4.0
"""Columns; the target's declared bound, and that over its standard deviation at least."""

MOST_OFF = 0.03
"""What is asked of each tenth where the prior is the tables' own."""

Array = Any


NORMAL_SD = 0.3
"""Of normal columns, cut at 1."""


def columns(rng: Any, n: int, correlation: float, is_normal: bool) -> Array:
    """Uniform on [-1, 1] or normal, each correlated with the one before by a normal copula."""
    Z = rng.standard_normal((n, D))
    for j in range(1, D):
        Z[:, j] = correlation * Z[:, j - 1] + (1.0 - correlation**2) ** 0.5 * Z[:, j]
    return np.clip(NORMAL_SD * Z, -1.0, 1.0) if is_normal else 2.0 * ndtr(Z) - 1.0


def own(prior: str) -> Callable[[Any], Array]:
    """Effects from a prior, in residual standard deviations for one of the column."""

    def effects(rng: Any) -> Array:
        chosen = PRIORS[prior]
        share = rng.beta(1.0, D if chosen.is_sparse else 1.0)
        return (rng.random(D) < share) * rng.choice(chosen.scales) * rng.standard_normal(D)

    return effects


def sparser(rng: Any) -> Array:
    """One column of six, of a middling effect."""
    return rng.permutation([0.5 * rng.choice([-1.0, 1.0]), *(0.0,) * (D - 1)])


def stronger(rng: Any) -> Array:
    """Four columns of six, each of an effect of one to two residual standard deviations."""
    return rng.permutation([*(rng.uniform(1.0, 2.0, 4) * rng.choice([-1.0, 1.0], 4)), 0.0, 0.0])


KINDS: dict[str, tuple[Callable[[Any], Array] | None, float]] = {
    "prior's own": (None, 0.0),
    "sparser": (sparser, 0.0),
    "stronger": (stronger, 0.0),
    "correlated": (None, 0.6),
}
"""Effects, those of the prior where there are none, and the correlation of neighboring columns."""


def table(
    rng: Any, draw: Callable[[Any], Array], correlation: float, n: int, is_normal: bool
) -> tuple[ArraysTable, Array]:
    """Rows and effects: the variance of errors is uniform on its logarithm, and what has no room in the bounds is drawn
    anew, both of them.
    """
    X, most = columns(rng, n, correlation, is_normal), Y_BOUND / ROOM
    while True:
        effects, sigma = draw(rng), most * 10.0 ** -rng.uniform(0.0, 1.5)
        signal = sigma / (NORMAL_SD if is_normal else 3**-0.5) * X @ effects
        if signal.var() + sigma**2 <= most**2:
            break
    y = signal + sigma * rng.standard_normal(n)
    names = [f"x{j}" for j in range(1, D + 1)]
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    bound = {"type": "real", "lower": -Y_BOUND, "upper": Y_BOUND, "source": "design"}
    metadata = {
        "dataset": "toy", "unit": "row", "neighboring": "replace_one", "n_rows": n,
        "columns": dict.fromkeys(names, box) | {"y": bound},
    }  # fmt: skip
    cells = {**dict(zip(names, X.T, strict=True)), "y": y}
    return ArraysTable(cells, dc.Metadata.from_value(metadata)), effects


def without_noise(sums: NoisySums) -> NoisySums:
    """The same sums, taken as if they were exact."""
    moments, clean = sums.moments, sums.clean
    none = np.zeros_like(clean.error)
    return NoisySums(
        moments._replace(gram_variance=none, xty_variance=np.zeros(len(none)), yty_variance=0.0),
        clean._replace(error=none), sums.layout, sums.rows_per_unit, None, sums.is_clipped,
    )  # fmt: skip


def stated(
    kind: str, of_tables: str, epsilon: float, delta: float, n: int, tables: range, is_normal: bool = False
) -> tuple[dict[str, Floats], Bools]:
    """The chance of each column by prior, and whether it matters."""
    make, correlation = KINDS[kind]
    chances: dict[str, list[Floats]] = {name: [] for name in (*PRIORS, "broad, noise left out")}
    truths, prepared = list[Bools](), None
    for seed in tables:
        rng = np.random.default_rng([seed, len(kind)])  # noqa: TID251 - simulated data, not noise
        rows, effects = table(rng, make or own(of_tables), correlation, n, is_normal)
        prepared = prepared or method_of("moments", epsilon=epsilon, delta=delta).prepare(rows.metadata, "y")
        record = prepared.run(rows, Source.seeded(2**20 + seed)).moments
        question = of_moments(record)
        truths.append(effects != 0.0)
        for name, prior in PRIORS.items():
            found = question.answer(prior)
            chances[name].append(found.chances)
        plain = without_noise(question.asked).posterior(PRIORS["broad"])
        chances["broad, noise left out"].append(plain.chances)
    return {name: np.array(values) for name, values in chances.items()}, np.array(truths)


def tenths(chance: Floats, truth: Bools) -> list[tuple[int, float, float]]:
    """How many, what was said, and what was true, of each tenth of the chance."""
    at = np.minimum((10 * chance).astype(int), 9)
    return [
        (int((at == k).sum()), float(chance[at == k].mean()), float(truth[at == k].mean())) if (at == k).any()
        else (0, np.nan, np.nan)
        for k in range(10)
    ]  # fmt: skip


def cell(count: int, said: float, true: float) -> str:
    """Such as `.35 / .38 (120)`."""
    return f"{said:.3f} / {true:.3f} ({count})" if count else "none"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000, help="in all, a quarter of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--kind", default="", help="kinds whose name holds this")
    parser.add_argument("--prior", default="broad", choices=list(PRIORS), help="of the first and the last kind")
    parser.add_argument("--normal", action="store_true", help="columns, where default are uniform ones")
    given = parser.parse_args()
    count = given.tables // len(KINDS)
    for kind in KINDS:
        if given.kind not in kind:
            continue
        tables = range(given.seed, given.seed + count)
        chances, truths = stated(kind, given.prior, given.epsilon, given.delta, given.rows, tables, given.normal)
        title = (
            f"{kind} ({given.prior}), {count} tables of {given.rows}, epsilon {given.epsilon:g}: said / true (columns)"
        )
        shown = Table(title=title, title_justify="left")
        for head in ("tenth", *chances):
            shown.add_column(head)
        by_name = {name: tenths(values.ravel(), truths.ravel()) for name, values in chances.items()}
        for k in range(10):
            shown.add_row(f"{k / 10:.1f}", *(cell(*by_name[name][k]) for name in chances))
        gaps = {
            name: max((abs(said - true) for number, said, true in rows if number >= 50), default=np.nan)
            for name, rows in by_name.items()
        }
        shown.add_row(f"most off (asked {MOST_OFF})", *(f"{gap:.3f}" for gap in gaps.values()))
        mean = {name: float(((values - truths) ** 2).mean()) for name, values in chances.items()}
        shown.add_row("Brier score", *(f"{score:.4f}" for score in mean.values()))
        Console(width=120).print(shown)


if __name__ == "__main__":
    main()
