"""Derived columns in the metadata, in requests of every kind and in what is told of them; wrong ones are refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import yaml

import discreet as dc
from discreet.data.design import Design
from discreet.data.dummy import dummy_table
from discreet.data.formats.convert import to_csvw, to_smartnoise
from discreet.data.lint import lint
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.errors import DataMismatchError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.simulation.scenario import Scenario

SEED, N = 20261123, 3000
COLUMNS: dict[str, Any] = {
    "age": {"type": "integer", "lower": 20, "upper": 80, "source": "protocol"},
    "smoker": {"type": "integer", "lower": 0, "upper": 1, "source": "form"},
    "site": {"type": "category", "levels": ["dayton", "newark"], "source": "protocol"},
    "income": {"type": "real", "lower": 0, "upper": 1000, "missing": 100, "source": "form"},
    "cost": {"type": "real", "lower": 0, "upper": 20, "source": "tariff"},
}
DERIVED: dict[str, Any] = {
    "age_x_smoker": {"derived": "age * smoker"},
    "log_income": {"derived": "log(income + 1)"},
    "smoker_newark": {"derived": "smoker * is(site, 'newark')"},
    "log_cost": {"derived": "log(max(cost, 1))"},
    "is_dear": {"derived": "cost > 10"},
}


def metadata(**further: Any) -> Metadata:
    """With some derived columns."""
    facts = {"dataset": "people", "unit": "person", "neighboring": "replace_one", "n_rows": N}
    return Metadata.from_value(facts | {"columns": COLUMNS | DERIVED | further})


def people() -> pd.DataFrame:
    """A cost that depends on an interaction and on a logarithm."""
    rng = np.random.default_rng(SEED)  # noqa: TID251 - simulated data, not noise
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 81, N),
            "smoker": rng.integers(0, 2, N),
            "site": rng.choice(["dayton", "newark"], N),
            "income": np.exp(rng.uniform(0, np.log(1000), N)),
        }
    )
    noise = 0.3 * rng.standard_normal(N)
    return frame.assign(cost=2 + 0.1 * frame.age * frame.smoker + np.log(frame.income + 1) + noise)


PEOPLE = people()

REFUSED = {
    "unknown name": ({"derived": "agee * 2"}, "'agee' is none"),
    "unknown function": ({"derived": "sin(age)"}, "a function must be one of"),
    "of a derived one": ({"derived": "log_income + age"}, "'log_income' is derived"),
    "cycle": ({"derived": "new + age"}, "'new' is derived"),
    "unit": ({"derived": "who * 2"}, "'who' is none"),
    "category as a number": ({"derived": "site + 1"}, r"is a category: write such as is\(site"),
    "number as a category": ({"derived": "is(age, '20')"}, "no level of 'age'"),
    "unknown level": ({"derived": "is(site, 'paris')"}, "no level of 'site'"),
    "no column": ({"derived": "1 + 2"}, "must name a column"),
    "zero divisor": ({"derived": "cost / (age - 50)"}, "declared lower and upper, as it divides by age - 50"),
    "logarithm of 0": ({"derived": "log(income)"}, "declared lower, as it takes log of income, which may be 0 or less"),
    "logarithm below 0": ({"derived": "log(-age)"}, "never has a value"),
    "root below 0": ({"derived": "sqrt(-age)"}, "never has a value"),
    "one end of two": ({"derived": "1 / (age - 50)", "lower": -1}, "declared upper"),
    "too large": ({"derived": "exp(income)"}, "do not keep it within 1e\\+100"),
    "constant": ({"derived": "age - age * 1 + 0 * age", "lower": 1, "upper": 1}, "lower must be less than upper"),
    "constant by its columns": ({"derived": "0 * age"}, "'new': lower must be less than upper"),
    "giant": ({"derived": "age" + " + age" * 100}, "at most 500 characters"),
    "private bounds": ({"derived": "age", "bounds": "private"}, "cannot be private"),
    "a category": ({"type": "category", "derived": "age"}, "not a known key of a column of type category"),
    "no text": ({"derived": 7}, "must be a text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_each_flaw_is_refused_in_one_line(case: str) -> None:
    """And the line says what to declare or to correct."""
    column, problem = REFUSED[case]
    with pytest.raises(MetadataError, match=problem) as refused:
        metadata(new=column)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", [{"type": "real"}, {"type": "real", "bounds": "private"}, {"type": "category"}])
def test_a_source_must_have_declared_bounds_or_levels(source: dict[str, Any]) -> None:
    """Bounds that are estimated later would make the derived column's bounds private."""
    with pytest.raises(MetadataError, match=r"with declared (lower and upper bounds|levels), but 'raw' has none"):
        metadata(raw=source, new={"derived": "raw * 2"})


