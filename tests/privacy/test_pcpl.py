"""The profile likelihood on its worst neighbors: the exact joint law of the published sum and of the choice."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.methods.subset_selection.pcpl import ProfileLikelihood, _published_scale, _published_scores
from discreet.methods.subset_selection.sum_of_squares import squares_scale, squares_step
from tests.privacy.laws import log_law, max_log_ratio
from tests.privacy.pairs import pinned, table_of

RELATIONS = ["replace_one", "add_or_remove_one"]
N = 40


class Exact:
    """A method on rows, with its models' sums of squares: everything that its laws rest on."""

    def __init__(self, method, rows, relation, bound=1.0, units=None, **metadata):
        rows = np.atleast_2d(np.asarray(rows, dtype=float))
        names = [f"x{i + 1}" for i in range(rows.shape[1] - 1)]
        table = table_of(rows, names, "y", relation, bound, units=units, **metadata)
        self.prepared = method.prepare(table.metadata, "y", names)
        setting = self.prepared.setting
        self.profile = self.prepared.scores(setting)
        self.sensitivity = self.profile.sensitivity
        masks = setting.space.masks()
        moments = table.moments(setting.design)
        self.sums = setting.scores(moments, masks, float(self.sensitivity.tolerance))
        self.counted = setting.counted(masks)
        self.step = squares_step(self.sensitivity)
        self.least = math.floor(Fraction(float(self.sums.min())) / self.step)
        paid = self.prepared.split.squares
        self.scale = squares_scale(self.sensitivity, paid) if paid else None

    def log_squares(self, whole):
        """Log-probability that the published sum is this many steps, from the definition."""
        with mpmath.workdps(30):
            scale = mpmath.mpf(self.scale.numerator) / self.scale.denominator
            return mpmath.log(mpmath.tanh(1 / (2 * scale))) - abs(whole - self.least) / scale

    def log_choice(self, whole):
        """Log-probabilities of the models, given the published sum."""
        split = self.prepared.split
        choice, scores = self.profile.scored(whole * self.step, self.sums, self.counted)
        scale = float((choice.gamma + choice.inflation) / split.selection)
        return log_law(scores, scale, self.prepared.method.noise_law)

    def bound(self, whole):
        return self.profile.bound(whole * self.step)

    def largest_good(self):
        """The largest published sum whose bound still lies below the true least sum."""
        true = Fraction(float(self.sums.min())) - self.sensitivity.error
        low, high = self.least - 10**12, self.least + 10**12
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.bound(middle) <= true else (low, middle)
        return low


def swap(relation, extra, rows=1):
    """P5: two pinned models; rows that fit one and miss the other change sides, or come. `extra` rows fit neither."""
    base = pinned(1.0, 1.0, 2, (8 * rows, 8 * rows)) + [np.array([0.0, 0.0, 1.0])] * extra
    row, mirror = [np.array([-1.0, 1.0, 1.0])] * rows, [np.array([1.0, -1.0, 1.0])] * rows
    if relation == "add_or_remove_one":
        return base, [*base, *row]
    return [*base, *row], [*base, *mirror]


def method(epsilon, mechanism="permute_and_flip", **more):
    return ProfileLikelihood(
        epsilon=epsilon,
        mechanism=mechanism,
        l1_radius=1.0,
        model_penalty=0.0,
        fit_intercept=False,
        models=(("x1",), ("x2",)),
        n0=N,
        y_center="middle",
        y_bound="furthest",
        **more,
    )


def probe(one):
    """Published sums to look at: around the least, at the edges where the choice changes its kind, far away."""
    spread = int(one.scale)
    edge = one.largest_good()
    low, high = one.least - 10**12, edge
    threshold = one.profile.threshold
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if one.bound(middle) > threshold else (middle, high)
    around = [one.least + k * spread // 2 for k in range(-6, 7)]
    between = [low + (edge - low) * k // 8 for k in range(9)]
    return sorted({w for w in (*around, *between, low, low + 1, edge - 1, edge) if w <= edge})


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 8.0])
@pytest.mark.parametrize("extra", [0, 30, 400])
def test_joint_law_loses_at_most_epsilon_where_the_bound_holds(relation, mechanism, epsilon, extra):
    """P5: for every published sum whose bound holds, and every model, the joint laws differ by at most epsilon."""
    one, other = (Exact(method(epsilon, mechanism), rows, relation) for rows in swap(relation, extra))
    assert (one.scale, one.step) == (other.scale, other.step)
    for first, second in ((one, other), (other, one)):
        for whole in probe(first):
            apart = first.log_squares(whole) - second.log_squares(whole)
            assert abs(apart) <= float(first.prepared.split.squares) + 1e-12
            for a, b in zip(first.log_choice(whole), second.log_choice(whole), strict=True):
                assert float(apart + a - b) <= epsilon + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_bound_fails_with_at_most_delta_and_nearly_so(relation, delta, epsilon):
    """The exact tail of the discrete noise beyond the last sum whose bound holds."""
    for rows in swap(relation, 30):
        one = Exact(method(epsilon, delta=delta), rows, relation)
        beyond = one.largest_good() + 1 - one.least
        with mpmath.workdps(40):
            q = mpmath.exp(-mpmath.mpf(one.scale.denominator) / one.scale.numerator)
            tail = q**beyond / (1 + q)
        assert 0.9 * delta < tail <= delta


