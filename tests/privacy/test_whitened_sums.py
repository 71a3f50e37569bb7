"""The second pass of a linear regression against the worst rows: never above what is charged, and nearly attained."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.kernels.sufficient_statistics.whitening import Whitening
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.whitened_sums import Directions, Pass, WhitenedSums, sums_of_directions
from discreet.methods.registry import method_of
from discreet.methods.regression import linear
from tests.privacy.odd_tables import pair_of, plain
from tests.privacy.replayed import case
from tests.privacy.test_noisy_sums import in_box

HIGH = plain(a=1, b=5, c="u", d=1, e=10, g="no", y=2, z=1, k=9)
LOW = plain(a=-1, b=0, c="w", d=-1, e=0, g="yes", y=-2, z=0, k=0)
RELATIONS = ("replace_one", "add_or_remove_one")


def blocks(sums, p):
    """The released vectors, in whole steps."""
    upper = np.triu_indices(p, 1)
    return {
        "X'r": sums[:p, p],
        "diagonal of X'X": np.diagonal(sums[:p, :p]),
        "X'X": sums[:p, :p][upper],
        "r'r": sums[p : p + 1, p],
        "diagonal of scores": np.diagonal(sums[p + 1 :, :p]),
        "scores": sums[p + 1 :, :p][upper],
    }


def changes(relation, c, norm, longest=0.3, stretch=1.5):
    """What neighboring units of c rows change, block by block: extreme rows, and random ones."""
    rng = np.random.default_rng(4)  # noqa: TID251 - rows, not noise
    second = WhitenedSums(in_box(3, 0, relation, True, c).design, (0, 1, 2, 3), robust=True)
    row_map = Whitening(
        rng.normal(size=(4, 4)), np.array([0.1, 0.0, -0.2, 0.1]), norm, 0.4, longest, np.ones(4), stretch
    )
    signs = np.array(list(itertools.product([-1, 1], repeat=4)))
    extreme = np.column_stack([np.ones(16), signs]) * GRID
    units = [np.tile(row, (c, 1)) for row in extreme] + [extreme[rng.integers(0, 16, c)] for _ in range(10)]
    starts, words = np.array([0, c]), np.zeros(1, dtype=np.uint64)
    work = Pass(row_map, np.arange(5))
    if c == 1:
        sums = [blocks(work.rows(unit.astype(np.int16)).astype(object), 4) for unit in units]
    else:
        sums = [blocks(work.units(unit.astype(np.int16), starts, words, c).astype(object), 4) for unit in units]
    if relation == "add_or_remove_one":
        return second, sums
    return second, [{name: one[name] - other[name] for name in one} for one, other in itertools.combinations(sums, 2)]


def price(second, change, budget):
    """Of one change, in rho or in epsilon."""
    parts = second.estimates()
    total = sum((int((change[part.name] ** 2).sum()) / part.scale(budget) ** 2 for part in parts), Fraction(0))
    return Fraction(float(total) ** 0.5) if budget.rho is None else total / 2


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("c", [1, 3, 8])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
@pytest.mark.parametrize(
    ("norm", "longest", "stretch"),
    [(0.7, 0.3, 1.0), (0.7, 0.3, 1.5), (3.0, 0.3, 1.5), (0.7, 5.0, 1.0), (3.0, 0.01, 4.0)],
)
def test_no_pair_of_units_costs_more_than_the_budget(relation, c, delta, norm, longest, stretch):
    """All blocks together; rows that are shortened to the norm come near it, and scores to theirs."""
    second, pairs = changes(relation, c, norm, longest, stretch)
    budget = NoiseBudget.of(Fraction(1), delta, 100, GRID**2 // 2)
    worst = max(price(second, change, budget) for change in pairs)
    limit = budget.epsilon if budget.rho is None else budget.rho
    assert worst <= limit
    if norm < 1 and longest < 1:
        assert worst > limit * Fraction(1, 3)


def test_rows_that_are_not_shortened_are_found_out(monkeypatch):
    """A control: where only each column is clipped, a pair of rows costs more than the budget."""
    whole = Whitening.cells

    def clipped(self, cells):
        """Return rows within a cube, not a ball."""
        out = whole(self, cells)
        z = cells[:, :-1] / GRID @ self.matrix.T / self.norm
        out[:, : z.shape[1]] = np.clip(z, -1.0, 1.0) * GRID
        return out

    monkeypatch.setattr(Whitening, "cells", clipped)
    second, pairs = changes("add_or_remove_one", 1, 0.2)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), 100, GRID**2 // 2)
    assert budget.rho is not None
    assert max(price(second, change, budget) for change in pairs) > budget.rho


def test_scores_that_are_not_shortened_are_found_out(monkeypatch):
    """A control: where only each number of a score is clipped, a pair of rows costs more than the budget."""
    whole = Whitening.cells

    def clipped(self, cells):
        """Return scores within a cube, not a ball."""
        out, p = whole(self, cells), len(self.start)
        out[:, p + 1 :] = np.sign(out[:, p + 1 :]) * GRID
        return out

    monkeypatch.setattr(Whitening, "cells", clipped)
    second, pairs = changes("add_or_remove_one", 1, 0.7)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), 100, GRID**2 // 2)
    assert budget.rho is not None
    assert max(price(second, change, budget) for change in pairs) > budget.rho


def test_squares_of_scores_that_are_not_shortened_are_found_out(monkeypatch):
    """A control: where each number of a squared score is within the grid alone, a pair costs more than the budget."""

    def in_cube(self, products, scores, most):
        """Return squares of scores within a cube, not a ball."""
        corners = np.asfortranarray(np.sign(scores) * GRID, dtype=np.int16)
        return np.concatenate([products, np.pad(exact_moments(corners), ((0, 0), (0, 1)))])

    monkeypatch.setattr(Whitening, "_joined", in_cube)
    second, pairs = changes("add_or_remove_one", 1, 0.7)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), 100, GRID**2 // 2)
    assert budget.rho is not None
    assert max(price(second, change, budget) for change in pairs) > budget.rho


def cost_of_the_look(relation, c, delta):
    """The most that units of c rows change the sums of directions by, over what is charged."""
    rng = np.random.default_rng(5)  # noqa: TID251 - rows, not noise
    facts = in_box(3, 0, relation, True, c).design.metadata
    row_map = Whitening(np.eye(4), np.zeros(4), 9.0, 0.4, 0.05, np.ones(4))
    sizes = (-1.0, -0.06, 0.01, 0.06, 0.11, 0.5, 1.0)
    units = [np.tile([GRID, GRID, -GRID, 0, int(size * GRID)], (c, 1)) for size in sizes]
    units += [rng.integers(-GRID, GRID + 1, (c, 5)) for _ in range(20)]
    sums = [Directions(row_map, np.arange(5)).rows(unit.astype(np.int16)) * GRID for unit in units]
    if relation == "replace_one":
        sums = [one - other for one, other in itertools.combinations(sums, 2)]
    estimate, budget = sums_of_directions(facts, 4), NoiseBudget.of(Fraction(1), delta, 100, GRID**2 // 2)
    length = max(float(np.linalg.norm(change.astype(float))) for change in sums)
    limit = float(budget.epsilon or 0) if budget.rho is None else float(2 * budget.rho) ** 0.5
    return length / float(estimate.scale(budget)) / limit


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_no_unit_turns_the_look_by_more_than_is_charged(relation, c, delta):
    """The worst unit has all its rows in one octave, and its other content as long, the other way."""
    assert 0.999 < cost_of_the_look(relation, c, delta) <= 1.0


def test_a_look_at_lengths_without_an_end_is_found_out(monkeypatch):
    """A control: where each number of a direction is rounded up to the grid, a row costs more than is charged."""
    whole = Whitening.directions
    monkeypatch.setattr(Whitening, "directions", lambda self, cells: np.sign(whole(self, cells)) * GRID * len(cells))
    assert cost_of_the_look("add_or_remove_one", 1, Fraction(0)) > 1.0


def test_a_second_pass_for_nothing_is_found_out(monkeypatch):
    """A control: passes that each spend the whole budget are seen to spend more than is charged."""
    monkeypatch.setattr(NoiseBudget, "part", lambda budget, share: budget)
    pair = pair_of([], HIGH, LOW, "add_or_remove_one", 1)
    with pytest.raises(AssertionError, match="of what is charged"):
        case("two passes", "linear", enough=0.0, delta=1e-6).compared(pair, "add_or_remove_one")


def simulated(n, seed, relation="replace_one"):
    """A table of two correlated columns in narrow parts of their bounds."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    shared = rng.normal(size=n)
    x = 0.2 * np.tanh(0.9 * shared[:, None] + 0.4 * rng.normal(size=(n, 2)))
    y = np.clip(0.5 * x[:, 0] - 0.3 * x[:, 1] + 0.1 * rng.normal(size=n), -1, 1)
    design = in_box(2, 0, relation, True, 1).design
    facts = design.metadata.model_copy(update={"n_rows": n if relation == "replace_one" else None})
    return open_table(pa.table({"x0": x[:, 0], "x1": x[:, 1], "y": y}), facts), facts, x, y


