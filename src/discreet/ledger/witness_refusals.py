"""Why a ledger refuses on account of its witness, with the command that helps."""

from pathlib import Path

from discreet.errors import BudgetError, VerificationError
from discreet.ledger.store import Store


def restored(store: Store, witness: Path, first: int, count: int) -> VerificationError:
    """Return the error for a ledger that lacks what its witness saw, with the command that charges it again."""
    command = store.command("reconcile", "--witness", str(witness))
    foreign = " If the witness is another ledger's, name this one's with --witness." if first == 1 else ""
    return VerificationError(
        f"Every entry that the witness saw must be in the ledger's chain, but entry {first} is not, of {count} in all. "
        f"This ledger is an older copy: spend nothing from it, and put back the newest, or `{command}`.{foreign}"
    )


def witness_saw_nothing(store: Store, path: Path) -> BudgetError:
    """Return the error for a witness that is new to a ledger with entries, with the command that begins one."""
    return BudgetError(
        f"A witness must have seen the ledger's entries, but {str(path)[:300]!r} is empty or was not there. Put it "
        "back, or name where it lies with --witness: without it an older copy passes for the newest. To begin a new "
        f"one of a ledger that you trust: {store.command('witness', str(path))}"
    )


def out_of_reach(store: Store, path: Path, written: Path) -> BudgetError:
    """Return the error for a remembered witness that cannot be read, with the command that goes on without it."""
    return BudgetError(
        f"Every witness that is remembered of a ledger must be within reach, but {str(path)[:300]!r} is not, and may "
        "have seen what this copy lacks. Put it back. If it is lost for good, first charge again what releases show "
        f"(`{store.command('reconcile', '--release', 'FILE')}`), unless you know that this ledger is the newest; then "
        f"go on without it: {store.command('witness', str(written))}"
    )


def witness_since(path: Path) -> BudgetError:
    """Return the error for a ledger that got a witness after it was opened without one; nothing was charged."""
    return BudgetError(
        f"Every charge must be written to the ledger's witness, but {str(path)[:300]!r} began after this ledger was "
        "opened. Open the ledger again."
    )
