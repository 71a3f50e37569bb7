"""What chance would give: the law of a selection on a table without any effect, from public facts and a release alone.

No row is read and nothing is spent: the draws here come from a fixed public seed and are none that a release holds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.mechanisms.cube import cube_variance
from discreet.mechanisms.rng import Source
from discreet.methods.screening.standing_out import (
    DRAWS,
    MOST_CORRELATION,
    MOST_ENTRIES,
    SEED,
    SHARE,
    TARGET_VARIANCE,
    correlation_of_screening,
    quantile,
    votes_of_screening,
)
from discreet.release import ChanceRecord, NoiseRecord, Supposition
from discreet.simulation.draws import some_normals, uniforms
from discreet.typing import Floats

LEVEL = 0.05
"""What a table without any effect gives more often than this is called noise."""

SCREENINGS = ("canonical_lipschitz", "one_shot", "peeling", "threshold", "cube")


@dataclass(frozen=True)
class Selection:
    """What is public about a selection.

    Parameters
    ----------
    noise : NoiseRecord
        Of the choice, as it was or as it can be expected.
    parameters : dict
        Of the method, defaults filled in.
    n_candidates : int
        Columns that could be selected.
    n_rows : float or None
        Public, guessed or with noise.
    bound : float or None
        r of the target, in its unit; None where it is not known.
    test_correlation : float, optional
        That a noise test tells from chance in `SHARE` of draws.
    tested : float, optional
        The chance that a noise test released.
    """

    noise: NoiseRecord
    parameters: Mapping[str, Any]
    n_candidates: int
    n_rows: float | None
    bound: float | None
    test_correlation: float | None = None
    tested: float | None = None

    @property
    def is_screening(self) -> bool:
        """Whether columns are scored one by one."""
        return self.noise.mechanism in SCREENINGS

    @property
    def n_blocks(self) -> int | None:
        """Blocks of rows that vote; None where scores are no votes."""
        blocks = self.parameters.get("n_blocks")
        return blocks if self.is_screening and isinstance(blocks, int) else None

    @property
    def is_of_likelihood(self) -> bool:
        """Whether scores are -2 log-likelihoods, for which no variance need be supposed."""
        return "log-likelihood" in self.noise.unit

    @property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """Groups that enter together."""
        return tuple(tuple(group) for group in self.parameters.get("groups") or ())

    @property
    def sizes(self) -> list[int]:
        """Columns of each unit that is free to enter."""
        grouped = [len(group) for group in self.units if group]
        alone = self.n_candidates - sum(grouped) - len(self.parameters.get("forced") or ())
        return [*grouped, *[1] * alone]

    @property
    def variance(self) -> float | None:
        """Of the target, in the unit of the noise."""
        if self.is_of_likelihood:
            return 1.0
        return None if self.bound is None else TARGET_VARIANCE * self.bound**2

    @property
    def is_uniform(self) -> bool:
        """Whether the choice looked at no score, as a private bound allowed none."""
        return self.is_of_likelihood and self.noise.formula.startswith("none")

    def n_units(self, selected: Sequence[str]) -> int:
        """Return how many units were selected of those that are free to enter."""
        forced = self.parameters.get("forced") or ()
        grouped = {name: place for place, group in enumerate(self.units) for name in group}
        return len({grouped.get(name, name) for name in selected if name not in forced})


# ---- the law of the number of columns


def size_values(choice: Selection, n_units: int, most: int, rng: Source, n_draws: int) -> Floats:
    """Return the best noisy score of each size, where no column has an effect, shape (n_draws, most + 1).

    In noise scales, larger is better; `choice.noise.penalty` for each column is taken off.

    Models of one size have alike scores but for what sampling gives, s^2 chi^2_1 a column: with `w = exp((s^2 z^2 -
    penalty) / scale)` of each unit, the e^score of the models with j units add up to the elementary symmetric
    polynomial e_j(w). The best of m = C(d, j) with noise is the largest of m noises, drawn at once, plus log(e_j / m):
    exact for Gumbel noise, and for exponential noise where models of one size have equal scores.
    """
    noise, sizes = choice.noise, np.array((choice.sizes + [1] * n_units)[:n_units], dtype=np.float64)
    # Gains are those of one column a unit: groups are rare, and their further columns pay the same penalty each.
    gains = (choice.variance or 0.0) * some_normals(rng, n_draws, n_units) ** 2 * sizes - (noise.penalty or 0.0) * sizes
    logs = np.full((n_draws, most + 1), -np.inf)
    logs[:, 0] = 0.0
    for unit in range(n_units):
        last = min(unit + 1, most)  # so many units are there yet, at most
        added = logs[:, :last] + gains[:, unit, None] / noise.scale
        logs[:, 1 : last + 1] = np.logaddexp(logs[:, 1 : last + 1], added)
    ways = _log_ways(n_units, most)
    values: Floats = logs - ways + largest(noise.noise, ways, rng, n_draws)
    return values


def _log_ways(n: int, most: int) -> Floats:
    """Return the logarithms of the numbers of ways to choose 0 to `most` of n."""
    logs = [math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1) for count in range(most + 1)]
    return np.array(logs)


def largest(law: str, log_count: Floats, rng: Source, n_draws: int) -> Floats:
    """Return the largest of exp(log_count) standard noises, drawn at once, shape (n_draws, len(log_count))."""
    # P(max <= t) = F(t)^m, so that log F(max) = log(U) / m.
    log_f = np.log(uniforms(rng, n_draws, len(log_count))) * np.exp(-log_count)
    return quantile(law, log_f)


def size_law(choice: Selection) -> Floats | None:
    """Return the chance of each number of units, where no column has an effect; None where it is not known here."""
    d = len(choice.sizes)
    if (
        choice.is_screening
        or choice.noise.noise not in ("exponential", "gumbel")
        or choice.noise.penalty is None
        or choice.parameters.get("models")
        or choice.parameters.get("as_published")
        or d < 1
    ):
        return None
    most, rng = min(choice.parameters.get("max_size") or d, d), Source.seeded(SEED)
    if choice.is_uniform:
        ways = _log_ways(d, most)
        return np.asarray(np.exp(ways - ways.max()) / np.exp(ways - ways.max()).sum())
    n_draws = max(min(DRAWS, MOST_ENTRIES // (d * (most + 1))), 500)
    chosen = size_values(choice, d, most, rng, n_draws).argmax(axis=1)
    return np.bincount(chosen, minlength=most + 1) / n_draws


# ---- the correlation that a column needs


def correlation_needed(choice: Selection) -> float | None:
    """Return the correlation with the target that a column needs to be chosen in `SHARE` of draws; None if none does.

    It may be above 1. It supposes a target and columns that are spread as `TARGET_VARIANCE` and `COLUMN_VARIANCE` say.
    """
    if choice.n_rows is None or choice.n_rows < 1 or choice.n_blocks is not None:
        return None
    return _of_screening(choice) if choice.is_screening else _of_models(choice)


def _supposes(choice: Selection) -> Supposition | None:
    """What the correlation that a column needs supposes of the target."""
    parameters = choice.parameters
    if not choice.is_screening:
        return None if choice.is_of_likelihood else "clip"
    is_by_order = parameters.get("association") in ("kendall", "median_split")
    if choice.noise.threshold is not None or "y_saturation" in parameters or is_by_order:
        return "normal"
    return "values" if parameters.get("codes") or parameters.get("level") or "y_bound" not in parameters else "even"


def _of_screening(choice: Selection) -> float | None:
    n_rows = float(choice.n_rows or 1)
    if choice.noise.threshold is not None:
        from discreet.methods.screening.threshold_choice import EXPECTED  # as other choices need it not

        is_kendall = choice.parameters.get("association") == "kendall"
        # Standard deviation of a score, and the most that it can be, both of normal variables.
        sd, most = (math.sqrt(n_rows) / 3.0, n_rows / 2.0) if is_kendall else (math.sqrt(n_rows), n_rows)
        below, lead = NormalDist().inv_cdf(SHARE), 0.0
        if choice.noise.mechanism == "cube":
            n_scores = (
                choice.parameters.get("n_screened") or choice.n_candidates
            )  # more are not scored beside each other
            below *= math.sqrt(1.0 + cube_variance(n_scores, choice.noise.scale) / sd**2)
        else:  # dropped, a column adds log b to a subset's weight
            lead = choice.noise.scale * math.log(max(choice.n_candidates / EXPECTED, 1.0) / (1.0 - SHARE))
        # A product of two signs of normal variables has the mean 2 / pi asin(correlation), which is about that of
        # saturated cells, and of pairs of rows.
        share = (choice.noise.threshold + lead + below * sd) / most
        return math.sin(math.pi / 2.0 * share) if share <= 1.0 else share
    return correlation_of_screening(choice.noise, choice.parameters, choice.n_candidates, n_rows)


def votes_needed(choice: Selection) -> float | None:
    """Return which share of the blocks must name a column so that it is chosen in `SHARE` of draws; maybe above 1."""
    if choice.n_blocks is None:
        return None
    return votes_of_screening(choice.noise, choice.parameters, choice.n_candidates)


def _of_models(choice: Selection) -> float | None:
    d, n_rows, variance = len(choice.sizes), float(choice.n_rows or 1), choice.variance
    if variance is None or choice.noise.penalty is None or choice.is_uniform or d < 1:
        return None
    if choice.noise.noise not in ("exponential", "gumbel"):
        return None
    most, rng = min(choice.parameters.get("max_size") or d, d), Source.seeded(SEED)
    n_draws = max(min(DRAWS, MOST_ENTRIES // (d * (most + 1))), 500)
    # Models without the column against those with it, of the d - 1 others; it enters where its gain beats both.
    without = size_values(choice, d - 1, min(most, d - 1), rng, n_draws).max(axis=1)
    beside = size_values(choice, d - 1, most - 1, rng, n_draws).max(axis=1)
    gain = choice.noise.penalty + choice.noise.scale * float(np.quantile(without - beside, SHARE))
    gain = (math.sqrt(max(gain, 0.0)) + math.sqrt(variance) * NormalDist().inv_cdf(SHARE)) ** 2
    share = gain / (n_rows * variance)
    # n log RSS falls by -n log(1 - R^2), RSS by R^2 of it.
    return math.sqrt(-math.expm1(-share)) if choice.is_of_likelihood else math.sqrt(share)


# ---- what a release and a dry run are told


def of_selection(choice: Selection, selected: Sequence[str] | None) -> ChanceRecord:
    """Return what chance gives in the place of a selection; of one that is only asked, `selected` is None."""
    needed, votes, law = correlation_needed(choice), votes_needed(choice), size_law(choice)
    could: bool | None = None
    if choice.is_uniform:
        could = False
    elif needed is not None:
        could = needed <= MOST_CORRELATION
    elif votes is not None:
        could = votes <= 1.0
    if choice.test_correlation is not None and choice.test_correlation > MOST_CORRELATION:
        could = False
    chance: float | None = choice.tested
    if law is not None:
        chance = float(min(law[choice.n_units(selected) if selected is not None else 1 :].sum(), 1.0))
    if choice.noise.threshold is not None:
        has_some = selected is None or choice.n_units(selected) > 0
        chance = float(choice.parameters["max_false"]) if has_some else 1.0
    is_noise = chance > LEVEL if chance is not None else None if could is None else not could
    return ChanceRecord(
        chance_by_noise=chance,
        correlation_needed=needed,
        supposes=None if needed is None else _supposes(choice),
        votes_needed=votes,
        test_correlation=choice.test_correlation,
        could_stand_out=could,
        n_rows=choice.n_rows,
        called_noise=is_noise if selected is not None else None,
    )
