"""Lazy draws against the exact law: ``python -m benchmarks.lazy_law [draws for each d and noise]``."""

import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console
from rich.table import Table
from scipy.stats import kstest
from tests.privacy.searches import draws, p_value, searches

from discreet.mechanisms.rng import Source

NOISES = ("exponential", "gumbel", "laplace")
DIMENSIONS = (8, 10)
DRAWS = 10**6
"""For each d and noise, spread over the settings."""

Job = tuple[int, str, int, int]


def compare(job: Job) -> tuple[Job, str, float, float]:
    """One setting's p-value, and the seconds it took."""
    d, noise, place, size = job
    one = searches(d)[place]
    start = time.perf_counter()
    try:
        counts, _ = draws(one, noise, size, Source.seeded(zlib.crc32(repr(("table", *job)).encode())))
    except ArithmeticError as error:
        return job, f"{one.name}: {type(error).__name__}", float("nan"), time.perf_counter() - start
    return job, one.name, p_value(counts, one.law(noise)), time.perf_counter() - start


def main(total: int = DRAWS) -> None:
    """Print a row for each setting, a p-value for each d and noise."""
    settings = len(searches(8))
    jobs = [(d, noise, i, total // settings) for d in DIMENSIONS for i in range(settings) for noise in NOISES]
    table = Table(title=f"Chi-square p-values, {total // settings:,} lazy draws each", title_justify="left")
    for column in ("setting", *(f"{noise}, d = {d}" for d in DIMENSIONS for noise in NOISES)):
        table.add_column(column, justify="right")
    found = {}
    with ProcessPoolExecutor(2) as pool:
        for job, name, p, seconds in pool.map(compare, jobs):
            found[job[:3]] = name, p
            print(f"{job} {name}: p = {p:.4f}, {1e3 * seconds / job[3]:.2f} ms a draw", file=sys.stderr, flush=True)
    for i in range(settings):
        cells = [f"{found[d, noise, i][1]:.4f}" for d in DIMENSIONS for noise in NOISES]
        table.add_row(found[DIMENSIONS[0], NOISES[0], i][0], *cells)
    Console(width=130).print(table)
    values = [p for _, p in found.values() if p == p]
    print(
        f"{len(values)} p-values: least {min(values):.2g}, Kolmogorov-Smirnov p {kstest(values, 'uniform').pvalue:.3f}"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
