"""The lazy search over all subsets against the exact law of their enumeration, and against neighbors."""

import dataclasses
import zlib

import numpy as np
import pytest

from discreet.kernels.subsets.model_scores import ModelScores
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms import reals, subset_race
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import NOISE_OF_MECHANISM
from discreet.mechanisms.subset_points import draw_exactly
from discreet.mechanisms.subset_search import noisy_min_subset
from tests.effort import either
from tests.privacy.laws import law, log_law, max_log_ratio
from tests.privacy.pairs import pinned, table_of
from tests.privacy.searches import Counted, Search, Steps, draws, p_value, search, searches
from tests.privacy.test_pcls import MECHANISMS, SHAPES, method, range_pair

pytestmark = pytest.mark.statistics

NOISES = ["exponential", "gumbel", "laplace"]
SAMPLE_SIZE = either(125, 400)
STEPS_SIZE = either(60, 300)
ALIKE_SIZE = either(40, 100)
CONTROL_SIZE = either(1_500, 2_500)
TWICE_SIZES = either({"exponential": 1_500, "gumbel": 3_000, "laplace": 2_000}, dict.fromkeys(NOISES, 5_000))
WRONG, SCALE_SIZE = either((1.4, 1_200), (1.15, 10_000))
"""Noise so many times too small is rejected by so many draws."""
EXACT_SIZE = 40
P_THRESHOLD = 1e-9
"""Cells of few draws have heavy tails: 1e-9 by the chi-square law can be 1e-7 in truth."""
SEARCHES = {
    f"{one.name}, {len(one.penalty)}": one
    for one in [*searches(8), *(each for each in searches(10) if each.tight == 0.0)]
}


def seed_of(*what):
    """A seed of its own for each test, the same in every run."""
    return zlib.crc32(repr(what).encode())


