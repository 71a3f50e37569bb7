"""Candidates are post-processing, their losses those of a plain computation, the choice private."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hybrid_problems import metadata, nearest, problem, squared

from discreet.errors import InvalidParameterError
from discreet.kernels.glm.bounded_loss import LOSS_ONE
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import NOISE_OF_MECHANISM, noisy_min
from discreet.methods.public_records.public_subset import LEAN, PublicSubset
from discreet.workflow.request import answer


def prepared(kind, neighboring="replace_one", **parameters):
    """A request of the target y, and its table."""
    table, own, public = problem(kind, neighboring)
    return PublicSubset.of(public=public, **parameters).prepare(own, "y"), table


def predictions(fit, rows, ranges):
    """Of released coefficients, by numpy, on the rows' own cells."""
    values = {
        name: np.clip(np.asarray(rows[name], dtype=float), *ranges[name]) if name != "g" else np.asarray(rows[name])
        for name in ("a", "g", "b")
    }
    eta = np.zeros(rows.num_rows)
    for term in fit.coefficients:
        if term.column is None:
            eta += term.estimate
        elif term.level is None:
            eta += term.estimate * values[term.column]
        else:
            eta += term.estimate * (values[term.column] == term.level)
    if fit.family == "logistic":
        return 1 / (1 + np.exp(-eta))
    return np.exp(eta) if fit.family == "poisson" else eta


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("linear", {}),
        ("linear", {"fit_intercept": False}),
        ("linear", {"contrast": "huber", "measure": "margins"}),
        ("logistic", {}),
        ("logistic", {"loss": "log", "log_clip": 0.05}),
        ("poisson", {"contrast": "poisson"}),
        ("location", {"contrast": "mean"}),
        ("location", {"contrast": "quantile", "quantile": 0.75}),
    ],
)
def test_losses_are_those_of_a_plain_computation(kind, parameters):
    """Of every candidate, from its coefficients in own units: squared errors over the square of the range."""
    request, table = prepared(kind, **parameters)
    found = request._candidates(request.measure.draw(table, Source.seeded(0)), None)
    models = np.array([request.objective.per_half_range(one.theta) for one in found])
    losses = request._losses(table, models, None) / LOSS_ONE
    assert len(losses) == request.n_candidates
    rows = next(iter(table.batches(["a", "g", "b", "y"])))
    declared = request.points.design.metadata.columns
    ranges = {name: (declared[name].lower, declared[name].upper) for name in ("a", "b", "y")}
    low, high = ranges["y"]
    y = np.clip(np.asarray(rows["y"], dtype=float), low, high)
    for loss, one in zip(losses, found, strict=True):
        predicted = np.clip(predictions(request.objective.record(one.theta), rows, ranges), low, high)
        if parameters.get("loss") == "log":
            chance = np.clip(predicted, 0.05, 0.95)
            cost = (-np.log(np.where(y > 0.5, chance, 1 - chance)) + np.log(0.95)) / (np.log(0.95) - np.log(0.05))
        elif parameters.get("contrast") == "quantile":
            miss = predicted - y
            cost = np.where(miss < 0, -0.75, 0.25) * miss / (high - low)
        else:
            cost = ((predicted - y) / (high - low)) ** 2
        assert loss / 3000 == pytest.approx(cost.mean(), abs=5e-4), one.record.name


@pytest.mark.parametrize("order", ["farthest", "weight"])
def test_merging_keeps_signed_totals(order):
    """Points dropped give what they have, negative noise as well, to the nearest kept."""
    request, _ = prepared("linear", n_points=64, sizes=[5, 20, 40], order=order)
    rng = np.random.default_rng(0)  # noqa: TID251 - stands for noisy counts
    noisy = rng.integers(-50, 100, len(request.places))
    measure = SimpleNamespace(design=request.measure.design, cells=request.measure.cells, weights=lambda totals: totals)
    for size, (name, places, totals) in zip((5, 20, 40), request._subsets(noisy, measure), strict=True):
        assert name == f"{size} points"
        assert len(places) == size
        assert totals.sum() == noisy.sum()
        kept = np.flatnonzero(np.isin(request.places, places))
        gaps = squared(request.measure.cells, request.measure.cells[kept], 3)
        best = gaps.min(axis=1)
        clear = (gaps == best[:, None]).sum(axis=1) == 1
        if clear.all():
            expected = np.zeros(size, dtype=int)
            np.add.at(expected, nearest(request.measure.cells, request.measure.cells[kept], 3), noisy)
            np.testing.assert_array_equal(totals, expected)
        if order == "weight":
            assert set(kept) == set(np.argsort(-noisy, kind="stable")[:size])


