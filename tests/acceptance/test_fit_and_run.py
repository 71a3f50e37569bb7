"""`fit` and `run` as a user meets them: what they print, what they charge, what they refuse."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.release import Release
from tests.acceptance.conftest import METADATA, people

PLAN = """
schema: discreet/run@1
data: people.parquet
metadata: people.yaml
target: visits
epsilon: 2
delta: 1e-4
select: {method: METHOD, epsilon: 0.5}
fit: {family: linear}
"""


@pytest.fixture
def granted(place):
    """A place whose ledger allows a delta, too."""
    assert place.run("budget", "grant", "clinic", "--epsilon", 10, "--delta", 0.01, "--ledger", place.ledger).code == 0
    return place


def fit(place, *more, **options):
    """Run a `fit`."""
    given = {"data": place.data, "metadata": place.metadata, "ledger": place.ledger} | options
    named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
    return place.run("fit", *(word for pair in named for word in pair), *more)


def plan(place, text):
    """Write a plan."""
    path = place.folder / "plan.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("method", ["pcls", "moments", "pcpl"])
def test_a_plan_is_one_charge_one_release_and_one_report(granted, method):
    """What was selected is what was fitted; the ledger has one entry more, and it is the release's."""
    path = plan(granted, PLAN.replace("METHOD", method))
    shown = granted.run("run", path, "--dry-run")
    assert (shown.code, "epsilon 2, delta 0.0001" in shown.out, granted.spent()) == (0, True, 0.0)
    done = granted.run("run", path, "--ledger", granted.ledger, "--out", "release.json", "--yes")
    assert done.code == 0, done
    assert granted.spent() == 2.0
    release = Release.read(granted.folder / "release.json")
    assert release.fit is not None
    assert {term.column for term in release.fit.coefficients} == {None, *release.selected}
    assert release.guarantee.model_dump()["epsilon"] == 2.0
    assert len(release.steps) >= (1 if method == "moments" else 2)
    for name in ("report.html", "report.pdf", "report.md"):
        assert granted.run("report", "release.json", "--out", name).code == 0
        assert (granted.folder / name).stat().st_size > 3000
    again = granted.run("run", path, "--ledger", granted.ledger, "--yes", "--json")
    assert json.loads(again.out) == release.model_dump(mode="json", by_alias=True)
    assert granted.spent() == 2.0


def test_fits_from_noisy_moments_are_free(granted):
    """One payment; then any of their columns, without the table; others are refused."""
    ask = {"method": "moments", "epsilon": 2, "delta": 1e-4, "out": "moments.json"}
    assert granted.select("--yes", **ask).code == 0
    granted.data.unlink()
    done = granted.run("fit", "--from", "moments.json", "--columns", "age,site", "--out", "fit.json", "--json")
    release = json.loads(done.out)
    assert (done.code, granted.spent()) == (0, 2.0)
    assert [term["column"] for term in release["fit"]["coefficients"]] == [None, "age", "site", "site"]
    assert release["provenance"]["derived_from"]
    assert release["guarantee"]["epsilon"] == 2.0
    granted.run("fit", "--from", "moments.json", "--columns", "age,shoe").refused(2)


def test_a_fit_of_what_a_release_selected_spends(granted):
    """The columns come from the release, the budget from the ledger."""
    assert granted.select("--yes", forced="age", out="release.json").code == 0
    done = fit(granted, "--from", "release.json", "--yes", "--json", epsilon=1, delta=1e-4)
    release = json.loads(done.out)
    assert (release["target"] if "target" in release else release["request"]["target"]) == "visits"
    assert "age" in release["request"]["candidates"]
    assert granted.spent() == 2.0