@pytest.mark.parametrize("noise", NOISES)
def test_the_law_of_many_candidates_is_that_of_few(noise):
    """Float quadrature and thirty digits agree."""
    for scores in ([0.0, 1.0, 2.5, 0.3, 9.0], [4.0, 4.0, 4.0], [0.0, 30.0], [0.0, 0.2, 7.0, 7.0, 7.0, 7.0]):
        expected = [float(each) for each in log_law(scores, 1.0, noise)]
        assert np.log(law(scores, noise)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", SEARCHES)
def test_lazy_draws_follow_the_law_of_the_enumeration(name, noise):
    """Every model wins as often as if each had its own noise."""
    one = SEARCHES[name]
    counts, steps = draws(one, noise, SAMPLE_SIZE, Source.seeded(seed_of(name, noise)))
    assert p_value(counts, one.law(noise)) > P_THRESHOLD
    if "divided" in name:
        assert steps.splits > 0.3 * SAMPLE_SIZE
        assert steps.bounds > 1.01 * SAMPLE_SIZE


@pytest.mark.parametrize("noise", NOISES)
def test_every_kind_of_step_occurs(noise):
    """Splits, better bounds, ignored points, single models, and models raced alone under the capped noise."""
    total = Steps()
    for name in ("at most one, divided, 8", "far apart, divided, 8"):
        total += draws(SEARCHES[name], noise, STEPS_SIZE, Source.seeded(seed_of(name)))[1]
    assert min(total.splits, total.ignored, total.finished) > 0
    assert total.bounds > 2 * STEPS_SIZE
    assert (total.taken_out > 0) == (noise == "exponential")


# ---- controls: what the comparison must reject


class Forgetful(Counted):
    """Generates points again where they were generated already."""

    def _is_explored(self, before, model, z):
        return False


class Boastful(Counted):
    """Its bounds lie above the scores of large models."""

    def _fit(self, inside, outside, parent):
        bound = super()._fit(inside, outside, parent)
        sizes = np.bitwise_count(np.arange(bound.table.shape[1]))
        return dataclasses.replace(bound, table=bound.table + 0.3 * sizes) if parent is None else bound


CONTROL = "at most one, divided, 10"


@pytest.mark.parametrize("noise", NOISES)
def test_the_comparison_accepts_the_search_itself(noise):
    """With as many draws as the control of points drawn twice."""
    one = SEARCHES[CONTROL]
    assert p_value(draws(one, noise, TWICE_SIZES[noise], Source.seeded(3))[0], one.law(noise)) > P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_a_wrong_scale_is_rejected(noise):
    """Noise that is too small."""
    one = SEARCHES["far apart, 8"]
    counts, _ = draws(one, noise, SCALE_SIZE, Source.seeded(4), epsilon=WRONG)
    assert p_value(counts, one.law(noise)) < P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_half_the_noise_is_rejected_by_the_draws_of_one_search(noise):
    """The searches above have few draws each: enough for that."""
    one = SEARCHES["far apart, 8"]
    counts, _ = draws(one, noise, SAMPLE_SIZE, Source.seeded(4), epsilon=2.0)
    assert p_value(counts, one.law(noise)) < P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_points_drawn_twice_are_rejected(noise):
    """Without the check of what was explored, a region's models get a second chance."""
    one = SEARCHES[CONTROL]
    counts, _ = draws(one, noise, TWICE_SIZES[noise], Source.seeded(5), Forgetful)
    assert p_value(counts, one.law(noise)) < P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_a_bound_above_the_score_is_rejected(noise):
    """The search then stops before it has seen all that can win."""
    one = SEARCHES["autoregressive, bound active, 8"]
    counts, _ = draws(one, noise, CONTROL_SIZE, Source.seeded(6), Boastful)
    assert p_value(counts, one.law(noise)) < P_THRESHOLD


# ---- exact arithmetic


def always_by_digits(self, other):
    """Compare without the floats."""
    digits = 40
    while True:
        (low, high), (less, more) = self.enclose(digits), other.enclose(digits)
        if high < less or low > more:
            return high < less
        digits *= 2


@pytest.mark.parametrize("noise", NOISES)
def test_digits_alone_follow_the_law(noise, monkeypatch):
    """Every comparison and every draw of a model by decimals; scores far from zero, as large tables have them."""
    one = search("small", "autoregressive", 3, 4, radius=0.6, penalty=0.7, spread=4.0)
    far = dataclasses.replace(one.divided(2), tight=0.3, points=2)
    monkeypatch.setattr(reals.Real, "__lt__", always_by_digits)
    monkeypatch.setattr(subset_race, "draw_model", _exact)
    counts, _ = draws(far, noise, EXACT_SIZE, Source.seeded(8))
    assert p_value(counts, far.law(noise)) > P_THRESHOLD


def _exact(bound, tables, words):
    picked = draw_exactly(tables, bound.limit, [reals.Uniform(words) for _ in tables])
    return bound.inside | bound.layout.model(np.array(picked))


@pytest.mark.parametrize("max_size", [4, 2])
@pytest.mark.parametrize("noise", NOISES)
def test_digits_reach_scores_of_ten_to_the_ninth(noise, max_size, monkeypatch):
    """Exponentials of such numbers are no decimals of the thread's own context."""
    one = search("large", "autoregressive", 4, 5, radius=0.6, penalty=0.0, spread=1e9, max_size=max_size)
    monkeypatch.setattr(reals.Real, "__lt__", always_by_digits)
    counts, _ = draws(one, noise, 2, Source.seeded(8))
    assert counts.argmax() == one.scores.argmin()


@pytest.mark.parametrize("noise", NOISES)
def test_tables_that_tell_nothing_are_searched(noise):
    """All cells zero, a target of zero, every model alike: one wins all the same, and the search ends."""
    d = 5
    for gram in (np.zeros((d, d)), 40.0 * np.eye(d), np.full((d, d), 7.0)):
        for penalty in (0.0, 2.0):
            problem = SubsetProblem(gram, np.zeros(d), 0.0, 1.0, np.eye(d, dtype=bool), np.zeros(d, dtype=bool), 1e-9)
            one = Search("nothing", problem, np.full(d, penalty), d)
            for each in (one, one.divided(2), dataclasses.replace(one, max_size=1).divided(1)):
                counts, _ = draws(each, noise, ALIKE_SIZE, Source.seeded(9))
                assert p_value(counts, each.law(noise)) > P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [1, 3, 10])
