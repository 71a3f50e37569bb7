"""A score of one's own: what is rounded, what is said of it, what ends in the one failure."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ComputationFailedError, InvalidParameterError, PolicyError
from discreet.methods.screening.own_score import LARGEST, STEPS, _steps

X = np.tile([[1.0, -1.0, 0.5], [-1.0, -1.0, 0.5]], (50, 1))


def covariance(X, y):
    return np.abs(X.T @ y)


def table():
    box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    declared = {"dataset": "toy", "unit": "row", "neighboring": "replace_one", "n_rows": len(X)}
    metadata = dc.Metadata.from_value({**declared, "columns": dict.fromkeys(("x0", "x1", "x2", "y"), box)})
    return dc.open_table((X, X[:, 0]), metadata)


def own(score_func=covariance, sensitivity=2.0, **more):
    return dc.DPSIS(50.0, n_features_to_select=1, score_func=score_func, sensitivity=sensitivity, **more)


def test_steps_are_close_enough_at_any_size():
    """Scores one sensitivity apart are at most 2^20 + 2 steps apart, up to the ends; odd ones count as the least."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    scores = rng.uniform(-1, 1, 10_000) * 10.0 ** rng.uniform(-3, 12, 10_000)
    apart = np.abs(_steps((scores + 0.3) / 0.3) - _steps(scores / 0.3))
    assert apart.max() <= STEPS + 2
    odd = _steps(np.array([np.nan, -np.inf, np.inf, 1e300]))
    assert odd.tolist() == [-LARGEST, -LARGEST, LARGEST, LARGEST]


@pytest.mark.slow
def test_the_release_says_that_nobody_checked():
    """In the noise box and first among what is not protected; the score is named."""
    release = own().fit(table(), target="y").release_
    assert release.selected == ("x0",)
    assert "declared by the user, not checked" in release.noise.formula
    assert "declared by the user, not checked" in release.not_protected[0]
    assert release.request["parameters"]["score_func"] == "covariance"
    assert release.guarantee.epsilon == 50.0
    assert "declared by the user, not checked" in dc.render(release, "html")


def test_no_ledger_takes_it(tmp_path):
    """A ledger's sums are proved costs."""
    with pytest.raises(PolicyError, match="not checked"):
        own().fit(table(), target="y", ledger=tmp_path / "ledger.sqlite")
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("wrong", [lambda X, y: [1.0], lambda X, y: 1 / 0, lambda X, y: "many"])
def test_whatever_a_score_does_one_failure_leaves(wrong):
    """Its own words could tell of rows."""
    with pytest.raises(ComputationFailedError):
        own(wrong).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sensitivity": None}, "together"),
        ({"score_func": None}, "together"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"sensitivity": float("inf")}, "sensitivity"),
        ({"y_center": 0.5}, "without y_center"),
    ],
)
def test_what_does_not_fit_is_refused(parameters, message):
    """Before the rows are looked at."""
    with pytest.raises(InvalidParameterError, match=message):
        own(**parameters).fit(X, X[:, 0])
