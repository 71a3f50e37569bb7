"""Plain rows with declared moments, or unit rows of which all is bought: what public facts say."""

import numpy as np
import pytest

from discreet.data.engines.arrays import ArraysTable
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

EVEN, RARE = {"mean": 0.0, "sd": 3**-0.5}, {"mean": -0.7, "sd": 0.714}
NAMES = [f"x{j}" for j in range(6)]


def metadata(relation="replace_one", n_rows=1000):
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    columns = dict.fromkeys(NAMES, box) | {"y": {**box, "lower": -4, "upper": 4}}
    known = {"n_rows": n_rows} if relation == "replace_one" else {}
    return Metadata.from_value({"dataset": "toy", "unit": "row", "neighboring": relation, "columns": columns} | known)


def prepared(stated, epsilon, relation="replace_one", **options):
    method = method_of("moments", epsilon=epsilon, y_bound="private", n0=1000, design_moments=stated, **options)
    return method.prepare(metadata(relation), "y")


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize(
    ("stated", "uncorrelated", "delta", "epsilon", "is_unit"),
    [
        (dict.fromkeys(NAMES, EVEN), True, 1e-6, 1.0, True),
        (dict.fromkeys(NAMES, EVEN), True, 0.0, 0.5, False),
        (dict.fromkeys(NAMES, EVEN), False, 0.0, 0.5, True),
        (dict.fromkeys(NAMES, RARE), True, 1e-6, 0.5, False),
        ({"x0": EVEN}, False, 0.0, 1.0, True),
    ],
)
def test_rows_are_those_with_less_error(stated, uncorrelated, delta, epsilon, is_unit, relation):
    """Unit rows where X'y has most of the noise, plain ones where the moments that are declared save more."""
    plan = prepared(stated, epsilon, relation, uncorrelated=uncorrelated, delta=delta)
    assert plan.sums.is_unit == is_unit
    assert bool(plan.sums.declared) != is_unit


def test_what_is_declared_is_used_where_coefficients_are_asked():
    """Unit rows are for selections alone."""
    plan = prepared(dict.fromkeys(NAMES, EVEN), 1.0, question="coefficients", uncorrelated=True, delta=1e-6)
    assert not plan.sums.is_unit
    assert len(plan.sums.declared) == len(NAMES)


def right(options, epsilon, make, n_tables=30):
    """Share of tables of which the first three columns are selected, and no other."""
    selected = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        X = make(rng, 1000)
        y = X[:, :3].sum(axis=1) - 3 * X.mean() + rng.standard_normal(1000)
        table = ArraysTable({**dict(zip(NAMES, X.T, strict=True)), "y": y}, metadata())
        method = method_of("moments", epsilon=epsilon, y_bound="private", n0=1000, **options)
        selected.append(method.prepare(table.metadata, "y").run(table, Source.seeded(seed)).selected)
    return np.mean([names == tuple(NAMES[:3]) for names in selected])


def evenly(rng, n):
    return rng.uniform(-1, 1, (n, 6))


def rarely(rng, n):
    return np.where(rng.random((n, 6)) < 0.15, 1.0, -1.0)


@pytest.mark.parametrize(("make", "stated"), [(evenly, EVEN), (rarely, RARE)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_declaring_moments_does_not_hurt(make, stated, delta):
    """The right columns are found no less often than without: by more than two standard errors would be a fault."""
    declared = {"design_moments": dict.fromkeys(NAMES, stated), "uncorrelated": True, "delta": delta}
    without, having = right({"delta": delta}, 0.7, make), right(declared, 0.7, make)
    assert having >= without - 2.0 * (0.5 / 30) ** 0.5


def correlated(rng, n):
    shared = rng.standard_normal((n, 1))
    return np.clip((shared + rng.standard_normal((n, 6))) / 3.0, -1, 1)


@pytest.mark.parametrize("make", [evenly, correlated])
def test_a_pure_epsilon_finds_more_the_larger_it_is(make):
    """At epsilon 1, 2 and 4, correlated columns too."""
    shares = [right({}, epsilon, make) for epsilon in (1.0, 2.0, 4.0)]
    assert shares[2] >= 0.8
    assert shares[1] >= shares[0] - 0.15
    assert shares[2] >= shares[1] - 0.15