def test_fewer_rows_than_columns_are_searched(n, noise):
    """Thirty columns: a region's bound may be poor, but it is there."""
    rng = np.random.default_rng(n)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1.0, 1.0, (n, 30))
    y = np.clip(0.5 * X @ rng.normal(size=30), -1.0, 1.0)
    problem = SubsetProblem(X.T @ X, X.T @ y, float(y @ y), 3.0, np.eye(30, dtype=bool), np.zeros(30, dtype=bool), 1e-4)
    for seed in range(3):
        chosen = noisy_min_subset(problem, np.full(30, 4.0), 30, 8, 1, Source.seeded(seed), noise)
        assert 0 <= chosen < 2**30


# ---- neighbors


def searched_scores(rows, radius, bound, relation, penalty):
    """Every subset's score as the lazy search computes it, and Gamma with its inflation."""
    rows = np.atleast_2d(np.asarray(rows, dtype=float))
    names = [f"x{i + 1}" for i in range(rows.shape[1] - 1)]
    table = table_of(rows, names, "y", relation, bound)
    chosen = method("permute_and_flip", radius, 1.0)
    prepared = chosen.prepare(table.metadata, "y", names)
    problem = prepared._problem(table.moments(prepared.design, None))
    scores = ModelScores(problem)
    masks = np.arange(2 ** len(problem.units), dtype=np.uint64)
    found = [scores.value(int(mask)) for mask in masks]
    enumerated, _ = constrained_scores(problem, masks)
    values = np.array([value for value, _ in found])
    assert max(gap for _, gap in found) <= problem.tolerance
    rounding = 2.0**-44 * (problem.yty + float(np.abs(problem.gram).sum()) * problem.radius**2)
    assert np.abs(values + problem.yty - enumerated).max() <= problem.tolerance + rounding
    sizes = np.bitwise_count(masks)
    return values + penalty * sizes, float(prepared.calibration.gamma + prepared.calibration.inflation)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("bound", "radius"), SHAPES)
def test_neighbors_lose_at_most_epsilon(relation, mechanism, bound, radius):
    """The worst pairs, all subsets, on the scores that the race compares."""
    base = pinned(radius, bound, 1, (200,))
    against, fitted = np.array([-1.0, bound]), np.array([min(1.0, bound / radius), min(bound, radius)])
    adds = relation == "add_or_remove_one"
    pairs = [(base, [*base, against]) if adds else ([*base, fitted], [*base, against])]
    pairs += [range_pair(radius, bound, relation, lead) for lead in (0, 40)[-1 if mechanism == "laplace" else 0 :]]
    for one, other in pairs:
        found = [searched_scores(rows, radius, bound, relation, 0.1) for rows in (one, other)]
        assert found[0][1] == found[1][1]
        # Thirty digits of Laplace's law take a second.
        for epsilon in (1.0,) if mechanism == "laplace" else (0.1, 1.0, 4.0):
            laws = [log_law(scores, gamma / epsilon, NOISE_OF_MECHANISM[mechanism]) for scores, gamma in found]
            assert max_log_ratio(*laws) <= epsilon + 1e-9


@pytest.mark.parametrize("name", [name for name in SEARCHES if "divided" not in name])
def test_the_race_compares_the_scores_of_the_enumeration(name):
    """To the tolerance and rounding; and a model's score is the same whatever was asked before."""
    one = SEARCHES[name]
    scores = ModelScores(one.problem)
    models = [int(mask) for mask in one.masks]
    found = [scores.value(model) for model in models]
    backwards = {model: ModelScores.value(scores, model) for model in reversed(models)}
    assert [backwards[model] for model in models] == found
    enumerated, _ = constrained_scores(one.problem, one.masks)
    apart = np.abs(np.array([value for value, _ in found]) + one.problem.yty - enumerated)
    assert apart.max() <= one.problem.tolerance + 1e-11 * one.problem.yty
