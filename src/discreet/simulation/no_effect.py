"""What chance would give: the law of a selection on a table without any effect, from public facts and a release alone.

No row is read and nothing is spent: the draws here come from a fixed public seed and are none that a release holds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammaln, ndtr, ndtri

from discreet.data.metadata import Metadata, half_width
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method
from discreet.methods.moments.fission import parts_of
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.screening.standing_out import (
    COLUMN_VARIANCE,
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
from discreet.methods.screening.threshold_choice import EXPECTED
from discreet.release import ChanceRecord, MomentsRecord, NoiseRecord
from discreet.simulation.draws import normals, uniforms
from discreet.typing import Floats

LEVEL = 0.05
"""What a table without any effect gives more often than this is called noise."""

MOST_CELLS, LEAST_TAIL = 400_000, 1e-290
SCREENINGS = ("canonical_lipschitz", "one_shot", "peeling", "threshold")


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
    gains = (choice.variance or 0.0) * normals(rng, n_draws, n_units) ** 2 * sizes - (noise.penalty or 0.0) * sizes
    logs = np.full((n_draws, most + 1), -np.inf)
    logs[:, 0] = 0.0
    for unit in range(n_units):
        logs[:, 1:] = np.logaddexp(logs[:, 1:], logs[:, :-1] + gains[:, unit, None] / noise.scale)
    count = np.arange(most + 1)
    ways = gammaln(n_units + 1) - gammaln(count + 1) - gammaln(n_units - count + 1)
    values: Floats = logs - ways + largest(noise.noise, ways, rng, n_draws)
    return values


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
        ways = gammaln(d + 1) - gammaln(np.arange(most + 1) + 1) - gammaln(d - np.arange(most + 1) + 1)
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


def _of_screening(choice: Selection) -> float | None:
    n_rows = float(choice.n_rows or 1)
    if choice.noise.threshold is not None:
        # Dropped, a column adds log b to a subset's weight; a product of two signs of normal variables has the mean
        # 2 / pi asin(correlation), which is about that of saturated cells.
        lead = choice.noise.scale * math.log(max(choice.n_candidates / EXPECTED, 1.0) / (1.0 - SHARE))
        needed = choice.noise.threshold + lead + float(ndtri(SHARE)) * math.sqrt(n_rows)
        share = needed / n_rows
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
    gain = (math.sqrt(max(gain, 0.0)) + math.sqrt(variance) * float(ndtri(SHARE))) ** 2
    share = gain / (n_rows * variance)
    # n log RSS falls by -n log(1 - R^2), RSS by R^2 of it.
    return math.sqrt(-math.expm1(-share)) if choice.is_of_likelihood else math.sqrt(share)


# ---- noisy moments, which hold numbers


def standing_out(gains: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """Return by column how many standard deviations it stands out of its noise: as seldom for a normal variable.

    Of a category, whose gain has several degrees of freedom, it is less than the root of the gain.
    """
    answer = {}
    for name, (gain, df) in gains.items():
        tail = float(chdtrc(df, gain))
        answer[name] = float(-ndtri(tail / 2.0)) if tail > LEAST_TAIL else math.sqrt(gain)
    return answer


def chance_of_deviation(deviations: Mapping[str, float], n_columns: int, law: str, n_numbers: int = 1) -> float:
    """Return the chance that the largest of `n_columns` numbers without an effect stands out as far; 1 for none.

    Laplace noise has heavier tails than sampling: P(|noise| > t sd) = exp(-sqrt(2) t), a bound where both add up. Noise
    in an ellipsoid of `n_numbers` numbers has the same tails for one number, and nearly normal ones for many.
    """
    farthest = max(deviations.values(), default=0.0)
    tail = 2.0 * float(ndtr(-farthest))
    if law == "laplace":
        tail = max(tail, math.exp(-math.sqrt(2.0) * farthest))
    if law == "ellipsoid":
        tail = max(tail, ellipsoid_tail(farthest, n_numbers))
    return -math.expm1(n_columns * math.log1p(-tail)) if tail < 1.0 else 1.0


def ellipsoid_tail(deviation: float, n_numbers: int) -> float:
    """Return the chance that one of `n_numbers` numbers with noise in an ellipsoid is so many standard deviations off.

    A normal law whose variance is Gamma distributed with shape (n_numbers + 1) / 2: see `mechanisms/ellipsoid.py`.
    """
    shape = (n_numbers + 1) / 2.0
    logs = np.linspace(
        math.log(shape) - 30.0 / math.sqrt(shape), math.log(shape + 40.0 * math.sqrt(shape) + 400.0), 4001
    )
    weights = np.exp(shape * logs - np.exp(logs) - (shape * math.log(shape) - shape))
    tails = 2.0 * ndtr(-deviation * np.sqrt(shape) * np.exp(-0.5 * logs))
    return float(weights @ tails / weights.sum())


def of_moments(record: MomentsRecord, selected: Sequence[str], law: str, inference: object = None) -> ChanceRecord:
    """Return what chance gives in the place of columns that were selected by noisy moments, or by a part of them."""
    record = parts_of(record, inference)[0]
    answers = MomentAnswers(record)
    deviations = standing_out(answers.gains(selected))
    n_numbers = len(record.xty) + int(np.triu(np.array(record.gram_variance) > 0.0).sum()) + 1
    chance = chance_of_deviation(deviations, len(answers.candidates), law, n_numbers)
    return ChanceRecord(
        chance_by_noise=chance, n_rows=record.n_rows, standing_out=deviations, called_noise=chance > LEVEL
    )


def moments_correlation(method: Method, metadata: Metadata, target: str, candidates: Sequence[str]) -> float | None:
    """Return the correlation that a column needs to be selected by noisy moments in `SHARE` of draws; roughly.

    From the noise in the moments of drawn tables where a column explains half; None where none can be drawn.
    """
    from discreet.simulation.scenario import Scenario  # frames in memory, which other answers need not

    n_rows = metadata.n_rows or getattr(method, "n0", None)
    if n_rows is None or n_rows * len(candidates) > MOST_CELLS:
        return None
    if not all(metadata.is_number(name) for name in candidates):
        return None
    scenario = Scenario.of(metadata, target, candidates, n_true=1, r_squared=0.5, n_rows=n_rows)
    prepared = method.model_copy(update={"max_size": 1}).prepare(scenario.draw_metadata, target, candidates)
    half, needed = half_width(metadata.declared(target))[1], list[float]()  # type: ignore[arg-type]
    for draw in range(3):
        record = prepared.run(scenario.draw(Source.seeded(SEED + draw)), Source.seeded(SEED - 1 - draw)).moments
        if record is None:
            return None
        record = parts_of(record, prepared.parameters.get("selective_inference"))[0]
        # As seldom as "auto" lets a column in where none matters.
        max_false = getattr(method, "max_false", None) or MomentAnswers(record).max_false
        deviation = float(-ndtri((1.0 - (1.0 - max_false) ** (1.0 / len(candidates))) / 2.0) + ndtri(SHARE))
        target_sd = half * math.sqrt(TARGET_VARIANCE) / record.y_bound
        slope = deviation / np.sqrt(np.maximum(MomentAnswers(record).information(), 1e-12))
        needed.extend(slope * math.sqrt(COLUMN_VARIANCE) / target_sd)
    return float(np.median(needed))


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
        votes_needed=votes,
        test_correlation=choice.test_correlation,
        could_stand_out=could,
        n_rows=choice.n_rows,
        called_noise=is_noise if selected is not None else None,
    )