def test_features_cannot_be_derived() -> None:
    """They are columns of the table that are alike."""
    features = {"type": "real", "lower": 0, "upper": 1, "match": "g*", "derived": "age"}
    facts = {"dataset": "people", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    with pytest.raises(MetadataError, match="features cannot be derived"):
        Metadata.from_value(facts | {"features": features})


def test_bounds_follow_or_are_declared() -> None:
    """Declared ones win; the text that is stored holds those alone that do not follow, and reads back the same."""
    declared = metadata(ratio={"derived": "cost / age", "upper": 0.5, "source": "tariff"})
    ends = {name: (declared.columns[name].lower, declared.columns[name].upper) for name in declared.derived}
    assert ends["age_x_smoker"] == (0.0, 80.0)
    assert ends["log_income"] == pytest.approx((0.0, np.log(1001)))
    assert ends["smoker_newark"] == ends["is_dear"] == (0.0, 1.0)
    assert ends["ratio"] == (0.0, 0.5)
    text = yaml.safe_load(declared.to_yaml())["columns"]
    assert text["age_x_smoker"] == {"type": "real", "out_of_bounds": "clip", "derived": "age * smoker"}
    assert text["ratio"]["upper"] == 0.5
    assert Metadata.from_text(declared.to_yaml()) == declared
    assert Metadata.from_text(declared.to_yaml()).sha256 == declared.sha256


def test_the_digest_is_of_the_expression_and_of_its_sources() -> None:
    """Metadata with another expression, or the same on other bounds, are others."""
    wider = {"age": COLUMNS["age"] | {"upper": 90}}
    others = [metadata(log_income={"derived": "log(1 + income)"}), metadata(**wider), metadata(new={"derived": "-age"})]
    assert len({metadata().sha256, *(other.sha256 for other in others)}) == 4


def test_lint_wants_a_source_for_declared_bounds_alone() -> None:
    """Bounds that follow have those of their columns."""
    assert lint(metadata()) == []
    findings = lint(metadata(ratio={"derived": "cost / age", "upper": 0.5}))
    assert [finding.place for finding in findings] == ["columns.ratio"]


def test_other_formats_refuse_them() -> None:
    """A file that left them out would read as another table's."""
    for to in (to_csvw, to_smartnoise):
        with pytest.raises(MetadataError, match="'age_x_smoker' is derived"):
            to(metadata())


def test_a_dummy_has_the_stored_columns() -> None:
    """And can be opened with the metadata."""
    rng = Source.seeded(SEED)
    table = dummy_table(metadata(), N, rng.words)
    assert table.column_names == list(COLUMNS)
    dc.open_table(table, metadata()).check(Design.plan(metadata(), "log_cost").columns)


def test_a_cell_is_what_the_row_map_would_read() -> None:
    """Sources are clipped, missing cells are the declared stand-in or the middle; no value is a missing cell."""
    design = Design.plan(
        metadata(ratio={"derived": "1 / smoker", "lower": 1, "upper": 3}), "cost", ["ratio", "log_income"]
    )
    frame = pd.DataFrame({"smoker": ["1", "0", ""], "income": ["9999", "", "x"], "cost": ["0"] * 3})
    table = dc.open_table(
        frame.assign(age=20, site="dayton"), metadata(ratio={"derived": "1 / smoker", "lower": 1, "upper": 3})
    )
    cells = next(iter(table.encoded(design)))
    assert cells[:, 1].tolist() == [-GRID, 0, 0]  # 1, no value, 1 / 0.5
    missing = round((2 * np.log(101) / np.log(1001) - 1) * GRID)
    assert cells[:, 2].tolist() == [GRID, missing, missing]


def test_a_table_may_not_have_a_column_of_that_name() -> None:
    """Which of the two is meant could not be told."""
    table = dc.open_table(PEOPLE.assign(log_income=0.0), metadata())
    design = Design.plan(metadata(), "cost")
    with pytest.raises(DataMismatchError, match="'log_income' is"):
        table.check(design.columns)


FITS = {
    "linear": ("cost", 10.0),
    "logistic": ("is_dear", 10.0),
    "poisson": ("age_x_smoker", 10.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FITS)
def test_a_fit_is_that_of_a_table_with_the_column(family: str) -> None:
    """The same noise, the same coefficients, as if somebody had computed the columns before."""
    target, epsilon = FITS[family]
    names = ["log_income", "smoker_newark", "age"] + (["age_x_smoker"] if target != "age_x_smoker" else [])
    computed = PEOPLE.assign(
        log_income=np.log(PEOPLE.income + 1),
        age_x_smoker=PEOPLE.age * PEOPLE.smoker,
        smoker_newark=PEOPLE.smoker * (PEOPLE.site == "newark"),
        is_dear=(np.clip(PEOPLE.cost, 0, 20) > 10).astype(int),
        log_cost=np.log(np.clip(PEOPLE.cost, 1, 20)),
    )
    method = method_of(family, epsilon=epsilon, delta=1e-6)
    tables = [dc.open_table(PEOPLE, metadata()), dc.open_table(computed, metadata().with_derived_stored())]
    fits = []
    for table in tables:
        prepared = method.prepare(table.metadata, target, names)
        table.check(prepared.columns)
        fits.append(prepared.run(table, Source.seeded(SEED)).fit)
    pairs = zip(fits[0].coefficients, fits[1].coefficients, strict=True)
    assert all(one.estimate == pytest.approx(other.estimate, rel=1e-3, abs=1e-4) for one, other in pairs)
    if family == "linear":
        estimates = {c.name: c.estimate for c in fits[0].coefficients}
        assert estimates["age_x_smoker"] == pytest.approx(0.1, abs=0.01)
        assert estimates["log_income"] == pytest.approx(1.0, abs=0.05)


SELECTIONS: dict[str, dict[str, Any]] = {
    "pcls": {"epsilon": 20.0},
    "moments": {"epsilon": 20.0, "delta": 1e-6},
    "pcpl": {"epsilon": 20.0, "delta": 1e-6},
    "sis": {"epsilon": 20.0, "n_features_to_select": 2},
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_selection_finds_what_matters(name: str) -> None:
    """The interaction and the logarithm are candidates as any others."""
    table = dc.open_table(PEOPLE, metadata())
    method = method_of(name, **SELECTIONS[name])
    prepared = method.prepare(table.metadata, "cost", ["smoker_newark", "log_income", "age_x_smoker", "age"])
    table.check(prepared.columns)
    selected = prepared.run(table, Source.seeded(SEED)).selected
    assert {"log_income", "age_x_smoker"} & set(selected)
    assert "age_x_smoker" in selected
    stated = {column.name: column.source for column in prepared.public}
    assert stated["log_income"] == "derived: log(income + 1)"


def test_candidates_are_all_declared_columns() -> None:
    """The derived ones come with the others where none are named."""
    table = dc.open_table(PEOPLE, metadata())
    assert Design.plan(metadata(), "cost").candidates == tuple(n for n in metadata().columns if n != "cost")
    assert list(table.feature_names("cost")) == [n for n in metadata().columns if n != "cost"]


def test_a_sparse_matrix_has_the_same_scores() -> None:
    """A derived column or target is computed from dense columns, whatever is stored."""
    names = ["age", "smoker", "income"]
    columns = {name: COLUMNS[name] for name in (*names, "cost")}
    derived = {name: DERIVED[name] for name in ("age_x_smoker", "log_income", "log_cost")}
    facts = {"dataset": "people", "unit": "person", "neighboring": "replace_one", "n_rows": N}
    declared = Metadata.from_value(facts | {"columns": columns | derived})
    sparse = dc.open_table((scipy.sparse.csr_array(PEOPLE[names].to_numpy(float)), PEOPLE.cost.to_numpy()), declared)
    dense = dc.open_table(PEOPLE[[*names, "cost"]], declared)
    for target, features in (("cost", ["age", "age_x_smoker"]), ("log_cost", ["log_income", "age"])):
        design = ScoreDesign.plan(declared, target, features)
        sparse.check(design.columns)
        assert np.array_equal(sparse.products(design), dense.products(design))
        assert sparse.target_sum(design) == dense.target_sum(design)
    assert list(sparse.feature_names("cost")) == ["age", "smoker", "income", "age_x_smoker", "log_income", "log_cost"]


def test_arrays_are_the_stored_columns() -> None:
    """Their names are those of the table's columns, in their order."""
    X = PEOPLE[["age", "smoker", "site", "income"]].to_numpy(dtype=object)
    table = dc.open_table((X, PEOPLE.cost.to_numpy()), metadata())
    design = Design.plan(metadata(), "cost", ["log_income", "smoker_newark"])
    assert np.array_equal(table.moments(design), dc.open_table(PEOPLE, metadata()).moments(design))


def test_new_rows_are_predicted_from_the_sources() -> None:
    """They need not have the derived column."""
    fit = dc.LinearRegression(epsilon=50.0, delta=1e-6, random_state=1)
    fit.fit(dc.open_table(PEOPLE, metadata()), target="cost", candidates=["age_x_smoker", "log_income"])
    predicted = fit.predict(PEOPLE[["income", "smoker", "age"]].head(50))
    assert np.abs(predicted - PEOPLE.cost.head(50)).mean() < 0.6
    with pytest.raises(DataMismatchError, match="'smoker' is not there"):
        fit.predict(PEOPLE[["income", "age"]])


def test_a_simulated_table_has_derived_cells_of_the_same_row() -> None:
    """So a plan knows how far an interaction goes with its parts, drawn or not."""
    names = ["age", "smoker", "age_x_smoker", "log_income"]
    scenario = Scenario.of(metadata(), "cost", names, n_rows=500)
    table = scenario.draw(Source.seeded(SEED))
    frame = table._arrow.to_pandas()
    assert np.allclose(frame.age_x_smoker, frame.age * frame.smoker, atol=1e-9)
    assert "income" not in frame
    assert frame.log_income.skew() < -1.0
    design = Design.plan(scenario.draw_metadata, "cost", names)
    assert table.moments(design)[0, 0] == 500 * GRID**2


def test_the_target_of_a_long_table_may_be_derived() -> None:
    """Each person's is computed from that person's row."""
    facts = {"dataset": "reads", "unit": "person", "neighboring": "add_or_remove_one"}
    columns = {"cost": COLUMNS["cost"], "log_cost": DERIVED["log_cost"]}
    features = {"type": "real", "lower": 0, "upper": 9, "count": 3}
    layout = {"row": "who", "feature": "gene", "value": "reads"}
    declared = Metadata.from_value(facts | {"columns": columns, "features": features, "layout": layout})
    plain = declared.with_derived_stored()
    values = pd.DataFrame({"who": [1, 1, 2, 3], "gene": [0, 2, 1, 2], "reads": [9, 3, 5, 7]})
    people = pd.DataFrame({"who": [1, 2, 3, 4], "cost": [2.0, 0.0, 20.0, 7.5]})
    computed = people.assign(log_cost=np.log(np.maximum(people.cost, 1)))
    tables = dc.open_table(values, declared, targets=people), dc.open_table(values, plain, targets=computed)
    sums = []
    for table in tables:
        design = ScoreDesign.plan(table.metadata, "log_cost", table.feature_names("log_cost"))
        table.check(design.columns)
        sums.append((table.products(design).tolist(), table.target_sum(design)))
    assert sums[0] == sums[1]