@pytest.mark.parametrize(
    ("change", "code", "hint"),
    [
        (("epsilon: 0.5", "epsilon: 2"), 2, "must cost at most the whole"),
        (("epsilon: 0.5", "epsilon: 0"), 2, "epsilon must lie in"),
        (("method: METHOD", "method: magic"), 2, "must select by one of"),
        (("family: linear", "family: magic"), 2, "must select by one of"),
        (("family: linear", "family: logistic"), 3, "numeric from 0 to 1"),
        (("family: linear", "family: linear, colour: red"), 2, "colour"),
        (("family: linear", "family: linear, delta: 1e-7"), 2, "fit step cannot have delta"),
        (("family: linear", "family: linear, fit_intercept: false"), 2, "cannot have fit_intercept"),
        (("method: METHOD", "method: moments, delta: 1e-2"), 2, "select step cannot have delta"),
        (("method: METHOD", "method: pcpl, delta: 1e-3"), 2, "delta must cover its parts"),
        (("delta: 1e-4", "delta: 2"), 2, "delta must lie in"),
        (("target: visits", "target: shoe"), 3, "shoe"),
        (("schema: discreet/run@1", "schema: discreet/run@9"), 2, "discreet/run@1"),
        (("fit:", "finish:"), 2, "finish|fit"),
        (("metadata: people.yaml", "metadata: nothing.yaml"), 2, "nothing.yaml"),
        (("PLAN", "PLAN"), 0, ""),
    ],
)
def test_bad_plans_are_refused_and_cost_nothing(granted, change, code, hint):
    """One clear line; the last case is the plan as it should be."""
    text = PLAN.replace(*change).replace("METHOD", "pcls")
    done = granted.run("run", plan(granted, text), "--ledger", granted.ledger, "--yes")
    if code:
        import re

        assert re.search(hint, done.refused(code)), done
        assert granted.spent() == 0.0
    else:
        assert done.code == 0


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"columns": None}, 2, "--columns"),
        ({"target": None}, 2, "--target"),
        ({"epsilon": None}, 2, "--epsilon"),
        ({"columns": "age,age"}, 2, "repeat"),
        ({"columns": "visits"}, 2, "cannot be a candidate"),
        ({"family": "poisson", "delta": 0}, 2, "delta must lie in"),
        ({"family": "logistic", "delta": 0}, 2, "delta must lie in"),
        ({"family": "logistic"}, 3, "numeric from 0 to 1"),
        ({"family": "magic"}, 2, "magic"),
        ({"confidence": 1.5}, 2, "confidence"),
        ({"delta": 1.5}, 2, "delta"),
        ({"epsilon": 20}, 4, "10"),
    ],
)
def test_bad_fits_are_refused_and_cost_nothing(granted, options, code, hint):
    """One clear line."""
    given = {"target": "visits", "columns": "age,site", "epsilon": 1, "delta": 1e-4} | options
    assert hint in fit(granted, "--yes", **given).refused(code)
    assert granted.spent() == 0.0


def degenerate(column):
    """Rows in which something is as bad as can be."""
    table = people()
    n = table.num_rows
    rows = {
        "a constant column": {"age": [40] * n},
        "all y equal": {"visits": [3] * n},
        "a perfect fit": {"visits": [age / 110 * 20 for age in table["age"].to_pylist()]},
        "separable": {"visits": [int(age > 50) for age in table["age"].to_pylist()]},
        "all missing": {"age": [None] * n, "visits": [None] * n},
    }[column]
    return pa.table({name: rows.get(name, table[name].to_pylist()) for name in table.column_names})


@pytest.mark.parametrize("case", ["a constant column", "all y equal", "a perfect fit", "separable", "all missing"])
@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_degenerate_rows_give_finite_numbers(granted, case, family):
    """The rows may be anything: there is a release, its numbers are finite, and intervals have their ends in order."""
    pq.write_table(degenerate(case), granted.data)
    upper = 1 if family == "logistic" else 20
    other = granted.write_metadata(lambda value: value["columns"]["visits"].update(upper=upper))
    ask = {"target": "visits", "columns": "age,site,income", "epsilon": 5, "delta": 1e-4, "metadata": other}
    done = fit(granted, "--yes", "--json", family=family, **ask)
    assert done.code == 0, done
    for term in json.loads(done.out)["fit"]["coefficients"]:
        ends = (term["low"], term["estimate"], term["high"])
        assert all(map(math.isfinite, ends))
        assert term["low"] <= term["high"]


def test_delta_too_large_for_the_rows_is_refused(place):
    """A delta above one in n would allow a whole row to be published."""
    assert "delta" in place.select("--yes", method="pcpl", delta=0.1).refused(2)
    assert METADATA["n_rows"] * 0.1 > 1
