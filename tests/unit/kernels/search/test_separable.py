"""A splitting bound never exceeds a score, and its sums and draws are those of its values."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare
from tests.unit.kernels.kernel_problems import simulated

from discreet.kernels.search import separable_blocks
from discreet.kernels.search.separable import Bound, SearchProblem
from discreet.kernels.search.separable_fit import fit
from discreet.kernels.subsets.model_scores import ModelScores
from discreet.kernels.subsets.problem import SubsetProblem

SAMPLE_SIZE = 20_000
P_THRESHOLD = 1e-8
DESIGNS = ["independent", "autoregressive", "one factor", "duplicated", "zero columns", "scaled", "signs"]


@dataclass
class Case:
    """A search problem and its models' scores."""

    problem: SearchProblem
    subsets: SubsetProblem

    def __post_init__(self) -> None:
        self.scores = ModelScores(self.subsets)
        self.known: dict[int, float] = {}

    def score(self, model: int) -> float:
        """As the search computes it."""
        if model not in self.known:
            cost = sum(float(self.problem.cost[j]) for j in range(len(self.problem.cost)) if model >> j & 1)
            self.known[model] = self.scores.value(model)[0] + cost
        return self.known[model]

    def models(self, inside: int = 0, outside: int = 0) -> list[int]:
        """Those of a region."""
        every = range(2 ** len(self.problem.cost))
        return [m for m in every if m & inside == inside and not m & outside and m.bit_count() <= self.problem.limit]


