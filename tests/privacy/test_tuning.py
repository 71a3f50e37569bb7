"""What is bought before a selection, on worst neighbors: exact laws of what reaches the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, LaplaceEvent, SelectionEvent
from discreet.mechanisms import quantile
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection import pcls, sum_of_squares, tuning
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.methods.subset_selection.pcpl import ProfileLikelihood
from discreet.methods.subset_selection.sum_of_squares import squares_scale, squares_step
from tests.privacy.laws import log_law, max_log_ratio
from tests.privacy.pairs import pinned, table_of

RELATIONS = ["replace_one", "add_or_remove_one"]
PUBLIC = {"y_center": "middle", "y_bound": "furthest"}
"""What is bought is what a test asks for."""


class Handed:
    """Runs a method on rows, and keeps what each of its parts hands to its noise."""

    def __init__(self, method, rows, relation="replace_one", bound=1.0, units=None, **metadata):
        rows = np.atleast_2d(np.asarray(rows, dtype=float))
        names = [f"x{i + 1}" for i in range(rows.shape[1] - 1)]
        self.table = table_of(rows, names, "y", relation, bound, units=units, **metadata)
        self.parts: dict[str, list] = {}
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((tuning, "l1_radius"), (quantile, "quantile"), (pcls, "selection")):
                patch.setattr(module, "noisy_min", self._keep(name))
            patch.setattr(tuning, "noisy_min_scaled", self._keep("scaled"))
            for module, name in ((tuning, "n_rows"), (sum_of_squares, "squares")):
                patch.setattr(module, "discrete_laplace", self._keep(name, whole=True))
            method = method.model_copy(update={name: PUBLIC[name] for name in PUBLIC if getattr(method, name) is None})
            self.prepared = method.prepare(self.table.metadata, "y", names)
            self.outcome = self.prepared.run(self.table, Source.seeded(0))

    def _keep(self, name, whole=False):
        def keep(values, size, *rest):
            self.parts.setdefault(name, []).append((np.array(values), size, *rest))
            return list(values) if whole else 0

        return keep


def pairs(relation, radius, bound, columns=1):
    """P1: a pinned coefficient, and the row against it, added or put in an exactly fitted row's place."""
    a = min(1.0, bound / (2 * radius))
    enough = max(200, math.ceil((bound + radius) / (a * (bound - a * radius))))
    base = pinned(radius, bound, columns, (enough,) * columns)
    against = np.array([-1.0] * columns + [bound])
    fitted = np.array([min(1.0, bound / radius)] + [0.0] * (columns - 1) + [min(bound, radius)])
    return (base, [*base, against]) if relation == "add_or_remove_one" else ([*base, fitted], [*base, against])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("radius", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_radius_by_selection_loses_at_most_its_epsilon(relation, radius, epsilon):
    """P8: the grid of R on pairs that pin the coefficient at each of its values."""
    chosen = PenalizedLeastSquares(
        l1_radius="private", fit_intercept=False, models=(("x1",), ()), epsilon=epsilon, shares={"l1_radius": 0.5}
    )
    laws = []
    for rows in pairs(relation, radius, 1.0):
        scores, gamma, paid, _, noise = Handed(chosen, rows, relation).parts["l1_radius"][0]
        assert paid == Fraction(str(epsilon)) / 2
        laws.append(log_law(scores, float(gamma) / float(paid), noise))
    assert max_log_ratio(*laws) <= epsilon / 2 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_wide_grid_of_radii_moves_scores_by_their_own_sensitivities(relation):
    """P8, specification 3.2 (c): each score moves by at most its (r + R)^2, and nearly so where it is pinned."""
    grid = (0.5, 2.0, 16.0, 64.0)
    chosen = PenalizedLeastSquares(l1_radius="private", l1_grid=grid, fit_intercept=False, models=(("x1",), ()))
    for j, radius in enumerate(grid[:3]):
        found = [Handed(chosen, rows, relation).parts["scaled"][0] for rows in pairs(relation, radius, 1.0)]
        moved = np.abs(found[0][0] - found[1][0])
        sizes = np.array([float(size) for size in found[0][1]])
        assert found[0][1] == found[1][1]
        assert (moved <= sizes).all()
        assert moved[j] > 0.99 * (1.0 + radius) ** 2


def test_releasing_the_norm_is_flagged():
    """Control P8: the norm of the fit itself, with any noise, moves without bound when one x goes from eta to 1."""
    norms = []
    for last in (1e-6, 1.0):
        x, y = np.append(np.zeros(50), last), np.ones(51)
        norms.append(abs(float(x @ y) / float(x @ x)))
    noise = 8.0  # a whole range of the largest R of the grid
    assert abs(norms[0] - norms[1]) / noise > 1000.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("bound", "radius"), [(1.0, 1.0), (3.0, 1.0), (1.0, 3.0)])
