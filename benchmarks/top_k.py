"""Private top-k beside a sort, a plain loop over the classes, and OpenDP's peeling."""

import math
import resource
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from benchmarks.timing import seconds
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot

Floats = npt.NDArray[np.float64]

PROBLEMS = ((10**5, 100), (10**6, 100), (10**7, 1000))
MEMORY = """
import resource, numpy as np
from benchmarks.top_k import scores_of
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz
scores = scores_of(10**6, 100)
canonical_lipschitz(scores, 100, 1.0, 1.0, Source())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def scores_of(d: int, k: int) -> Floats:
    """Real-valued scores like absolute correlations of 1,000 people: noise, and 2 k that stand out."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    scores = np.abs(rng.standard_normal(d)) * math.sqrt(1000)
    scores[rng.choice(d, 2 * k, replace=False)] += 300 * rng.random(2 * k)
    return scores


def plain_loop(scores: Floats, k: int, epsilon: float, heads: int | None = None) -> tuple[int, int]:
    """Every class's noise, vectorized over the tails; float noise, so for timing alone."""
    rng = np.random.default_rng()  # noqa: TID251 - a peer, for timing alone
    v, d = np.sort(scores)[::-1], len(scores)
    best, won, t = -np.inf, (0, 0), np.arange(k + 1, d + 1)
    for h in range(k if heads is None else heads):
        sizes = gammaln(t - h - 1) - gammaln(k - h) - gammaln(t - k)
        energy = np.log(rng.exponential(size=len(t))) - sizes
        near = -np.log(-np.expm1(-np.exp(np.clip(energy, -40, 6))))
        noise = np.where(energy < -40, -energy, near)
        value = noise - epsilon / 4 * (v[h] - v[t - 1])
        place = int(np.argmax(value))
        if value[place] > best:
            best, won = float(value[place]), (h, int(t[place]))
    return won


def peeling_of_opendp(scores: Floats, k: int, epsilon: float) -> Any:
    """OpenDP's exact peeling; its scale counts both directions."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    measure = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=2 * k / epsilon)
    as_list = scores.tolist()
    return lambda: measure(as_list)


def rows() -> list[list[str]]:
    """One row a size; what would take minutes is extrapolated and marked."""
    found = []
    for d, k in PROBLEMS:
        scores, rng = scores_of(d, k), Source()
        sort = seconds(lambda: np.sort(scores))  # noqa: B023 - called at once
        ours = seconds(lambda: canonical_lipschitz(scores, k, 1.0, 1.0, rng))  # noqa: B023
        shot = seconds(lambda: one_shot(scores, k, 1.0, 1.0, rng), 3)  # noqa: B023
        heads = min(k, 4)
        loop = seconds(lambda: plain_loop(scores, k, 1.0, heads), 1) * k / heads  # noqa: B023
        few = scores[: min(d, 10**4)]
        theirs = seconds(peeling_of_opendp(few, 10, 1.0), 1) * (d / len(few)) * (k / 10)
        found.append([
            f"{d:,}, {k}", f"{1e3 * sort:.1f} ms", f"{1e3 * ours:.1f} ms", f"{ours / sort:.2f}", f"{loop:.1f} s+",
            f"{loop / ours:,.0f}", f"{theirs:.0f} s+", f"{1e3 * shot:.0f} ms",
        ])  # fmt: skip
    return found


def peak() -> int:
    """Peak memory in MB of a process that draws once at a million scores, libraries included."""
    found = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True)
    return int(found.stdout)


COLUMNS = [
    "d, k",
    "one sort",
    "canonical Lipschitz",
    "ratio",
    "loop over classes",
    "ratio",
    "OpenDP peeling",
    "one shot",
]


def title() -> str:
    """What was asked, and the memory found."""
    return (
        "Top-k of real scores, exponential noise, exact, system entropy (asked: 2 sorts; 300 MB at a million: "
        f"{peak()} MB). + is extrapolated: 4 heads of the loop, 10^4 scores and 10 rounds of OpenDP"
    )


if __name__ == "__main__":
    print(title(), *(COLUMNS, *rows()), sep="\n")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB in all")
