"""What an account under zCDP is charged for a profile likelihood is enough on its worst pair, failures apart."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.accounting.events import FailureEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.totals import rho_of_pure
from discreet.accounting.zcdp import rho_of
from discreet.ledger.costs import cost_of
from discreet.ledger.grains import DELTA_GRAIN, RHO_GRAIN
from discreet.ledger.records import Accounting
from tests.privacy.test_pcpl import RELATIONS, Exact, guarantee_of, method, probe, swap

ORDERS = (1.001, 1.5, 2.0, 8.0, 64.0)
NOISES = {"permute_and_flip": "exponential", "exponential": "gumbel", "laplace": "laplace"}


def divergence(law, other, order):
    """Renyi divergence of two laws given by logarithms."""
    return float(np.logaddexp.reduce(order * law + (1.0 - order) * other)) / (order - 1.0)


def pair(relation, extra, epsilon=1.0, mechanism="permute_and_flip"):
    """Two neighbors, and the largest published sum at which the bound of one of them still holds."""
    tables = [Exact(method(epsilon, mechanism), rows, relation) for rows in swap(relation, extra)]
    return *tables, max(table.largest_good() for table in tables)


def worst_rate(table, neighbor, wholes):
    """The largest divergence of the choices over its order, given the published sum, both ways."""
    laws = [[np.array([float(p) for p in side.log_choice(whole)]) for side in (table, neighbor)] for whole in wholes]
    return max(divergence(*way, order) / order for p, q in laws for way in ((p, q), (q, p)) for order in ORDERS)


def beyond(table, whole):
    """Probability that the published sum of a table is above this one."""
    ratio = mpmath.exp(-mpmath.mpf(table.scale.denominator) / table.scale.numerator)
    return mpmath.power(ratio, whole + 1 - table.least) / (1 + ratio)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", NOISES)
@pytest.mark.parametrize("extra", [0, 30, 400])
def test_what_a_ledger_of_rho_charges_is_enough_on_the_worst_pair(relation, mechanism, extra):
    """Sum and choice within their rho for every published sum of the good set, which fails with at most delta."""
    table, neighbor, good = pair(relation, extra, 1.0, mechanism)
    split, event = table.prepared.split, table.prepared.event
    squares, choice = rho_of_pure(split.squares), rho_of(SelectionEvent(split.selection, NOISES[mechanism]))[0]
    assert [type(part) for part in event.events] == [LaplaceEvent, SelectionEvent, FailureEvent]
    assert rho_of(event) == (squares + choice, split.delta)
    guarantee = guarantee_of(event, table.prepared.tuning.metadata.neighboring)
    charge = cost_of(Accounting.ZCDP, guarantee, event)
    assert charge["rho"] * RHO_GRAIN >= squares + choice
    assert charge["failure"] * DELTA_GRAIN >= split.delta
    # The sum is pure, so its rho is that of `squares`.
    assert abs(table.least - neighbor.least) / table.scale <= split.squares
    wholes = [whole for whole in {*probe(table), *probe(neighbor), good} if whole <= good]
    assert worst_rate(table, neighbor, wholes) <= float(choice)
    with mpmath.workdps(30):
        assert (
            max(beyond(table, good), beyond(neighbor, good))
            <= mpmath.mpf(split.delta.numerator) / split.delta.denominator
        )


def test_without_its_failure_the_charge_would_be_too_low():
    """Control: beyond the good set the choice loses more than its rho, so the failure must be charged too."""
    table, neighbor, good = pair("replace_one", 30)
    choice = float(rho_of(SelectionEvent(table.prepared.split.selection, "exponential"))[0])
    step = int(table.scale)
    assert worst_rate(table, neighbor, [good]) <= choice
    assert worst_rate(table, neighbor, [good + k * step for k in (20, 60, 200)]) > choice


def test_the_charge_of_gumbel_noise_would_be_too_low_for_the_others():
    """Control: an eighth of the squared epsilon is exceeded by permute-and-flip."""
    table, neighbor, good = pair("add_or_remove_one", 400, 0.2)
    wholes = [whole for whole in {*probe(table), *probe(neighbor), good} if whole <= good]
    selection = table.prepared.split.selection
    assert worst_rate(table, neighbor, wholes) <= float(rho_of_pure(selection))
    exact = SelectionEvent(Fraction(selection), "gumbel")
    assert worst_rate(table, neighbor, wholes) > float(rho_of(exact)[0])