def columns(rng: Any, design: str, n: int, p: int) -> Any:
    """A table that a bound may find hard."""
    X = rng.uniform(-1.0, 1.0, (n, p))
    if design == "autoregressive":
        for j in range(1, p):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1.0 - 0.9**2) * X[:, j]
    elif design == "one factor":
        X = 0.4 * X + 0.9 * rng.uniform(-1.0, 1.0, (n, 1))
    elif design == "duplicated":
        X[:, p // 2 :] = X[:, : p - p // 2]
    elif design == "zero columns":
        X[:, rng.uniform(size=p) < 0.4] = 0.0
    elif design == "scaled":
        X *= 10.0 ** rng.uniform(-4.0, 0.0, p)
    elif design == "signs":
        X = np.sign(X)
    return X


def case(
    seed: int,
    d: int,
    *,
    design: str = "autoregressive",
    n: int = 200,
    times: float = 1.0,
    radius: float | None = None,
    penalty: float = 1.0,
    sizes: tuple[int, ...] = (1,),
    n_always: int = 0,
    limit: int | None = None,
) -> Case:
    """A problem in units of its noise; without a radius the l1 bound is far away."""
    rng = simulated(seed)
    of_unit = np.repeat(np.arange(d), [sizes[j % len(sizes)] for j in range(d)])
    p = len(of_unit) + n_always
    X = columns(rng, design, n, p)
    y = np.clip(X @ rng.normal(size=p) * rng.choice([0.0, 0.3, 1.0]) + 0.3 * rng.uniform(-1.0, 1.0, n), -1.0, 1.0)
    units = np.zeros((d, p), dtype=bool)
    units[of_unit, n_always + np.arange(len(of_unit))] = True
    gram, xty, yty = X.T @ X * times, X.T @ y * times, float(y @ y) * times
    if radius is None:
        radius = 10.0 + 2.0 * float(np.abs(np.linalg.lstsq(X, y, rcond=None)[0]).sum())
    always = np.arange(p) < n_always
    tolerance = 1e-10 * max(yty, 1.0)
    problem = SearchProblem(
        gram, xty, 0.0, radius, np.full(d, penalty), tuple(np.flatnonzero(unit) for unit in units),
        np.flatnonzero(always), d if limit is None else limit,
    )  # fmt: skip
    return Case(problem, SubsetProblem(gram, xty, yty, radius, units, always, tolerance))


def entries(bound: Bound, model: int) -> list[float]:
    """What the blocks' tables hold for a model."""
    return [
        float(table[sum((model >> unit & 1) << i for i, unit in enumerate(group))])
        for group, table in zip(bound.layout.groups, bound.table, strict=True)
    ]


def check(one: Case, bound: Bound) -> float:
    """Assert all that a bound promises on each of its region's models; return the least distance to a score."""
    models = one.models(bound.inside, bound.outside)
    values = np.array([bound.value(model) for model in models])
    scores = np.array([one.score(model) for model in models])
    assert (values <= scores).all(), float((values - scores).max())
    # Where no part cancels another, the sum of the blocks is the value up to the error that is stated.
    for model, value in list(zip(models, values, strict=True))[:: max(1, len(models) // 64)]:
        exactly = sum((Decimal(entry) for entry in entries(bound, model)), Decimal(bound.const))
        large = max([abs(bound.const), *(abs(entry) for entry in entries(bound, model))])
        assert abs(float(exactly) - value) <= bound.error + 2.0**-46 * large
    total = bound.log_weight(bound.tables(bound.inside, bound.outside))
    assert abs(total - logsumexp(-values)) <= bound.error + 1e-9 * (1.0 + abs(total))
    return float((scores - values).min())


def descend(one: Case, rng: Any, depth: int) -> None:
    """Check the bounds along one path of decisions, each from the bound before, and once from none."""
    inside, outside, bound = 0, 0, fit(one.problem)
    check(one, bound)
    for _ in range(depth):
        undecided = list(bound.layout.units)
        for unit in rng.permutation(undecided)[: rng.integers(1, 3)]:
            if rng.uniform() < 0.6:
                inside |= 1 << int(unit)
            else:
                outside |= 1 << int(unit)
        if (inside | outside).bit_count() >= len(one.problem.cost) or inside.bit_count() >= one.problem.limit:
            return
        tables = bound.tables(inside, outside)
        among = [bound.value(model) for model in one.models(inside, outside)]
        assert bound.log_weight(tables) == pytest.approx(float(logsumexp(-np.array(among))), abs=1e-6)
        check(one, fit(one.problem, inside, outside))
        bound = fit(one.problem, inside, outside, bound)
        check(one, bound)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("design", DESIGNS)
def test_no_score_lies_below_its_bound(design: str, seed: int, monkeypatch: Any) -> None:
    """Whatever the table, its size, the radius, penalties, units, limit and decisions."""
    rng = simulated(1000 * DESIGNS.index(design) + seed)
    monkeypatch.setattr(separable_blocks, "WIDTH", int(rng.choice([1, 2, 3, 8])))
    d = int(rng.integers(2, 10))
    one = case(
        seed,
        d,
        design=design,
        n=int(rng.choice([1, 5, 30, 300])),
        times=float(rng.choice([1e-3, 1.0, 1e3])),
        radius=[None, 1e-4, 0.1, 1.0, 30.0][rng.integers(5)],
        penalty=float(rng.choice([0.0, 0.5, 3.0, 1e4])),
        sizes=[(1,), (2, 1), (3, 1, 2)][rng.integers(3)],
        n_always=int(rng.integers(0, 3)),
        limit=int(rng.integers(1, d + 1)),
    )
    descend(one, rng, 4)


@pytest.mark.parametrize("radius", [None, 0.4])
@pytest.mark.parametrize("design", ["autoregressive", "duplicated"])
def test_no_score_of_twelve_units_lies_below_its_bound(design: str, radius: float | None) -> None:
    """All 4,096 models, in blocks of eight."""
    one = case(3, 12, design=design, radius=radius, times=2.0)
    check(one, fit(one.problem))


@pytest.mark.parametrize("times", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("n", [1, 40, 2000])
def test_no_score_of_many_rows_lies_below_its_bound(n: int, times: float) -> None:
    """Scores up to 10^9 noises: the margin covers the rounding."""
    for radius in (None, 0.3):
        descend(case(n, 7, design="one factor", n=n, times=times, radius=radius, penalty=2.0), simulated(n), 3)


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "scaled"])
def test_one_block_without_the_l1_bound_is_exact(design: str) -> None:
    """The bound is the score where nothing is left out: up to the ridge that it allows for."""
    for seed in range(3):
        one = case(seed, 6, design=design, sizes=(1, 2), n_always=1)
        monkey = pytest.MonkeyPatch()
        with monkey.context() as patch:
            patch.setattr(separable_blocks, "SIMILAR", -1.0)
            bound = fit(one.problem)
        assert len(bound.layout.groups) == 1
        models = one.models()
        apart = [one.score(model) - bound.value(model) for model in models]
        assert min(apart) >= 0.0
        assert max(apart) <= 1e-4


def test_a_table_of_zeros_has_a_bound() -> None:
    """Nobody's row says anything: every model scores its penalty."""
    one = case(0, 5, n=3, times=0.0, radius=1.0, penalty=0.5)
    descend(one, simulated(0), 3)


@pytest.mark.statistics
@pytest.mark.parametrize("limit", [9, 3])
def test_draws_follow_the_weights(limit: int) -> None:
    """A model is drawn with probability proportional to exp(-bound), within a limit too."""
    one = case(2, 9, radius=0.5, limit=limit, times=0.1, penalty=0.2)
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(separable_blocks, "WIDTH", 3)
        bound = fit(one.problem)
    tables, rng = bound.tables(0, 0), simulated(5)
    models = one.models()
    place = {model: i for i, model in enumerate(models)}
    counts = np.zeros(len(models))
    for uniforms in rng.uniform(size=(SAMPLE_SIZE, len(tables))):
        picked = bound.draw(tables, uniforms)
        assert picked is not None
        model = sum(
            (subset >> i & 1) << unit
            for group, subset in zip(bound.layout.groups, picked, strict=True)
            for i, unit in enumerate(group)
        )
        counts[place[model]] += 1
    expected = SAMPLE_SIZE * np.exp(-np.array([bound.value(m) for m in models]) - bound.log_weight(tables))
    assert expected.sum() == pytest.approx(SAMPLE_SIZE, rel=1e-9)
    common = expected >= 5.0
    observed, wanted = counts[common], expected[common]
    if not common.all():
        observed = np.append(observed, counts[~common].sum())
        wanted = np.append(wanted, expected[~common].sum())
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > P_THRESHOLD


def test_a_number_at_an_edge_is_not_decided_by_floats() -> None:
    """Numbers next to a cumulated weight are handed back."""
    one = case(2, 4, times=0.1)
    bound = fit(one.problem)
    tables = bound.tables(0, 0)
    weights = np.exp(-tables[0] - logsumexp(-tables[0]))
    edge = float(np.cumsum(weights)[len(weights) // 2])
    numbers = np.full(len(tables), 0.5)
    for shift, decided in ((0.0, False), (1e-12, False), (-1e-12, False), (1e-6, True)):
        numbers[0] = edge + shift
        assert (bound.draw(tables, numbers) is not None) == decided


def test_a_region_without_a_model_has_no_weight() -> None:
    """More units decided in than the limit allows."""
    one = case(1, 6, limit=2)
    bound = fit(one.problem)
    assert bound.log_weight(bound.tables(0b111, 0)) == -np.inf
