"""Caps and allotments on the command line: what changes is asked about, delta is kept, a lower one is safe."""

import io

import pytest

from discreet.ledger import Ledger


@pytest.fixture
def budget(place):
    """Runs a command of the ledger."""
    return lambda *words: place.run("budget", *words, "--ledger", place.ledger)


@pytest.fixture
def answers(monkeypatch):
    """Answers what a terminal asks."""

    def give(text):
        monkeypatch.setattr("discreet.cli.budget.interactive", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))

    return give


def test_an_allotment_keeps_its_delta(budget):
    """As a cap does; the one before is told."""
    budget("grant", "clinic", "--epsilon", 4, "--delta", "1e-5")
    assert "epsilon 1 and delta 0.000001" in budget("allot", "clinic", "thesis", "--epsilon", 1, "--delta", "1e-6").out
    changed = budget("allot", "clinic", "thesis", "--epsilon", 2)
    assert "thesis may spend epsilon 2 and delta 0.000001 of clinic." in changed.out
    assert "The allotment was epsilon 1 and delta 0.000001 before." in changed.err


def test_a_terminal_is_asked_before_an_allotment_changes(budget, answers, place):
    """Not before the first one, nor with --yes."""
    answers("n")
    assert budget("allot", "clinic", "thesis", "--epsilon", 1).code == 0
    refused = budget("allot", "clinic", "thesis", "--epsilon", 2)
    assert refused.code != 0
    assert "The allotment of thesis is epsilon 1. A new allotment is a decision" in refused.err
    with Ledger(place.ledger) as ledger:
        assert ledger.allotments("clinic")[0].epsilon_cap == 1
    assert budget("allot", "clinic", "thesis", "--epsilon", 2, "--yes").code == 0


def test_history_shows_delta(budget):
    """In digits, as epsilon is."""
    budget("grant", "clinic", "--epsilon", 4, "--delta", "1e-6")
    assert "epsilon 4, delta 0.000001" in budget("history", "clinic").out


def test_a_mistyped_cap_is_lowered(budget, place):
    """To what is spent, whose amount the refusal of less tells; to 0 where nothing is."""
    assert place.select().code == 0
    line = budget("grant", "clinic", "--epsilon", 0).refused(2)
    assert "must cover what is spent, epsilon 1 and delta 0" in line
    assert "Lower it to what is spent: then nothing more can be spent." in line
    assert budget("grant", "clinic", "--epsilon", 1).code == 0
    budget("grant", "typo", "--epsilon", 40)
    assert "typo may spend epsilon 0 in its lifetime." in budget("grant", "typo", "--epsilon", 0).out
    assert budget("verify").code == 0


@pytest.mark.parametrize(("epsilon", "is_weak"), [(4, False), (100, True)])
def test_a_dry_run_warns_of_a_weak_promise(place, epsilon, is_weak):
    """Where a belief of 1% could become more likely than not."""
    done = place.select("--dry-run", epsilon=epsilon)
    assert done.code == 0
    assert ("the promise is weak" in done.out) is is_weak
