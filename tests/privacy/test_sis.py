"""Screening: the worst pairs through its own interface, sensitivities, and controls that must fail."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import CENTERS, center_counts
from discreet.mechanisms import quantile
from discreet.mechanisms.rng import Source
from discreet.methods.screening import step_down
from discreet.methods.screening.own_score import STEPS, OwnScore
from discreet.methods.screening.sis import IndependenceScreening
from discreet.methods.screening.target_center import Center, Median
from discreet.methods.screening.threshold_choice import AboveThreshold, Chosen
from discreet.selftest.laws import subset_law
from tests.privacy.laws import log_law, max_log_ratio
from tests.privacy.screenings import metadata_of, reached, table_of

EPSILON = 1.0
COLUMNS = 30
MECHANISMS = ["canonical_lipschitz", "one_shot"]


def pair(relation="replace_one", n=16, columns=COLUMNS):
    """P9 and P11: one column ahead, one behind, all others alike; one row moves these two against the rest."""
    base = [[1.0, *[0.5] * (columns - 2), 0.25, 1.0]] * n
    row = [1.0, *[-1.0] * (columns - 2), 1.0, 1.0]
    if relation == "replace_one":
        return [*base, row], [*base, [*(-cell for cell in row[:-1]), 1.0]]
    return [*base, row], base


def screening(mechanism, **more):
    return IndependenceScreening(
        epsilon=EPSILON, n_features_to_select=2, mechanism=mechanism, y_center="middle", **more
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_worst_pair_loses_at_most_epsilon(monkeypatch, mechanism, relation):
    """P9: the exact law of what reaches the choice; the loss is near epsilon, so that little noise is wasted."""
    law, neighboring = (
        reached(monkeypatch, screening(mechanism), table_of(rows, relation)).log_law() for rows in pair(relation)
    )
    loss = np.abs(law - neighboring).max()
    assert loss <= EPSILON + 1e-8
    assert loss > 0.8 * EPSILON


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_replacement_under_the_noise_of_addition_is_flagged(monkeypatch, mechanism):
    """Control: the paper's sensitivity of 1, where a row is replaced."""
    laws = []
    for rows in pair():
        found = reached(monkeypatch, screening(mechanism), table_of(rows))
        laws.append(replace(found, top_k=replace(found.top_k, sensitivity=found.top_k.sensitivity // 2)).log_law())
    assert np.abs(laws[0] - laws[1]).max() > 1.6 * EPSILON


AUTO = {"n_features_to_select": "auto", "y_center": "middle", "n0": 17}


def threshold_laws(monkeypatch, method, relation, factor=1):
    """The exact law of the choice among all subsets of nine units, on both tables of the worst pair."""
    laws = []
    for rows in pair(relation, columns=11 if method.forced else 9):
        reached_scores = []

        def draw(self, scores, thresholds, rng, reached_scores=reached_scores):
            reached_scores.append((np.array(scores), thresholds[0], self))
            return Chosen([])

        with monkeypatch.context() as patch:
            patch.setattr(AboveThreshold, "draw", draw)
            table = table_of(rows, relation)
            method.prepare(table.metadata, "y").run(table, Source.seeded(0))
        ((scores, threshold, choice),) = reached_scores
        asked = (
            float(choice.epsilon),
            choice.sensitivity * factor,
            choice.absent_weight,
            choice.noise,
            choice.max_size,
        )
        laws.append(np.log(list(subset_law(scores, threshold, *asked).values())))
    return laws


@pytest.mark.parametrize(
    "more",
    [{}, {"saturation": 1.0}, {"noise": "gumbel"}, {"max_size": 2}, {"groups": [["x0", "x3"]], "forced": ["x1"]}],
)
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_worst_pair_of_a_threshold_loses_at_most_epsilon(monkeypatch, relation, more):
    """P9: one row moves two columns against the others, and no subset's chance by more than epsilon."""
    law, neighboring = threshold_laws(monkeypatch, IndependenceScreening(epsilon=EPSILON, **AUTO, **more), relation)
    loss = np.abs(law - neighboring).max()
    assert 0.2 * EPSILON < loss <= EPSILON + 1e-8


def test_half_the_sensitivity_at_a_threshold_is_flagged(monkeypatch):
    """Control: a tenth of the sensitivity, for a pair that loses a good part of epsilon."""
    law, neighboring = threshold_laws(monkeypatch, IndependenceScreening(epsilon=EPSILON, **AUTO), "replace_one", 0.1)
    assert np.abs(law - neighboring).max() > 1.6 * EPSILON


def noisy_scores(monkeypatch, method, rows, relation, **more):
    """What gets noise, in units of the noise's scale, and the record of its charge."""
    calls = []

    def noise(values, scale, rng):
        calls.append([float(Fraction(value) / scale) for value in values])
        return values

    with monkeypatch.context() as patch:
        patch.setattr(step_down, "cube_noise", noise)
        table = table_of(rows, relation, **more)
        prepared = method.prepare(table.metadata, "y")
        prepared.run(table, Source.seeded(0))
    return np.array(calls[0]), float(prepared.event.epsilon)


FEW = [{}, {"saturation": 1.0}, {"max_size": 2}, {"groups": [["x0", "x3"]], "forced": ["x1"]}]


@pytest.mark.parametrize("more", FEW)
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_worst_pair_of_noisy_scores_spends_epsilon(monkeypatch, relation, more):
    """P9 with few columns: the largest change of a score over the noise's scale is the loss, all that is charged."""
    method = IndependenceScreening(epsilon=EPSILON, **AUTO, **more)
    (one, charge), (other, _) = (
        noisy_scores(monkeypatch, method, rows, relation) for rows in pair(relation, columns=6)
    )
    assert charge == EPSILON
    assert np.abs(one - other).max() == pytest.approx(EPSILON)


def test_half_the_noise_of_scores_is_flagged(monkeypatch):
    """Control: the sensitivity of a row more or less, where a row is replaced."""
    scale = step_down.StepDown.scale.fget
    monkeypatch.setattr(step_down.StepDown, "scale", property(lambda self: scale(self) / 2))
    method = IndependenceScreening(epsilon=EPSILON, **AUTO)
    law, neighboring = (noisy_scores(monkeypatch, method, rows, "replace_one")[0] for rows in pair(columns=6))
    assert np.abs(law - neighboring).max() > 1.9 * EPSILON


def test_units_of_several_rows_are_cut_and_covered(monkeypatch):
    """A unit with five rows under rows_per_unit 3 moves each score by at most 3, and reaches it."""
    base, units = [[0.5, 0.5, 0.5, 1.0]] * 6, list(range(6))
    more = [[1.0, -1.0, 0.3, 1.0]] * 5
    method = IndependenceScreening(epsilon=1.0, n_features_to_select=1, y_center="middle")
    found = [
        reached(monkeypatch, method, table_of(rows, "add_or_remove_one", ids, rows_per_unit=3))
        for rows, ids in ((base, units), (base + more, [*units, *[9] * 5]))
    ]
    change = np.abs(found[1].scores - found[0].scores)
    assert change.max() == found[0].top_k.sensitivity == 3 * GRID**2


CELL = st.sampled_from([-1.0, 1.0, 0.0, 0.37, float("nan"), float("inf"), -1e300, 2.0])
ROW = st.lists(CELL, min_size=4, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=8), ROW, ROW, st.integers(0, 7), st.sampled_from([1.0, 0.2, 1e-6]))
def test_no_score_moves_by_more_than_the_sensitivity(rows, old, new, place, saturation):
    """Any neighbors, odd cells included: each absolute score within c or 2 c."""
    monkeypatch = pytest.MonkeyPatch()
    method = IndependenceScreening(epsilon=1.0, n_features_to_select=1, y_center="middle", saturation=saturation)
    at = place % (len(rows) + 1)
    for relation, tables in (
        ("replace_one", ([*rows[:at], old, *rows[at:]], [*rows[:at], new, *rows[at:]])),
        ("add_or_remove_one", (rows, [*rows[:at], new, *rows[at:]])),
    ):
        scoring, neighboring = (reached(monkeypatch, method, table_of(table, relation)) for table in tables)
        assert np.abs(scoring.scores - neighboring.scores).max() <= scoring.top_k.sensitivity


@settings(max_examples=60, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=8), CELL, CELL)
def test_what_the_mean_rests_on_moves_within_its_sensitivity(cells, old, new):
    """The sum under replacement; the pair of sums of 1 + y and 1 - y, in l1, under addition."""
    for relation, tables in (
        ("replace_one", ([*cells, old], [*cells, new])),
        ("add_or_remove_one", (cells, [*cells, new])),
    ):
        sums = []
        for values in tables:
            table = table_of([[0.0, 0.0, y] for y in values], relation)
            prepared = IndependenceScreening(n_features_to_select=1, y_bound="furthest").prepare(table.metadata, "y")
            total, count = table.target_sum(prepared.center.design)
            sums.append([total] if relation == "replace_one" else [GRID * count + total, GRID * count - total])
        change = sum(abs(a - b) for a, b in zip(*sums, strict=True))
        assert change <= prepared.center.sensitivity


def test_the_mean_costs_what_its_event_says():
    """Scale times epsilon is the l1 sensitivity: 2 rows under replacement, one row in two sums under addition."""
    for relation, sensitivity in (("replace_one", 2.0), ("add_or_remove_one", 1.0)):
        metadata = metadata_of(["x0", "x1"], relation, 50)
        method = IndependenceScreening(epsilon=2.0, n_features_to_select=1, y_bound="furthest")
        center = method.prepare(metadata, "y").center
        assert isinstance(center, Center)
        assert center.epsilon == Fraction(1, 5)
        part = center.part()
        assert part.noise.sensitivity == sensitivity
        assert part.noise.scale == pytest.approx(5 * sensitivity)


@settings(max_examples=60, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=8), CELL, CELL)
def test_what_the_median_rests_on_moves_within_its_sensitivity(cells, old, new):
    """The center of products is a median: the range of the changes of the distances in rank, over all places."""
    for relation, tables in (
        ("replace_one", ([*cells, old], [*cells, new])),
        ("add_or_remove_one", (cells, [*cells, new])),
    ):
        distances = []
        for values in tables:
            table = table_of([[0.0, 0.0, y] for y in values], relation)
            prepared = IndependenceScreening(n_features_to_select=1, association="products").prepare(
                metadata_of(["x0", "x1"], relation, 9), "y"
            )
            assert isinstance(prepared.center, Median)
            counts = table.target_counts(prepared.center.design, center_counts, CENTERS)
            below = np.concatenate([[0], np.cumsum(counts)[:-1]])
            distances.append(np.maximum(below, counts.sum() - below - counts) * 1.0 - counts.sum() / 2.0)
        change = np.ptp(distances[1] - distances[0])
        assert change <= prepared.center.part().noise.sensitivity