@pytest.mark.parametrize("relation", RELATIONS)
def test_at_a_large_epsilon_it_is_least_squares(relation):
    """Every estimate lies within half a standard error of the fit without noise."""
    table, facts, x, y = simulated(5000, 1, relation)
    X = np.column_stack([np.ones(len(y)), x])
    plain = np.linalg.lstsq(X, y)[0]
    error = np.sqrt(np.diagonal(np.linalg.inv(X.T @ X)) * np.mean((y - X @ plain) ** 2))
    for delta in (0.0, 1e-6):
        outcome = method_of("linear", epsilon=1000.0, delta=delta).prepare(facts, "y").run(table, Source.seeded(2))
        assert outcome.moments.whitened is not None
        estimates = np.array([entry.estimate for entry in outcome.fit.coefficients])
        assert np.all(np.abs(estimates - plain) < 0.5 * error)


def test_a_second_pass_tells_what_one_cannot(monkeypatch):
    """Of columns that fill a fifth of their bounds; and most of what is told is right."""
    widths = {}
    for enough in (1e9, linear.ENOUGH):
        monkeypatch.setattr(linear, "ENOUGH", enough)
        found = []
        for seed in range(30):
            table, facts, _, _ = simulated(20_000, seed)
            outcome = method_of("linear", epsilon=2.0, delta=1e-6).prepare(facts, "y").run(table, Source.seeded(seed))
            found.append([entry.interval for entry in outcome.fit.coefficients])
        ends = np.array(found)
        widths[enough] = np.median(ends[:, 1:, 1] - ends[:, 1:, 0])
    truth = np.array([0.0, 0.5, -0.3])
    assert widths[linear.ENOUGH] < widths[1e9] / 3
    assert 0.88 <= np.mean((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])) <= 1.0