@pytest.mark.parametrize("relation", RELATIONS)
def test_joint_law_uses_a_good_part_of_epsilon(relation):
    """The bound above is not idle: some published sum comes near the price of the choice."""
    one, other = (Exact(method(8.0, "exponential"), rows, relation) for rows in swap(relation, 400))
    losses = [max_log_ratio(one.log_choice(w), other.log_choice(w)) for w in probe(one)]
    assert max(losses) > 0.2 * float(one.prepared.split.selection)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("extra", [30, 400])
def test_units_of_several_rows_lose_at_most_epsilon(relation, extra):
    """All rows of a unit at once: every sensitivity is multiplied by their number."""
    c, laws = 3, []
    for rows in swap(relation, extra, c):
        ids = [*range(16 * c + extra), *[9999] * (len(rows) - 16 * c - extra)]
        laws.append(Exact(method(2.0), rows, relation, units=ids, rows_per_unit=c, unit_id="id"))
    one, other = laws
    moved = np.abs(one.sums - other.sums).max()
    assert float(one.sensitivity.size) * 0.99 < moved <= float(one.sensitivity.size + one.sensitivity.error)
    for first, second in ((one, other), (other, one)):
        for whole in probe(first):
            apart = first.log_squares(whole) - second.log_squares(whole)
            for a, b in zip(first.log_choice(whole), second.log_choice(whole), strict=True):
                assert float(apart + a - b) <= 2.0 + 1e-9


def worse_of_two(sums, epsilon, delta, n, printed):
    """P(the worse of two models by the score) under the published noise, |G| as its scale, Z_G drawn once."""
    scores = _published_scores(np.array(sums), np.zeros(2), n) if printed else n * np.log(np.array(sums))
    gap, kink = abs(float(scores[0] - scores[1])), math.log(1 / (2 * delta)) - epsilon * (min(sums) - 1.0)

    def integrand(z):
        g = gap / _published_scale(min(sums), 1.0, float(z), epsilon, delta, n)
        return mpmath.exp(-abs(z)) / 2 * (mpmath.mpf(1) / 2 + g / 4) * mpmath.exp(-g)

    ends = sorted([-60, -20, 0, 20, 60, *(kink + k for k in (-1, -0.1, 0, 0.1, 1))])
    return mpmath.quad(integrand, ends)


@pytest.mark.parametrize(("epsilon", "loss"), [(0.1, 1.98), (0.5, 1.91), (1.0, 1.82)])
def test_the_published_noise_is_flagged(epsilon, loss):
    """Control P6: RSS (3, 2) turned into (2, 3) sensitivities, |G| as scale: the loss of the specification's A7."""
    worse = worse_of_two((3.0, 2.0), epsilon, 1e-5, N, printed=False)
    assert float(mpmath.log((1 - worse) / worse)) == pytest.approx(loss, abs=5e-3)