def normalized(X, y):
    """Columns divided by their observed largest cell, as in Swope et al., section 4."""
    return np.abs((X / np.maximum(np.abs(X).max(axis=0), 1e-12)).T @ y)


def test_observed_normalization_is_flagged(monkeypatch):
    """Control, P14: one row that raises a column's maximum a hundredfold takes its score from 200 to about 3."""
    small, large = [0.01, 0.01, 1.0], [1.0, 0.01, 1.0]
    method = OwnScore(n_features_to_select=1, score_func=normalized, sensitivity=2.0)
    scoring, neighboring = (reached(monkeypatch, method, table_of([*[small] * 199, last])) for last in (small, large))
    change = np.abs(scoring.scores - neighboring.scores).max() / STEPS * 2.0
    assert change > 190.0
    assert change > 50 * scoring.top_k.sensitivity / STEPS


@pytest.mark.parametrize("mechanism", ["canonical_lipschitz", "one_shot", "peeling"])
def test_order_of_tied_scores_does_not_matter(mechanism):
    """P10 in small: with equal scores every column is as likely, wherever it stands."""
    table = table_of([[1.0, 1.0, 1.0, 1.0]] * 5)
    method = IndependenceScreening(epsilon=1.0, n_features_to_select=1, mechanism=mechanism, y_center="middle")
    prepared, rng = method.prepare(table.metadata, "y"), Source.seeded(5)
    drawn = [prepared.choice.draw(np.full(3, 5 * GRID**2), rng)[0] for _ in range(3000)]
    counts = np.bincount(drawn, minlength=3)
    assert np.abs(counts - 1000).max() < 200  # 7.7 standard deviations


