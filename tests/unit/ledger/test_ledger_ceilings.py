"""Ceilings: reserved once, drawn part by part, and what is not drawn goes back; in whole grains."""

import hashlib
import os
import signal
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import GaussianEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError
from discreet.ledger import Ledger, ceilings

CEILING = hashlib.sha256(b"ceiling").hexdigest()
TENTH = Fraction(1, 10)


def gaussian(rho):
    """A cost in rho, as `ask` takes it."""
    done = GaussianEvent(Fraction(rho), Fraction(0))
    return {"guarantee": guarantee_of(done, NeighboringRelation.REPLACE_ONE, Fraction(1, 10**6)), "event": done}


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_parts_are_drawn_and_the_rest_goes_back(path, ask, accounting):
    """At any time the account holds what was drawn and what may still be; at the end what was drawn."""
    cost = gaussian if accounting == "zcdp" else lambda value: {"epsilon": Fraction(value)}
    with Ledger(path) as ledger:
        ledger.grant("rand-hie", 3, "1e-5", accounting=accounting)
        spent = lambda: getattr(ledger.account("rand-hie"), "rho_spent" if accounting == "zcdp" else "epsilon_spent")  # noqa: E731
        ask(ledger, question="ceiling", **cost("0.2"))
        assert ledger.held("rand-hie", CEILING) is not None
        for part, share in enumerate(("0.02", "0.05"), start=1):
            drawn = ask(ledger, question=f"part {part}", ceiling=CEILING, **cost(share))
            assert drawn.entry == ledger.history()[-1].seq
            drawn.touch()
            drawn.release("text")
            assert spent() == Fraction("0.2")
        with pytest.raises(BudgetExceededError, match="what its ceiling still holds"):
            ask(ledger, question="too much", ceiling=CEILING, **cost("0.14"))
        assert spent() == Fraction("0.2")
        ledger.reservation(ledger.held("rand-hie", CEILING)).cancel()
        assert spent() == Fraction("0.07")
        assert ledger.held("rand-hie", CEILING) is None
        with pytest.raises(BudgetExceededError, match="what its ceiling still holds"):
            ask(ledger, question="after the end", ceiling=CEILING, **cost("0.01"))
        ledger.verify()


def test_no_other_request_takes_what_a_ceiling_holds(ledger, ask):
    """The cap holds it like any charge; the project's allotment, too; another project cannot draw from it."""
    ledger.allot("rand-hie", "thesis", 1)
    ledger.allot("rand-hie", "other", 1)
    ask(ledger, "0.7", question="ceiling", project="thesis")
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.4")
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.1", ceiling=CEILING, project="other")
    ask(ledger, "0.3", question="part", ceiling=CEILING, project="thesis")
    (allotment,) = (each for each in ledger.allotments("rand-hie") if each.project == "thesis")
    assert allotment.epsilon_spent == TENTH * 7
    ledger.verify()


def test_a_ceiling_that_was_touched_is_none(ledger, ask):
    """A reservation whose rows were opened stands for itself: nothing is drawn from it."""
    ask(ledger, "0.7", question="ceiling").touch()
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.1", ceiling=CEILING)


def test_a_restored_ledger_charges_again_what_was_drawn_and_held(tmp_path, ask, copied, restore, path):
    """The witness tells of a draw as of any charge: no budget comes back with a backup."""
    witness = tmp_path / "witness"
    with Ledger(path, witness=witness, new_witness=True) as ledger:
        ledger.grant("rand-hie", 1)
    backup = copied(path)
    with Ledger(path) as ledger:
        ask(ledger, "0.5", question="ceiling")
        drawn = ask(ledger, "0.2", question="part", ceiling=CEILING)
        drawn.touch()
    restore(path, backup)
    with Ledger(path, witness=witness, is_restored=True) as ledger:
        ledger.reconcile(witness)
        assert ledger.account("rand-hie").epsilon_spent == TENTH * 5


def test_killed_at_every_statement_of_a_draw(path, ask, tmp_path):
    """The draw is there as a whole or not at all; what was held is held; then it goes on."""
    for n_statements in range(200):
        with Ledger(path) as ledger:
            ledger.grant("rand-hie", 1000)
            if ledger.held("rand-hie", CEILING) is None:
                ask(ledger, "0.9", question="ceiling")
            held = ledger.account("rand-hie").epsilon_spent
        finished = tmp_path / f"finished-{n_statements}"
        child = os.fork()
        if child == 0:
            _draw_and_die(path, ask, n_statements, finished)
        os.waitpid(child, 0)
        with Ledger(path) as ledger:
            ledger.verify()
            assert ledger.account("rand-hie").epsilon_spent == held
            parts = [entry for entry in ledger.history() if entry.kind == "reserve" and entry.request != CEILING]
            assert len(parts) == finished.exists()
        if finished.exists():
            return
    raise AssertionError("no draw was finished")


def _draw_and_die(path: Path | str, ask, n_statements: int, finished: Path) -> None:
    left = [n_statements]

    def count(*_):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger(path)
    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    ask(ledger, "0.1", question="part", ceiling=CEILING)
    finished.touch()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_draw_that_checks_no_ceiling_is_caught(ledger, ask, monkeypatch):
    """Control: where parts are not compared with what is held, they add up to more, and the audit of sums tells."""
    monkeypatch.setattr(ceilings, "draw", lambda *_: None)
    ask(ledger, "0.5", question="ceiling")
    ask(ledger, "0.4", question="part", ceiling=CEILING)
    assert ledger.account("rand-hie").epsilon_spent == TENTH * 9
    with pytest.raises(BudgetError):
        ask(ledger, "0.2", question="another", ceiling=CEILING)
