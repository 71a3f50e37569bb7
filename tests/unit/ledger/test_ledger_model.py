"""The ledger against a model of ten lines, under any order of calls."""

import shutil
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError
from discreet.ledger import Ledger

RELATION = NeighboringRelation.REPLACE_ONE
DATASETS = st.sampled_from(["toy", "rand-hie"])
TENTHS = st.integers(1, 12).map(lambda tenths: Fraction(tenths, 10))
AFTER = {("reserved", "touch"): "touched", ("reserved", "cancel"): "cancelled"}
AFTER |= {("touched", "release"): "released", ("touched", "lose"): "lost"}


class Model:
    """What the ledger must do, without a disk."""

    def __init__(self):
        self.caps, self.reserved = {}, {}

    def spent(self, dataset):
        """Sum what was not cancelled."""
        return sum(cost for of, cost, state in self.reserved.values() if of == dataset and state != "cancelled")

    def fits(self, dataset, cost):
        """Tell whether a cost is allowed."""
        return dataset in self.caps and self.spent(dataset) + cost <= self.caps[dataset]


@cache
def _empty_ledger():
    folder = tempfile.TemporaryDirectory()
    Ledger(Path(folder.name, "empty.sqlite")).close()
    return folder


class LedgerMachine(RuleBasedStateMachine):
    """Any calls in any order leave the ledger as the model says."""

    reservations = Bundle("reservations")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, "ledger.sqlite")
        shutil.copy(Path(_empty_ledger().name, "empty.sqlite"), path)
        self.ledger, self.model, self.heads = Ledger(path), Model(), []

    def teardown(self):
        """Remove the files."""
        self.ledger.close()
        self.folder.cleanup()

    @rule(dataset=DATASETS, cap=TENTHS)
    def grant(self, dataset, cap):
        """Set a cap, or be refused."""
        if cap < self.model.spent(dataset):
            with pytest.raises(InvalidParameterError):
                self.ledger.grant(dataset, cap)
        else:
            self.ledger.grant(dataset, cap)
            self.model.caps[dataset] = cap

    @rule(target=reservations, dataset=DATASETS, cost=TENTHS)
    def reserve(self, dataset, cost):
        """Take a cost, or be refused."""
        asked = {
            "request": "0" * 64,
            "unit": "person",
            "neighboring": RELATION,
            "facts": {},
            "dataset": dataset,
        }
        asked["guarantee"] = Guarantee(cost, Fraction(0), RELATION)
        if not self.model.fits(dataset, cost):
            with pytest.raises(BudgetExceededError if dataset in self.model.caps else BudgetError):
                self.ledger.reserve(**asked)
            return None
        reservation = self.ledger.reserve(**asked)
        self.model.reserved[reservation.entry] = (dataset, cost, "reserved")
        self.heads.append(reservation.head)
        return reservation

    @rule(reservation=reservations, step=st.sampled_from(["touch", "release", "lose", "cancel"]))
    def move(self, reservation, step):
        """Take a step, or be refused."""
        if reservation is None:
            return
        dataset, cost, state = self.model.reserved[reservation.entry]
        arguments = ("text",) if step == "release" else ()
        if (state, step) in AFTER:
            getattr(reservation, step)(*arguments)
            self.model.reserved[reservation.entry] = (dataset, cost, AFTER[state, step])
        else:
            with pytest.raises(BudgetError):
                getattr(reservation, step)(*arguments)

    @rule()
    def recover(self):
        """Lose what was touched."""
        touched = [entry for entry, (_, _, state) in self.model.reserved.items() if state == "touched"]
        assert self.ledger.recover(None) == touched
        for entry in touched:
            self.model.reserved[entry] = (*self.model.reserved[entry][:2], "lost")

    @invariant()
    def is_the_model(self):
        """Compare caps, sums and states."""
        found = {account.dataset: (account.epsilon_cap, account.epsilon_spent) for account in self.ledger.accounts()}
        assert found == {name: (cap, self.model.spent(name)) for name, cap in self.model.caps.items()}
        states = {entry.seq: entry.state for entry in self.ledger.history() if entry.kind == "reserve"}
        assert states == {entry: state for entry, (_, _, state) in self.model.reserved.items()}

    @rule()
    def verify(self):
        """Check the chain and every head so far."""
        assert self.ledger.verify(self.heads).n_accounts == len(self.model.caps)


LedgerMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, derandomize=True, database=None
)


class TestLedgerModel(LedgerMachine.TestCase):
    """Runs the machine."""
