"""What chance would give in the place of columns that noisy moments select, from public facts and a release alone."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from discreet.data.metadata import Metadata, half_width
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method
from discreet.methods.moments.fission import parts_of
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.noisy_moments import PreparedMoments
from discreet.methods.screening.standing_out import COLUMN_VARIANCE, SEED, SHARE, TARGET_VARIANCE
from discreet.release import ChanceRecord, MomentsRecord
from discreet.simulation.no_effect import LEVEL

MOST_CELLS, LEAST_TAIL = 400_000, 1e-290


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
    tail = math.erfc(farthest / math.sqrt(2.0))
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

    From the noise in the moments of drawn tables where a column explains a tenth; None where none can be drawn.
    """
    from discreet.simulation.cached_moments import CachedMoments  # frames in memory, which other answers need not
    from discreet.simulation.scenario import Scenario  # as above

    n_rows = metadata.n_rows or getattr(method, "n0", None)
    if n_rows is None or n_rows * len(candidates) > MOST_CELLS:
        return None
    if not all(metadata.is_number(name) for name in candidates):
        return None
    scenario = Scenario.of(metadata, target, candidates, n_true=1, r_squared=0.1, n_rows=n_rows)
    prepared = method.model_copy(update={"max_size": 1}).prepare(scenario.draw_metadata, target, candidates)
    if not isinstance(prepared, PreparedMoments):
        return None
    drawing = CachedMoments(prepared.method, prepared.sums, prepared.tuning, prepared.whole)
    half, needed = half_width(metadata.declared(target))[1], list[float]()  # type: ignore[arg-type]
    widths = np.array([half_width(metadata.declared(name))[1] for name in candidates])  # type: ignore[arg-type]
    for draw in range(6):
        answers = drawing.released(scenario.draw(Source.seeded(SEED + draw)), Source.seeded(SEED - 1 - draw))
        record = answers.record
        # As seldom as "auto" lets a column in where none matters.
        max_false = getattr(method, "max_false", None) or answers.max_false
        deviation = float(-ndtri((1.0 - (1.0 - max_false) ** (1.0 / len(candidates))) / 2.0) + ndtri(SHARE))
        target_sd = half * math.sqrt(TARGET_VARIANCE) / record.y_bound
        slope = deviation / np.sqrt(np.maximum(answers.information(), 1e-12))
        scales = np.array(record.half_widths)[-len(widths) :] / widths
        needed.extend(slope * math.sqrt(COLUMN_VARIANCE) / scales / target_sd)
    return float(np.quantile(needed, SHARE))  # as the noise of X'X may hide it, too