def test_sizes_are_halved_from_all_that_were_counted():
    """Or those asked for, in order; margins have none."""
    request, _ = prepared("linear", n_points=80)
    most = len(request.places)
    assert request.sizes == (most // 8, most // 4, most // 2, most)
    assert request.n_candidates == 2 + 2 * 4
    assert prepared("linear", sizes=(30, 10))[0].sizes == (10, 30)
    with pytest.raises(InvalidParameterError, match="at most"):
        prepared("linear", sizes=[10**4])
    with pytest.raises(InvalidParameterError, match="sizes are for counts"):
        prepared("linear", sizes=[10], measure="margins")
    with pytest.raises(InvalidParameterError, match="different"):
        prepared("linear", sizes=[10, 10])


@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("count", [1, 4])
def test_the_choice_pays_for_the_rows_of_a_unit(neighboring, count):
    """A loss is at most 1 a row."""
    _, _, public = problem("linear")
    unit = {"rows_per_unit": count, "unit_id": "id"} if count > 1 else {}
    own = metadata("linear", neighboring, **unit)
    request = PublicSubset.of(public=public, epsilon=2.0, n_points=50, shares={"validation": 0.25}).prepare(own, "y")
    both = 2 if neighboring == "replace_one" else 1
    assert request.range == both * count * LOSS_ONE
    assert request.noise.scale == pytest.approx(both * count / 0.5)
    assert request.noise.n_candidates == request.n_candidates
    assert [step.name for step in request.steps] == ["counts", "validation"]
    assert request.measure.epsilon == Fraction(3, 2)


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
def test_parts_add_up_to_epsilon(mechanism):
    """With a histogram as one more to choose."""
    table, _, public = problem("logistic")
    shares = {"validation": 0.3, "histogram": 0.2}
    method = PublicSubset.of(public=public, epsilon=0.7, shares=shares, mechanism=mechanism)
    release = answer(method, table, "y").release
    assert release.guarantee.epsilon == pytest.approx(0.7)
    prices = {step.name: step.event["epsilon"] for step in release.steps}
    assert prices == pytest.approx({"counts": 0.35, "histogram": 0.14, "validation": 0.21})
    assert release.hybrid.candidates[-1].name == "histogram"
    assert sum(one.chosen for one in release.hybrid.candidates) == 1


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_what_predicts_best_is_chosen(kind):
    """Public people who differ are not; with a clear choice the first estimate is taken, by the least loss."""
    table, _, public = problem(kind)
    method = PublicSubset.of(public=public, epsilon=100.0, n_points=100)
    release = answer(method, table, "y", rng=Source.seeded(0)).release
    (best,) = [one for one in release.hybrid.candidates if one.chosen]
    assert best.n_points > 0
    assert best.name != "public records alone"
    assert best.n_points == len(release.hybrid.points.kept)


def test_the_choice_leans_to_the_first_estimate():
    """By the log of the odds in units of the noise; to all points and no further ridge, or the margins as they are."""
    for parameters, favored in (({"n_points": 64}, 8), ({"measure": "margins"}, 2)):
        request, table = prepared("linear", **parameters)
        found = request._candidates(request.measure.draw(table, Source.seeded(0)), None)
        leaning = request._leaning(found)
        assert np.flatnonzero(leaning == 0).tolist() == [favored]
        assert found[favored].record.ridge == 0.0
        others = np.delete(leaning, favored)
        odds = math.log(LEAN * (len(found) - 1))
        np.testing.assert_allclose(others, float(request.range / request.choice_epsilon) * odds, atol=1)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_without_any_signal_the_first_estimate_has_its_odds(mechanism):
    """Equal losses: four times all others together by the exponential mechanism, more by permute and flip."""
    request, table = prepared("linear", n_points=16, mechanism=mechanism)
    found = request._candidates(request.measure.draw(table, Source.seeded(0)), None)
    leaning, rng = request._leaning(found), Source.seeded(2)
    noise = NOISE_OF_MECHANISM[mechanism]
    drawn = [noisy_min(leaning, request.range, request.choice_epsilon, rng, noise) for _ in range(1000)]
    share = np.mean(leaning[drawn] == 0)
    assert 0.7 < share < (0.9 if mechanism == "exponential" else 0.99)


def test_losses_and_contrasts_that_do_not_fit_are_refused():
    """By name."""
    with pytest.raises(InvalidParameterError, match="loss log"):
        prepared("linear", loss="log")
    for shares in ({"validation": 1.0}, {"votes": 0.1}, {"histogram": -0.1}):
        with pytest.raises(InvalidParameterError, match="shares"):
            prepared("linear", shares=shares)


@pytest.mark.parametrize(
    "shares", [{"histogram": 0.9}, {"histogram": 0.85}, {"validation": 0.6, "histogram": 0.5}], ids=str
)
def test_shares_leave_something_for_the_counts(shares):
    """With the choice's own share, which stands where none is given."""
    with pytest.raises(InvalidParameterError, match="must leave something for the counts"):
        prepared("linear", shares=shares)
    assert prepared("linear", shares={"validation": 0.01, "histogram": 0.01})[0].measure.epsilon == Fraction(98, 100)
