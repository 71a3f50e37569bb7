"""What errors to expect, from public records alone."""

import numpy as np
import pyarrow as pa
import pytest
from hybrid_problems import metadata, problem, rows

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.methods.public_records.hybrid import HybridEstimate
from discreet.methods.public_records.public_subset import PublicSubset


def expected_errors(own, public, kind=HybridEstimate, **parameters):
    """Of a request of the target y."""
    return kind.of(public=public, **{"twins": 3} | parameters).prepare(own, "y").twins()


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_public_records_alone_come_first_then_sizes(neighboring):
    """Shares of the target's range, from the least repeat to the largest; the same whenever they are asked for."""
    _, own, public = problem("linear", neighboring)
    found = expected_errors(own, public, measure="counts", n0=3000)
    assert found[0].name == "public records alone"
    sizes = [one.n_points for one in found[1:]]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == len(sizes) >= 3
    for one in found:
        assert 0 <= one.low <= one.error <= one.high <= 1
    assert found == expected_errors(own, public, measure="counts", n0=3000)


def test_margins_are_one_more():
    """Where the rule takes them."""
    _, own, public = problem("logistic")
    found = expected_errors(own, public, measure="margins")
    assert [one.name for one in found] == ["public records alone", "margins"]


def test_none_are_told_where_none_are_asked_or_nothing_is_predicted():
    """A contrast of one's own has no errors of predictions."""

    class Square:
        def n_parameters(self, n_features):
            return n_features

        def value_and_gradient(self, theta, X, y):
            r = X @ theta - y
            return r * r, 2 * r[:, None] * X

    _, own, public = problem("linear")
    assert expected_errors(own, public, twins=0) == ()
    assert expected_errors(own, public, contrast=Square()) == ()


@pytest.mark.slow
def test_they_stand_in_the_release():
    """Of both methods, and locations as well."""
    table, own, public = problem("location")
    release = dc.HybridEstimator(public.table._frame.to_native(), contrast="median", twins=2, random_state=0)
    release = release.fit(table, target="y").release_
    assert len(release.hybrid.twins) > 2
    assert expected_errors(own, public, PublicSubset, contrast="mean", twins=2)[0].error > 0


@pytest.mark.slow
def test_more_noise_is_expected_to_err_more():
    """Seeded, by a factor of a thousand in epsilon."""
    _, own, public = problem("linear")
    errors = [
        {
            one.n_points: one.error
            for one in expected_errors(own, public, epsilon=epsilon, n_points=40, measure="counts")
        }
        for epsilon in (0.01, 10.0)
    ]
    sizes = set(errors[0]) & set(errors[1]) - {None}
    assert sizes
    assert np.mean([errors[0][size] for size in sizes]) > 2 * np.mean([errors[1][size] for size in sizes])


@pytest.mark.slow
def test_sizes_that_are_asked_for_are_of_the_real_public_table():
    """A twin's has half its points: sizes beyond them would spoil each repeat, and are left out of all."""
    table, own, public = problem("linear")
    counted = {"measure": "counts", "n_points": 120}
    sizes = (30, 120)
    found = expected_errors(own, public, PublicSubset, sizes=sizes, **counted)
    assert len(found) >= 3
    assert found == expected_errors(own, public, PublicSubset, **counted)
    subset = dc.PublicSubset(public.table._frame.to_native(), sizes=sizes, twins=3, random_state=0, **counted)
    record = subset.fit(table, target="y").release_.hybrid
    assert record.twins == found
    assert {one.n_points for one in record.candidates} >= set(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("n_records", [2, 3, 5, 12])
@pytest.mark.parametrize("kind", [HybridEstimate, PublicSubset])
def test_few_public_records_spoil_no_run(kind, n_records):
    """A half that will not do as a table is left out: an error now would come after the charge."""
    own = metadata("linear")
    public = PublicRecords(rows("linear", n_records, seed=4), own)
    for measure in ("counts", "margins"):
        assert len(expected_errors(own, public, kind, measure=measure, twins=5)) <= 7


def test_a_half_may_lack_a_value_of_the_target():
    """Of two values, one of them rare, without declared bounds."""
    frame = rows("linear", 60).set_column(3, "y", pa.array([1.0] + [0.0] * 59))
    own = metadata("linear")
    found = expected_errors(own, PublicRecords(frame, own), contrast="logistic", measure="counts", twins=8)
    assert len(found) >= 2
