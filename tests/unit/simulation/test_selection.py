"""Chances that a plan tells: against the exact law, against fresh simulations, in any number of processes."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from tests.effort import either
from tests.privacy.laws import law

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection.tuning import Tuned
from discreet.simulation import selection
from discreet.simulation.cached_moments import CachedMoments
from discreet.simulation.cached_preparation import CachedLeastSquares, cached_preparation
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.inversion import epsilon_for, epsilons_for
from discreet.simulation.processes import spread
from discreet.simulation.rivals import Rival, rivals
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import expected, expected_selection

pytestmark = pytest.mark.statistics

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
TARGET = {"type": "real", "lower": -4, "upper": 4, "source": "test"}
SAME_LAW_DRAWS = either(150, 400)
GOAL_TABLES = either(100, 200)
FRESH = either({"n_tables": 500, "n_draws": 3}, {"n_tables": 1500, "n_draws": 1})


def scenario(n_columns=3, n_rows=1000, **supposed):
    columns = {f"x{j}": BOX for j in range(1, n_columns + 1)} | {"y": TARGET}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": columns}
    return Scenario.of(dc.Metadata.from_value(public), "y", **({"effects": {"x1": 1.0}, "noise_sd": 1.0} | supposed))


def pcls(**parameters):
    return Rival("pcls", "pcls", {"y_bound": 2.0, "l1_radius": 2.0} | parameters)


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
@pytest.mark.parametrize(("n_columns", "epsilon"), [(2, 0.3), (3, 0.6)])
def test_chance_agrees_with_the_exact_law(mechanism, n_columns, epsilon):
    """The chance of the right model is the mean of the law's over the same tables, within five standard errors."""
    supposed, rival = scenario(n_columns), pcls(mechanism=mechanism)
    n_tables, n_draws = 10, 60
    (found,) = expected(supposed, [rival], [epsilon], n_tables=n_tables, n_draws=n_draws, seed=3)
    prepared = rival.at(epsilon).prepare(supposed.draw_metadata, "y", supposed.candidates)
    masks, calibration = prepared.space.masks(), prepared.calibration
    (right,) = [place for place, mask in enumerate(masks) if prepared.space.names(int(mask)) == ("x1",)]
    chances = []
    for number in range(n_tables):
        table = supposed.draw(Source.seeded(3 * 1_000_003 + number))
        scores = prepared.scores(table.moments(prepared.design), masks)
        scale = float((calibration.gamma + calibration.inflation) / calibration.epsilon)
        chances.append(law(scores / scale, calibration.noise)[right])
    exact = float(np.mean(chances))
    assert 0.02 < exact < 0.98
    assert found.right == pytest.approx(exact, abs=5 * math.sqrt(0.25 / (n_tables * n_draws)))
    spread_of_means = math.sqrt(np.mean([p * (1 - p) for p in chances]) / (n_tables * n_draws))
    assert abs(found.right - exact) < 5.5 * spread_of_means


@pytest.mark.parametrize("parameters", [{"y_bound": "private"}, {"l1_radius": "private"}, {"model_penalty": "bic"}])
def test_remembered_scores_select_by_the_same_law(parameters):
    """Where parts are bought, a request that remembers scores selects as often the same as one that does not."""
    supposed, rival = scenario(2, 300), pcls(**parameters)
    plain = rival.at(1.0).prepare(supposed.draw_metadata, "y", supposed.candidates)
    quick = cached_preparation(plain)
    assert isinstance(quick, CachedLeastSquares)
    table, counts = supposed.draw(Source.seeded(2)), []
    for place, one in enumerate((plain, quick)):
        rng = Source.seeded(place)
        counts.append([one.run(table, rng).selected == ("x1",) for _ in range(SAME_LAW_DRAWS)])
    first, second = np.mean(counts, axis=1)
    assert abs(first - second) < 5.5 * math.sqrt(2 * 0.25 / SAME_LAW_DRAWS)
    assert first > 0.05