def test_the_published_algorithm_is_flagged_with_its_sign_too():
    """Control P6: as printed, half the likelihood and its sign wrong, it still loses five times its claim of 0.2."""
    worse = worse_of_two((3.0, 2.0), 0.1, 1e-5, N, printed=True)
    assert float(mpmath.log((1 - worse) / worse)) > 1.0


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_corrected_noise_on_the_same_pairs_stays_within_its_claim(epsilon):
    """P5 with RSS about (3.5, 2.5), (12, 11) and (101, 100) sensitivities: far below the published claim too."""
    for extra in (0, 34, 390):
        one, other = (
            Exact(method(2 * epsilon, delta=1e-5), rows, "replace_one") for rows in swap("replace_one", extra)
        )
        total = [0.0, 0.0]
        for law, place in ((one, 0), (other, 1)):
            grid = np.linspace(-30, 30, 121)
            weights = np.exp(-np.abs(grid))
            chances = [math.exp(float(law.log_choice(law.least + int(z * float(law.scale)))[0])) for z in grid]
            total[place] = float(weights @ np.array(chances) / weights.sum())
        assert abs(math.log(total[0] / total[1])) <= 2 * epsilon


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
@pytest.mark.parametrize("floor", [0.01, 0.3, 4.0])
def test_floored_likelihood_is_pure(relation, mechanism, floor):
    """Specification 2.5: no delta; the range bound holds and is nearly reached; the loss is at most epsilon."""
    chosen = method(1.0, mechanism, variance_floor=floor)
    found = []
    for rows in swap(relation, 0):
        one = Exact(chosen, rows, relation)
        choice, scores = one.profile.floored(one.sums, one.counted)
        found.append((scores, float(choice.gamma + choice.inflation), choice))
        assert guarantee_of(one.prepared.event, one.prepared.tuning.metadata.neighboring).delta == 0
        assert len(one.sums) == 2
        assert one.prepared.steps == ()
    (scores, gamma, choice), (moved, again, _) = found
    assert gamma == again
    assert np.ptp(moved - scores) <= float(choice.gamma)
    laws = [log_law(each, gamma, chosen.noise_law) for each in (scores, moved)]
    assert max_log_ratio(*laws) <= 1.0 + 1e-9


def test_the_floored_range_is_nearly_reached():
    """One model's sum from nothing to one sensitivity, another's back: twice n log(1 + Delta / (n s0^2))."""
    one = Exact(method(1.0, variance_floor=0.3), np.zeros((N, 3)), "replace_one")
    profile, size = one.profile, float(one.sensitivity.size)
    floor = Fraction(3, 10)
    before, after = (profile.floored(np.array(sums), np.zeros(2))[1] for sums in ((0.0, size), (size, 0.0)))
    assert np.ptp(after - before) == pytest.approx(float(profile.floored_gamma(floor)), rel=1e-9)
    assert np.ptp(after - before) <= float(profile.floored_gamma(floor))


@pytest.mark.parametrize("bound", [1.5, 2.0, 10.0, 1e4])
@pytest.mark.parametrize("relation", RELATIONS)
def test_range_bound_is_that_of_the_specification_and_is_reached(relation, bound):
    """2.1: log-form ranges at f_min = L, reached by one sum up and one down, or one of them alone."""
    one = Exact(method(1.0), np.zeros((N, 3)), relation)
    profile, size = one.profile, float(one.sensitivity.size)
    least = bound * size
    gamma = float(profile.gamma(Fraction(bound) * one.sensitivity.size))
    up = N * math.log1p(1.0 / bound)
    down = -N * math.log1p(-1.0 / bound)
    expected = up + down if relation == "replace_one" else down
    assert gamma == pytest.approx(expected, rel=1e-9)
    sums = np.array([[least, least], [least + size, least - size]])
    moved = np.diff([profile.log_likelihoods(each) for each in sums], axis=0)
    assert np.ptp(moved) == pytest.approx(up + down, rel=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((30, 3)),
        np.column_stack([np.linspace(-1, 1, 30), np.ones(30), np.linspace(-0.9, 0.9, 30)]),
        np.column_stack([np.zeros(30), np.zeros(30), np.ones(30)]),
        np.ones((1, 3)),
        np.full((30, 3), np.nan),
    ],
    ids=["nothing", "perfect fit", "constant target", "one row", "missing"],
)
def test_degenerate_tables_are_answered(relation, rows):
    """Perfect fits, constants and next to no rows: the bound is below its threshold and the choice uniform."""
    one = Exact(method(1.0), rows, relation)
    law = one.log_choice(one.least)
    assert [float(p) for p in law] == pytest.approx([math.log(0.5)] * 2)


def test_a_bound_that_is_never_positive_gives_a_uniform_choice():
    """At a tiny epsilon the noise of the sum hides all of it: every published sum near the true one is too small."""
    one = Exact(method(0.001), swap("replace_one", 30)[0], "replace_one")
    for whole in (one.least - int(one.scale), one.least, one.least + 3 * int(one.scale)):
        assert one.bound(whole) < 0
        assert [float(p) for p in one.log_choice(whole)] == pytest.approx([math.log(0.5)] * 2)
