"""Parts below a ceiling: whoever chooses when to stop, looking at what came out, gains nothing. Exact, on a lattice.

Each part is a discrete Gaussian on a few integers, moved by one on the neighbor; its scale is what its rho asks for.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.accounting.events import EllipsoidEvent, GaussianEvent
from discreet.errors import InvalidParameterError
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.workflow import paid_terms
from discreet.workflow.paid_terms import Cost, Terms
from discreet.workflow.pooled_parts import pool

EPSILON, DELTA = 4.0, 0.01
REACH = 10
"""Of the lattice, on either side: the mass beyond is far below what is tested."""

ORDERS = (1.5, 2.0, 4.0, 8.0)


def gaussian(cost):
    """Masses on the lattice, and on the neighbor's."""
    points = np.arange(-REACH, REACH + 1)
    whole = np.exp(-float(cost.rho) * np.arange(-200, 201) ** 2.0).sum()
    return [np.exp(-float(cost.rho) * (points - shift) ** 2) / whole for shift in (0.0, 1.0)]


def laplace(cost):
    """The same of noise for pure epsilon."""
    points = np.arange(-REACH, REACH + 1)
    whole = 1.0 / math.tanh(float(cost.epsilon) / 2.0)
    return [np.exp(-float(cost.epsilon) * np.abs(points - shift)) / whole for shift in (0.0, 1.0)]


def cost_of(terms, costs, ratio=0.0):
    """The next part's cost as the filter sets it, or None: the adversary chooses the factor, too."""
    factor = FACTORS[int(10.0 * abs(ratio)) % len(FACTORS)]
    amount = terms.next_amount(costs, None, factor)
    if amount is None:
        return None
    if terms.is_concentrated:
        return Cost.of(Fraction(0), Fraction(0), GaussianEvent(amount, Fraction(0)))
    return Cost.of(amount, Fraction(0), EllipsoidEvent(amount))


def transcripts(terms, law, stops, most=4):
    """Log masses of every transcript, on both tables: an adversary stops where `stops` says so of the ratio so far."""
    ended, going = [], [((), 0.0, 0.0)]
    for _ in range(most):
        ahead = []
        for costs, here, there in going:
            cost = cost_of(terms, costs, here - there)
            if cost is None or not terms.holds([*costs, cost]) or (costs and stops(here - there, len(costs))):
                ended.append((here, there))
                continue
            masses = law(cost)
            with np.errstate(divide="ignore"):
                logs = np.log(masses)
            ahead += [((*costs, cost), here + a, there + b) for a, b in zip(*logs, strict=True)]
        going = ahead
    ended += [(here, there) for _, here, there in going]
    return np.array(ended).T


def delta_at(here, there, epsilon):
    """What a factor e^epsilon leaves: the hockey-stick divergence."""
    return float(np.sum(np.maximum(np.exp(here) - math.exp(epsilon) * np.exp(there), 0.0)))


STOPS = {
    "never": lambda ratio, at: False,
    "when lucky": lambda ratio, at: ratio > 1.0,
    "when unlucky": lambda ratio, at: ratio < 0.0,
    "when far either way": lambda ratio, at: abs(ratio) > 0.8 * at,
    "when a width is small": lambda ratio, at: abs(ratio - round(ratio)) < 0.2 * at,
    "by the sign of a sine": lambda ratio, at: math.sin(40.0 * ratio + at) > 0.2,
}


FACTORS = (Fraction(2), Fraction(4), None)
"""How many times as precise the noise becomes; None: all that is left."""


@pytest.fixture(autouse=True)
def _few_parts(monkeypatch):
    """Three parts, so that every transcript can be looked at."""
    monkeypatch.setattr(paid_terms, "MOST_PARTS", 3)


@pytest.mark.parametrize("stops", STOPS.values(), ids=STOPS)
def test_whoever_chooses_when_to_stop_gains_nothing(stops):
    """Divergences of the whole transcript are below the ceiling's rho at every order, and delta at its epsilon."""
    terms = Terms(0.9, EPSILON, DELTA, True)
    here, there = transcripts(terms, gaussian, stops)
    assert np.exp(here).sum() == pytest.approx(1.0, abs=1e-3)
    for first, second in ((here, there), (there, here)):
        assert delta_at(first, second, EPSILON) <= DELTA
        for order in ORDERS:
            renyi = math.log(np.sum(np.exp(order * first + (1.0 - order) * second))) / (order - 1.0)
            assert renyi <= order * float(terms.ceiling) * (1.0 + 1e-9)


