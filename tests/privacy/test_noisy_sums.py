"""The sensitivities of noisy sums against the worst rows: never above what is claimed, and attained."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.methods.base.noise_budget import NoiseBudget, drawn_together
from discreet.methods.moments import noisy_sums
from discreet.methods.moments.noisy_sums import BLOCKS, NoisySums
from tests.privacy.odd_tables import pair_of, plain
from tests.privacy.replayed import case

SHARES = {
    "add_or_remove_one": (Fraction(3, 5), Fraction(1, 5), Fraction(1, 10), Fraction(1, 10)),
    "replace_one": (Fraction(1), Fraction(1, 4), Fraction(1, 2), Fraction(0)),
}
"""What they cost together is 1: under replace, X'X and y'y are free beside X'y."""


def sums(n_numeric, n_categories, neighboring, intercept, row_norm=None, rows_per_unit=1):
    """Noisy sums over numeric columns and categories of three levels; a norm of None is a box, 0 asks for unit rows."""
    found = in_box(n_numeric, n_categories, neighboring, intercept, rows_per_unit)
    design = found.design
    if row_norm == 0:
        design = replace(design, unit_bound=design.bound, bound=0.6 * design.bound)
    elif row_norm is not None:
        design = replace(design, row_norm=row_norm)
    return replace(found, design=design)