def ranked(monkeypatch, method, table):
    """What the choice of a private bound is made by."""
    calls = []
    with monkeypatch.context() as patch:
        patch.setattr(
            quantile, "noisy_min", lambda scores, gamma, epsilon, *_: calls.append((scores, gamma, epsilon)) or 0
        )
        prepared = method.prepare(table.metadata, "y")
        prepared.run(table, Source.seeded(0))
    return calls[0]


FAR = [[0.0, 0.0, y] for y in (0.1,) * 30 + (0.6,) * 20]
"""More targets near their center than far from it."""


def bound_pair(relation):
    """A target goes from its center to the end of its bounds, or comes there."""
    near, far = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    return ([*FAR, near], [*FAR, far]) if relation == "replace_one" else (FAR, [*FAR, far])


def loss_of_bound(monkeypatch, relation, claimed):
    """By the exact law of the exponential mechanism, of points where no rows are."""
    method = IndependenceScreening(
        n_features_to_select=1, y_center="middle", y_bound="private", shares={"y_bound": 0.5}, mechanism="one_shot"
    )
    laws = []
    for rows in bound_pair(relation):
        scores, gamma, epsilon = ranked(monkeypatch, method, table_of(rows, relation))
        assert epsilon == Fraction(1, 2)
        laws.append(log_law(scores[100::4], claimed * float(gamma) / float(epsilon), "gumbel"))
    return max_log_ratio(*laws)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_private_bound_loses_at_most_its_share(monkeypatch, relation):
    """And nearly all of it."""
    assert 0.4 < loss_of_bound(monkeypatch, relation, 1.0) <= 0.5 + 1e-9


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_half_the_range_of_a_private_bound_is_flagged(monkeypatch, relation):
    """Control: noise for half of what a row moves the ranks by."""
    assert loss_of_bound(monkeypatch, relation, 0.5) > 0.8
