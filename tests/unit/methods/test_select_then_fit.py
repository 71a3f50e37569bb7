"""Plans with a screening: one price whichever columns come, and what cannot be asked after it."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.events import LaplaceEvent
from discreet.data.engines.frame import FrameTable
from discreet.data.halves import metadata_of_halves
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.workflow import dry_run

N, D, K = 3000, 12, 4
COLUMNS = {f"x{i}": {"type": "real", "lower": -1 - i, "upper": 1 + i * i, "source": "d"} for i in range(D)}
METADATA = Metadata.from_value(
    {
        "dataset": "d",
        "unit": "person",
        "neighboring": "replace_one",
        "n_rows": N,
        "columns": {**COLUMNS, "y": {"type": "real", "lower": -4, "upper": 4}},
    }
)
SELECTIONS = [
    None,
    {"method": "pcls"},
    {"method": "pcls", "model_penalty": "bic", "l1_radius": "private", "mechanism": "exponential"},
    {"method": "pcpl"},
    {"method": "moments"},
]


def prepared(select=None, screen=None, fit=None, epsilon=6.0, delta=1e-4, metadata=METADATA, inference="none"):
    screen = {"method": "sis", "n_features_to_select": K, **(screen or {})}
    steps = {"screen": screen, "select": select, "fit": fit or {}}
    method = method_of("run", epsilon=epsilon, delta=delta, selective_inference=inference, **steps)
    return method.prepare(metadata, "y")


def table():
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    cells = {name: rng.uniform(c["lower"], c["upper"], N) for name, c in COLUMNS.items()}
    cells["y"] = np.clip(2 * cells["x0"] - 1.5 * cells["x1"] + 0.3 * rng.standard_normal(N), -4, 4)
    return FrameTable(pa.table(cells), METADATA)


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("family", ["linear", "poisson"])
def test_the_price_is_the_same_whichever_columns_come(select, family):
    """Mixed bounds, random k of the candidates: every later event is the one that was priced."""
    target = {"type": "integer", "lower": 0, "upper": 9} if family == "poisson" else METADATA.to_dict()["columns"]["y"]
    given = Metadata.from_value({**METADATA.to_dict(), "columns": {**COLUMNS, "y": target}})
    one, rng = prepared(select, fit={"family": family}, metadata=given), np.random.default_rng(1)  # noqa: TID251
    for _ in range(15):
        columns = tuple(f"x{i}" for i in sorted(rng.choice(D, K, replace=False)))
        assert one.then(columns).event == one.widest.event


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("family", ["linear", "poisson"])
def test_by_half_the_price_is_the_same_whichever_columns_come(select, family):
    """Of the selection among screened columns, and of the fit of what it may select."""
    target = {"type": "integer", "lower": 0, "upper": 9} if family == "poisson" else METADATA.to_dict()["columns"]["y"]
    given = Metadata.from_value({**METADATA.to_dict(), "columns": {**COLUMNS, "y": target}})
    one = prepared(select, fit={"family": family}, metadata=given, inference="split")
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    for size in [K] * 10 + [0, 1, 2, 3]:
        columns = tuple(f"x{i}" for i in sorted(rng.choice(D, size, replace=False)))
        assert one.fit.then(columns).event == one.fit.widest.event
        if size == K and one.selection is not None:
            assert one.selection.then(columns).event == one.selection.widest.event


@pytest.mark.parametrize("inference", ["none", "split"])
@pytest.mark.parametrize("select", SELECTIONS)
def test_steps_follow_each_other(select, inference):
    """What was screened stands in the release; what was selected is among it, and fitted."""
    outcome = prepared(select, screen={"epsilon": 3.0}, inference=inference).run(table(), Source.seeded(1))
    screened = next(step.columns for step in outcome.steps if step.columns is not None)
    assert len(screened) == K
    assert set(outcome.selected) <= set(screened)
    assert {term.column for term in outcome.fit.coefficients} == {None, *outcome.selected}
    names = [step.name for step in outcome.steps]
    assert names[0] == "screening"
    assert ("selection" in names) == (select is not None and select["method"] != "moments")
    if select == {"method": "moments"}:
        assert names.count("moments") == (2 if inference == "split" else 1)
    if select is None:
        assert outcome.selected == screened


def test_parts_share_alike_what_is_left():
    """A third each by default; the whole is the guarantee."""
    for epsilon, stated, parts in ((3.0, {}, (1, 1, 1)), (3.0, {"epsilon": 2.0}, (2, 0.5, 0.5))):
        one = prepared({"method": "pcls"}, stated, epsilon=epsilon)
        told = one.parameters
        assert tuple(told[step]["epsilon"] for step in ("screen", "select", "fit")) == parts
    steps = {"screen": {"n_features_to_select": 3}, "select": {"method": "pcls"}}
    for inference in ("split", "none"):
        record = dry_run(
            method_of("run", epsilon=3.0, delta=1e-6, selective_inference=inference, **steps), METADATA, "y"
        )
        assert float(record.guarantee.epsilon) == pytest.approx(3, abs=1e-6)
        assert list(record.prepared.parameters) == [
            "epsilon", "delta", "selective_inference", "screen", "select", "fit",
        ]  # fmt: skip
        assert record.prepared.parameters["selective_inference"] == inference


def test_each_half_has_all_of_epsilon():
    """What chooses shares it, what is fitted has it alone; and the halves are told their own number of rows."""
    one = prepared({"method": "pcls", "n0": 10}, {"epsilon": 2.0}, epsilon=3.0, inference="split")
    told = one.parameters
    assert [told[step]["epsilon"] for step in ("screen", "select", "fit")] == [2.0, 1.0, 3.0]
    odd = Metadata.from_value({**METADATA.to_dict(), "n_rows": 7})
    assert [half.n_rows for half in metadata_of_halves(odd)] == [3, 4]
    assert one.first.whole.metadata.n_rows == N // 2
    with pytest.raises(InvalidParameterError, match="cost at most the whole"):
        prepared({"method": "pcls", "epsilon": 2.0}, {"epsilon": 2.0}, epsilon=3.0, inference="split")
    with pytest.raises(InvalidParameterError, match="cost at most the whole"):
        prepared(fit={"epsilon": 4.0}, epsilon=3.0, inference="split")


UNITS = {"unit_id": "who", "rows_per_unit": 2}


def test_people_are_halved_whatever_is_declared_of_them():
    """Under replace_one with identifiers the number of rows of a half is private, and guessed to be half of all."""
    replaced = Metadata.from_value({**METADATA.to_dict(), **UNITS})
    facts = {key: value for key, value in replaced.to_dict().items() if key != "n_rows"}
    added = Metadata.from_value({**facts, "neighboring": "add_or_remove_one"})
    counted = Metadata.from_value({**facts, "n_units": 1000})
    for metadata in (METADATA, added, replaced, counted):
        assert prepared(metadata=metadata, inference=None).parameters["selective_inference"] == "split"
    told = prepared({"method": "pcls"}, metadata=replaced, inference="split")
    assert [told.parameters[step].get("n0") for step in ("screen", "select", "fit")] == [N // 2] * 3
    assert "the number of rows" in told.not_protected
    assert [(half.n_rows, half.n_units) for half in metadata_of_halves(replaced)] == [(None, N // 4)] * 2
    assert [(half.n_rows, half.n_units) for half in metadata_of_halves(counted)] == [(None, 500)] * 2
    alone = Metadata.from_value({**METADATA.to_dict(), "n_rows": 1})
    with pytest.raises(InvalidParameterError, match="2 rows or more"):
        prepared(metadata=alone, inference="split")


def test_another_price_than_was_reserved_ends_the_run():
    """Control: a step whose event depends on the columns would be noticed."""
    one = prepared()
    one.widest.event = LaplaceEvent(Fraction(1, 7))
    with pytest.raises(ArithmeticError, match="reserved"):
        one.run(table(), Source.seeded(1))
    for step in ("selection", "fit"):
        halves = prepared({"method": "pcls"}, inference="split")
        getattr(halves, step).widest.event = LaplaceEvent(Fraction(1, 7))
        with pytest.raises(ArithmeticError, match="reserved"):
            halves.run(table(), Source.seeded(1))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"select": {"method": "pcls", "forced": ["x1"]}}, "select step cannot have forced after a screening"),
        ({"select": {"method": "moments", "groups": [["x1", "x2"]]}}, "cannot have groups"),
        ({"screen": {"method": "pcls"}}, "screen.method must be one of sis, two-stage"),
        ({"screen": {"delta": 1e-6}}, "screen step cannot have delta"),
        ({"screen": {"n_features_to_select": 12}}, "nothing needs to be spent"),
        ({"screen": {"epsilon": 6.0}}, "parts of a plan must cost at most the whole"),
        ({"screen": {"alpha": 1.0}}, "Method sis has no parameter alpha"),
        ({"select": {"method": "lasso"}}, "select.method must be one of pcls"),
        ({"fit": {"family": "cox"}}, "fit.family must be one of linear, logistic, poisson, but fit.family='cox'"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, message):
    """In one line, from the plan alone."""
    with pytest.raises(InvalidParameterError, match=message):
        prepared(**asked)


UNBOUND = {"z": {"type": "real"}}
WIDE = {"features": {"type": "real", "lower": -1, "upper": 1, "match": "g*"}}


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize(
    ("columns", "more"), [({}, {}), (UNBOUND, {}), ({}, WIDE)], ids=["as declared", "no bounds", "features"]
)
def test_a_selection_of_nothing_is_fitted_at_the_same_price(family, columns, more):
    """The intercept alone, whatever else is declared: columns without bounds, or thousands of features."""
    target = {"linear": ("real", -4, 4), "logistic": ("integer", 0, 1), "poisson": ("integer", 0, 9)}[family]
    declared = dict(zip(("type", "lower", "upper"), target, strict=True)) | {"source": "d"}
    facts = {**METADATA.to_dict(), **more, "columns": {**COLUMNS, **columns, "y": declared}}
    steps = {"select": {"method": "pcls"}, "fit": {"family": family}}
    method = method_of("run", epsilon=6.0, delta=1e-4, selective_inference="none", **steps)
    one = method.prepare(Metadata.from_value(facts), "y", tuple(COLUMNS))
    assert one.then(()).event == one.widest.event
    halves = method_of("run", epsilon=6.0, delta=1e-4, **steps).prepare(Metadata.from_value(facts), "y", tuple(COLUMNS))
    assert halves.fit.then(()).event == halves.fit.widest.event
    with pytest.raises(InvalidParameterError, match="At least one candidate"):
        method.prepare(Metadata.from_value(facts), "y", ())  # control: nothing to select from is refused before
