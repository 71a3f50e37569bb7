"""The noisy minimum against its exact law, and against neighbors at the edge of its sensitivity."""

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import InvalidParameterError
from discreet.mechanisms import selection
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from tests.effort import either
from tests.privacy.laws import law, log_law, max_log_ratio

pytestmark = pytest.mark.statistics

NOISES = ["exponential", "gumbel", "laplace"]
SAMPLE_SIZE = either(4_000, 20_000)
DECIDED_SAMPLE_SIZE = either(500, 3_000)
WRONG, CONTROL_SIZE = either((1.3, 6_000), (1.15, 30_000))
"""A scale so far off is rejected by so many draws."""
ALIKE_SIZE = either(150, 400)
THEIR_SIZE = either(2_000, 4_000)
SCALE = 2.0 / 1.5
P_THRESHOLD = 1e-8
"""A right sampler fails by chance no more often than that, and a control is missed as rarely."""

SCORES = [
    [0.0, 1.0, 2.0, 0.5, 3.0],
    [5.0, 5.0, 5.0],
    [-7.0, -6.5],
    [0.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0],
]


def draws(scores, noise, n, seed, gamma=2.0, epsilon=1.5):
    rng = Source.seeded(seed)
    picks = [noisy_min(scores, gamma, epsilon, rng, noise) for _ in range(n)]
    return np.bincount(picks, minlength=len(scores))


def p_value(counts, scores, noise):
    expected = law(np.array(scores) / SCALE, noise) * counts.sum()
    keep = expected >= 5
    observed = np.append(counts[keep], counts[~keep].sum())
    wanted = np.append(expected[keep], expected[~keep].sum())
    used = wanted > 0
    return chisquare(observed[used], wanted[used] * observed.sum() / wanted[used].sum()).pvalue


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("place", range(len(SCORES)))
def test_draws_follow_the_exact_law(noise, place):
    """The sampler's frequencies agree with the law computed by quadrature."""
    counts = draws(SCORES[place], noise, SAMPLE_SIZE, seed=11 + place)
    assert p_value(counts, SCORES[place], noise) > P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_the_comparison_rejects_a_wrong_scale(noise):
    """A scale that is off is rejected: the test above has power."""
    counts = draws(SCORES[0], noise, CONTROL_SIZE, seed=5, epsilon=1.5 * WRONG)
    assert p_value(counts, SCORES[0], noise) < P_THRESHOLD


def test_the_noises_are_told_apart():
    """The law of one noise rejects the draws of another."""
    counts = draws(SCORES[0], "exponential", SAMPLE_SIZE, seed=5)
    assert p_value(counts, SCORES[0], "gumbel") < P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_more_bits_follow_the_same_law(noise, monkeypatch):
    """When every comparison is sent to exact arithmetic the law is the same."""
    monkeypatch.setattr(selection, "_FLOAT_ERROR", 1e9)
    counts = draws(SCORES[0], noise, DECIDED_SAMPLE_SIZE, seed=3)
    assert p_value(counts, SCORES[0], noise) > P_THRESHOLD


@pytest.mark.parametrize("noise", NOISES)
def test_float_and_exact_arithmetic_choose_alike(noise, monkeypatch):
    """The same first bits lead to the same winner whichever arithmetic decides."""
    fast = [noisy_min(SCORES[0], 2.0, 1.5, _Replayed(seed), noise) for seed in range(ALIKE_SIZE)]
    monkeypatch.setattr(selection, "_FLOAT_ERROR", 1e9)
    assert [noisy_min(SCORES[0], 2.0, 1.5, _Replayed(seed), noise) for seed in range(ALIKE_SIZE)] == fast


