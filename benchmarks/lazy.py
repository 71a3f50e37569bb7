"""How long the lazy search over all subsets takes: ``python -m benchmarks.lazy [seeds]``."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import log
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_diabetes

from discreet.kernels.subsets.problem import SubsetProblem
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import Noise
from discreet.mechanisms.subset_race import Work
from discreet.mechanisms.subset_search import noisy_min_subset

console = Console(width=132)

SEEDS = 2
"""Noise seeds a cell; more take proportionally longer."""

GUARD = 60.0
"""Seconds after which a search counts as unsolved; the library itself sets no limit."""

ROWS = 20_000
"""At most this many rows are simulated: the moments of more are these, scaled up."""

LARGEST_EPSILON = 1000.0
"""The library takes no more: above it Gamma and epsilon are divided alike, which leaves the noise as it is."""

PENALTIES = ("0", "log n", "2 s log 2", "s log d")

COLUMNS = (
    "solved", "unsolved", "failed", "median ms", "95% ms", "worst ms", "bounds", "points", "units",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One search but for its seed."""

    name: str
    gram: Any
    xty: Any
    yty: float
    radius: float
    penalty: float
    gamma: float
    epsilon: float
    max_size: int = 128
    noise: Noise = "exponential"

    @property
    def problem(self) -> SubsetProblem:
        """The tolerance is what the selection asks for."""
        d = len(self.xty)
        units, none = np.eye(d, dtype=bool), np.zeros(d, dtype=bool)
        return SubsetProblem(self.gram, self.xty, self.yty, self.radius, units, none, 5e-5 * self.gamma)


@dataclass(frozen=True)
class Searched:
    """What one search did; `state` is solved, unsolved or the error's name."""

    name: str
    state: str
    seconds: float
    work: Work = field(default_factory=Work)
    size: int = 0


class GuardError(Exception):
    """A search took too long."""


# ---- one search


def search(case: Case, seed: int) -> Searched:
    """Run a search, twice when it is short, and keep the smaller wall time."""
    name, problem = f"{case.name}, seed {seed}", case.problem
    penalty, best = np.full(len(case.xty), case.penalty), np.inf
    share = min(1.0, LARGEST_EPSILON / case.epsilon)
    for _ in range(2):
        work, start = Work(), time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, GUARD)
        try:
            model = noisy_min_subset(
                problem, penalty, case.max_size, share * case.gamma, share * case.epsilon, Source.seeded(seed),
                case.noise, work=work, enumerate_models=False,
            )  # fmt: skip
        except GuardError:
            return Searched(name, "unsolved", GUARD, work)
        except (ArithmeticError, AssertionError, ValueError, np.linalg.LinAlgError) as error:
            return Searched(name, type(error).__name__, time.perf_counter() - start, work)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        best = min(best, time.perf_counter() - start)
        if best > 0.5:
            break
    return Searched(name, "solved", best, work, model.bit_count())


def search_all(cases: Iterable[Case], seeds: int) -> list[Searched]:
    """Run each case with each seed."""

    def stop(*_: object) -> None:
        raise GuardError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        return [search(case, seed) for case in cases for seed in range(seeds)]
    finally:
        signal.signal(signal.SIGALRM, before)


def summary(found: list[Searched]) -> list[str]:
    """Counts, wall times of the solved ones, and work of all."""
    solved = [one for one in found if one.state == "solved"]
    unsolved = sum(one.state == "unsolved" for one in found)
    times = [1e3 * one.seconds for one in solved]
    bounds, points = [one.work.bounds for one in found], [one.work.points for one in found]
    counts = [str(len(solved)), str(unsolved), str(len(found) - len(solved) - unsolved)]
    work = [f"{np.median(counted):,.0f} / {max(counted):,}" for counted in (bounds, points)]
    if not solved:
        return [*counts, "", "", "", *work, ""]
    sizes = f"{np.mean([one.size for one in solved]):.1f}"
    return [*counts, *(f"{x:,.1f}" for x in np.quantile(times, (0.5, 0.95, 1.0))), *work, sizes]


def show(title: str, heads: tuple[str, ...], rows: list[tuple[list[str], list[Searched]]]) -> None:
    """Print a table, and below it its slowest searches and some of those not solved."""
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    table = Table(title=f"{title} ({load})", title_justify="left")
    for column in (*heads, *COLUMNS):
        table.add_column(column, justify="right")
    for labels, found in rows:
        table.add_row(*labels, *summary(found), end_section=labels[-1] == "all")
    console.print(table)
    every = {one.name: one for _, found in rows for one in found}.values()
    for one in sorted(every, key=lambda one: -one.seconds)[:3]:
        console.print(f"  slowest: {one.name}: {one.seconds:.3f} s")
    for one in [one for one in every if one.state != "solved"][:5]:
        console.print(f"  {one.state}: {one.name}: {one.work}")


