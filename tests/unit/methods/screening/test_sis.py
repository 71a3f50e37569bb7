"""Screening: what it costs, how a target is coded and centered, what is refused before anything is charged."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.methods.screening.sis import IndependenceScreening

N = 400
BOX = {"type": "real", "lower": -1, "upper": 1}
MANY = {"type": "category", "levels": ["healthy", "ill", "dead"]}


def metadata(relation="replace_one", target=None, **columns):
    public = {"n_rows": N} if relation == "replace_one" else {}
    return Metadata.from_value(
        {
            "dataset": "d",
            "unit": "person",
            "neighboring": relation,
            **public,
            "columns": {**{f"x{i}": BOX for i in range(6)}, "y": target or BOX, **columns},
        }
    )


def table(y, target=None, relation="replace_one", seed=0, **cells):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    columns = {f"x{i}": rng.uniform(-1, 1, len(y)) for i in range(6)}
    return FrameTable(pa.table({**columns, "y": y, **cells}), metadata(relation, target))


def screened(given, seed=1, **parameters):
    method = IndependenceScreening.of(**{"epsilon": 50.0, "n_features_to_select": 1, **parameters})
    prepared = method.prepare(given.metadata, "y")
    given.check(prepared.columns)
    return prepared.run(given, Source.seeded(seed))


def test_epsilon_is_split_exactly():
    """A tenth buys the median, three twentieths the mean of what is cut around it, the rest the choice."""
    choice = {"epsilon": 0.3, "n_features_to_select": 2, "association": "products"}
    prepared = IndependenceScreening(noise_test=False, **choice).prepare(metadata(), "y")
    assert [float(event.epsilon) for event in prepared.event.events] == [0.03, 0.045, 0.225]
    assert sum(event.epsilon for event in prepared.event.events) * 10 == 3
    assert [step.name for step in prepared.steps] == ["y_center", "y_shift", "screening"]
    public = IndependenceScreening(y_center="middle", **choice).prepare(metadata(), "y")
    assert (float(public.event.epsilon), public.steps) == (0.3, ())
    other = IndependenceScreening(n_features_to_select=2, shares={"y_center": 0.25}, y_bound="furthest").prepare(
        metadata(), "y"
    )
    assert float(other.event.events[0].epsilon) == 0.25


@pytest.mark.parametrize(("relation", "rows", "size"), [("replace_one", 1, 2), ("add_or_remove_one", 3, 3)])
def test_noise_is_calibrated_to_the_sensitivity_of_a_score(relation, rows, size):
    """One-shot noise has scale 2 k sensitivity / epsilon, in rows."""
    value = metadata(relation).to_dict() | ({"rows_per_unit": rows, "unit_id": "id"} if rows > 1 else {})
    method = IndependenceScreening(
        epsilon=0.5, n_features_to_select=3, mechanism="one_shot", y_center="middle", noise_test=False
    )
    prepared = method.prepare(Metadata.from_value(value), "y")
    assert prepared.choice.sensitivity == size * GRID**2
    assert prepared.noise.scale == pytest.approx(2 * 3 * size / 0.5)
    assert prepared.noise.sensitivity == pytest.approx(2 * 3 * size)


def test_a_centered_target_hides_columns_that_are_merely_large():
    """A constant column scores nothing once the mean is bought, and wins when it is not."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, N)
    given = table(0.5 + 0.4 * x, x0=x, x1=np.ones(N))
    assert screened(given).selected == ("x0",)
    assert screened(given, y_center="middle").selected == ("x1",)
    assert screened(given, y_center=0.5).selected == ("x0",)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_the_bought_mean_is_near_the_mean(relation):
    """Within noise, in the target's own unit, and within its bounds whatever the noise."""
    y = np.linspace(10, 30, N)
    target = {"type": "real", "lower": 0, "upper": 40}
    found = screened(table(y, target, relation), association="products").steps[0].value
    assert found == pytest.approx(20, abs=2.0)
    wild = [
        screened(table(y, target, relation), seed, epsilon=0.2, association="products").steps[0].value
        for seed in range(20)
    ]
    assert all(0 <= value <= 40 for value in wild)
    assert len(set(wild)) > 10


