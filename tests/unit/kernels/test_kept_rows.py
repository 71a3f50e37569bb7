"""Which rows of a unit remain: a sample of its own, the same in any order and by any blocks; controls that are none."""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare
from tests.effort import either

from discreet.data.contribution_bound import UnitRows
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.unit_keys import unit_words
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows import contribution_bound as kernel
from discreet.mechanisms.rng import Source

SAMPLE_SIZE = 20_000
P_THRESHOLD = 1e-4
WORD = 2**64 - 1


def mixed(word):
    """SplitMix64's finalizer, by whole numbers."""
    word = (word + 0x9E3779B97F4A7C15) & WORD
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & WORD
    return word ^ word >> 31


def ranked(row, number, word):
    """What the n-th of a unit's equal rows is ranked by."""
    padded = [*row, *[0] * (-len(row) % 4)]
    for first in range(0, len(padded), 4):
        four = sum((cell & 0xFFFF) << 16 * place for place, cell in enumerate(padded[first : first + 4]))
        word = mixed((word + four) & WORD)
    return mixed((word + number) & WORD) if number else word


def expected(units, words, most):
    """What remains, unit by unit, with no array."""
    total = Counter()
    for rows, word in zip(units, words, strict=True):
        numbers, ranks = Counter(), []
        for row in rows:
            ranks.append((ranked(row, numbers[row], int(word)), row))
            numbers[row] += 1
        total.update(row for _, row in sorted(ranks)[:most])
    return total


def some_units(n_units, width, seed):
    """Units of 0 to 6 rows, many of them equal, and their words."""
    source = Source.seeded(seed)
    starts = np.append(0, np.cumsum(source.words(n_units) % np.uint64(7))).astype(np.int64)
    values = (source.words(int(starts[-1]) * width) % np.uint64(3)).astype(np.int64)
    cells = (values * 16_383 - 16_000).astype(np.int16).reshape(-1, width)
    return cells, starts, source.words(n_units)


def as_counter(rows):
    return Counter(map(tuple, rows.tolist()))


