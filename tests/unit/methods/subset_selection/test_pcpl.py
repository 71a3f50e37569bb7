"""The profile likelihood's parameters, its split of epsilon, and what it releases."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, LaplaceEvent, SelectionEvent
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.methods.subset_selection.pcpl import SQUARES, ProfileLikelihood

N = 2000
PUBLIC = {"y_center": "middle", "y_bound": "furthest"}
BOX = {"type": "real", "lower": -1, "upper": 1}


def declared(relation="replace_one", n=N, **changes):
    public = {"n_rows": n} if relation == "replace_one" else {}
    columns = {"a": BOX, "b": BOX, "c": BOX, "y": {"type": "real", "lower": -2, "upper": 6}}
    return Metadata.from_value(
        {"dataset": "t", "unit": "person", "neighboring": relation, "columns": columns, **public, **changes}
    )


def table(metadata, n=N, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (n, 3))
    y = 2 + 1.5 * x[:, 0] - 1.0 * x[:, 1] + noise * rng.standard_normal(n)
    return FrameTable(pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}), metadata)


def run(metadata=None, rows=None, seed=1, **parameters):
    metadata = declared() if metadata is None else metadata
    prepared = ProfileLikelihood.of(**PUBLIC | parameters).prepare(metadata, "y")
    return prepared, prepared.run(table(metadata) if rows is None else rows, Source.seeded(seed))


def test_clear_effects_come_out_and_the_sum_of_squares_with_them():
    """At a large epsilon the right model is chosen; F and sigma^2 are near the truth, in the target's squared unit."""
    prepared, outcome = run(epsilon=500.0, l1_radius=4.0)
    assert outcome.selected == ("a", "b")
    steps = {step.name: step.value for step in outcome.steps}
    assert list(steps) == ["residual_sum_of_squares", "sigma2", "selection"]
    assert steps["residual_sum_of_squares"] == pytest.approx(0.25 * N, rel=0.1)
    assert steps["sigma2"] == pytest.approx(steps["residual_sum_of_squares"] / N, rel=1e-12)
    assert outcome.noise.unit == "-2 log-likelihood"
    assert outcome.noise.scale < prepared.noise.scale


def test_the_event_states_all_parts():
    """A Laplace part, a choice and a failure: epsilon adds up exactly, delta is the failure's."""
    prepared = ProfileLikelihood(epsilon=0.7, delta=1e-7, **PUBLIC).prepare(declared(), "y")
    assert prepared.event == ComposedEvent(
        (
            LaplaceEvent(Fraction(7, 50)),
            SelectionEvent(Fraction(14, 25), "exponential"),
            FailureEvent(Fraction(1, 10**7)),
        )
    )
    found = guarantee_of(prepared.event, declared().neighboring)
    assert (found.epsilon, found.delta) == (Fraction(7, 10), Fraction(1, 10**7))


@pytest.mark.parametrize(("n", "most"), [(10, 1e-6), (10_000, 1e-6), (10**6, 1e-9)])
def test_delta_has_a_default(n, most):
    """At most n^-1.5 and 1e-6, and close to the smaller."""
    delta = ProfileLikelihood().prepare(declared(n=n), "y").split.delta
    assert 0.99 * most < delta <= most


@pytest.mark.parametrize(("delta", "n"), [(1e-3, 2000), (0.2, 4), (0.5, 1)])
def test_a_delta_that_protects_nobody_is_refused(delta, n):
    """Above 1 / n a release could show whole rows."""
    with pytest.raises(InvalidParameterError, match="delta must be at most 1 / n"):
        ProfileLikelihood(delta=delta).prepare(declared(n=n), "y")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"delta": 1e-310}, "delta must be 0 or lie in"), ({"epsilon": 1e-9, "shares": {SQUARES: 1e-6}}, "64 bits")],
)
def test_what_no_noise_can_be_drawn_for_is_refused_before_the_data(parameters, words):
    """Not in the run, where it would cost the budget."""
    with pytest.raises(InvalidParameterError, match=words):
        ProfileLikelihood.of(**parameters).prepare(declared(n=2000), "y")


@pytest.mark.parametrize(
    ("choice", "share"),
    [
        ({}, 0.2),
        ({"rss_guess": 36.0 * math.log(5e5) * 4}, 0.5),
        ({"rss_guess": 1e9}, 0.02),
        ({"shares": {"residual_sum_of_squares": 0.35}}, 0.35),
    ],
)
def test_epsilon_is_split_by_what_is_public(choice, share):
    """Specification 2.4: sqrt(a eps), between 0.02 and 0.5, a fifth without a guess, or what is asked."""
    prepared = ProfileLikelihood(delta=1e-6, l1_radius=2.0, **choice, **PUBLIC).prepare(declared(n=1000), "y")
    assert float(prepared.split.squares) == pytest.approx(share, abs=1e-4)
    assert prepared.split.squares + prepared.split.selection == 1


def test_guesses_are_needed_where_the_number_of_rows_is_private():
    """Without n0 the request is refused before any data; with it, it stands for n everywhere."""
    private = declared("add_or_remove_one")
    with pytest.raises(InvalidParameterError, match="n0"):
        ProfileLikelihood().prepare(private, "y")
    prepared, outcome = run(private, epsilon=500.0, l1_radius=4.0, n0=1500)
    assert outcome.selected == ("a", "b")
    assert prepared.parameters["n_rows"] == 1500
    values = {step.name: step.value for step in outcome.steps}
    assert values["sigma2"] == pytest.approx(values["residual_sum_of_squares"] / 1500, rel=1e-12)


