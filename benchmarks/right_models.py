"""How often the right model is found: six columns, three of which matter, a thousand rows, epsilon 1, delta 1e-6."""

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr, ndtri

from discreet.accounting.events import SelectionEvent
from discreet.accounting.gaussian import gaussian_rho
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.kernels.rows.unit_rows import CONSTANT, lengths, shortest_length, unit_rows
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.kernels.sufficient_statistics.cleaning import CleanGram, cleaned, declared
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.selection import best_models, unit_penalties, weighted
from discreet.kernels.sufficient_statistics.shares import Relation, clip_level, noise_levels, selection_shares
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min

console = Console(width=120)

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
CLIP_EPSILON = Fraction(3, 100)
Y_BOUND = 4.0
N_ROWS = 1000
BETAS = ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.5, 1.0, 0.5, 0.0, 0.0, 0.0))
RELATIONS: tuple[Relation, ...] = ("replace_one", "add_or_remove_one")
GRID_OF_CLIPS = 2.0 ** (-np.arange(0, 49) / 8.0)
"""Public: shares of the target's bound, an eighth of an octave apart, down to 1/64."""

Cells = Any
"""Rows [1, x_1 .. x_6, y] on the grid of 1 / 32767; y in units of `Y_BOUND`."""


class Contestant(NamedTuple):
    """A method: from rows, a relation and a source of noise to the columns it selects, as bits."""

    name: str
    select: Callable[[Cells, Relation, Source], int]


def uniforms(source: Source, *shape: int) -> Any:
    """Numbers in (0, 1)."""
    return ((source.words(int(np.prod(shape))) >> np.uint64(11)).astype(np.float64) + 0.5).reshape(shape) * 2.0**-53


def normals(source: Source, *shape: int) -> Any:
    return ndtri(uniforms(source, *shape))


def table(beta: tuple[float, ...], seed: int, n: int = N_ROWS, correlation: float = 0.0) -> Cells:
    """Return uniform columns, independent or each correlated with the one before, and y with a residual of N(0, 1)."""
    source = Source.seeded(seed)
    Z = normals(source, n, len(beta))
    for j in range(1, len(beta)):
        Z[:, j] = correlation * Z[:, j - 1] + (1.0 - correlation**2) ** 0.5 * Z[:, j]
    X = 2.0 * ndtr(Z) - 1.0
    y = X @ np.array(beta) + normals(source, n)
    scaled = np.column_stack([np.ones(n), X, np.clip(y / Y_BOUND, -1.0, 1.0)])
    return np.rint(scaled * GRID).astype(np.int16)


# ---- the contestants


@cache
def gaussian_mu(clip: bool) -> float:
    """Mu of what is left for Gaussian noise, beside the clip's selection or not."""
    others = (SelectionEvent(CLIP_EPSILON, "exponential"),) if clip else ()
    return float(2 * gaussian_rho(EPSILON, DELTA, others)) ** 0.5


def private_clip(sizes: Any, level: float, relation: Relation, source: Source) -> float:
    """Return a quantile of |y|, by permute-and-flip (privacy specification 3.4)."""
    below = (sizes[:, None] <= GRID_OF_CLIPS).sum(axis=0).astype(np.float64)
    if relation == "replace_one":
        scores, gamma = np.abs(below - level * N_ROWS), Fraction(2)
    else:
        scores = np.abs((1.0 - level) * below - level * (len(sizes) - below))
        gamma = 2 * max(Fraction(level), 1 - Fraction(level))
    return float(GRID_OF_CLIPS[noisy_min(scores, gamma, CLIP_EPSILON, source)])


def noisy_moments(
    rows: Cells,
    relation: Relation,
    source: Source,
    unit: bool = True,
    clip: bool = True,
    public_gram: bool = False,
    level: float | None = None,
    penalty: Any = "auto",
) -> int:
    """One noisy Gram matrix, its best model by noise-aware least squares."""
    p = rows.shape[1] - 1
    norm_squared = 1.0 if unit else float(p)
    mu, shares = gaussian_mu(clip), selection_shares(relation, public_gram)
    xty_noise, gram_noise, yty_noise = noise_levels(shares, norm_squared, mu, relation, p)
    bound = 1.0
    sizes = np.abs(rows[:, -1]) / GRID / (lengths(rows, shortest_length(p - 1)) if unit else 1.0)
    if clip:
        wanted = level or clip_level(xty_noise, N_ROWS, 1.0 / (p - 1) if unit else 1.0 / 3.0)
        bound = private_clip(sizes, wanted, relation, source)
    scaled = unit_rows(rows, bound, shortest_length(p - 1)) if unit else clipped(rows, bound)
    exact = exact_moments(scaled) / GRID**2
    if not unit and relation == "replace_one":
        gram_noise[0, 0] = 0.0  # the number of rows
    noise = np.triu(normals(source, p, p)) * gram_noise
    gram = exact[:-1, :-1] + noise + np.triu(noise, 1).T
    xty, yty = exact[:-1, -1] + normals(source, p) * xty_noise, exact[-1, -1] + float(normals(source, 1)[0]) * yty_noise
    n_rows, n_noise = float(N_ROWS), 0.0
    if relation == "add_or_remove_one":
        n_noise = 1.0 / (mu * shares.rows**0.5)
        n_rows = len(rows) + float(normals(source, 1)[0]) * n_noise
    moments = NoisyGram(gram, xty, yty, gram_noise**2, np.full(p, xty_noise**2), yty_noise**2, n_rows, n_noise**2)
    clean = (
        declared(max(n_rows, 1.0) * population(unit, p), max(n_rows, 1.0)) if public_gram else of_table(moments, unit)
    )
    columns = np.eye(p, dtype=np.bool_)
    return best_models(
        weighted(moments, clean), columns[1:], columns[0], unit_penalties(penalty, columns[1:], clean.n_rows)
    ).mask


