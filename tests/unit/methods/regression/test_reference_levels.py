"""Every regression compares the levels of a category with the declared reference, by default the first level."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.hybrid_design import HybridDesign
from discreet.errors import MetadataError
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.registry import method_of

SEED, N = 20261123, 4000
EFFECTS = {"rare": -0.2, "mid": 0.1, "big": 0.0}
EPSILON = 1000.0


def people() -> pd.DataFrame:
    """A rare level, and a target that depends on all of them."""
    rng = np.random.default_rng(SEED)  # noqa: TID251 - simulated data, not noise
    site = rng.choice(["rare", "mid", "big"], N, p=[0.05, 0.25, 0.7])
    age = rng.uniform(0, 1, N)
    line = 0.3 * age + np.array([EFFECTS[name] for name in site])
    frame = pd.DataFrame({"site": site, "age": age, "y": line + 0.1 * rng.standard_normal(N)})
    frame["z"] = (rng.uniform(size=N) < 1 / (1 + np.exp(-4 * line))).astype(int)
    frame["n"] = np.minimum(rng.poisson(np.exp(2 * line)), 20)
    return frame


PEOPLE = people()


def metadata(**site: Any) -> dc.Metadata:
    """Of the people, with or without a reference."""
    return dc.Metadata.from_value(
        {
            "dataset": "clinics",
            "unit": "person",
            "neighboring": "replace_one",
            "n_rows": N,
            "columns": {
                "site": {"type": "category", "levels": ["rare", "mid", "big"], **site},
                "age": {"type": "real", "lower": 0, "upper": 1},
                "y": {"type": "real", "lower": -1, "upper": 1},
                "z": {"type": "integer", "lower": 0, "upper": 1},
                "n": {"type": "integer", "lower": 0, "upper": 20},
            },
        }
    )


def fit(family: str, target: str, **site: Any) -> Any:
    """What a regression releases, with next to no noise."""
    method = method_of(family, epsilon=EPSILON, delta=1e-6)
    table = dc.open_table(PEOPLE, metadata(**site))
    return method.prepare(table.metadata, target, ["site", "age"]).run(table, Source.seeded(SEED))


FAMILIES = {"linear": "y", "logistic": "z", "poisson": "n"}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("reference", [None, "mid", "big"])
def test_the_reference_is_the_declared_one_or_the_first(family: str, reference: str | None) -> None:
    """The release names it, and gives it no coefficient."""
    given = {} if reference is None else {"reference": reference}
    record = fit(family, FAMILIES[family], **given).fit
    expected = reference or "rare"
    levels = [c for c in record.coefficients if c.column == "site"]
    assert [c.level for c in levels] == [level for level in EFFECTS if level != expected]
    assert {c.reference for c in levels} == {expected}
    assert {c.reference for c in record.coefficients if c.column != "site"} == {None}


@pytest.mark.parametrize("family", FAMILIES)
def test_another_reference_is_the_same_model(family: str) -> None:
    """Coefficients differ by that of the other reference, the intercept takes it up, other columns stay."""
    first, other = (
        {c.name: c.estimate for c in fit(family, FAMILIES[family], **site).fit.coefficients}
        for site in ({}, {"reference": "big"})
    )
    shift = other["site=rare"]
    tolerance = 2e-3 if family == "linear" else 0.03
    assert first["site=big"] == pytest.approx(-shift, abs=tolerance)
    assert first["site=mid"] == pytest.approx(other["site=mid"] - shift, abs=tolerance)
    assert first["(intercept)"] == pytest.approx(other["(intercept)"] + shift, abs=tolerance)
    assert first["age"] == pytest.approx(other["age"], abs=tolerance)


def test_linear_coefficients_are_those_of_least_squares() -> None:
    """By an independent solver, on dummies against the reference."""
    X = np.column_stack([np.ones(N), PEOPLE.site == "rare", PEOPLE.site == "big", PEOPLE.age]).astype(float)
    expected = np.linalg.lstsq(X, PEOPLE.y.to_numpy(), rcond=None)[0]
    record = fit("linear", "y", reference="mid").fit
    assert [c.estimate for c in record.coefficients] == pytest.approx(expected.tolist(), abs=2e-3)
    assert all(c.interval[0] <= c.estimate <= c.interval[1] for c in record.coefficients)


def test_a_rare_reference_does_not_blur_the_other_columns() -> None:
    """The interval of a number is the same, whichever level the others are compared with."""
    noisy = method_of("linear", epsilon=0.5, delta=1e-6)
    ends = []
    for site in ({}, {"reference": "big"}):
        table = dc.open_table(PEOPLE, metadata(**site))
        outcome = noisy.prepare(table.metadata, "y", ["site", "age"]).run(table, Source.seeded(SEED))
        ends.append(next(c.interval for c in outcome.fit.coefficients if c.name == "age"))
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_a_selection_of_columns_does_not_depend_on_the_reference() -> None:
    """A category enters as a whole."""
    records = [fit("linear", "y", **site).moments for site in ({}, {"reference": "big"})]
    assert MomentAnswers(records[0]).select() == MomentAnswers(records[1]).select()


def test_an_older_release_keeps_its_reference() -> None:
    """It has no references: the most frequent level was compared with, and its text stays as it was."""
    record = fit("linear", "y").moments
    older = type(record).model_validate(record.model_copy(update={"references": ()}).model_dump())
    assert "references" not in older.model_dump()
    assert [c.level for c in MomentAnswers(older).fit().coefficients] == [None, "rare", "mid", None]


def test_a_model_without_an_intercept_has_all_levels() -> None:
    """There is nothing that they could be compared with."""
    method = method_of("linear", epsilon=EPSILON, delta=1e-6, fit_intercept=False)
    table = dc.open_table(PEOPLE, metadata(reference="mid"))
    record = method.prepare(table.metadata, "y", ["site", "age"]).run(table, Source.seeded(SEED)).fit
    assert [c.level for c in record.coefficients] == ["rare", "mid", "big", None]
    assert {c.reference for c in record.coefficients} == {None}


def test_estimates_on_public_records_have_the_same_reference() -> None:
    """The terms of a point are the dummies of the other levels."""
    design = HybridDesign.plan(metadata(reference="mid"), "y", ["site"])
    terms = design.terms(np.array([[0, 0], [0, 1], [0, 2]], dtype=np.int16))
    assert (terms[:, 1:] > 0).tolist() == [[True, False], [False, False], [False, True]]


def test_the_reference_must_be_a_level() -> None:
    """One line says what to do."""
    with pytest.raises(MetadataError, match="reference must be one of the levels"):
        metadata(reference="other")