def test_models_are_scored_one_by_one_and_their_number_is_bounded():
    """Beyond 2^20 models the error says what to change; pcls takes the same request."""
    columns = {**{f"x{i}": BOX for i in range(21)}, "y": BOX}
    many = declared(columns=columns)
    with pytest.raises(InvalidParameterError, match="2\\^20"):
        ProfileLikelihood().prepare(many, "y")
    assert ProfileLikelihood(max_size=3).prepare(many, "y").noise.n_candidates == 1562
    assert PenalizedLeastSquares().prepare(many, "y").noise.n_candidates == 2**21


def test_the_floored_likelihood_has_no_delta_and_no_steps():
    """One choice alone, its noise known beforehand; it still finds clear effects."""
    prepared, outcome = run(epsilon=500.0, l1_radius=4.0, variance_floor=0.25)
    assert prepared.event == SelectionEvent(Fraction(500), "exponential")
    assert (prepared.steps, outcome.steps) == ((), ())
    assert outcome.noise == prepared.noise
    assert outcome.selected == ("a", "b")
    # Sensitivity 2.5: at most twice Delta / s0^2, Delta = (r + R)^2 = 64.
    assert prepared.noise.sensitivity <= 2 * 64 / 0.25 * (1 + 1e-9)
    assert prepared.noise.sensitivity == pytest.approx(2 * N * math.log1p(64 / (N * 0.25)), rel=1e-9)


@pytest.mark.parametrize(("named", "phi"), [("aic", 2.0), ("bic", math.log(N)), (3.5, 3.5)])
def test_penalties_are_those_of_the_likelihood(named, phi):
    """On the scale of -2 log-likelihood, at no cost."""
    prepared = ProfileLikelihood(model_penalty=named, variance_floor=0.25, **PUBLIC).prepare(declared(), "y")
    choice = prepared.scores(prepared.setting).choice(Fraction(0))
    assert float(choice.penalty) == pytest.approx(phi)
    assert prepared.event == SelectionEvent(Fraction(1), "exponential")


def test_the_automatic_penalty_is_at_least_both():
    """Not below log n, nor below what noise alone asks for."""
    prepared = ProfileLikelihood(**PUBLIC).prepare(declared(), "y")
    profile = prepared.scores(prepared.setting)
    for factor in (2, 50, 10**6):
        choice = profile.choice(profile.threshold * factor)
        scale = float((choice.gamma + choice.inflation) / prepared.split.selection)
        assert float(choice.penalty) >= max(math.log(N), scale * math.log(6)) * (1 - 1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"a": [0.0] * 9, "b": [1.0] * 9, "c": [None] * 9, "y": [2.0] * 9}),
        pa.table({"a": [1e300, float("nan")] * 2, "b": ["x"] * 4, "c": [True] * 4, "y": [9e99, -9e99, 0, 1]}),
        pa.table({name: pa.array([], pa.float64()) for name in "abcy"}),
    ],
    ids=["constants", "odd cells", "no rows"],
)
@pytest.mark.parametrize("floor", [None, 1e-9])
def test_degenerate_tables_give_an_answer(rows, floor):
    """Perfect fits, constants, odd cells and no rows at all: a choice, never an error."""
    metadata = declared("add_or_remove_one")
    for seed in range(3):
        _, outcome = run(metadata, FrameTable(rows, metadata), seed, n0=10, variance_floor=floor)
        assert set(outcome.selected) <= {"a", "b", "c"}


def test_a_uniform_choice_says_so():
    """Where the bound is too small the noise box names no range that was used."""
    metadata = declared("add_or_remove_one")
    rows = pa.table({name: [0.5] * 20 for name in "abcy"})
    seen = set()
    for seed in range(40):
        _, outcome = run(metadata, FrameTable(rows, metadata), seed, n0=20)
        assert outcome.noise.formula.startswith("none")
        seen.add(outcome.selected)
    assert len(seen) > 4


def test_the_algorithm_as_published_gives_no_guarantee():
    """No event, no steps; its sign prefers bad models: without an effect in one column it takes a poor model."""
    prepared, outcome = run(epsilon=500.0, l1_radius=4.0, as_published=True, model_penalty=0.0, y_center=2.0)
    assert (prepared.event, prepared.steps, outcome.steps) == (None, (), ())
    assert outcome.noise.claim == "none"
    assert "a" not in outcome.selected


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"variance_floor": 1.0, "rss_guess": 1.0}, "variance_floor"),
        ({"variance_floor": 1.0, "shares": {"residual_sum_of_squares": 0.5}}, "variance_floor"),
        ({"variance_floor": 1.0, "delta": 1e-6}, "variance_floor must come without delta"),
        ({"variance_floor": 0.0}, "variance_floor"),
        ({"rss_guess": -1.0}, "rss_guess"),
        ({"n0": 0}, "n0"),
        ({"shares": {"sigma2": 0.1}}, "shares"),
        ({"model_penalty": "cp"}, "model_penalty"),
        ({"as_published": True, "y_bound": "private"}, "as_published"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, words):
    """By name, before any table."""
    with pytest.raises(InvalidParameterError, match=words):
        ProfileLikelihood.of(**parameters)


def test_shares_must_leave_something():
    """A sum of squares that takes all of epsilon is refused."""
    chosen = ProfileLikelihood(shares={"residual_sum_of_squares": 0.95}, y_bound="private")
    with pytest.raises(InvalidParameterError, match="leave something"):
        chosen.prepare(declared(), "y")