def test_residual_variance_loses_at_most_its_epsilon(relation, rows, bound, radius):
    """P7: the published sum moves by nearly (r + R)^2 a row, and never by more than its noise is made for."""
    units = {"rows_per_unit": rows, "unit_id": "id"} if rows > 1 else {}
    chosen = PenalizedLeastSquares(
        l1_radius=radius, fit_intercept=False, models=(("x1",), ()), model_penalty="bic", n0=200, epsilon=1.0
    )
    base = pinned(radius, bound, 1, (400,))
    fitted = np.array([min(1.0, bound / radius), min(bound, radius)])
    against = np.array([-1.0, bound])
    tables = (base, [*base, *[against] * rows])
    if relation == "replace_one":
        tables = ([*base, *[fitted] * rows], [*base, *[against] * rows])
    found = []
    for table in tables:
        ids = [*range(400), *[1000] * (len(table) - 400)] if rows > 1 else None
        found.append(Handed(chosen, table, relation, bound, units=ids, **units).parts["squares"][0])
    (one, scale, _), (other, again, _) = found
    assert scale == again
    loss = Fraction(int(abs(one - other)[0])) / Fraction(scale)  # the exact loss of discrete Laplace noise
    assert Fraction(99, 1000) < loss <= Fraction(1, 10)


@pytest.mark.parametrize("rows", [1, 4])
def test_row_count_loses_its_epsilon(rows):
    """Where the number of rows is private a unit moves it by its rows, and the noise is made for that."""
    units = {"rows_per_unit": rows, "unit_id": "id"} if rows > 1 else {}
    chosen = PenalizedLeastSquares(model_penalty="bic", models=(("x1",), ()))
    tables = [np.zeros((20, 2)), np.zeros((20 + rows, 2))]
    found = []
    for table in tables:
        ids = [*range(20), *[99] * (len(table) - 20)] if rows > 1 else None
        handed = Handed(chosen, table, "add_or_remove_one", units=ids, **units)
        found.append(handed.parts["n_rows"][0])
        assert handed.outcome.steps[0].value == len(table)
    (one, scale, _), (other, _, _) = found
    assert Fraction(int((other - one)[0])) / Fraction(scale) == Fraction(1, 50)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", [0.5, 0.95])
def test_bound_of_the_target_loses_at_most_its_epsilon(relation, q):
    """The clip's scores on neighbors that move one target across the quantile: at most the share of epsilon."""
    chosen = PenalizedLeastSquares(y_bound="private", y_quantile=q, epsilon=1.0, shares={"y_bound": 0.5})
    n = 100
    y = np.linspace(0.001, 1.0, n)
    one = np.column_stack([np.zeros(n), y])
    far = one.copy()
    far[int(n * q) - 1, 1] = 1.0
    other = far if relation == "replace_one" else np.vstack([one, [0.0, -1.0]])
    laws = []
    for rows in (one, other):
        scores, gamma, paid, _, noise = Handed(chosen, rows, relation).parts["quantile"][0]
        laws.append(log_law(scores[-24:], float(gamma) / float(paid), noise))
    assert 0.0 < max_log_ratio(*laws) <= 0.5 + 1e-9


BETWEEN = slice(1, None, 64)
"""Points between those where rows are: an exact law takes long for all of them."""


def moved_across(relation, rows=1):
    """More rows low than high: one at the lower end goes to the upper one, or comes there."""
    y = np.repeat([-0.5, 0.5], [30, 20])
    one = np.column_stack([np.zeros(50), y])
    ends = np.array([[0.0, -1.0]] * rows), np.array([[0.0, 1.0]] * rows)
    return (np.vstack([one, ends[0]]) if relation == "replace_one" else one), np.vstack([one, ends[1]])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
def test_center_of_the_target_loses_at_most_its_epsilon(relation, rows, mechanism):
    """The median's scores where a unit crosses it: at most the share of epsilon, and at the ends nearly all of it."""
    units = {"rows_per_unit": rows, "unit_id": "id"} if rows > 1 else {}
    chosen = PenalizedLeastSquares(y_center="private", mechanism=mechanism, shares={"y_center": 0.5})
    laws, all_scores = [], []
    for table in moved_across(relation, rows):
        ids = [*range(50), *[99] * (len(table) - 50)] if rows > 1 else None
        scores, gamma, paid, _, noise = Handed(chosen, table, relation, units=ids, **units).parts["quantile"][0]
        assert (len(scores), paid) == (513, Fraction(1, 2))
        laws.append(log_law(scores[BETWEEN], float(gamma) / float(paid), noise))
        all_scores.append(scores)
    assert 0.45 < max_log_ratio(*laws) <= 0.5 + 1e-9
    assert np.ptp(all_scores[1] - all_scores[0]) == gamma


@pytest.mark.parametrize("relation", RELATIONS)
def test_half_the_sensitivity_of_the_center_is_flagged(relation):
    """Control: noise for half of the range loses more than the share."""
    chosen = PenalizedLeastSquares(y_center="private", mechanism="exponential", shares={"y_center": 0.5})
    laws = []
    for table in moved_across(relation):
        scores, gamma, paid, _, noise = Handed(chosen, table, relation).parts["quantile"][0]
        laws.append(log_law(scores[BETWEEN], float(gamma) / 2 / float(paid), noise))
    assert max_log_ratio(*laws) > 0.9