def test_two_levels_need_no_codes_and_more_do():
    """The first counts -1 and the second 1; with three the error names both ways out."""
    y = ["no", "yes"] * (N // 2)
    x = np.where(np.array(y) == "yes", 1.0, -1.0)
    two = {"type": "category", "levels": ["no", "yes"]}
    given = table(y, two, x0=x)
    assert screened(given).selected == ("x0",)
    assert IndependenceScreening(n_features_to_select=1).prepare(given.metadata, "y").parameters["codes"] == {
        "no": -1.0,
        "yes": 1.0,
    }
    with pytest.raises(InvalidParameterError, match=r"either a level.* or codes.*'healthy', 'ill', 'dead'"):
        IndependenceScreening(n_features_to_select=1).prepare(metadata(target=MANY), "y")
    with pytest.raises(InvalidParameterError, match="level must be one of the levels"):
        IndependenceScreening(n_features_to_select=1, level="asleep").prepare(metadata(target=MANY), "y")
    with pytest.raises(InvalidParameterError, match="codes must give each level"):
        IndependenceScreening(n_features_to_select=1, codes={"ill": 1.0}).prepare(metadata(target=MANY), "y")
    for how in ({"level": "ill"}, {"codes": {"healthy": 0.0, "ill": 1.0, "dead": 2.0}}):
        IndependenceScreening(n_features_to_select=1, **how).prepare(metadata(target=MANY), "y")


def test_a_target_of_two_values_keeps_both_around_its_mean():
    """Nothing is clipped: 0 and 1 around .8 are 1.6 half widths apart from the furthest, a count is cut at one."""
    binary = {"type": "integer", "lower": 0, "upper": 1}
    prepared = IndependenceScreening(n_features_to_select=1).prepare(metadata(target=binary), "y")
    assert (prepared._around(0.8).center, prepared._around(0.8).bound) == (0.8, pytest.approx(0.8))
    assert prepared._around(0.8).responses(pa.array([0, 1])).tolist() == [-GRID, round(GRID / 4)]
    count = {"type": "integer", "lower": 0, "upper": 20}
    prepared = IndependenceScreening(n_features_to_select=1, y_bound="furthest").prepare(metadata(target=count), "y")
    assert prepared._around(4.0).bound == 10.0
    assert prepared._around(4.0).responses(pa.array([4, 14, 20])).tolist() == [0, GRID, GRID]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select"),
        ({"n_features_to_select": 7}, "n_features_to_select=7 and there are 6 candidates"),
        ({"n_features_to_select": 6}, "nothing needs to be spent"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"gamma": 1.5}, "gamma"),
        ({"gamma": 0.5, "mechanism": "one_shot"}, "gamma must come with"),
        ({"noise": "gumbel", "mechanism": "one_shot"}, "noise must be exponential"),
        ({"noise": "laplace"}, "noise"),
        ({"mechanism": "permute_and_flip"}, "mechanism"),
        ({"y_center": "median"}, "y_center"),
        ({"y_center": 1.5}, "y_center must lie within"),
        ({"y_center": float("nan")}, "y_center"),
        ({"y_bound": -1.0}, "y_bound"),
        ({"y_bound": 3.0}, "y_bound must be positive and at most"),
        ({"shares": {"bounds": 0.1}}, "shares must name parts among y_center, y_bound, not"),
        ({"shares": {"y_center": 1.0}}, "shares must lie"),
        ({"level": "a"}, "numeric"),
        ({"l1_radius": 2.0}, "Method sis has no parameter l1_radius"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(parameters, message):
    """From public facts alone, before any data."""
    with pytest.raises(InvalidParameterError, match=message) as refused:
        IndependenceScreening.of(**{"n_features_to_select": 2, **parameters}).prepare(metadata(), "y")
    assert "\n" not in str(refused.value)


def test_a_category_is_no_candidate_and_names_may_hold_anything():
    """The error says what to do; quotes and spaces are names like others."""
    odd = metadata(site={"type": "category", "levels": ["a", "b"]})
    with pytest.raises(MetadataError, match="'site' is a category"):
        IndependenceScreening(n_features_to_select=2).prepare(odd, "y")
    names = ['a "b"', "c'd", "e;f", " g "]
    named = Metadata.from_value({**metadata().to_dict(), "columns": {**dict.fromkeys(names, BOX), "y": BOX}})
    y = np.tile([1.0, -1.0], N // 2)
    given = FrameTable(pa.table({**{name: np.zeros(N) for name in names}, "c'd": y, "y": y}), named)
    assert screened(given).selected == ("c'd",)


@pytest.mark.parametrize("mechanism", ["canonical_lipschitz", "one_shot", "peeling"])
@pytest.mark.parametrize("cell", [0.0, 1.0, float("nan"), None])
def test_columns_that_are_alike_or_empty_are_candidates_like_others(mechanism, cell):
    """Ties everywhere: some k columns come out, in the candidates' order."""
    given = FrameTable(pa.table({f"x{i}": [cell] * N for i in range(6)} | {"y": [cell] * N}), metadata())
    seen = {screened(given, seed, mechanism=mechanism, n_features_to_select=2).selected for seed in range(8)}
    assert len(seen) > 1
    assert all(list(names) == sorted(names) and len(set(names)) == 2 for names in seen)


def test_one_row_suffices():
    """A table of one row is screened like any other."""
    one = Metadata.from_value({**metadata().to_dict(), "n_rows": 1})
    given = FrameTable(pa.table({**{f"x{i}": [0.5] for i in range(6)}, "y": [1.0]}), one)
    assert len(screened(given, n_features_to_select=3).selected) == 3


def test_many_rounds_of_peeling_gain_by_a_delta():
    """50 of 2000 columns: with a delta the rule peels, and the guarantee is what was asked at that delta."""
    from discreet.workflow import dry_run

    wide = Metadata.from_value(
        {**metadata("add_or_remove_one").to_dict(), "columns": {**{f"x{i}": BOX for i in range(2000)}, "y": BOX}}
    )
    asked = {"epsilon": 1.0, "n_features_to_select": 50}
    pure, gaussian = (dry_run(method_of("sis", delta=delta, **asked), wide, "y") for delta in (0.0, 1e-6))
    assert (pure.prepared.parameters["mechanism"], gaussian.prepared.parameters["mechanism"]) == ("one_shot", "peeling")
    assert gaussian.prepared.noise.scale < 0.45 * pure.prepared.noise.scale
    assert 0.999 < gaussian.guarantee.epsilon <= 1
    assert (pure.guarantee.delta, float(gaussian.guarantee.delta)) == (0, 1e-6)


def test_progress_tells_columns_alone():
    """Their number is public; that of the rows may not be."""
    told = []
    given = table(np.zeros(N), relation="add_or_remove_one")
    prepared = IndependenceScreening(n_features_to_select=1).prepare(given.metadata, "y")
    prepared.run(given, Source.seeded(0), lambda *what: told.append(what))
    assert {(what, total) for what, _, total in told} == {("Scoring columns", 6)}
    assert sum(count for _, count, _ in told) == 6