@pytest.mark.parametrize("radius", [0.2, 1.0, 1.5, 8.0])
@pytest.mark.parametrize("extra", [{}, {"group": {"type": "category", "levels": ["a", "b", "c"], "source": "test"}}])
def test_remembered_scores_are_the_methods(radius, extra):
    """Residual sums of squares are those of the method, inside the l1 ball and at its border."""
    columns = {f"x{j}": BOX for j in range(1, 4)} | extra | {"y": TARGET}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 200, "columns": columns}
    supposed = Scenario.of(dc.Metadata.from_value(public), "y", effects={"x1": 1.0, "x2": 0.5}, noise_sd=1.0)
    prepared = pcls(l1_radius=radius).at(1.0).prepare(supposed.draw_metadata, "y", supposed.candidates)
    table = supposed.draw(Source.seeded(4))
    moments, masks = table.moments(prepared.design), prepared.space.masks()
    tuned = Tuned(prepared.setting, moments, 200, None, ())
    found = cached_preparation(prepared)._sums(table, tuned, 1e-9)
    assert found == pytest.approx(prepared.setting.scores(moments, masks, 1e-9), rel=1e-9)


@pytest.mark.parametrize("parameters", [{}, {"delta": 1e-6}, {"y_bound": "private"}, {"model_penalty": "bic"}])
@pytest.mark.parametrize("extra", [{}, {"group": {"type": "category", "levels": ["a", "b", "c"], "source": "test"}}])
def test_remembered_moments_select_the_same(parameters, extra):
    """From the same words of a source, at any epsilon, the same columns as the method itself."""
    columns = {f"x{j}": BOX for j in range(1, 5)} | extra | {"y": TARGET}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 300, "columns": columns}
    supposed = Scenario.of(dc.Metadata.from_value(public), "y", effects={"x1": 1.0, "x2": 0.5}, correlation=0.6)
    table, seen = supposed.draw(Source.seeded(4)), set()
    for epsilon in (0.3, 3.0, 30.0, 300.0):
        plain = Rival("moments", "moments", parameters).at(epsilon).prepare(supposed.draw_metadata, "y")
        quick = cached_preparation(plain)
        assert isinstance(quick, CachedMoments)
        for seed in range(12):
            both = [one.run(table, Source.seeded(seed)).selected for one in (plain, quick)]
            assert both[0] == both[1]
            seen.add(both[0])
    assert len(seen) > 2


@pytest.mark.parametrize("n_columns", [14, 70])
def test_moments_of_many_columns_select_nearly_always_the_same(n_columns):
    """Of several releases at most one differs from what the whole search selects, and several models are selected."""
    supposed, seen, differ = (
        scenario(n_columns, 4000, effects={"x1": 1.0, "x2": 0.5, "x7": 0.7}, correlation=0.6),
        set(),
        0,
    )
    table = supposed.draw(Source.seeded(4))
    for epsilon in (0.3, 3.0, 30.0):
        plain = Rival("moments", "moments", {"delta": 1e-6}).at(epsilon).prepare(supposed.draw_metadata, "y")
        for seed in range(4 if n_columns < 20 else 2):
            quick = cached_preparation(plain).run(table, Source.seeded(seed)).selected
            seen.add(quick)
            differ += set(quick) != set(plain.run(table, Source.seeded(seed)).selected)
    assert differ <= 1
    assert len(seen) > 1


def test_what_is_not_remembered():
    """Given lists, groups, forced columns and other methods run as they are."""
    supposed = scenario(3)
    for one in (
        pcls(models=[["x1"], []]),
        pcls(forced=["x2"]),
        pcls(groups=[["x1", "x2"]]),
        pcls(max_size=1),
        pcls(as_published=True, model_penalty=1.0),
        Rival("moments", "moments", {"max_size": 2}),
        Rival("moments", "moments", {"forced": ["x1"]}),
        Rival("sis", "sis", {"n_features_to_select": 1, "noise_test": False}),
    ):
        prepared = one.at(1.0).prepare(supposed.draw_metadata, "y", supposed.candidates)
        assert cached_preparation(prepared) is prepared


