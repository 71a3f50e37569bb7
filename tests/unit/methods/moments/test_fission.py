"""Noisy moments in two parts: what they add up to, that they do not go together, and that intervals hold."""

import functools

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.moments import fission
from discreet.methods.moments.fission import parts_of, with_parts
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.registry import method_of

N_ROWS, WIDTH = 1000, 8
SAMPLE_SIZE = 60
"""Tables."""


def metadata_of(relation="replace_one", **more):
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(WIDTH)}
    columns["y"] = {"type": "real", "lower": -4, "upper": 4}
    counted = {"n_rows": N_ROWS} if relation == "replace_one" else {}
    return Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, **counted, **more, "columns": columns}
    )


def table_of(seed, metadata, effects=()):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (N_ROWS, WIDTH))
    y = X[:, : len(effects)] @ np.array(effects) + 0.5 * rng.standard_normal(N_ROWS)
    return open_table(pa.table({**{f"x{j}": X[:, j] for j in range(WIDTH)}, "y": y}), metadata)


def released(seed=1, relation="replace_one", effects=(0.5, -0.3), **parameters):
    """Moments of a simulated table."""
    facts = metadata_of(relation)
    method = NoisyMoments(**{"epsilon": 4.0, "delta": 1e-6, **parameters})
    return method.prepare(facts, "y").run(table_of(seed, facts, effects), Source.seeded(seed)).moments


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("parameters", [{}, {"question": "coefficients"}, {"row_norm": 1.0}, {"delta": 0.0}])
def test_the_parts_add_up_to_the_moments(relation, parameters):
    """To the last step, and the variances, too; the parts have no parts."""
    record = released(relation=relation, **parameters)
    one, other = parts_of(record, "fission")
    assert np.array_equal(np.array(one.gram, dtype=object) + np.array(other.gram, dtype=object), record.gram)
    assert [a + b for a, b in zip(one.xty, other.xty, strict=True)] == list(record.xty)
    assert one.yty + other.yty == record.yty
    assert one.n_rows + other.n_rows == pytest.approx(record.n_rows)
    assert np.array(one.gram_variance) + np.array(other.gram_variance) == pytest.approx(np.array(record.gram_variance))
    assert one.fission is None
    assert other.fission is None
    assert np.array_equal(one.gram, np.transpose(one.gram))


def test_they_are_drawn_once_and_kept():
    """The release holds them: asked again, it has the same; and all of the moments where none are asked."""
    record = released()
    one, other = parts_of(record, "fission")
    assert (one, other) == parts_of(record, "fission")
    assert parts_of(record, None) == parts_of(record, "none") == (record, record)
    assert one.xty != other.xty
    assert released(selective_inference="none").fission is None


def test_the_dividing_noise_depends_on_the_moments_alone():
    """Tables whose moments came out the same are divided by one law: from one source, in the same way."""
    record = released()
    assert with_parts(record, Source.seeded(5)) == with_parts(record.model_copy(), Source.seeded(5))
    assert with_parts(record, Source.seeded(5)) != with_parts(record, Source.seeded(6))


@functools.cache
def whole(seed):
    """Moments of a table without any effect, as they are before they are divided."""
    return released(seed, effects=(), selective_inference="none")


def scores(divide, seed):
    """Of both parts X'y - X'X b, in standard deviations of the whole."""
    record = divide(whole(seed), Source.seeded(seed))
    return [np.array(part.xty[1:]) / record.grid**2 for part in parts_of(record, "fission")]


def correlation(divide):
    """Of the parts over tables, where all coefficients are zero and the score is X'y."""
    pairs = np.array([scores(divide, seed) for seed in range(SAMPLE_SIZE)])
    return float(np.mean(pairs[:, 0] * pairs[:, 1]) / np.sqrt(np.mean(pairs[:, 0] ** 2) * np.mean(pairs[:, 1] ** 2)))


@pytest.mark.statistics
def test_the_parts_do_not_go_together(monkeypatch):
    """Over tables and noise; control: without the part of sampling, or without noise, they do."""
    error = 1.0 / np.sqrt(SAMPLE_SIZE * WIDTH)
    assert abs(correlation(with_parts)) < 4 * error
    monkeypatch.setattr(fission, "_normals", lambda count, _: np.zeros(count))
    assert correlation(with_parts) > 0.9
    monkeypatch.undo()
    normal = fission._sampling
    monkeypatch.setattr(fission, "_sampling", lambda record: (normal(record)[0], 0.0 * normal(record)[1]))
    assert correlation(with_parts) > 4 * error


def coverage(inference):
    """Of intervals of selected columns, none of which matters."""
    facts, held, told = metadata_of(), 0, 0
    method = NoisyMoments(epsilon=8.0, delta=1e-6, model_penalty="aic", fit=True, selective_inference=inference)
    prepared = method.prepare(facts, "y")
    for seed in range(SAMPLE_SIZE):
        outcome = prepared.run(table_of(seed, facts), Source.seeded(seed))
        ends = [entry.interval for entry in outcome.fit.coefficients if entry.column is not None]
        told += len(ends)
        held += sum(low <= 0.0 <= high for low, high in ends)
    return held / told, told


@pytest.mark.statistics
def test_intervals_hold_after_the_selection():
    """By two parts of the moments 95 %; control: by all of them far fewer."""
    divided, told = coverage("fission")
    assert divided > 0.95 - 4 * (0.05 * 0.95 / told) ** 0.5
    assert coverage("none")[0] < 0.8


def test_it_is_the_default_where_selected_columns_are_fitted():
    """And is refused where rows of one unit may be alike, before anything is charged."""
    units = metadata_of("add_or_remove_one", unit_id="who", rows_per_unit=3)
    for fit, facts, inference in ((True, metadata_of(), "fission"), (True, units, "none"), (False, units, None)):
        assert NoisyMoments(fit=fit).prepare(facts, "y").parameters.get("selective_inference") == inference
    with pytest.raises(InvalidParameterError, match="rows_per_unit=3"):
        NoisyMoments(selective_inference="fission").prepare(units, "y")


def test_a_plan_divides_noisy_moments():
    """By default where they select and are fitted at once; where something else is asked, people are divided."""
    facts, both = metadata_of(), {"select": {"method": "moments"}, "fit": {"family": "linear"}}
    prepared = method_of("run", epsilon=4.0, delta=1e-6, **both).prepare(facts, "y")
    assert prepared.parameters["selective_inference"] == "fission"
    outcome = prepared.run(table_of(2, facts, (0.5, -0.3)), Source.seeded(2))
    one, other = parts_of(outcome.moments, "fission")
    assert outcome.selected == MomentAnswers(one).select()[0]
    assert outcome.fit == MomentAnswers(other).fit(outcome.selected)
    for other in (
        {**both, "fit": {"family": "linear", "robust": False}},
        {**both, "select": {"method": "pcls"}},
        {**both, "screen": {"method": "sis", "n_features_to_select": 3}},
    ):
        assert method_of("run", delta=1e-6, **other).prepare(facts, "y").parameters["selective_inference"] == "split"
    for other in ({**both, "select": {"method": "pcls"}}, {**both, "screen": {"n_features_to_select": 3}}):
        with pytest.raises(InvalidParameterError, match="fission divides noisy moments"):
            method_of("run", delta=1e-6, selective_inference="fission", **other).prepare(facts, "y")
