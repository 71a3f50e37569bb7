"""What is bought is decided by public facts; the release holds all that makes the estimate."""

import numpy as np
import pyarrow as pa
import pytest
from hybrid_problems import estimates, joined, metadata, problem, rows

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.public_records.hybrid import ROWS_A_POINT, HybridEstimate
from discreet.methods.public_records.measures import Counts, Margins
from discreet.workflow.request import answer


def prepared(own, public, **parameters):
    """A request of the target y."""
    return HybridEstimate.of(public=public, **parameters).prepare(own, "y")


def wide(n, p, seed):
    """Normal columns and an effect of the first."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.standard_normal((n, p))
    return pa.table({f"x{j}": X[:, j] for j in range(p)} | {"y": X[:, 0] + rng.standard_normal(n)})


def wide_metadata(p, n):
    """Without bounds."""
    real = {"type": "real", "source": "design"}
    return dc.Metadata.from_value(
        {"dataset": "wide", "unit": "person", "neighboring": "replace_one", "n_rows": n}
        | {"columns": {f"x{j}": real for j in range(p)} | {"y": real}}
    )


def test_a_point_stands_for_about_thirty_rows():
    """Half as many with four columns, times epsilon, a unit's rows as one; a guess where their number is private."""
    _, own, public = problem("linear")
    for epsilon, expected in ((1.0, 6000 / ROWS_A_POINT), (0.25, 1500 / ROWS_A_POINT)):
        found = prepared(own, public, epsilon=epsilon, measure="counts")
        assert isinstance(found.measure, Counts)
        assert 0.8 * expected <= len(found.places) <= expected
    several = metadata("linear", rows_per_unit=3, unit_id="id")
    assert len(prepared(several, public, measure="counts").places) <= 2000 / ROWS_A_POINT
    private = metadata("linear", "add_or_remove_one")
    guessed = prepared(private, public, n0=600, measure="counts")
    assert len(guessed.places) <= 1200 / ROWS_A_POINT
    assert len(prepared(own, public, n_points=37).places) <= 37
    assert len(prepared(own, public, n_points="all").places) == len(public.points(own, "y", None))
    assert len(prepared(own, public, n_points=10**6).places) == len(public.points(own, "y", None))


def test_many_columns_take_margins():
    """Fewer than two points a column and a half-space; a mean or a user's wish takes counts."""
    own = wide_metadata(12, 2000)
    public = PublicRecords(wide(800, 12, 0), own)
    found = prepared(own, public)
    assert isinstance(found.measure, Margins)
    assert len(found.places) == 800
    for asked in ({"contrast": "mean"}, {"measure": "counts"}, {"n_points": 50}):
        assert isinstance(prepared(own, public, **asked).measure, Counts)


@pytest.mark.parametrize("measure", ["counts", "margins"])
def test_a_release_gives_the_estimate_again(measure):
    """The noisy numbers give the weights, and these the coefficients: post-processing that anybody can repeat."""
    table, own, public = problem("linear")
    method = HybridEstimate.of(public=public, measure=measure)
    release = answer(method, table, "y", rng=Source.seeded(1)).release
    again, found = method.prepare(own, "y"), release.hybrid.points
    assert found.measure == measure
    assert found.sha256 == again.points.sha256
    np.testing.assert_array_equal(found.measured, again.places)
    weights = again.measure.weights(np.array(found.noisy))
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-12)
    theta = again.objective.minimize(again.X[again.places], again.y[again.places], weights)
    fit = again.objective.record(theta)
    np.testing.assert_allclose([one.estimate for one in fit.coefficients], estimates(release), rtol=1e-6)
    assert dc.Release.from_json(release.to_json()) == release
    assert not release.fit.has_intervals


@pytest.mark.parametrize("measure", ["counts", "margins"])
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_all_of_epsilon_is_spent_at_once(neighboring, measure):
    """One event of epsilon; the guarantee says so."""
    table, _, public = problem("logistic", neighboring)
    release = answer(HybridEstimate.of(public=public, epsilon=0.5, measure=measure), table, "y").release
    assert (release.guarantee.epsilon, release.guarantee.delta) == (0.5, 0.0)
    assert release.guarantee.neighboring.value == neighboring
    assert "public records" in release.not_protected[0]
    total = sum(release.hybrid.points.weights)
    assert total == pytest.approx(3000, abs=1e-3 if neighboring == "replace_one" else 600)


def test_public_points_are_chosen_without_the_private_rows():
    """Two private tables under one metadata are counted beside the same points."""
    _, own, public = problem("linear")
    method = HybridEstimate.of(public=public)
    places = [
        answer(method, dc.open_table(rows("linear", seed=seed), own), "y").release.hybrid.points.measured
        for seed in (5, 6)
    ]
    assert places[0] == places[1]


def test_private_rows_of_many_per_unit_are_cut_by_unit():
    """A unit adds to the counts at most the rows that are paid for."""
    frame = rows("linear").append_column("id", pa.array([0] * 1500 + list(range(1, 1501))))
    own = metadata("linear", "add_or_remove_one", rows_per_unit=2, unit_id="id")
    public = PublicRecords(joined(rows("linear"), "linear"), own)
    method = HybridEstimate.of(public=public, epsilon=1000.0, n_points="all")
    release = answer(method, dc.open_table(frame, own), "y", rng=Source.seeded(0)).release
    assert sum(release.hybrid.points.noisy) == pytest.approx(1502, abs=5)


def test_noise_that_does_not_fit_is_refused_before_anything_is_charged():
    """The request is wrong, not the rows: below the least epsilon, and where a sum over all margins is too noisy."""
    _, own, public = problem("linear")
    for measure in ("counts", "margins"):
        with pytest.raises(InvalidParameterError, match="epsilon must lie in"):
            prepared(own, public, epsilon=1e-17, measure=measure)
    with pytest.raises(InvalidParameterError, match="64 bits"):
        prepared(own, public, epsilon=1e-9, measure="margins")


def test_a_contrast_of_ones_own_is_kept_from_ledgers():
    """Code that runs beside the rows is nobody's proof."""

    class Spy:
        name = "mean"

        def n_parameters(self, p):
            return 1

        def value_and_gradient(self, theta, X, y):
            away = y - theta[0]
            return away**2 / 2, -away[:, None]

    _, own, public = problem("linear")
    assert not prepared(own, public, contrast=Spy()).is_proved
    assert prepared(own, public).is_proved