class _Replayed(Source):
    """The same first words for the same seed; further bits from another stream."""

    def __init__(self, seed):
        self.first, self.rest = Source.seeded(seed), Source.seeded(10_000 + seed)

    def words(self, count):
        return (self.first if count > 1 else self.rest).words(count)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_equal_words_are_decided_by_further_bits(noise, word):
    """Ties in the first 64 bits, extreme ones included, are broken by more bits, each candidate winning sometimes."""

    class Stuck(Source):
        def __init__(self, seed):
            self.rest = Source.seeded(seed)

        def words(self, count):
            return np.full(count, word, dtype=np.uint64) if count > 1 else self.rest.words(1)

    winners = {noisy_min([1.0, 1.0], 1.0, 1.0, Stuck(seed), noise) for seed in range(20)}
    assert winners == {0, 1}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_loss_at_the_edge_of_the_range_is_epsilon(noise, epsilon):
    """Neighbors whose scores differ by exactly Gamma lose at most epsilon, and nearly epsilon: the noise is tight."""
    behind = 40.0 / epsilon
    one, other = [0.0, behind, behind], [0.0, behind + 1.0, behind]
    loss = max_log_ratio(log_law(one, 1.0 / epsilon, noise), log_law(other, 1.0 / epsilon, noise))
    assert 0.95 * epsilon < loss <= epsilon + 1e-9


@pytest.mark.parametrize("noise", NOISES)
def test_half_the_noise_would_be_flagged(noise):
    """Control: a two-sided score run with the one-sided range loses nearly twice epsilon."""
    one, other = [0.0, 40.0, 40.0], [1.0, 39.0, 41.0]
    assert max_log_ratio(log_law(one, 1.0, noise), log_law(other, 1.0, noise)) > 1.5


@pytest.mark.parametrize("noise", NOISES)
def test_unequal_scales_would_be_flagged(noise):
    """Control P4: one candidate with its own small scale loses many times epsilon (specification 0.3, warning)."""
    rivals, small = 50, 0.05
    lead = np.log(rivals)

    def wins(shift):
        # The candidate with little noise wins when all the others stay below it.
        grid = np.linspace(-60, 60, 400_001)
        if noise == "gumbel":
            pdf, cdf = np.exp(-grid - np.exp(-grid)), lambda z: np.exp(-np.exp(-np.clip(z, -700, 700)))
        elif noise == "laplace":
            pdf = np.exp(-np.abs(grid)) / 2
            cdf = lambda z: np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)  # noqa: E731
        else:
            pdf, cdf = np.where(grid >= 0, np.exp(-np.abs(grid)), 0.0), lambda z: -np.expm1(-np.maximum(z, 0))
        return np.trapezoid(pdf * cdf(lead - shift + small * grid) ** rivals, grid)

    assert np.log(wins(0.0) / wins(2.0)) > 2.0


def test_all_scores_may_move_by_any_amount():
    """A constant added to every score changes nothing: only differences carry noise."""
    base = np.array(SCORES[0])
    for shift in (1e6, -3.5e8):
        picks = [noisy_min(base + shift, 2.0, 1.5, _Replayed(seed)) for seed in range(100)]
        assert picks == [noisy_min(base, 2.0, 1.5, _Replayed(seed)) for seed in range(100)]


def test_far_scores_do_not_overflow():
    """Scores at the ends of float64 give an answer, not a warning."""
    assert noisy_min([1.7e308, -1.7e308, 0.0], 1.0, 1000, Source()) == 1
    assert noisy_min([-1e308, 1.7e308], 1e250, 1000, Source()) == 0
    assert noisy_min([0.0, 1e300], 1e-250, 1000, Source()) == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"scores": []}, "scores"),
        ({"scores": [1.0, float("nan")]}, "scores"),
        ({"scores": [[1.0]]}, "scores"),
        ({"range_sensitivity": 0.0}, "range_sensitivity"),
        ({"range_sensitivity": "1e-251"}, "range_sensitivity"),
        ({"range_sensitivity": "1e251"}, "range_sensitivity"),
        ({"range_sensitivity": float("inf")}, "range_sensitivity"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"noise": "gaussian"}, "noise"),
    ],
)
def test_parameters_are_refused(change, named):
    """Every parameter out of range is refused by name; a noise with unbounded hazard is not to be had."""
    arguments = {"scores": [1.0, 2.0], "range_sensitivity": 1.0, "epsilon": 1.0, "rng": Source(), **change}
    with pytest.raises(InvalidParameterError, match=named):
        noisy_min(**arguments)


def test_agrees_with_an_independent_implementation():
    """OpenDP's noisy maximum, itself permute-and-flip, gives the same frequencies."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    theirs = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=SCALE, negate=True)
    counts = np.bincount([theirs(SCORES[0]) for _ in range(THEIR_SIZE)], minlength=5)
    assert p_value(counts, SCORES[0], "exponential") > P_THRESHOLD
