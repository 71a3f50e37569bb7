"""Logistic and Poisson regression: what is refused before data are opened, and what several rows of a unit cost."""

import json

import numpy as np
import pytest

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.score_fit import Fit
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.release import LARGEST
from discreet.workflow import answer, dry_run

N_ROWS = 4000


def metadata(rows_per_unit, upper=1):
    """Two columns and a response; the number of rows is private."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    y = {"type": "integer", "lower": 0, "upper": upper, "source": "design"}
    unit = {"unit_id": "id"} if rows_per_unit > 1 else {}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "rows_per_unit": rows_per_unit}
        | {"columns": {"a": box, "b": box, "y": y}}
        | unit
    )


def table(rows_per_unit):
    """Rows whose response follows the first column; a unit owns at most 20 of them."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated rows, not noise
    a, b = rng.uniform(-1, 1, (2, N_ROWS))
    y = (rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-a))).astype(int)
    columns = {"a": a, "b": b, "y": y, "id": np.arange(N_ROWS) // 20}
    return ArraysTable(columns, metadata(rows_per_unit))


@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize(("epsilon", "delta", "rows_per_unit"), [(1e-7, 1e-12, 1), (0.1, 1e-6, 1_000_000)])
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_charged(
    tmp_path, family, epsilon, delta, rows_per_unit
):
    """The plan is refused already, and so is the request: no entry is made, no row read."""
    method = method_of(family, epsilon=epsilon, delta=delta)
    with pytest.raises(InvalidParameterError, match=r"fit in 64 bits, but .*Raise epsilon, or lower rows_per_unit"):
        dry_run(method, metadata(rows_per_unit), "y")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 10, 0.01)
        with pytest.raises(InvalidParameterError, match="fit in 64 bits"):
            answer(method, table(rows_per_unit), "y", ledger=ledger)
        assert len(ledger.history()) == 1


def test_a_plan_that_selects_first_is_refused_as_well():
    """The fit's columns are not known yet: the widest model must fit."""
    method = method_of(
        "run", epsilon=2e-7, delta=1e-12, select={"method": "pcls", "epsilon": 1e-7}, fit={"family": "logistic"}
    )
    with pytest.raises(InvalidParameterError, match="fit in 64 bits"):
        dry_run(method, metadata(1), "y")


@pytest.mark.parametrize("source", [Source(), Source.seeded(3)], ids=["system", "seeded"])
def test_the_largest_noise_that_is_accepted_can_be_drawn(source):
    """Near the limit there is a release, of finite estimates with ends that can be told or none."""
    method = method_of("logistic", epsilon=0.1, delta=1e-6)
    fit = answer(method, table(57_000), "y", rng=source).release.fit
    assert all(
        np.isfinite(entry.estimate) and entry.interval[0] <= entry.estimate <= entry.interval[1]
        for entry in fit.coefficients
    )


def test_intervals_hold_the_noise_for_all_rows_of_a_unit():
    """Units of twenty rows get twenty times the noise; its variance grows less than 400 times: long rows count less."""
    method, tables = method_of("logistic", epsilon=4.0, delta=1e-6), [table(c) for c in (1, 20)]
    one, twenty = (
        np.array(
            [
                answer(method, rows, "y", rng=Source.seeded(seed)).release.fit.coefficients[1].privacy_variance
                for seed in range(5, 10)
            ]
        )
        for rows in tables
    )
    assert 150 < np.median(twenty / one) < 300


def test_an_end_that_is_open_stays_open():
    """In own units; the middle of b's range is 12, six half ranges from zero."""
    box = {"type": "real", "source": "by design"}
    columns = {"a": box | {"lower": -1, "upper": 1}, "b": box | {"lower": 10, "upper": 14}}
    declared = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one"}
    columns["y"] = {"type": "integer", "lower": 0, "upper": 1, "source": "by design"}
    terms = (
        method_of("logistic", delta=1e-6).prepare(dc.Metadata.from_value(declared | {"columns": columns}), "y").terms
    )
    ends = np.array([[-1.0, 1.0], [-np.inf, np.inf], [-2.0, np.inf]])
    fit = Fit(np.zeros(3), *ends.T, np.eye(3), np.eye(3), 0.95, score=None)
    intercept, a, b = terms.fit("logistic", fit).coefficients
    assert (a.low, a.high, a.uninformative) == (None, None, True)
    assert (b.low, b.high, b.interval, b.uninformative) == (-1.0, None, (-1.0, np.inf), False)
    assert intercept.interval == (-1.0, 1.0)  # the fit's first interval is the intercept's, where all columns are zero
    assert terms.constant == (1.0, 0.0, -6.0)


def test_a_fit_is_finite_whatever_the_units():
    """The widest target over the narrowest column: its variance per unit is hardly a float, and the release is JSON."""
    box = {"type": "real", "source": "by design"}
    columns = {"a": box | {"lower": -1, "upper": 1}, "b": box | {"lower": 0, "upper": 1e-90}}
    columns["y"] = box | {"lower": 0, "upper": 1e90}
    declared = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 25, "columns": columns}
    cells = (np.full((25, 2), np.nan), np.full(25, np.nan))
    release = (
        dc.PoissonRegression(delta=1e-6)
        .fit(dc.open_table(cells, dc.Metadata.from_value(declared)), target="y")
        .release_
    )
    json.loads(release.to_json(), parse_constant=pytest.fail)
    assert 1e180 < max(coefficient.privacy_variance for coefficient in release.fit.coefficients) <= LARGEST