def of_table(moments: NoisyGram, unit: bool) -> CleanGram:
    return cleaned(moments, 0, constant_value=CONSTANT if unit else 1.0)


@cache
def population(unit: bool, p: int) -> Any:
    """Second moments of a row of independent uniform columns: what an analyst may declare."""
    if not unit:
        return np.diag([1.0, *[1.0 / 3.0] * (p - 1)])
    rows = table((0.0,) * (p - 1), 10**6, 200_000)
    exact = exact_moments(unit_rows(rows, 1.0, shortest_length(p - 1)))[:-1, :-1] / GRID**2 / len(rows)
    return np.diag([exact[0, 0], *[exact.diagonal()[1:].mean()] * (p - 1)])


def clipped(rows: Cells, bound: float) -> Cells:
    scaled = rows.copy()
    scaled[:, -1] = np.rint(np.clip(rows[:, -1] / bound, -GRID, GRID))
    return scaled


def pcls(rows: Cells, relation: Relation, source: Source, radius: float, clip: bool) -> int:
    """Permute-and-flip over all models' constrained least squares, as `discreet.PCLS` does; radius in target bounds."""
    epsilon, bound = EPSILON, 1.0
    if clip:
        epsilon = EPSILON - CLIP_EPSILON
        bound = private_clip(np.abs(rows[:, -1]) / GRID, 0.5, relation, source)
    moments = exact_moments(clipped(rows, bound)) / GRID**2
    d = rows.shape[1] - 2
    columns = np.eye(d + 1, dtype=np.bool_)
    gamma = (1 + radius) ** 2 - max(1 - radius, 0.0) ** 2
    gamma *= 2 if relation == "replace_one" else 1
    models = np.arange(2**d, dtype=np.uint64)
    problem = SubsetProblem(
        moments[:-1, :-1], moments[:-1, -1], moments[-1, -1], radius, columns[1:], columns[0], 1e-4 * (1 + radius) ** 2
    )
    scores, _ = constrained_scores(problem, models, compiled=True)
    penalty = np.log(2 * d) * gamma / float(epsilon)  # model_penalty="auto"
    return int(models[noisy_min(scores + penalty * np.bitwise_count(models), Fraction(gamma), epsilon, source)])


CONTESTANTS = (
    Contestant("noisy moments, unit rows, private clip", noisy_moments),
    Contestant("  y clipped at 4", partial(noisy_moments, clip=False)),
    Contestant("  X declared", partial(noisy_moments, public_gram=True)),
    Contestant("noisy moments, plain rows, private clip", partial(noisy_moments, unit=False)),
    Contestant("  y clipped at 4, plain rows", partial(noisy_moments, unit=False, clip=False)),
    Contestant("  X declared, plain rows", partial(noisy_moments, unit=False, public_gram=True)),
    Contestant("PCLS, y clipped at 4, l1 radius 2", partial(pcls, radius=0.5, clip=False)),
    Contestant("  l1 radius 3", partial(pcls, radius=0.75, clip=False)),
    Contestant("PCLS, private clip, l1 radius 1 x clip", partial(pcls, radius=1.0, clip=True)),
    Contestant("  l1 radius 1.5 x clip", partial(pcls, radius=1.5, clip=True)),
    # PCPL: add a Contestant here; nothing else changes.
)


def right_models(tables: int = 500, contestants: tuple[Contestant, ...] = CONTESTANTS) -> dict[str, list[float]]:
    """Return the share of exactly right models of each contestant, by relation and beta; print it."""
    start, found = time.perf_counter(), {}
    drawn = {beta: [table(beta, seed) for seed in range(tables)] for beta in BETAS}
    for contestant in contestants:
        found[contestant.name] = [
            share(contestant, relation, drawn[beta], beta) for relation in RELATIONS for beta in BETAS
        ]
    shown = Table(
        title=f"Share of {tables} tables whose model is exactly right; n = {N_ROWS}, epsilon 1, delta 1e-6",
        caption=f"standard error at .9: {(0.09 / tables) ** 0.5:.3f}; {time.perf_counter() - start:.0f} s",
        title_justify="left",
    )
    for column in (
        "method",
        *(f"{r.split('_')[0]}, {'/'.join(f'{b:g}' for b in beta[:3])}" for r in RELATIONS for beta in BETAS),
    ):
        shown.add_column(column, justify="left" if column == "method" else "right")
    for name, shares in found.items():
        shown.add_row(name, *(f"{value:.3f}" for value in shares))
    console.print(shown)
    return found


def share(contestant: Contestant, relation: Relation, tables: list[Cells], beta: tuple[float, ...]) -> float:
    """Return how often the columns with an effect, and no others, are selected; each table has noise of its own."""
    right = sum(1 << j for j, effect in enumerate(beta) if effect != 0.0)
    hits = [contestant.select(rows, relation, Source.seeded(2**32 + k)) == right for k, rows in enumerate(tables)]
    return float(np.mean(hits))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    right_models(parser.parse_args().tables)
