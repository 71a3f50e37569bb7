"""The sensitivities of noisy sums against the worst rows: never above what is claimed, and attained."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.kernels.moments import GRID, exact_moments
from discreet.methods.noise_budget import NoiseBudget
from discreet.methods.noisy_sums import BLOCKS, NoisySums

SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))


def sums(n_numeric, n_categories, neighboring, intercept, row_norm=None, rows_per_unit=1):
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
    design = Design.plan(metadata, "y")
    if row_norm is not None:
        design = Design(metadata, "y", design.candidates, design.center, design.bound, row_norm)
    return NoisySums(design, intercept, {}, uncorrelated=False)


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
    gram = moments[np.ix_(at, at)][np.triu(found.paid)]
    return {"X'y": moments[at, -1], "X'X": gram, "y'y": moments[-1:, -1], "rows": moments[:1, 0] // GRID**2}


@pytest.mark.parametrize(
    ("n_numeric", "n_categories", "intercept", "row_norm"),
    [(3, 0, True, None), (4, 0, False, None), (1, 2, True, None), (0, 3, False, None), (3, 0, True, 1.0),
     (3, 1, False, 0.8)],
)  # fmt: skip
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_no_pair_of_rows_moves_the_sums_further_than_claimed(n_numeric, n_categories, intercept, row_norm, neighboring):
    """Squared l2 and l1 changes of every block stay within the purchase's sensitivities."""
    found = sums(n_numeric, n_categories, neighboring, intercept, row_norm)
    bought = {one.name: one for one in found.purchases(SHARES)}
    singles = [blocks(found, one) for one in rows(found, np.random.default_rng(1), 120)]
    empty = {name: np.zeros_like(part) for name, part in singles[0].items()}
    pairs = itertools.combinations(singles, 2) if neighboring == "replace_one" else ((one, empty) for one in singles)
    worst = dict.fromkeys(bought, Fraction(0))
    for first, second in pairs:
        for name, purchase in bought.items():
            change = first[name].astype(object) - second[name].astype(object)
            squared, total = int((change**2).sum()), int(np.abs(change).sum())
            assert squared <= purchase.l2
            assert total <= purchase.l1
            worst[name] = max(worst[name], squared / purchase.l2)
    assert worst["X'y"] == 1 or row_norm is not None
    assert worst["y'y"] > 0.9


@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_claims_are_attained(neighboring):
    """Rows of ones, and their half mirror, move X'X by exactly its sensitivity: no slack hides an error."""
    found = sums(4, 0, neighboring, intercept=False)
    bought = {one.name: one for one in found.purchases(SHARES)}
    one = np.array([[GRID, GRID, GRID, GRID, GRID, GRID]], dtype=np.int16)
    mirror = np.array([[GRID, GRID, GRID, -GRID, -GRID, GRID]], dtype=np.int16)
    change = blocks(found, exact_moments(one))["X'X"].astype(object)
    if neighboring == "replace_one":
        change = change - blocks(found, exact_moments(mirror))["X'X"].astype(object)
    assert int((change**2).sum()) == bought["X'X"].l2


def test_blocks_spend_the_budget_and_no_more():
    """Rho of the blocks, from the scales that are drawn with, adds up to at most the budget's."""
    found = sums(3, 1, "add_or_remove_one", intercept=True, rows_per_unit=3)
    budget = NoiseBudget.of(Fraction(1), Fraction(1, 10**6), found.n_numbers, GRID**2)
    bought = found.purchases(SHARES)
    assert [one.name for one in bought] == list(BLOCKS)
    assert sum(one.share for one in bought) == 1
    spent = sum(one.l2 / (2 * one.scale(budget) ** 2) for one in bought)
    assert budget.rho is not None
    assert Fraction(999, 1000) * budget.rho < spent <= budget.rho


def test_lattice_is_bounded():
    """What the lattice adds, from the scales, is at most what the budget reserved for it."""
    found = sums(6, 2, "replace_one", intercept=True)
    budget = NoiseBudget.of(Fraction(8), Fraction(1, 10**6), found.n_numbers, GRID**2)
    width = len(found.columns)
    counts = {"X'y": width, "X'X": width * (width + 1) // 2, "y'y": 1}
    spent = sum(
        float(one.l2 * counts[one.name]) ** 0.5 / float(one.scale(budget)) ** 2 for one in found.purchases(SHARES)
    )
    assert spent <= float(budget.lattice)


def test_pure_blocks_spend_the_budget_and_no_more():
    """Epsilon of the blocks adds up to at most the budget's."""
    found = sums(3, 1, "replace_one", intercept=True)
    budget = NoiseBudget.of(Fraction(1, 2), Fraction(0), found.n_numbers, GRID**2)
    spent = sum(one.l1 / one.scale(budget) for one in found.purchases(SHARES))
    assert Fraction(999, 2000) < spent <= Fraction(1, 2)