# ---- data


def correlation(design: str, d: int) -> Any:
    """Correlations of the columns: `independent`, `AR r` or `factor r`."""
    kind, _, strength = design.partition(" ")
    r, i = float(strength or 0.0), np.arange(d)
    if kind == "factor":
        return (1.0 - r) * np.eye(d) + r
    return np.where(i[:, None] == i, 1.0, r ** np.abs(i[:, None] - i))


@functools.lru_cache(maxsize=4)
def simulated(d: int, design: str, effects: int) -> tuple[Any, Any, float]:
    """Columns and target of data like the paper's, both in [-1, 1], and the l1 norm of the true coefficients."""
    rng = np.random.default_rng(1000 * d + effects)  # noqa: TID251 - simulated data, not noise
    beta = np.zeros(d)
    beta[rng.choice(d, effects, replace=False)] = rng.uniform(0.5, 1.0, effects) * rng.choice([-1, 1], effects)
    X = rng.standard_normal((ROWS, d)) @ np.linalg.cholesky(correlation(design, d)).T
    X = np.clip(X / 3.0, -1.0, 1.0)
    y = 3.0 * X @ beta + rng.standard_normal(ROWS)
    return X, np.clip(y / 5.0, -1.0, 1.0), float(np.abs(beta).sum()) * 3.0 / 5.0


def paper_like(
    d: int,
    designs: tuple[str, ...],
    ns: tuple[int, ...],
    epsilons: tuple[float, ...],
    penalties: tuple[str, ...] = PENALTIES,
    radii: tuple[float, ...] = (1.0, 1.5),
    effects: tuple[int, ...] = (5, 10),
    max_size: int = 128,
    noise: Noise = "exponential",
) -> Iterator[Case]:
    """The grid over data like the paper's."""
    for design, k in product(designs, effects):
        X, y, norm = simulated(d, design, k)
        for n in ns:
            rows, times = min(n, ROWS), max(n / ROWS, 1.0)
            some, target = X[:rows], y[:rows]
            moments = some.T @ some * times, some.T @ target * times, float(target @ target) * times
            for epsilon, kind, times_true in product(epsilons, penalties, radii):
                radius = times_true * norm
                gamma = 2.0 * (1.0 + radius) ** 2
                scale = gamma / epsilon
                penalty = {
                    "0": 0.0, "log n": log(n) / 25.0, "2 s log 2": 2.0 * scale * log(2.0), "s log d": scale * log(d),
                }[kind]  # fmt: skip
                name = f"d {d}, {design}, {k} effects, n {n}, epsilon {epsilon:g}, phi {kind}, R {times_true} x true"
                name += f", max_size {max_size}" * (max_size < d) + f", {noise}" * (noise != "exponential")
                yield Case(name, *moments, radius, penalty, gamma, epsilon, max_size, noise)


def weak(d: int, design: str, seed: int = 0) -> Case:
    """All variables at the threshold: each costs 3 and adds 3 to the fit when dropped alone; the noise's scale is 1."""
    gram = 1000.0 * correlation(design, d)
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    beta = np.sqrt(3.0 * np.linalg.inv(gram).diagonal()) * rng.choice([-1.0, 1.0], d)
    xty = gram @ beta
    yty = float(xty @ beta) + 100.0
    return Case(f"weak({d}, {design!r}, {seed})", gram, xty, yty, 5.0 * float(np.abs(beta).sum()), 3.0, 1.0, 1.0)