def in_box(n_numeric, n_categories, neighboring, intercept, rows_per_unit):
    """Noisy sums over numeric columns and categories of three levels."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1, "source": "s"} for j in range(n_numeric)}
    columns |= {f"c{j}": {"type": "category", "levels": ["a", "b", "c"], "source": "s"} for j in range(n_categories)}
    columns["y"] = {"type": "real", "lower": -1, "upper": 1, "source": "s"}
    metadata = Metadata.from_value(
        {
            "schema": "discreet/metadata@1",
            "dataset": "toy",
            "unit": "person",
            "neighboring": neighboring,
            **({"n_rows": 10} if neighboring == "replace_one" else {}),
            **({"rows_per_unit": rows_per_unit, "unit_id": "id"} if rows_per_unit > 1 else {}),
            "columns": columns,
        }
    )
    return NoisySums(Design.plan(metadata, "y"), intercept, {}, uncorrelated=False)


def rows(found, rng, count):
    """Extreme and random rows, as encoded products of one row each."""
    design = found.design
    cells = {}
    for name in design.columns:
        if name.startswith("c"):
            cells[name] = rng.choice(["a", "b", "c", "none"], count)
        else:
            cells[name] = np.where(rng.random(count) < 0.7, rng.choice([-1.0, 1.0], count), rng.uniform(-1, 1, count))
            if name != "y" and design.row_norm is not None:
                cells[name] = cells[name] * (rng.random(count) < 0.4)
    encoded = design.encode(pa.RecordBatch.from_pydict(cells))
    return [exact_moments(encoded[i : i + 1]) for i in range(count)]


def blocks(found, moments):
    """The released vectors of one row, in whole steps."""
    at = np.array(found.columns)
    gram = moments[np.ix_(at, at)]
    parts = (
        moments[at, -1],
        np.diagonal(gram)[np.diagonal(found.noisy_entries)],
        gram[np.triu(found.noisy_entries, 1)],
        moments[-1:, -1],
        moments[:1, 0],
    )
    return dict(zip(BLOCKS, (part.astype(object) for part in parts), strict=True))


def pairs_of(found, count=60):
    """What neighbors change, block by block."""
    singles = [blocks(found, one) for one in rows(found, np.random.default_rng(1), count)]  # noqa: TID251 - rows, not noise
    if found.design.metadata.n_rows is None:
        return singles
    return [{name: one[name] - other[name] for name in BLOCKS} for one, other in itertools.combinations(singles, 2)]


CASES = [
    (3, 0, True, None),
    (4, 0, False, None),
    (1, 2, True, None),
    (0, 3, False, None),
    (3, 0, True, 1.0),
    (3, 1, False, 0.8),
    (2, 2, True, 0.5),
    (3, 0, True, 0),
    (2, 2, True, 0),
]


@pytest.mark.parametrize(("n_numeric", "n_categories", "intercept", "row_norm"), CASES)
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_no_pair_of_rows_costs_more_than_the_budget(n_numeric, n_categories, intercept, row_norm, neighboring):
    """Squared changes over twice the squared scales, all blocks together, add up to at most rho."""
    found = sums(n_numeric, n_categories, neighboring, intercept, row_norm)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), *found.size)
    weights = {one.name: 1 / (2 * one.scale(budget) ** 2) for one in found.estimates(SHARES[neighboring])}
    worst = max(
        sum((weight * int((change[name] ** 2).sum()) for name, weight in weights.items()), Fraction(0))
        for change in pairs_of(found)
    )
    assert budget.rho is not None
    assert worst <= budget.rho
    assert row_norm is not None or worst > budget.rho / 3


@pytest.mark.parametrize(("n_numeric", "n_categories", "intercept", "row_norm"), CASES)
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_no_pair_of_rows_costs_more_than_a_pure_budget(n_numeric, n_categories, intercept, row_norm, neighboring):
    """Changes over the scales, all blocks together, have a length of at most epsilon."""
    found = sums(n_numeric, n_categories, neighboring, intercept, row_norm)
    budget = NoiseBudget.of(Fraction(1, 2), Fraction(0), *found.size)
    weights = {one.name: 1 / one.scale(budget) ** 2 for one in found.estimates(SHARES[neighboring])}
    worst = max(
        sum((weight * int((change[name] ** 2).sum()) for name, weight in weights.items()), Fraction(0))
        for change in pairs_of(found)
    )
    assert worst <= Fraction(1, 4)
    assert row_norm is not None or worst > Fraction(1, 12)


def test_a_pure_budget_is_used_up_by_a_turned_row():
    """A row against itself with y turned moves by a length of epsilon, nearly."""
    found = sums(4, 0, "replace_one", intercept=False)
    budget = NoiseBudget.of(Fraction(1, 2), Fraction(0), *found.size)
    one = np.full((1, 6), GRID, dtype=np.int16)
    turned = one * np.array([[1, 1, 1, 1, 1, -1]], dtype=np.int16)
    first, second = (blocks(found, exact_moments(row)) for row in (one, turned))
    spent = sum(
        int(((first[part.name] - second[part.name]) ** 2).sum()) / part.scale(budget) ** 2
        for part in found.estimates(SHARES["replace_one"])
    )
    assert Fraction(99, 400) < spent <= Fraction(1, 4)


def test_noise_that_is_drawn_block_by_block_is_found_out(monkeypatch):
    """A control: vectors of their own for each block, at the scales of one vector, cost more than epsilon."""
    apart = lambda estimates, values, budget, rng: {  # noqa: E731
        one.name: drawn_together([one], values, budget, rng)[one.name] for one in estimates
    }
    monkeypatch.setattr(noisy_sums, "drawn_together", apart)
    pair = pair_of([], plain(a=1, b=5, c="u", y=2), plain(a=-1, b=0, c="w", y=2), "replace_one", 1)
    with pytest.raises(AssertionError, match="of what is charged"):
        case("pure", "moments").compared(pair, "replace_one")


@pytest.mark.parametrize("half", [False, True])
def test_budget_is_used_up_by_the_worst_pair(half):
    """A row against its half mirror, or against itself with y turned, costs all of rho: no slack hides an error."""
    found = sums(4, 0, "replace_one", intercept=False)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), *found.size)
    one = np.array([[GRID, GRID, GRID, GRID, GRID, GRID]], dtype=np.int16)
    other = one * np.array([[1, 1, 1, -1, -1, 1]] if half else [[1, 1, 1, 1, 1, -1]], dtype=np.int16)
    first, second = (blocks(found, exact_moments(row)) for row in (one, other))
    spent = {
        part.name: int(((first[part.name] - second[part.name]) ** 2).sum()) / (2 * part.scale(budget) ** 2)
        for part in found.estimates(SHARES["replace_one"])
    }
    assert budget.rho is not None
    least = Fraction(99, 100) if not half else Fraction(7, 10)
    assert least * budget.rho < sum(spent.values(), Fraction(0)) <= budget.rho


def test_more_free_noise_than_is_free_is_found_out():
    """A control: shares beyond those that cost 1 together exceed rho on a pair of rows."""
    found = sums(4, 0, "replace_one", intercept=False)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), *found.size)
    shares = (Fraction(1), Fraction(1), Fraction(1), Fraction(0))
    weights = {one.name: 1 / (2 * one.scale(budget) ** 2) for one in found.estimates(shares)}
    worst = max(
        sum((weight * int((change[name] ** 2).sum()) for name, weight in weights.items()), Fraction(0))
        for change in pairs_of(found)
    )
    assert budget.rho is not None
    assert worst > budget.rho


def cost_of_a_turned_row(found):
    """What it costs, as a share of rho, that y turns in a row whose x is just as long as the norm."""
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), *found.size)
    norm = found.design.row_norm
    cells = {"x0": [norm, norm], "x1": [0.0, 0.0], "x2": [0.0, 0.0], "y": [1.0, -1.0]}
    encoded = found.design.encode(pa.RecordBatch.from_pydict(cells))
    first, second = (blocks(found, exact_moments(encoded[i : i + 1])) for i in range(2))
    costs = [
        int(((first[part.name] - second[part.name]) ** 2).sum()) / (2 * part.scale(budget) ** 2)
        for part in found.estimates(SHARES["replace_one"])
    ]
    return sum(costs, Fraction(0)) / budget.rho


@pytest.mark.parametrize("norm", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_row_as_long_as_the_norm_uses_the_budget_up(norm, intercept):
    """The bound of the norm counts the constant that is weighted with the row, and no more."""
    assert Fraction(99, 100) < cost_of_a_turned_row(sums(3, 0, "replace_one", intercept, norm)) <= 1


def test_a_norm_without_the_constant_is_found_out(monkeypatch):
    """A control: with the bound of x alone the weighted constant costs a quarter more than rho."""
    monkeypatch.setattr(NoisySums, "_squared_norm", lambda self: Fraction(self.design.row_norm) ** 2)
    assert cost_of_a_turned_row(sums(3, 0, "replace_one", True, 0.5)) > Fraction(6, 5)


def test_lattice_is_bounded():
    """What the lattice adds, from the scales, is at most what the budget reserved for it."""
    found = sums(6, 2, "replace_one", intercept=True)
    budget = NoiseBudget.of(Fraction(8), Fraction(1, 10**6), *found.size)
    weights = {one.name: 1 / one.scale(budget) ** 2 for one in found.estimates(SHARES["replace_one"])}
    worst = max(
        sum((weight * int(np.abs(change[name]).sum()) for name, weight in weights.items()), Fraction(0))
        for change in pairs_of(found)
    )
    assert worst <= budget.lattice
