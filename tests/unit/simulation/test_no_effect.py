"""What chance gives: the law of a selection's size against exact laws, and what a column needs against the methods."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.data.metadata import Metadata
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.methods.registry import method_of
from discreet.methods.screening.standing_out import lead_needed
from discreet.release import NoiseRecord
from discreet.simulation.draws import normals, some_normals, uniforms
from discreet.simulation.no_effect import LEVEL, Selection, of_selection, size_law
from discreet.simulation.no_effect_moments import chance_of_deviation, ellipsoid_tail, standing_out
from discreet.simulation.scenario import Scenario
from discreet.workflow.chance import chance_after, chance_before, chance_of_derived, epsilon_needed
from discreet.workflow.dry_runs import dry_run

CLOSE = 0.03
"""Four thousand draws have a standard error of .008 at most."""


def box(law="gumbel", mechanism="exponential", scale=2.0, penalty=1.0, **other):
    fields = {"sensitivity": 1.0, "formula": "f", "numerics": "n", "claim": "c"}
    return NoiseRecord(mechanism=mechanism, noise=law, scale=scale, penalty=penalty, **{**fields, **other})


def choice(noise, d, **parameters):
    """A choice whose target hardly varies, so that sampling gives nothing."""
    return Selection(noise, parameters, d, 100.0, 1e-9)


def softmax_law(d, scale, penalty, most):
    """Gumbel noise: a model is chosen in proportion to exp(score / scale)."""
    weights = [math.comb(d, size) * math.exp(-penalty * size / scale) for size in range(most + 1)]
    return np.array(weights) / sum(weights)


def exponential_law(d, scale, penalty):
    """Exponential noise, by integrals: of all 2^d models the density of one, and the distributions of the others."""
    scores = [-penalty * sum(model) / scale for model in itertools.product((0, 1), repeat=d)]
    t = np.linspace(min(scores), 40.0, 400_001)
    below = [np.where(t > score, -np.expm1(-np.maximum(t - score, 0.0)), 0.0) for score in scores]
    law = np.zeros(d + 1)
    for place, model in enumerate(itertools.product((0, 1), repeat=d)):
        density = np.where(t > scores[place], np.exp(-(t - scores[place])), 0.0)
        others = np.prod([cdf for other, cdf in enumerate(below) if other != place], axis=0)
        law[sum(model)] += np.trapezoid(density * others, t)
    return law


def test_normals_without_scipy_are_the_same():
    """The draws that every dry run makes are those of the other simulations, from the same words."""
    few, many = (draw(Source.seeded(5), 1000, 3) for draw in (some_normals, normals))
    np.testing.assert_allclose(few, many, rtol=1e-13, atol=1e-15)
    shares = np.minimum(uniforms(Source.seeded(5), 1000, 3), 1.0 - 2.0**-53)
    assert few.ravel().tolist() == [NormalDist().inv_cdf(share) for share in shares.ravel()]


def metadata(n_rows=2000, d=5):
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(d)}
    declared = {"dataset": "d", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows}
    return Metadata.from_value({**declared, "columns": {**columns, "y": {"type": "real", "lower": -3, "upper": 3}}})


@pytest.mark.parametrize(("d", "most"), [(1, 1), (3, 3), (6, 2)])
def test_with_gumbel_noise_the_size_has_the_exponential_mechanisms_law(d, most):
    """The exact law, also where the size is limited."""
    law = size_law(choice(box(), d, max_size=most))
    assert law == pytest.approx(softmax_law(d, 2.0, 1.0, most), abs=CLOSE)


def test_with_exponential_noise_the_size_has_permute_and_flips_law():
    """The noisy minimum over all eight models, by integrals of densities."""
    exact = exponential_law(3, 2.0, 1.0)
    assert exact.sum() == pytest.approx(1.0, abs=1e-3)
    assert size_law(choice(box("exponential", "permute_and_flip"), 3)) == pytest.approx(exact, abs=CLOSE)


def test_sampling_counts_where_the_target_varies():
    """With next to no noise a column enters where a chi-squared variable exceeds the penalty."""
    law = size_law(Selection(box(scale=1e-3, penalty=2.0), {}, 4, 100.0, 3.0))  # variance 3^2 / 9 = 1
    enters = math.erfc(1.0)  # P(z^2 > 2)
    exact = [math.comb(4, size) * enters**size * (1 - enters) ** (4 - size) for size in range(5)]
    assert law == pytest.approx(exact, abs=CLOSE)


def test_groups_and_forced_columns_are_no_columns_of_their_own():
    """Two free columns and a group are three units; the forced one is always there."""
    asked = choice(box(), 5, groups=[["a", "b"]], forced=["c"])
    assert asked.sizes == [2, 1, 1]
    assert asked.n_units(["a", "b", "c", "d"]) == 2
    weights = np.array([1.0, 0.0, 0.0, 0.0])
    for units in itertools.product((0, 1), repeat=3):
        columns = 2 * units[0] + units[1] + units[2]
        weights[sum(units)] += math.exp(-columns / 2.0) if sum(units) else 0.0
    assert size_law(asked) == pytest.approx(weights / weights.sum(), abs=CLOSE)


def test_a_choice_that_looks_at_no_score_takes_each_column_half_of_the_time():
    """Profile likelihood without a bound; nothing can stand out."""
    asked = choice(box(unit="-2 log-likelihood", formula="none: the choice is uniform"), 4)
    assert size_law(asked) == pytest.approx([math.comb(4, size) / 16 for size in range(5)])
    told = of_selection(asked, ["a", "b", "c", "d"])
    assert (told.could_stand_out, told.chance_by_noise) == (False, pytest.approx(1 / 16))


@pytest.mark.parametrize("draw", [one_shot, peeling, canonical_lipschitz])
@pytest.mark.statistics
def test_columns_that_lead_as_is_needed_are_chosen_in_nine_of_ten_draws(draw):
    """By the mechanisms themselves; the draw over all sets asks for the whole set, a little more than for a column."""
    d, k, scale, gamma = 200, 3, 2.0, 0.75
    name, rounds = draw.__name__, 1 if draw is canonical_lipschitz else k
    lead = scale * lead_needed(box("exponential", name, scale), d, k, gamma)
    scores = np.zeros(d)
    scores[:k] = lead
    more = {"gamma": gamma} if draw is canonical_lipschitz else {}
    source, n_draws = Source.seeded(5), 300
    drawn = [draw(scores, k, 2.0 * rounds / scale, 1.0, source, **more) for _ in range(n_draws)]
    share = np.mean([(chosen < k).mean() for chosen in drawn])
    assert 0.84 <= share <= 0.96


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("method", "parameters"),
    [("pcls", {"l1_radius": 3.0}), ("sis", {"n_features_to_select": 1}), ("moments", {"delta": 1e-6})],
)
def test_a_column_as_correlated_as_is_needed_is_chosen_in_most_draws(method, parameters):
    """By the methods themselves, on tables drawn as is supposed; half of what is needed is not enough."""
    public = metadata()
    asked = dry_run(method_of(method, epsilon=1.0, **parameters), public, "y")
    needed = chance_before(asked).correlation_needed
    shares = []
    for times in (0.5, 1.0):
        effect = times * needed * math.sqrt(3.0)  # of a target of variance 1, over a column's of 1 / 3
        noise = math.sqrt(1.0 - (times * needed) ** 2)
        scenario = Scenario.of(public, "y", effects={"x0": effect}, noise_sd=noise)
        runs = (asked.prepared.run(scenario.draw(Source.seeded(i)), Source.seeded(900 + i)) for i in range(60))
        shares.append(np.mean(["x0" in outcome.selected for outcome in runs]))
    assert shares[1] >= 0.78
    assert shares[0] <= shares[1] - 0.15


def test_more_epsilon_or_more_rows_need_less():
    """And what is said to suffice does."""
    asked = {
        (n_rows, epsilon): dry_run(method_of("pcls", epsilon=epsilon), metadata(n_rows), "y")
        for n_rows in (200, 2000)
        for epsilon in (0.1, 1.0)
    }
    needed = {key: chance_before(each).correlation_needed for key, each in asked.items()}
    assert needed[200, 0.1] > needed[200, 1.0] > needed[2000, 1.0]
    assert needed[200, 0.1] > needed[2000, 0.1] > needed[2000, 1.0]
    enough = epsilon_needed(asked[200, 0.1])
    assert not chance_before(asked[200, 0.1]).could_stand_out
    assert chance_before(dry_run(method_of("pcls", epsilon=enough), metadata(200), "y")).could_stand_out


def test_what_is_not_known_is_not_said():
    """Without a number of rows there is no correlation; of a fit, there is no chance at all."""
    hidden = metadata().model_copy(update={"n_rows": None})
    told = chance_before(dry_run(method_of("pcls", epsilon=1.0), hidden, "y"))
    assert (told.correlation_needed, told.could_stand_out) == (None, None)
    assert told.chance_by_noise is not None
    assert chance_before(dry_run(method_of("linear", epsilon=1.0, delta=1e-6), metadata(), "y")) is None


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_deviations_are_as_seldom_as_the_law_of_the_largest_says(law):
    """The largest of ten."""
    tail = {"gaussian": math.erfc(3.0 / math.sqrt(2.0)), "laplace": math.exp(-3.0 * math.sqrt(2.0))}[law]
    assert chance_of_deviation({"a": 3.0, "b": 1.0}, 10, law) == pytest.approx(1.0 - (1.0 - tail) ** 10)
    assert chance_of_deviation({}, 10, law) == 1.0


def test_a_gain_of_several_degrees_of_freedom_stands_out_less():
    """Of one degree it is the root; far out it stays finite."""
    told = standing_out({"number": (9.0, 1), "category": (9.0, 3), "far": (1e5, 2)})
    assert told["number"] == pytest.approx(3.0)
    assert 2.0 < told["category"] < 2.3
    assert told["far"] == pytest.approx(math.sqrt(1e5))


@pytest.mark.parametrize("with_effects", [False, True])
def test_noisy_moments_say_of_each_selected_column_how_far_it_stands_out(with_effects):
    """Strong effects stand far out; what is selected without any is called noise or is nothing."""
    public = metadata()
    effects = {"n_true": 2, "r_squared": 0.8} if with_effects else {"effects": {}}
    asked = dry_run(method_of("moments", epsilon=2.0, delta=1e-6), public, "y")
    outcome = asked.prepared.run(Scenario.of(public, "y", **effects).draw(Source.seeded(1)), Source.seeded(2))
    told = chance_after(asked, outcome)
    assert set(told.standing_out) == set(outcome.selected)
    assert told.called_noise == (not with_effects)
    if with_effects:
        assert min(told.standing_out[name] for name in ("x0", "x1")) > 4.0
    else:
        assert told.chance_by_noise > LEVEL


def test_a_further_selection_from_moments_tells_its_own_chance(tmp_path):
    """Another selection of the same sums; of a release that told none, none is made up."""
    import discreet as dc

    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (3000, 3))
    y = np.clip(0.4 * X[:, 0] + 0.2 * rng.standard_normal(3000), -1, 1)
    release = dc.NoisyMoments(epsilon=5.0, delta=1e-6).fit(X, y).release_
    assert release.chance is not None
    assert chance_of_derived(release, release.selected) == release.chance
    assert chance_of_derived(release, ()).called_noise
    assert chance_of_derived(release.model_copy(update={"chance": None}), ()) is None
    assert type(release).from_json(release.to_json()) == release


@pytest.mark.parametrize("deviation", [0.5, 2.0, 5.0])
def test_tails_of_noise_in_an_ellipsoid_lie_between_laplace_and_normal(deviation):
    """Those of Laplace noise for one number, of the normal law for very many, and as drawn for a few."""
    assert ellipsoid_tail(deviation, 1) == pytest.approx(math.exp(-math.sqrt(2.0) * deviation), rel=1e-4)
    assert ellipsoid_tail(deviation, 10**6) == pytest.approx(2.0 * ndtr(-deviation), rel=1e-3)
    scales = [1e9] * 8
    drawn = np.array([ellipsoid_noise([0] * 8, scales, Source.seeded(k)) for k in range(4000)]) / (3.0 * 1e9)
    share = float(np.mean(np.abs(drawn) > deviation))
    assert share == pytest.approx(ellipsoid_tail(deviation, 8), abs=4.0 * math.sqrt((share + 1e-4) / 16_000))
