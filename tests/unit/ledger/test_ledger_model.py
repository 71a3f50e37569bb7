"""The ledger against a model of ten lines, under any order of calls."""

import shutil
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError
from discreet.ledger import Ledger

RELATION = NeighboringRelation.REPLACE_ONE
DATASETS = st.sampled_from(["toy", "rand-hie"])
PROJECTS = st.sampled_from(["thesis", "survey"])
TENTHS = st.integers(1, 12).map(lambda tenths: Fraction(tenths, 10))
AFTER = {("reserved", "touch"): "touched", ("reserved", "cancel"): "cancelled"}
AFTER |= {("touched", "release"): "released", ("touched", "lose"): "lost"}


class Model:
    """What the ledger must do, without a disk."""

    def __init__(self):
        self.caps, self.ceilings, self.reserved = {}, {}, {}

    def spent(self, dataset, project=None):
        """Sum what was not cancelled, of all or of one project."""
        standing = [of for of in self.reserved.values() if of[0] == dataset and of[3] != "cancelled"]
        return sum(cost for _, of, cost, _ in standing if project in (None, of))

    def fits(self, dataset, project, cost):
        """Tell whether a cost is allowed."""
        if dataset not in self.caps or self.spent(dataset) + cost > self.caps[dataset]:
            return False
        return project is None or self.spent(dataset, project) + cost <= self.ceilings.get((dataset, project), 0)


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
        self.ledger, self.model, self.heads = self.opened(), Model(), []

    def opened(self):
        """Open a ledger of its own."""
        path = Path(self.folder.name, "ledger.sqlite")
        shutil.copy(Path(_empty_ledger().name, "empty.sqlite"), path)
        return Ledger(path)

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

    @rule(dataset=DATASETS, project=PROJECTS, ceiling=TENTHS)
    def allot(self, dataset, project, ceiling):
        """Set a ceiling, or be refused."""
        if dataset not in self.model.caps:
            with pytest.raises(BudgetError):
                self.ledger.allot(dataset, project, ceiling)
        elif not self.model.spent(dataset, project) <= ceiling <= self.model.caps[dataset]:
            with pytest.raises(InvalidParameterError):
                self.ledger.allot(dataset, project, ceiling)
        else:
            self.ledger.allot(dataset, project, ceiling)
            self.model.ceilings[dataset, project] = ceiling

    @rule(target=reservations, dataset=DATASETS, project=st.none() | PROJECTS, cost=TENTHS)
    def reserve(self, dataset, project, cost):
        """Take a cost, or be refused."""
        asked = {
            "request": "0" * 64,
            "unit": "person",
            "neighboring": RELATION,
            "facts": {},
            "dataset": dataset,
            "project": project,
        }
        asked["guarantee"] = Guarantee(cost, Fraction(0), RELATION)
        if not self.model.fits(dataset, project, cost):
            named = dataset in self.model.caps and (project is None or (dataset, project) in self.model.ceilings)
            with pytest.raises(BudgetExceededError if named else BudgetError):
                self.ledger.reserve(**asked)
            return None
        reservation = self.ledger.reserve(**asked)
        self.model.reserved[reservation.entry] = (dataset, project, cost, "reserved")
        self.heads.append(reservation.head)
        return reservation

    @rule(reservation=reservations, step=st.sampled_from(["touch", "release", "lose", "cancel"]))
    def move(self, reservation, step):
        """Take a step, or be refused."""
        if reservation is None:
            return
        *asked, state = self.model.reserved[reservation.entry]
        arguments = ("text",) if step == "release" else ()
        if (state, step) in AFTER:
            getattr(reservation, step)(*arguments)
            self.model.reserved[reservation.entry] = (*asked, AFTER[state, step])
        else:
            with pytest.raises(BudgetError):
                getattr(reservation, step)(*arguments)

    @rule()
    def recover(self):
        """Lose what was touched."""
        touched = [entry for entry, (*_, state) in self.model.reserved.items() if state == "touched"]
        assert self.ledger.recover(None) == touched
        for entry in touched:
            self.model.reserved[entry] = (*self.model.reserved[entry][:3], "lost")

    @invariant()
    def is_the_model(self):
        """Compare caps, sums and states."""
        found = {account.dataset: (account.epsilon_cap, account.epsilon_spent) for account in self.ledger.accounts()}
        assert found == {name: (cap, self.model.spent(name)) for name, cap in self.model.caps.items()}
        ceilings = [one for dataset in ("rand-hie", "toy") for one in self.ledger.allotments(dataset)]
        assert {(one.dataset, one.project): (one.epsilon_cap, one.epsilon_spent) for one in ceilings} == {
            name: (ceiling, self.model.spent(*name)) for name, ceiling in self.model.ceilings.items()
        }
        states = {entry.seq: entry.state for entry in self.ledger.history() if entry.kind == "reserve"}
        assert states == {entry: state for entry, (*_, state) in self.model.reserved.items()}

    @rule()
    def verify(self):
        """Check the chain and every head so far."""
        assert self.ledger.verify(self.heads).n_accounts == len(self.model.caps)


LedgerMachine.TestCase.settings = settings(
    max_examples=20, stateful_step_count=30, deadline=None, derandomize=True, database=None
)


@pytest.mark.slow
class TestLedgerModel(LedgerMachine.TestCase):
    """Runs the machine on files."""


def test_ledger_model_on_a_server(postgres, empty_on_server):
    """Runs the machine on databases of a server."""

    class OnServer(LedgerMachine):
        def opened(self):
            self.url = postgres(like=empty_on_server)
            return Ledger(self.url, pooled=True)

        def teardown(self):
            super().teardown()
            postgres.drop(self.url)

    run_state_machine_as_test(OnServer, settings=settings(LedgerMachine.TestCase.settings, max_examples=10))