@pytest.mark.parametrize("block_rows", [1, 7, 2**16])
@pytest.mark.parametrize("width", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_rows_remain_by_name_cells_and_number(width, most, block_rows, monkeypatch):
    """Exactly those that plain arithmetic finds, whatever is put in order at once."""
    monkeypatch.setattr(kernel, "BLOCK_ROWS", block_rows)
    cells, starts, words = some_units(40, width, seed=width)
    units = [[tuple(row) for row in cells[a:b].tolist()] for a, b in pairwise(starts)]
    assert as_counter(kernel.kept_rows(cells, starts, words, most)) == expected(units, words, most)


@pytest.mark.parametrize("values", [1, 2, 5, 2**63])
@pytest.mark.parametrize("most", [1, 3])
def test_order_within_a_unit_does_not_matter(values, most, monkeypatch):
    """Also where a poor hash has few values, so that most rows share one with others."""
    sound = kernel.mixed
    monkeypatch.setattr(kernel, "mixed", lambda words: np.minimum(sound(words) % np.uint64(values), sound(words)))
    cells, starts, words = some_units(60, 5, seed=values % 97)
    in_order = as_counter(kernel.kept_rows(cells, starts, words, most))
    source = Source.seeded(0)
    for _ in range(either(5, 50)):
        mine = [a + np.argsort(source.words(b - a)) for a, b in pairwise(starts.tolist())]
        shuffled = cells[np.concatenate(mine)]
        assert as_counter(kernel.kept_rows(shuffled, starts, words, most)) == in_order
    assert in_order.total() == np.minimum(np.diff(starts), most).sum()
    assert in_order <= as_counter(cells)


@pytest.mark.parametrize("block_rows", [1, 50, 2**16])
@pytest.mark.parametrize("most", [1, 3])
def test_each_column_is_summed_over_its_own_sample(most, block_rows, monkeypatch):
    """A score is the same whatever else is scored: that of its column and the target alone."""
    monkeypatch.setattr(kernel, "BLOCK_ROWS", block_rows)
    cells, starts, words = some_units(50, 4, seed=1)
    alone = [kernel.kept_rows(cells[:, [j, -1]], starts, words, most).astype(np.int64) for j in range(3)]
    sums = kernel.kept_products(cells, starts, words, most)
    assert sums.tolist() == [int(rows.prod(axis=1).sum()) for rows in alone]
    target = kernel.kept_rows(cells[:, -1:], starts, words, most)
    assert kernel.kept_sum(cells, starts, words, most).tolist() == [target.sum(dtype=np.int64), len(target)]


# ---- a sample

KEYS = {
    "numbers": lambda n: pa.array(np.arange(n)),
    "text": lambda n: pa.array([f"person {i}" for i in range(n)], pa.large_string()),
}


def of_one_name(keys):
    """Control: no unit is known from another, so that the same cells win in all, as by a hash of cells alone."""
    return np.zeros(len(keys), dtype=np.uint64)


def all_at_once(order, hashes, packed):
    """Control: equal rows are not numbered, so that they count as one."""
    return np.zeros(order.shape, dtype=np.bool_), True


def p_value(rows, most, keys="numbers"):
    """Of what remains when every unit has these rows, against draws without replacement."""
    names, n_rows = KEYS[keys](SAMPLE_SIZE), len(rows)
    units = UnitRows(1)
    cells = np.tile(np.array(rows, dtype=np.int16), SAMPLE_SIZE)[:, None]
    units.add(names.take(pa.array(np.repeat(np.arange(SAMPLE_SIZE), n_rows))), cells)
    samples = np.sort(kernel.kept_rows(*units.side_by_side(most), most).reshape(SAMPLE_SIZE, most), axis=1)
    counts, law = as_counter(samples), Counter(tuple(sorted(chosen)) for chosen in combinations(rows, most))
    assert set(counts) <= set(law)
    share = np.array(list(law.values())) / law.total()
    return chisquare([counts[kind] for kind in law], share * SAMPLE_SIZE).pvalue


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize(
    ("rows", "most"),
    [((0, 1), 1), ((1, 2, 3, 4), 1), ((1, 2, 3, 4), 3), ((1, 2, 3, 4, 5), 2), ((7, 7, 7, 9), 1), ((7, 7, 9, 9, 9), 2)],
)
def test_every_row_of_a_unit_remains_as_often(rows, most, keys):
    """Units with the same rows keep each set of them as often as a draw would, equal rows counted one by one."""
    assert p_value(rows, most, keys) > P_THRESHOLD


def test_a_choice_by_cells_alone_is_flagged(monkeypatch):
    """Control: the same rows win in every unit."""
    monkeypatch.setattr("discreet.data.contribution_bound.unit_words", of_one_name)
    assert p_value((1, 2, 3, 4), 1) < P_THRESHOLD
    assert p_value((7, 7, 7, 9), 1) < P_THRESHOLD


def test_equal_rows_that_go_together_are_flagged(monkeypatch):
    """Control: where equal rows count as one, the rare row remains as often as the three others."""
    monkeypatch.setattr(kernel, "_copies", all_at_once)
    assert p_value((1, 2, 3, 4), 1) > P_THRESHOLD
    assert p_value((7, 7, 7, 9), 1) < P_THRESHOLD


METADATA = Metadata.from_value(
    {
        "dataset": "t",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "unit_id": "pid",
        "columns": {name: {"type": "real", "lower": 0, "upper": 1} for name in ("x", "z", "y")},
    }
)
X, Z, LOG_ODDS = 0.6, 0.0, 2 * np.log(0.8 / 0.2)
"""Slopes of the target on two independent columns, and of its log odds on the first."""


def four_rows_each():
    """20,000 people with four rows each of ones and zeros; the first column moves the target, the second does not."""
    x, z, u = Source.seeded(5).words(12 * SAMPLE_SIZE).reshape(3, -1) / 2.0**64
    x, z = (x < 0.5).astype(int), (z < 0.5).astype(int)
    y = u < 0.2 + 0.6 * x
    pid = np.repeat(np.arange(SAMPLE_SIZE), 4)
    return FrameTable(pa.table({"x": x, "z": z, "y": y.astype(int), "pid": pid}), METADATA)


def errors(table):
    """How far slopes, moments, scores and log odds of the rows that remain are from the truth, in standard errors."""
    design = Design.plan(METADATA, "y")
    moments = table.moments(design) / GRID**2  # of columns from -1 to 1, the first of ones
    n = moments[0, 0]
    assert n == SAMPLE_SIZE
    slopes = np.linalg.solve(moments[:3, :3], moments[:3, 3])[1:]
    distances = list((slopes - [X, Z]) / np.sqrt((1 - X**2) / n))
    means, truth = moments / n, np.array([[1, 0, 0, 0], [0, 1, 0, X], [0, 0, 1, Z], [0, X, Z, 1]])
    at = np.triu_indices(4, 1)
    distances += list((means - truth)[at] / np.sqrt((1 - truth**2)[at] / n))
    scores = ScoreDesign.plan(METADATA, "y", ["x", "z"])
    distances += list((table.products(scores) / GRID**2 / n - [X, Z]) / np.sqrt((1 - np.array([X, Z]) ** 2) / n))
    total, n_rows = table.target_sum(scores)
    assert n_rows == n
    distances.append(total / GRID / np.sqrt(n))
    counts = [
        (1 + a * means[0, 1] + b * means[0, 3] + a * b * means[1, 3]) * n / 4
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    odds = np.log(counts[0] * counts[3] / (counts[1] * counts[2]))  # the slope of a logistic regression on x
    distances.append((odds - LOG_ODDS) / np.sqrt((1 / np.array(counts)).sum()))
    return np.abs(distances)


def test_estimates_from_the_rows_that_remain_are_those_of_all():
    """One row of four: slopes, moments, scores and log odds are within three standard errors of the truth."""
    assert errors(four_rows_each()).max() < 3


@pytest.mark.parametrize("fault", ["of one name", "equal rows as one"])
def test_estimates_from_a_choice_by_cells_are_flagged(fault, monkeypatch):
    """Controls: the rule that knows no unit, and the rule by which equal rows go together."""
    if fault == "of one name":
        monkeypatch.setattr("discreet.data.contribution_bound.unit_words", of_one_name)
    else:
        monkeypatch.setattr(kernel, "_copies", all_at_once)
    assert errors(four_rows_each()).max() > 10


def test_a_name_has_one_hash_on_every_machine():
    """The sum over bytes, each mixed with its place: another hash would be another sample of every table."""
    names = ["", "7", "person 7", "é", "two\nlines", "long " * 99]
    words = unit_words(pa.array(names)).tolist()
    sums = [sum(mixed(letter + 256 * place) for place, letter in enumerate(name.encode())) for name in names]
    assert words == [mixed(total & WORD) for total in sums]
    assert words[:2] == [0xE220A8397B1DCDAF, 0xFD90540FE6A96DD7]
