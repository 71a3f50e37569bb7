"""How X'y of rows that are divided by their length varies: beside what it does over many rows of known laws."""

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.kernels.rows.unit_rows import CONSTANT, shortest_length
from discreet.kernels.sufficient_statistics.unit_sampling import UnitColumns, likely_unit_rows

N_ROWS = 100_000
FAR = 0.12
"""By which a variance may be wrong: six parts in a hundred of an interval."""


def normals(n_columns, correlation, seed):
    """Each correlated with the one before."""
    z = np.random.default_rng(seed).standard_normal((N_ROWS, n_columns))  # noqa: TID251 - simulated data, not noise
    for j in range(1, n_columns):
        z[:, j] = correlation * z[:, j - 1] + (1.0 - correlation**2) ** 0.5 * z[:, j]
    return z


def standardized(x, low, high):
    """As wide as even columns, with the ends of their bounds."""
    middle, width = x.mean(axis=0), x.std(axis=0) * 3**0.5
    return (x - middle) / width, (low - middle) / width, (high - middle) / width


def even(correlation):
    """Six columns evenly spread over their bounds."""
    return 2.0 * ndtr(normals(6, correlation, 1)) - 1.0, -np.ones(6), np.ones(6)


def rare():
    """Ones among zeros, from one in twenty to half of the rows."""
    shares = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.05, 0.1, 0.5])
    return standardized((ndtr(normals(8, 0.3, 2)) > 1.0 - shares).astype(float), np.zeros(8), np.ones(8))


def narrow():
    """Within a tenth of their bounds."""
    return standardized(np.clip(0.1 * normals(8, 0.5, 3) + 0.4, -1.0, 1.0), -np.ones(8), np.ones(8))


def skewed():
    """Near the lower ends of their bounds, with a long tail."""
    return standardized(np.minimum(-np.log1p(-ndtr(normals(6, 0.6, 4))) / 2.0, 2.0) - 1.0, -np.ones(6), np.ones(6))


def variances(x, low, high, levels=None):
    """Of coefficients in units of s^2: by their rows, as told, and as if all rows had one length."""
    dummies = np.zeros((0, N_ROWS)) if levels is None else np.array([levels == k for k in range(levels.max() + 1)])
    rows = np.column_stack([np.ones(N_ROWS), x, dummies.T])
    n_numbers, n_levels = x.shape[1], len(dummies)
    category = np.zeros((int(n_levels > 0), rows.shape[1]), dtype=np.bool_)
    category[:, 1 + n_numbers :] = True
    shortest = shortest_length(n_numbers + len(category))
    weights = 1.0 / np.maximum(CONSTANT**2 + (rows[:, 1:] ** 2).sum(axis=1), shortest**2)
    gram, squared = ((rows * of[:, None]).T @ rows for of in (weights, weights**2 / weights.mean()))
    ends = np.r_[1.0, low, np.zeros(n_levels)], np.r_[1.0, high, np.ones(n_levels)]
    likely = likely_unit_rows(gram, UnitColumns(*ends, category, CONSTANT, shortest))
    at = [j for j in range(rows.shape[1]) if j != 1 + n_numbers]  # without the first level
    inverse = np.linalg.inv(gram[np.ix_(at, at)])
    middles = (squared[np.ix_(at, at)], likely.sampling(gram[np.ix_(at, at)], at), gram[np.ix_(at, at)])
    return [np.diagonal(inverse @ middle @ inverse)[1:] for middle in middles]


@pytest.mark.parametrize(
    "design",
    [even(0.0), even(0.6), even(0.9), rare(), narrow(), skewed()],
    ids=["0", ".6", ".9", "01", "narrow", "skewed"],
)
def test_coefficients_vary_as_told(design):
    """Whatever the columns' law, within bounds and correlation that moments tell."""
    by_rows, told, _ = variances(*design)
    assert told == pytest.approx(by_rows, rel=FAR)


def test_rows_of_one_length_are_not_what_they_are():
    """Control: such variances are too small where columns go together, and far too large for rare ones."""
    by_rows, _, alike = variances(*even(0.9))
    assert np.all(alike < 0.85 * by_rows)
    by_rows, _, alike = variances(*rare())
    assert alike[0] > 3.0 * by_rows[0]
    assert alike[4] < 0.9 * by_rows[4]


def test_a_level_of_a_category_makes_no_row_longer_than_another():
    """Of four levels, one in twenty the rarest."""
    x, low, high = skewed()
    levels = np.searchsorted([0.5, 0.8, 0.95], ndtr(normals(7, 0.5, 5)[:, 6]))
    by_rows, told, _ = variances(x, low, high, levels)
    assert told == pytest.approx(by_rows, rel=FAR)


def test_part_of_the_columns_is_a_part_of_all():
    """A model of some columns, whose rows have the length of all."""
    x, low, high = even(0.9)
    rows = np.column_stack([np.ones(N_ROWS), x])
    shortest = shortest_length(6)
    weights = 1.0 / np.maximum(CONSTANT**2 + (x**2).sum(axis=1), shortest**2)
    unit = UnitColumns(np.r_[1.0, low], np.r_[1.0, high], np.zeros((0, 7), dtype=np.bool_), CONSTANT, shortest)
    gram, squared = ((rows * of[:, None]).T @ rows for of in (weights, weights**2 / weights.mean()))
    at, block = [0, 2, 5], np.ix_([0, 2, 5], [0, 2, 5])
    sampling, inverse = likely_unit_rows(gram, unit).sampling(gram[block], at), np.linalg.inv(gram[block])
    ratio = np.diagonal(inverse @ sampling @ inverse) / np.diagonal(inverse @ squared[block] @ inverse)
    assert ratio[1:] == pytest.approx(1.0, abs=FAR)


def test_moments_that_no_table_has_leave_a_variance():
    """Noise may leave a column no variance, a mean beyond its ends, and a constant of nothing."""
    unit = UnitColumns(-np.ones(4), np.ones(4), np.zeros((0, 4), dtype=np.bool_), CONSTANT, 1.0)
    rng = np.random.default_rng(6)  # noqa: TID251 - simulated data, not noise
    for scale in (1e-6, 1.0, 1e6):
        gram = scale * rng.standard_normal((4, 4))
        gram = gram + gram.T + np.diag([0.0, *np.full(3, 0.1 * scale)])
        sampling = likely_unit_rows(gram, unit).sampling(np.eye(4), [0, 1, 2, 3])
        assert np.isfinite(sampling).all()
        assert np.linalg.eigvalsh(sampling)[0] >= -1e-9 * np.trace(sampling)