def test_ratings_at_the_ends():
    """With epsilon very large the right columns are found; with it very small they are not."""
    supposed = scenario(4, effects={"x1": 1.0, "x3": 1.0})
    for one in expected(supposed, [Rival("moments", "moments", {})], [500.0], n_tables=6, n_draws=2):
        assert (one.right, one.overlap, one.explained) == (1.0, 1.0, 1.0)
        assert (one.n_draws, one.n_rows) == (12, 1000)
        assert 0.0 < one.error < 0.2
    (sis,) = expected(supposed, [Rival("sis", "sis", {"n_features_to_select": 1})], [500.0], n_tables=4)
    assert (sis.right, sis.overlap) == (0.0, 0.5)
    assert 0.3 < sis.explained < 0.7
    (noise,) = expected(supposed, [pcls()], [1e-3], n_tables=6)
    assert noise.right < 0.5


def test_what_is_refused_is_left_out():
    """An epsilon that a method cannot have leaves no figure; questions that make no sense are refused."""
    supposed = scenario()
    assert expected(supposed, [pcls(l1_radius=-1.0)], [1.0]) == []
    assert [one.epsilon for one in expected(supposed, [pcls()], [-1.0, 1.0], n_tables=2)] == [1.0]
    for wrong in ({"n_tables": 0}, {"n_draws": 0}, {"seed": -1}):
        with pytest.raises(InvalidParameterError):
            expected(supposed, [pcls()], [1.0], **wrong)
    for wanted in (0.0, 1.0, float("nan")):
        with pytest.raises(InvalidParameterError):
            epsilon_for(supposed, pcls(), wanted)


@pytest.fixture(scope="module")
def drawn():
    """Tables of one scenario, which all goals look at."""
    return DrawnTables(scenario(3, 400))


@pytest.mark.parametrize(
    ("rival", "measure", "wanted"),
    [
        (pcls(), "right", 0.6),
        (Rival("moments", "moments", {}), "right", 0.8),
        (Rival("sis", "sis", {"n_features_to_select": 1}), "right", 0.9),
        (pcls(), "explained", 0.8),
    ],
    ids=["pcls", "moments", "sis", "pcls explained"],
)
def test_goal_agrees_with_a_fresh_simulation(rival, measure, wanted, drawn):
    """At the epsilon found the goal is met, and other tables tell the same within the stated error."""
    found = epsilon_for(drawn.scenario, rival, wanted, measure, n_tables=GOAL_TABLES, seed=1, tables=drawn)
    asked = FRESH | {"seed": 77, "tables": drawn, "explains": measure == "explained"}
    (fresh,) = expected(drawn.scenario, [rival], [found.epsilon], **asked)
    assert getattr(found, measure) >= wanted
    assert getattr(fresh, measure) == pytest.approx(getattr(found, measure), abs=3.5 * found.error)


def test_goal_that_is_not_reached():
    """Where even a very large epsilon does not do, there is none."""
    two = scenario(3, 400, effects={"x1": 1.0, "x2": 1.0})
    one_column = Rival("sis", "sis", {"n_features_to_select": 1})
    assert epsilon_for(two, one_column, 0.5, n_tables=8) is None
    among = [one_column, Rival("sis, 2", "sis", {"n_features_to_select": 2})]
    told = []
    found = epsilons_for(two, among, 0.5, n_tables=8, progress=lambda *what: told.append(what))
    assert [one.rival for one in found] == ["sis, 2"]
    assert told == [("Looking for epsilon", 1, 2)] * 2


def test_default_comparison():
    """Without named selections the usual ones are compared; the figures are those of their seed."""
    supposed = scenario(2, 100)
    found = expected_selection(supposed, [1.0], n_tables=2, n_draws=1)
    usual = rivals(supposed.metadata, "y", supposed.candidates, 1e-6, 100)
    assert {one.rival for one in found} == {one.name for one in usual}
    assert found == expected_selection(supposed, [1.0], n_tables=2, n_draws=1)
    assert found != expected_selection(supposed, [1.0], n_tables=2, n_draws=1, seed=1)