def real(name: str) -> tuple[Any, Any, float]:
    """Moments of a table of scikit-learn, centered and divided by the largest absolute value."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        d = X.shape[1]
        products = [X[:, i] * X[:, j] for i in range(d) for j in range(i, d) if not i == j == 1]  # sex is binary
        X = np.column_stack([X, *products])
    else:
        X, y = load_breast_cancer(return_X_y=True)
    X, y = X - X.mean(axis=0), y - y.mean()
    X, y = X / np.abs(X).max(axis=0), y / np.abs(y).max()
    return X.T @ X, X.T @ y, float(y @ y)


def real_cases(name: str, times: int) -> Iterator[Case]:
    """Four penalties, the moments as of so many copies of the table."""
    gram, xty, yty = real(name)
    scale, d = 18.0, len(xty)
    for kind, phi in (("0", 0.0), ("1.4 s", 1.4), ("2 s log 2", 2.0 * log(2.0)), ("s log d", log(d))):
        label = f"{name} x {times}, phi {kind}"
        yield Case(label, times * gram, times * xty, times * yty, 2.0, scale * phi, scale, 1.0)


# ---- tables


def like_the_paper(seeds: int, dims: tuple[int, ...] = (20, 40, 60, 100)) -> None:
    """The grid of the study."""
    rows = []
    for d in dims:
        every: list[Searched] = []
        for kind in PENALTIES:
            cases = paper_like(
                d, ("independent", "AR 0.5"), (10**3, 10**4, 10**5, 10**6), (0.1, 1.0, 5.0), penalties=(kind,)
            )  # fmt: skip
            found = search_all(cases, seeds)
            rows.append(([str(d), kind], found))
            every += found
        rows.append(([str(d), "all"], every))
    show("Data like the paper's; asked at d = 100: median 5 ms, worst 1 s, none unsolved", ("d", "phi"), rows)


def other_noises(seeds: int, dims: tuple[int, ...] = (20, 60, 100)) -> None:
    """A part of the grid under each noise."""
    noises: tuple[Noise, ...] = ("exponential", "gumbel", "laplace")
    rows = []
    for d, noise in product(dims, noises):
        cases = paper_like(d, ("AR 0.5",), (10**3, 10**5), (0.1, 1.0, 5.0), effects=(10,), noise=noise)
        rows.append(([str(d), noise], search_all(cases, seeds)))
    show("The three noises: AR 0.5, 10 effects, n = 1e3 and 1e5", ("d", "noise"), rows)


def strongly_correlated(seeds: int) -> None:
    """Data like the paper's on designs that correlate more."""
    rows = []
    for design, d in product(("AR 0.9", "factor 0.5", "factor 0.9"), (60, 100)):
        cases = paper_like(d, (design,), (10**3, 10**5), (0.1, 1.0, 5.0), radii=(1.0,))
        rows.append(([design, str(d)], search_all(cases, seeds)))
    show("Strong correlations, R = 1 x true, n = 1e3 and 1e5, all phi", ("design", "d"), rows)


def small_and_sharp(seeds: int) -> None:
    """A limit on the size, and noise that vanishes."""
    rows = []
    for size in (3, 5, 10, 20):
        cases = paper_like(100, ("AR 0.5",), (10**3, 10**5), (0.1, 1.0, 5.0), effects=(10,), max_size=size)
        rows.append(([f"d 100, max_size {size}"], search_all(cases, seeds)))
    for epsilon in (10.0, 100.0, 1000.0, 10_000.0):
        cases = paper_like(60, ("independent", "AR 0.5"), (10**3, 10**4), (epsilon,), radii=(1.0,))
        rows.append(([f"d 60, epsilon {epsilon:,.0f}"], search_all(cases, seeds)))
    show("A limit on the size (AR 0.5); large epsilon (independent and AR 0.5)", ("setting",), rows)


def at_the_threshold(seeds: int) -> None:
    """Every variable matters a little."""
    rows = []
    for design, d in product(("AR 0.5", "AR 0.9", "factor 0.5", "factor 0.9"), (20, 40, 60, 80, 100)):
        rows.append(([design, str(d)], search_all([weak(d, design, draw) for draw in range(3)], seeds)))
    show("Every variable weak: single drop 3 s, phi = 3 s", ("design", "d"), rows)


def real_correlations(seeds: int) -> None:
    """Correlations of real tables."""
    rows = []
    for name, times in product(("breast cancer", "diabetes"), (1, 10, 100, 1000, 10_000)):
        rows.append(([name, f"{times:,}"], search_all(real_cases(name, times), seeds)))
    title = "Real correlations (diabetes with quadratic terms), epsilon = 1, R = 2 r, s = 18, four phi"
    show(title, ("table", "moments times"), rows)


def first_search() -> None:
    """Print what a process's first search costs beyond the search."""
    code = (
        "import time; start = time.perf_counter()\n"
        "from benchmarks.lazy import search, weak; search(weak(10, 'AR 0.5'), 0)\n"
        "print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        call: dict[str, Any] = {"check": True, "capture_output": True, "text": True}
        call["env"] = os.environ | {"NUMBA_CACHE_DIR": folder}
        cold, warm = (float(subprocess.run([sys.executable, "-c", code], **call).stdout) for _ in range(2))
    console.print(f"Not counted below: {cold:.0f} s to compile once; {warm:.1f} s to import and load in each process.")


def lazy_search(seeds: int = SEEDS) -> None:
    """Print all tables: wall time of a search from the moments, the smaller of two runs where it is short."""
    first_search()
    search_all([weak(10, "AR 0.5")], 1)
    for table in (
        like_the_paper, other_noises, strongly_correlated, small_and_sharp, real_correlations, at_the_threshold,
    ):  # fmt: skip
        table(seeds)


if __name__ == "__main__":
    lazy_search(*(int(word) for word in sys.argv[1:2]))
