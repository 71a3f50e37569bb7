"""What is bought before a selection: when, for how much, and what comes of it."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from discreet.accounting.events import SelectionEvent
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.rows.target_places import CLIPS
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.methods.subset_selection.pcpl import ProfileLikelihood
from discreet.methods.subset_selection.penalty import WEAK_SHARE, covering_penalty, default_max_false, noise_penalty
from discreet.methods.subset_selection.tuning_plan import RADII, split

N = 4000
PUBLIC = {"y_center": "middle", "y_bound": "furthest"}
BOX = {"type": "real", "lower": -1, "upper": 1}
COLUMNS = {"a": BOX, "b": BOX, "y": {"type": "real", "lower": -50, "upper": 50}}
OFF = {**COLUMNS, "y": {"type": "real", "lower": -30, "upper": 90}}


def declared(relation="replace_one", n=N, **changes):
    public = {"n_rows": n} if relation == "replace_one" else {}
    return Metadata.from_value(
        {"dataset": "t", "unit": "person", "neighboring": relation, "columns": COLUMNS, **public, **changes}
    )


def table(metadata, n=N):
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (n, 2))
    return FrameTable(
        pa.table({"a": x[:, 0], "b": x[:, 1], "y": 2.0 * x[:, 0] + 0.5 * rng.standard_normal(n)}), metadata
    )


def run(metadata=None, seed=1, **parameters):
    metadata = declared() if metadata is None else metadata
    prepared = PenalizedLeastSquares.of(**PUBLIC | parameters).prepare(metadata, "y")
    outcome = prepared.run(table(metadata), Source.seeded(seed))
    return prepared, outcome, {step.name: step for step in outcome.steps}


def test_nothing_is_bought_unless_asked():
    """A lone choice, no steps, and the parameters that were there before."""
    prepared = PenalizedLeastSquares(**PUBLIC).prepare(declared(), "y")
    assert prepared.event == SelectionEvent(Fraction(1), "exponential")
    assert prepared.steps == ()
    new = {"l1_grid", "y_quantile", "n0", "shares"}
    assert not new & prepared.parameters.keys()


def test_the_clip_is_near_the_quantile_and_sets_everything_after_it():
    """The bound is a point of the public list near the 95% quantile; R follows it, and the noise with it."""
    prepared, outcome, steps = run(epsilon=20.0, y_bound="private", y_quantile=0.95)
    bound = steps["y_bound"].value
    exact = float(np.quantile(np.abs(table(declared()).batches(["y"]).__next__()[0].to_numpy()), 0.95))
    assert 0.9 * exact < bound < 1.2 * exact
    assert round(bound / 50 * 32767, 6) in set(CLIPS.tolist())
    assert outcome.noise.sensitivity == pytest.approx(12.5 * bound**2, rel=1e-9)  # 2 [(r + 1.5 r)^2 - 0]
    assert outcome.noise.scale < prepared.noise.scale / 100
    assert outcome.selected == ("a",)


def test_the_center_is_near_the_median_and_moves_no_bound():
    """A point of the public list near the median; the target stays within half its width of it."""
    _, outcome, steps = run(shifted := declared(columns=OFF), epsilon=1.0, y_center="private", seed=3)
    assert steps["y_center"].value == pytest.approx(0.0, abs=0.3)
    assert (steps["y_center"].value + 30) / 120 * 512 == pytest.approx(
        round((steps["y_center"].value + 30) / 120 * 512)
    )
    assert steps["y_center"].event["epsilon"] == 0.03
    assert outcome.noise.sensitivity == pytest.approx(18 * 60.0**2)
    _, outcome, steps = run(shifted, epsilon=1.0, y_center="private", y_bound="private")
    assert outcome.noise.sensitivity < 18 * 2.0**2
    assert list(steps) == ["y_center", "y_bound", "selection"]


def test_center_and_bound_are_estimated_where_the_rows_suffice():
    """By default from 100 rows an epsilon on, 200 where rows are replaced; never of two values, or what is stated."""
    for relation, n in (("replace_one", 200), ("add_or_remove_one", 100)):
        for rows, estimated in ((n, ["y_center", "y_bound"]), (n - 1, [])):
            guess = {"n0": rows} if relation != "replace_one" else {}
            for method in (PenalizedLeastSquares, ProfileLikelihood, NoisyMoments):
                prepared = method(epsilon=1.0, **guess).prepare(declared(relation, n=rows), "y")
                named = [step.name for step in prepared.steps if step.name.startswith("y_")]
                assert named == estimated
    assert (
        PenalizedLeastSquares(epsilon=0.5).prepare(declared("add_or_remove_one"), "y").parameters["y_center"]
        == "private"
    )
    two = {**COLUMNS, "y": {"type": "integer", "lower": 0, "upper": 1}}
    assert PenalizedLeastSquares().prepare(declared(columns=two), "y").steps == ()
    stated = PenalizedLeastSquares(y_center=1.0).prepare(declared(), "y")
    assert (stated.parameters["y_center"], stated.parameters["y_bound"]) == (1.0, "private")
    assert NoisyMoments(question="coefficients").prepare(declared(), "y").parameters["y_bound"] == 50.0


def test_a_share_or_a_quantile_asks_for_its_estimate():
    """Where rows are few, too; and it is refused beside a public number."""
    prepared = PenalizedLeastSquares(shares={"y_center": 0.4}, y_quantile=0.8).prepare(declared(n=20), "y")
    assert [step.event["epsilon"] for step in prepared.steps] == [0.4, 0.1, 0.5]
    with pytest.raises(InvalidParameterError, match="y_center must come with"):
        PenalizedLeastSquares.of(y_center=3.0, shares={"y_center": 0.1})


def test_the_radius_is_one_of_the_grid_and_follows_the_effects():
    """With effects of size 2 no R that cuts them is chosen, by either mechanism; the noise is as of the chosen one."""
    _, _, steps = run(epsilon=100.0, y_bound=4.0, l1_radius="private")
    assert steps["l1_radius"].value in [4.0 * float(ratio) for ratio in RADII]
    _, outcome, steps = run(epsilon=100.0, y_bound=4.0, l1_radius="private", l1_grid=(4.0, 0.2, 2.0))
    radius = steps["l1_radius"].value
    assert radius in (2.0, 4.0)
    assert outcome.noise.sensitivity == pytest.approx(2 * ((4.0 + radius) ** 2 - (4.0 - radius) ** 2), rel=1e-9)
    _, _, wide = run(epsilon=100.0, y_bound=4.0, l1_radius="private", l1_grid=(2000.0, 0.1, 2.0, 20.0))
    assert wide["l1_radius"].value in (2.0, 20.0)
    assert wide["l1_radius"].noise.claim.startswith("mechanisms/generalized")


@pytest.mark.parametrize(("named", "factor"), [("aic", 2.0), ("bic", math.log(N))])
def test_information_criteria_rest_on_a_bought_variance(named, factor, monkeypatch):
    """The penalty is sigma^2 times 2 or log n, with the sigma^2 that was released."""
    prepared, _, steps = run(epsilon=400.0, y_bound=4.0, l1_radius=3.0, model_penalty=named)
    sigma2 = steps["sigma2"].value
    assert sigma2 == pytest.approx(0.25, rel=0.2)
    assert float(prepared.method.penalty(prepared.setting, prepared.tuning, Fraction(1), sigma2, N)) == pytest.approx(
        sigma2 * factor
    )


def test_the_number_of_rows_is_bought_where_it_is_private():
    """By a fiftieth of epsilon, unless a guess stands for it; never where it is public."""
    private = declared("add_or_remove_one")
    _, _, steps = run(private, epsilon=50.0, model_penalty="bic")
    assert abs(steps["n_rows"].value - N) < 60
    assert steps["n_rows"].event["epsilon"] == 1.0
    assert "n_rows" not in run(private, epsilon=50.0, model_penalty="bic", n0=1000)[2]
    assert "n_rows" not in run(epsilon=50.0, model_penalty="bic")[2]


def test_automatic_penalties_buy_a_variance_only_where_it_can_matter():
    """The public rule: r^2 log(n) / 4 against half of scale log(d / max_false)."""
    for epsilon in (0.1, 1.0, 3.0, 10.0, 100.0):
        for n in (50, N, 10**6):
            prepared = PenalizedLeastSquares(epsilon=epsilon, **PUBLIC).prepare(declared(n=n), "y")
            scale = float(Sensitivity.of(prepared.design, prepared.setting.ratio).range) / epsilon
            max_false = default_max_false(scale, n, 2, 1.0 / 9.0)
            worth = math.log(n) / 4 >= 0.5 * noise_penalty(scale, 2, max_false)
            assert bool(prepared.steps) == worth
    private = declared("add_or_remove_one")
    known = PenalizedLeastSquares(epsilon=100.0, max_false=0.1, **PUBLIC)
    assert known.prepare(private, "y").steps == ()
    assert PenalizedLeastSquares(epsilon=100.0, n0=N, **PUBLIC).prepare(private, "y").steps != ()


@pytest.mark.parametrize("d", [1, 5, 40])
def test_covering_penalty_meets_both_ends(d):
    """Noise alone gives scale log(d / max_false), sampling alone sigma^2 times the larger of log n and that quantile.

    In between it is at least either, and no more than their sum at that level.
    """
    level, n = 1 / (1 + 5 * d), 500
    noise, sampling = math.log(5 * d), max(math.log(n), chi2.isf(level, 1))
    assert covering_penalty(0.0, 3.0, d, n, 0.2) == pytest.approx(3.0 * noise, rel=1e-6)
    assert covering_penalty(2.0, 1e-6, d, n, 0.2) == pytest.approx(2.0 * sampling, rel=1e-3)
    for scale in (0.1, 1.0, 10.0):
        found = covering_penalty(1.0, scale, d, n, 0.2)
        assert found >= max(scale * noise, math.log(n)) - 1e-9
        assert found <= scale * math.log(2 / level) + max(chi2.isf(level / 2, 1), math.log(n))


def test_covering_penalty_has_the_level_it_claims():
    """Simulation-free: the integral over the chi-square by its own distribution agrees."""
    from scipy.integrate import quad
    from scipy.stats import logistic

    found = covering_penalty(1.0, 4.0, 10, 2, 0.5)
    chance = quad(lambda u: logistic.sf((found - chi2.isf(u, 1)) / 4.0), 0, 1, limit=500)[0]
    assert chance == pytest.approx(1 / 21, rel=1e-4)


@pytest.mark.parametrize("max_false", [0.02, 0.2])
@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential"])
def test_a_false_column_is_as_seldom_as_stated(max_false, mechanism):
    """Of a target without any effect, in 2,000 draws; the Gumbel noise keeps to it nearly exactly."""
    metadata, rng = declared(), Source.seeded(4)
    cells = table(metadata).batches(["a", "b"]).__next__()
    rows = FrameTable(
        pa.table({"a": cells[0], "b": cells[1], "y": np.random.default_rng(8).uniform(-50, 50, N)}),  # noqa: TID251
        metadata,
    )
    asked = {"max_false": max_false, "mechanism": mechanism, **PUBLIC}
    prepared = PenalizedLeastSquares(epsilon=0.5, **asked).prepare(metadata, "y")
    moments, masks = rows.moments(prepared.design), prepared.space.masks()
    scores, gamma = prepared.scores(moments, masks), prepared.calibration.gamma + prepared.calibration.inflation
    law = (gamma, prepared.calibration.epsilon, rng, prepared.calibration.noise)
    false = np.mean([masks[noisy_min(scores, *law)] != 0 for _ in range(2000)])
    assert false <= max_false + 3 * (max_false / 2000) ** 0.5
    if mechanism == "exponential":
        assert false >= 0.7 * max_false


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_default_penalty_is_half_of_what_the_weakest_column_gains(scale):
    """Where noise decides: what has no effect enters as seldom as a twenty-fifth of the variance stays out."""
    d, variance = 6, 0.5
    n = round(2.0 * scale * math.log(d / 0.2) / (WEAK_SHARE * variance))  # at a chance of .2
    chance = default_max_false(scale, n, d, variance)
    assert noise_penalty(scale, d, chance) == pytest.approx(WEAK_SHARE * variance * n / 2, rel=1e-6)
    assert chance == pytest.approx(0.2, rel=0.05)


def test_the_chance_that_is_kept_to_is_in_the_noise_box():
    """By default and as stated, of a penalty auto alone; in a release where it follows from a noisy number of rows."""
    stated = PenalizedLeastSquares(epsilon=1.0, max_false=0.07).prepare(declared(), "y")
    assert stated.noise.max_false == 0.07
    usual = PenalizedLeastSquares(epsilon=1.0, **PUBLIC).prepare(declared(), "y").noise
    assert usual.penalty == pytest.approx(usual.scale * math.log(2 / usual.max_false), rel=0.2)
    assert PenalizedLeastSquares(epsilon=1.0, model_penalty=1.0).prepare(declared(), "y").noise.max_false is None
    private = declared("add_or_remove_one")
    assert PenalizedLeastSquares(epsilon=50.0).prepare(private, "y").noise.max_false is None
    outcome = run(private, epsilon=50.0)[1]
    assert 0.0 < outcome.noise.max_false <= 0.5


def test_the_chance_of_a_false_column_falls_as_rows_and_epsilon_grow():
    """From a half on; a stated one stays, and is refused beside a penalty that does not heed it."""
    pairs = ((100, 1), (1000, 1), (1000, 5), (1000, 10), (10_000, 1))
    chances = [default_max_false(12.5 / epsilon, n, 6, 0.5) for n, epsilon in pairs]
    assert chances[:2] == [0.5, 0.5]
    assert 0.05 < chances[2] < 0.2
    assert chances[3:] == [0.025, 0.025]  # effects of all sizes: 20 x scale / rows
    # Without noise it errs no more often than BIC, and less where the rows are many.
    assert default_max_false(1e-9, 100, 6, 0.5) == pytest.approx(6 * chi2.sf(math.log(100), 1))
    assert default_max_false(1e-9, 3000, 6, 0.5) == pytest.approx(6 * chi2.sf(2 * math.log(3000), 1))
    scales = []
    for n in (1000, 10_000):
        prepared = PenalizedLeastSquares(epsilon=1.0).prepare(declared(n=n), "y")
        scales.append(prepared.noise.penalty / prepared.noise.scale)
    assert scales[1] > scales[0] + 2.0
    with pytest.raises(InvalidParameterError, match="model_penalty=auto"):
        PenalizedLeastSquares.of(max_false=0.1, model_penalty="bic")


def test_shares_are_exact_and_must_leave_something():
    """Defaults and overrides in fractions; fractions that add up to one or more are refused."""
    found = split(Fraction(3, 10), ["y_bound", "l1_radius"], {"l1_radius": 0.7})
    assert found == {"y_bound": Fraction(3, 100), "l1_radius": Fraction(21, 100)}
    with pytest.raises(InvalidParameterError, match=r"y_bound 0\.4, l1_radius 0\.6 add up to 1"):
        split(Fraction(1), ["y_bound", "l1_radius"], {"y_bound": 0.4, "l1_radius": 0.6})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"y_quantile": 0.5, "y_bound": 3.0}, "y_quantile"),
        ({"y_bound": "private", "y_quantile": 1.0}, "y_quantile"),
        ({"l1_grid": (1.0, 2.0)}, "l1_grid"),
        ({"l1_radius": "private", "l1_grid": (1.0, 1.0)}, "l1_grid"),
        ({"l1_radius": "private", "l1_grid": (1.0,)}, "l1_grid"),
        ({"l1_radius": "private", "l1_grid": (1.0, -1.0)}, "l1_grid"),
        ({"l1_radius": "secret"}, "l1_radius.*private"),
        ({"y_bound": "secret"}, "y_bound.*private"),
        ({"shares": {"everything": 0.1}}, "shares"),
        ({"shares": {"y_bound": 1.0}}, "shares"),
        ({"shares": {"y_bound": float("nan")}}, "shares"),
        ({"as_published": True, "l1_radius": "private"}, "as_published"),
        ({"n0": -5}, "n0"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameters, words):
    """Each is checked when the method is built, in one line."""
    with pytest.raises(InvalidParameterError, match=words) as refused:
        PenalizedLeastSquares.of(**parameters)
    assert "\n" not in str(refused.value)


def test_the_published_algorithm_takes_no_criterion():
    """Where sigma^2 would come from is not said in the paper."""
    with pytest.raises(InvalidParameterError, match="number as model_penalty"):
        PenalizedLeastSquares(as_published=True, model_penalty="bic").prepare(declared(), "y")


def test_noise_after_a_step_depends_on_its_value_alone(monkeypatch):
    """Two tables that release the same clip have the same noise afterwards, and so does a preparation asked twice."""
    from discreet.methods.subset_selection import tuning

    monkeypatch.setattr(tuning, "noisy_quantile", lambda *_: 100)
    metadata = declared()
    asked = {"y_bound": "private", "epsilon": 1.0}
    boxes = []
    for rows in (table(metadata), FrameTable(pa.table({name: [0.0] * N for name in "aby"}), metadata)):
        prepared = PenalizedLeastSquares(**asked).prepare(metadata, "y")
        outcome = prepared.run(rows, Source.seeded(0))
        boxes.append((outcome.noise, [step.model_dump() for step in outcome.steps], prepared.noise, prepared.steps))
    assert boxes[0] == boxes[1]


@pytest.mark.parametrize("penalty", ["auto", "bic", 1e9])
def test_a_table_without_anything_is_answered(penalty):
    """No rows, no spread, every part bought: an answer, never an error."""
    metadata = declared(
        "add_or_remove_one",
        columns={"a": BOX, "b": {"type": "integer", "bounds": "private"}, "y": {"type": "real", "bounds": "private"}},
    )
    asked = {"y_bound": "private", "l1_radius": "private", "model_penalty": penalty}
    for cells in ([], [0.0] * 5, [None] * 5, [float("inf"), -1e300]):
        rows = FrameTable(pa.table({name: pa.array(cells, pa.float64()) for name in "aby"}), metadata)
        for seed in range(4):
            outcome = PenalizedLeastSquares(**asked).prepare(metadata, "y").run(rows, Source.seeded(seed))
            assert set(outcome.selected) <= {"a", "b"}
            assert all(math.isfinite(step.value) for step in outcome.steps[:-1])


def test_moments_tell_the_chance_that_they_keep_to():
    """The one that the release's own moments are read with, where public facts tell it; as stated, where it is."""
    usual = NoisyMoments(epsilon=3.0).prepare(declared(), "y")
    outcome = usual.run(table(declared()), Source.seeded(2))
    assert usual.noise.max_false == pytest.approx(MomentAnswers(outcome.moments).max_false)
    assert NoisyMoments(epsilon=3.0, max_false=0.03).prepare(declared(), "y").noise.max_false == 0.03
    assert NoisyMoments(epsilon=3.0, model_penalty="bic").prepare(declared(), "y").noise.max_false is None
    assert NoisyMoments(epsilon=3.0, n0=N).prepare(declared("add_or_remove_one"), "y").noise.max_false is None