@pytest.mark.processes
def test_two_processes_tell_the_same(monkeypatch):
    """Long work is spread over processes; the numbers are those of one."""
    supposed, among = scenario(2, 50), [pcls(), Rival("moments", "moments", {})]
    alone = expected(supposed, among, [0.5, 1.0], n_tables=5, n_draws=2)
    goals = epsilons_for(supposed, among, 0.5, "overlap", n_tables=4)
    monkeypatch.setattr(selection, "WORTH_SECONDS", -1.0)
    told = []
    both = expected(
        supposed, among, [0.5, 1.0], n_tables=5, n_draws=2, n_processes=2, progress=lambda *what: told.append(what)
    )
    assert both == alone
    assert len(told) == 5
    assert epsilons_for(supposed, among, 0.5, "overlap", n_tables=4, n_processes=2) == goals
    assert multiprocessing.active_children() == []


def test_an_error_in_one_process_is_raised_here():
    """Not swallowed, and not waited for by the rest."""
    with pytest.raises(ValueError, match="math domain error"):
        list(spread(math.sqrt, [1.0, -1.0, *[2.0] * 50], 2))


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_an_end_ends_all_processes(number):
    """When the process that asked is interrupted or killed, those that it started end too, without a word of theirs."""
    code = """
        import multiprocessing, signal, time
        from discreet.simulation.processes import spread
        if __name__ == "__main__":
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
            for _ in spread(time.sleep, [0, 0, 600, 600], 2):
                print(*[child.pid for child in multiprocessing.active_children()], flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = [int(one) for one in process.stdout.readline().split()]
    assert len(children) == 2
    os.killpg(process.pid, number) if number == signal.SIGINT else os.kill(process.pid, number)
    _, words = process.communicate(timeout=60)
    for _ in range(600):
        if not any(os.path.exists(f"/proc/{child}") for child in children):
            break
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{child}") for child in children)
    assert words.count("Traceback") == (1 if number == signal.SIGINT else 0), words


def test_all_selections_and_epsilons_meet_the_same_draws():
    """A request's ratings do not depend on what is compared beside it, nor on its place."""
    own = scenario(4, 300)
    among = (pcls(), Rival("sis", "sis", {"n_features_to_select": 2}), Rival("moments", "moments", {}))
    facts = {"n_tables": 6, "n_draws": 2, "seed": 3}
    together = {(one.rival, one.epsilon): one for one in expected(own, among, [0.5, 2.0], **facts)}
    for rival in reversed(among):
        for epsilon in (2.0, 0.5):
            assert expected(own, [rival], [epsilon], **facts) == [together[rival.name, epsilon]]


def test_readings_of_one_release_select_what_each_would_alone():
    """Noisy moments that several penalties read are drawn once, with the draws that each would have had."""
    own = scenario(4, 300)
    read = [Rival(f"moments, {penalty}", "moments", {"model_penalty": penalty}) for penalty in ("auto", "aic", "bic")]
    facts = {"n_tables": 12, "n_draws": 2, "seed": 4}
    together = expected(own, read, [1.0], **facts)
    assert [one.overlap for one in together] == [expected(own, [rival], [1.0], **facts)[0].overlap for rival in read]
    assert len({one.overlap for one in together}) > 1


def test_readings_of_one_release_draw_it_once(monkeypatch):
    """For each table and draw, whatever the number of penalties; the control has another quantile for its clip."""
    drawn, released = [], CachedMoments.released
    monkeypatch.setattr(CachedMoments, "released", lambda self, *more: drawn.append(self) or released(self, *more))
    read = [{"model_penalty": penalty} for penalty in ("auto", "aic", "bic")]
    other = {"y_bound": "private", "y_quantile": 0.5}
    for parameters, times in ((read, 2), ([*read, other], 4)):
        among = [Rival(str(place), "moments", own) for place, own in enumerate(parameters)]
        drawn.clear()
        expected(scenario(4, 300), among, [1.0], n_tables=1, n_draws=2)
        assert len(drawn) == times