def test_a_median_without_noise_is_flagged():
    """Control: one row that crosses moves the exact median from end to end of an empty middle, at any epsilon."""
    even = np.repeat([-0.5, 0.5], 25)
    assert [float(np.median([*even, end])) for end in (-1.0, 1.0)] == [-0.5, 0.5]


@pytest.mark.parametrize("relation", RELATIONS)
def test_after_the_center_the_choice_loses_what_is_left(relation):
    """The bound does not follow the rows: around any center the choice has the range that its noise is made for."""
    chosen = PenalizedLeastSquares(
        y_center="private", l1_radius=1.0, fit_intercept=False, models=(("x1",), ()), model_penalty=0.0
    )
    laws = []
    for rows in pairs(relation, 1.0, 1.0):
        scores, gamma, paid, _, noise = Handed(chosen, rows, relation).parts["selection"][0]
        laws.append(log_law(scores, float(gamma) / float(paid), noise))
    assert 0.0 < max_log_ratio(*laws) <= float(paid) + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
def test_estimated_bounds_move_by_at_most_their_range(relation):
    """Both ends of a column and of the target, one row from inside to far outside or missing: within Gamma."""
    columns = {"x1": {"type": "real", "bounds": "private"}, "y": {"type": "real", "bounds": "private"}}
    inside = np.column_stack([np.linspace(-3, 5, 60), np.linspace(10, 90, 60)])
    rows = {"one": inside}
    for name, row in (("far", [1e9, -1e12]), ("near", [-3.0, 90.0]), ("none", [np.nan, np.nan])):
        rows[name] = np.vstack([inside, row]) if relation == "add_or_remove_one" else np.vstack([inside[:-1], row])
    found = {
        name: Handed(PenalizedLeastSquares(n0=60), table, relation, columns=columns).parts["quantile"]
        for name, table in rows.items()
    }
    assert len(found["one"]) == 4
    for name in ("far", "near", "none"):
        for (scores, gamma, paid, *_), (moved, *_) in zip(found["one"], found[name], strict=True):
            assert paid == Fraction(1, 20)  # a fifth for four ends
            assert np.ptp(moved - scores) <= float(gamma)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 0.3])
@pytest.mark.parametrize("method", [PenalizedLeastSquares, ProfileLikelihood])
@pytest.mark.parametrize(
    ("asked", "bought"),
    [
        ({"y_bound": "private"}, {"y_bound"}),
        ({"l1_radius": "private"}, {"l1_radius"}),
        ({"model_penalty": "bic"}, {"sigma2"}),
        ({"y_bound": "private", "l1_radius": "private", "model_penalty": "aic"}, {"y_bound", "l1_radius", "sigma2"}),
        ({"y_bound": "private", "shares": {"y_bound": 0.3}}, {"y_bound"}),
        ({"y_center": "private"}, {"y_center"}),
        ({"y_center": "private", "y_bound": "private"}, {"y_center", "y_bound"}),
    ],
)
def test_parts_add_up_to_the_epsilon_asked(relation, epsilon, method, asked, bought):
    """Exactly, in fractions, whatever is bought; and each step says its price."""
    guess = {"n0": 50} if method is ProfileLikelihood else {}
    handed = Handed(method(epsilon=epsilon, **asked, **guess), np.zeros((50, 3)), relation)
    event = handed.prepared.event
    if type(event) is SelectionEvent:
        assert method is ProfileLikelihood or not bought
        assert event.epsilon == Fraction(str(epsilon))
        return
    assert isinstance(event, ComposedEvent)
    paid = [part.epsilon for part in event.events if isinstance(part, (SelectionEvent, LaplaceEvent))]
    assert sum(paid) == Fraction(str(epsilon))
    assert guarantee_of(event, handed.table.metadata.neighboring).epsilon == Fraction(str(epsilon))
    names = [step.name for step in handed.prepared.steps]
    assert names == [step.name for step in handed.outcome.steps if step.event["type"] != "ComposedEvent"]
    assert [step.event["epsilon"] for step in handed.prepared.steps] == [float(part) for part in paid]
    wanted = bought - ({"sigma2"} if method is ProfileLikelihood else set())
    assert wanted <= set(names)
    assert all(step.value is None for step in handed.prepared.steps)
    assert all(step.value is not None for step in handed.outcome.steps[:-1])


def test_the_published_sum_is_on_a_grid():
    """Values are whole multiples of a public step, noise included; the noise covers solver, rounding and the step."""
    handed = Handed(PenalizedLeastSquares(model_penalty="bic"), np.full((30, 2), 0.3))
    sensitivity = Sensitivity.of(handed.prepared.design, handed.prepared.setting.ratio)
    whole, scale, _ = handed.parts["squares"][0]
    assert whole.dtype.kind == "i"
    step = squares_step(sensitivity)
    assert scale == squares_scale(sensitivity, Fraction(1, 10))
    assert scale * step * Fraction(1, 10) == sensitivity.size + sensitivity.error + step
    assert math.log2(float(sensitivity.size / step)) == 20
