"""Verification: an untouched ledger passes, any change behind its back is named."""

import pytest

from discreet.errors import VerificationError
from discreet.ledger import Ledger
from discreet.ledger.chain import GENESIS


@pytest.fixture
def used(ledger, ask):
    """A ledger with every kind of entry."""
    ledger.grant("rand-hie", 2, 1e-6, unit="person")
    ledger.grant("toy", 1)
    done, lost, cancelled = ask(ledger, question=1), ask(ledger, question=2), ask(ledger, question=3)
    ask(ledger, dataset="toy")
    done.touch()
    done.release("text")
    lost.touch()
    lost.lose()
    cancelled.cancel()
    return ledger


def test_a_used_ledger_fits(used):
    """The counts and the head are told; every head it ever had is in the chain."""
    found = used.verify([GENESIS, *(entry.hash for entry in used.history())])
    assert (found.n_entries, found.n_accounts, found.n_releases) == (12, 2, 1)
    assert found.head == used.head


def test_an_empty_ledger_fits(tmp_path):
    """A new ledger has the head of nothing."""
    with Ledger(tmp_path / "l.sqlite") as ledger:
        assert ledger.verify().head == ledger.head == GENESIS


CHANGES = {
    "UPDATE entries SET epsilon = 1 WHERE seq = 4": "entry 4 was changed",
    "UPDATE entries SET facts = '{}' WHERE seq = 5": "entry 5 was changed",
    "UPDATE entries SET time = '2000-01-01T00:00:00Z' WHERE seq = 6": "entry 6 was changed",
    "UPDATE entries SET hash = '00' WHERE seq = 6": "entry 6 was changed",
    "DELETE FROM entries WHERE seq = 1": "entry 1 is missing",
    "DELETE FROM entries WHERE seq = 7": "entry 7 is missing",
    "DELETE FROM entries WHERE seq = 12": "entries after entry 11 are missing",
    "DELETE FROM entries": "entries after entry 0 are missing",
    "DELETE FROM head": "entries after entry 12 are missing",
    "UPDATE head SET seq = 13": "entries after entry 12 are missing",
    "UPDATE accounts SET epsilon_spent = 0 WHERE dataset = 'rand-hie'": "'rand-hie' differs from its entri",
    "UPDATE accounts SET epsilon_cap = 9000000000 WHERE dataset = 'toy'": "'toy' differs from its entries in",
    "UPDATE accounts SET delta_cap = 5": "'rand-hie' differs from its entries in delta_cap",
    "UPDATE accounts SET unit = 'household'": "'rand-hie' differs from its entries in unit",
    "UPDATE accounts SET neighboring = NULL": "'rand-hie' differs from its entries in neighboring",
    "DELETE FROM accounts WHERE dataset = 'toy'": "data set 'toy' has an account without entries",
    "INSERT INTO accounts VALUES ('new', NULL, NULL, 9, 0, 0, 0, 'basic', 0, 0, 0, 0)": "'new' has an account without",
    "UPDATE releases SET text = 'other'": "the release stored under entry 9 is not the one",
    "UPDATE releases SET request = 'other'": "the release stored under entry 9 is not the one",
    "DELETE FROM releases": "the release that entry 9 recorded is missing",
    "INSERT INTO releases VALUES (4, 'x', 'y')": "the release stored under entry 4 is not the one",
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_named(used, path, tamper, change):
    """Whatever one statement changes is found, and the message says where."""
    tamper(path, change)
    with pytest.raises(VerificationError, match="The ledger must be as it was written") as found:
        used.verify()
    assert CHANGES[change] in str(found.value)
    assert "\n" not in str(found.value)


TYPES = {
    "UPDATE entries SET epsilon = x'00' WHERE seq = 4": "entry 4 was changed",
    "UPDATE entries SET epsilon = '100000000' || '.5' WHERE seq = 4": "entry 4 was changed",
    "UPDATE releases SET text = x'ff'": "a value after entry 12 has another type",
}


@pytest.mark.parametrize("change", TYPES)
@pytest.mark.parametrize("path", ["sqlite"], indirect=True)
def test_other_types_are_named(used, path, tamper, change):
    """SQLite holds any type in any column, and a foreign hand may leave one."""
    tamper(path, change)
    with pytest.raises(VerificationError, match=TYPES[change]):
        used.verify()


def test_swapped_entries_are_found(used, path, tamper):
    """Two entries that change places do not fit their places."""
    moves = [f"UPDATE entries SET seq = {to} WHERE seq = {at}" for at, to in [(4, 99), (5, 4), (99, 5)]]
    tamper(path, *moves)
    with pytest.raises(VerificationError, match="entry 4 was changed"):
        used.verify()


FORGERIES = [
    (4, {"epsilon": 1}, "entry 12 (cancel) does not give back|differs from its entries in epsilon_spent"),
    (8, {"kind": "cancel"}, "does not give back what was reserved"),
    (8, {"kind": "lost"}, "no step that its reservation could take"),
    (9, {"kind": "cancel", "reservation": 4}, "no step that its reservation could take"),
    (9, {"reservation": 5}, "no step that its reservation could take"),
    (9, {"facts": "{}"}, "another type than is written"),
    (12, {"epsilon": -200_000_000}, r"entry 12 \(cancel\) does not give back what was reserved"),
    (7, {"unit": "household"}, "differs from its entries in unit"),
    (5, {"unit": "household"}, "entry 5 is under another unit"),
    (7, {"dataset": "none"}, "entry 7 spends from a data set that has no cap"),
    (7, {"epsilon": 1_000_000_001}, "entry 7 spends more than the cap"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seq", "changes", "text"), FORGERIES)
def test_forgeries_with_fitting_hashes_are_found(used, path, rewrite, seq, changes, text):
    """A rewritten chain must still add up; and a head that was shown before is not in it."""
    shown = used.head
    rewrite(path, seq, **changes)
    with pytest.raises(VerificationError, match=text):
        used.verify()
    with pytest.raises(VerificationError):
        used.verify([shown])


def test_a_rewritten_chain_does_not_hold_the_old_heads(used, path, rewrite):
    """Facts can be rewritten so that all fits; only a head that left the ledger shows it."""
    shown = used.history()[6].hash
    rewrite(path, 4, facts='{"method":"other"}')
    used.verify()
    with pytest.raises(VerificationError, match="does not hold the release's head"):
        used.verify([shown])


def test_a_restored_backup_is_found(used, path, copied, ask):
    """An older copy fits itself, but not the head of a release made since."""
    backup = copied(path)
    head = ask(used, "0.5", question="since").head
    with Ledger(backup) as restored:
        restored.verify()
        with pytest.raises(VerificationError, match="this ledger is an older copy"):
            restored.verify([head])
        ask(restored, "0.5", question="since then another")
        with pytest.raises(VerificationError, match=head):
            restored.verify([head])


def test_an_account_under_a_later_cap_fits(ledger, ask):
    """Lowering and raising the cap between reservations verifies."""
    ask(ledger, "0.5")
    ledger.grant("rand-hie", "0.5")
    ledger.grant("rand-hie", 3, "0.1", neighboring="replace_one")
    ask(ledger, "0.5", delta="0.05").cancel()
    ledger.verify([ledger.head])