@pytest.mark.parametrize("stops", STOPS.values(), ids=STOPS)
def test_pure_parts_lose_at_most_the_ceiling(stops):
    """Of every transcript, whenever it stops."""
    here, there = transcripts(Terms(0.9, EPSILON, 0.0, False), laplace, stops)
    assert np.abs(here - there).max() <= EPSILON * (1.0 + 1e-6)


def test_a_filter_that_forgets_what_was_spent_is_flagged(monkeypatch):
    """Control: each part is the first again, and nothing ends it but luck."""
    plain = Terms.next_amount
    monkeypatch.setattr(Terms, "next_amount", lambda self, costs, rows, *_: plain(self, (), rows) * 16)
    monkeypatch.setattr(Terms, "holds", lambda self, costs: True)
    terms = Terms(0.9, EPSILON, DELTA, True)
    here, there = transcripts(terms, gaussian, STOPS["when lucky"], 3)
    assert delta_at(here, there, EPSILON) > DELTA
    here, there = transcripts(Terms(0.9, EPSILON, 0.0, False), laplace, STOPS["never"], 3)
    assert np.abs(here - there).max() > EPSILON


def test_parts_never_cost_more_than_the_ceiling_together():
    """Whatever is left, few rows or many, concentrated or not: exact sums; and no two parts have one epsilon."""
    for concentrated, rows, epsilon in itertools.product((True, False), (None, 300, 10**6), (0.1, 1.0, 7.3)):
        terms, costs = Terms(0.9, epsilon, 1e-6, concentrated), list[Cost]()
        while (amount := terms.next_amount(costs, rows, Fraction(2))) is not None:
            spent, delta = terms.budget(amount, costs)
            rho = paid_terms.gaussian_rho(Fraction(spent), Fraction(delta))
            cost = Cost.of(Fraction(spent), Fraction(delta), GaussianEvent(rho, Fraction(0)))
            if not terms.holds([*costs, cost]):
                break
            costs.append(cost)
        whole = sum(cost.rho if concentrated else cost.epsilon for cost in costs)
        assert 0.9 * terms.ceiling < whole <= terms.ceiling
        assert len({cost.epsilon for cost in costs}) == len(costs)


# ---- what is pooled


def released(epsilon=1.0, delta=1e-6, rows_seed=0, **facts):
    """A release of noisy moments of a small table, with facts of its metadata."""
    declared = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 300, **facts}
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "test"} for name in ("a", "b", "y")}
    metadata = dc.Metadata.from_value(declared | {"columns": columns})
    rng = np.random.default_rng(rows_seed)  # noqa: TID251 - made-up data, not noise
    rows = {name: rng.uniform(-1, 1, 300) for name in ("a", "b", "y")}
    asked = {"y_bound": 1.0, "y_center": 0.0, "selective_inference": "none"}
    method = NoisyMoments(epsilon=epsilon, delta=delta, **asked)
    return dc.workflow.answer(method, dc.open_table(pl.DataFrame(rows), metadata), "y").release


def test_parts_above_the_ceiling_are_not_pooled():
    """Neither epsilon nor delta may be less than what parts cost, whoever asks; control: below it they are pooled."""
    parts = [released(), released()]
    assert pool(parts, Terms(0.9, 4.0, 1e-6, True)).guarantee.epsilon == 4.0
    for terms in (Terms(0.9, 1.0, 1e-6, True), Terms(0.9, 1.9, 2e-6, False), Terms(0.9, 4.0, 1e-6, False)):
        with pytest.raises(InvalidParameterError, match="these cost more"):
            pool(parts, terms)
    before = Terms(0.9, 4.0, 3e-6, True, before=(Fraction(1, 2), Fraction(1, 10**6)))
    with pytest.raises(InvalidParameterError, match="these cost more"):  # the first part cost 1
        pool(parts, before)


def test_a_gaussian_part_is_never_called_pure():
    """Its delta must be given, however large epsilon is."""
    with pytest.raises(InvalidParameterError, match="these cost more"):
        pool([released()], Terms(0.9, 50.0, 0.0, False))


@pytest.mark.parametrize(
    "facts", [{"dataset": "other"}, {"unit": "row"}, {"neighboring": "add_or_remove_one", "n_rows": None}]
)
def test_parts_of_other_people_or_another_promise_are_not_pooled(facts):
    """Data set, unit and relation must be those of the first part; nor is one part taken twice."""
    first, terms = released(), Terms(0.9, 8.0, 1e-5, True)
    for parts in ([first, released(**facts)], [released(**facts), first], [first, first]):
        with pytest.raises(InvalidParameterError, match="of the same sums, each another draw"):
            pool(parts, terms)
