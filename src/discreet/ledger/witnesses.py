"""A ledger and the witnesses that it is known to have: the first is written, and all must have seen no more than it."""

from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection

from discreet.ledger import chain, known_witness, queries, witness_refusals
from discreet.ledger.store import Store
from discreet.ledger.witness import Line, Witness, lines_since


class Witnesses:
    """What tells an older copy of a ledger from the newest.

    Parameters
    ----------
    store : Store
        The ledger's database.
    witness : str, Path or None
        As `Ledger` takes it.
    """

    def __init__(self, store: Store, witness: str | Path | None) -> None:
        self._store = store
        self._is_named = witness is not None
        self._is_restored = False
        named = known_witness.named(witness)
        with store.read() as connection:
            self._recorded = known_witness.recorded(connection)
            remembered = known_witness.remembered(store, connection)
        paths = [path for path in dict.fromkeys([named, self._recorded, *remembered]) if path is not None]
        self._is_given = named is not None
        # What the ledger records may have been moved to where the caller says; nothing says so of the others.
        self._missing = [
            path for path in remembered if path not in (named, self._recorded) and not Witness(path).holds_lines()
        ]
        self._all = [Witness(path) for path in paths if path == paths[0] or Witness(path).holds_lines()]

    @property
    def path(self) -> Path | None:
        """The witness to which entries are written, if there is one."""
        return self._all[0].path if self._all else None

    def open(self, *, is_new: bool, is_restored: bool) -> None:
        """Check the ledger, and have it and this user's state folder know its witness from now on."""
        if not self._all:
            return
        written = self._all[0]
        self._is_restored = is_restored
        if not is_new and self._saw_nothing(written):
            if not is_restored or self._is_named:
                raise witness_refusals.witness_saw_nothing(self._store, written.path)
            self._missing.append(written.path)
            self._all = []  # lost as well: a new one gets all entries
            return
        if is_new:
            self._missing = []
        if not is_restored:
            self._refuse_missing(written)
        written.prepare()
        if not is_restored:
            self.check()
        if is_new:
            self._tell_all(written)
        self._note(written, is_new=is_new)

    def check(self, other_witness: str | Path | None = None) -> None:
        """Check that the ledger holds all that its witnesses saw, or another one did."""
        for witness in self._all if other_witness is None else [Witness(other_witness)]:
            self._refuse_lost(witness, witness.lines(self._chain_hashes))

    def check_newest(self, connection: Connection, last: int) -> None:
        """Refuse to spend from a copy that was put back since the ledger was opened."""
        recorded = known_witness.recorded(connection)
        if recorded not in (None, self._recorded):
            raise witness_refusals.witness_since(recorded)
        self._refuse_missing(*self._all[:1])
        for witness in self._all if self._is_restored else self._all[:1]:
            self._check_end(connection, last, witness)

    def check_writable(self) -> None:
        """Refuse a witness that could not be written, before anything is charged on its account."""
        for witness in self._all[:1]:
            witness.check()

    def new_lines(self, connection: Connection, last: int) -> list[Line]:
        """Return the witness's lines of new entries, none where there is no witness."""
        return lines_since(connection, last) if self._all else []

    def tell(self, lines: list[Line]) -> None:
        """Tell the witness of entries that stand."""
        if lines:
            self._all[0].add(lines)

    def _check_end(self, connection: Connection, last: int, witness: Witness) -> None:
        newest = witness.newest()
        if last and not newest:
            raise witness_refusals.witness_saw_nothing(self._store, witness.path)
        # An entry in the chain stands for all before it; as many are looked at as may have been written out of order.
        if queries.unknown_hashes(connection, [line.hash for line in newest]):
            self._refuse_lost(witness, witness.lines(lambda: queries.known_hashes(connection)))

    def _chain_hashes(self) -> set[str]:
        with self._store.read() as connection:
            return queries.known_hashes(connection)

    def _note(self, written: Witness, *, is_new: bool) -> None:
        if is_new or self._recorded is None:
            with self._store.write() as connection:
                known_witness.record(connection, written.path)
            self._recorded = written.path
        if not self._is_restored:
            with self._store.read() as connection:
                known_witness.remember(self._store, connection, written.path, alone=is_new)

    def _saw_nothing(self, written: Witness) -> bool:
        """Tell whether a witness is empty though the ledger has entries, or was not named by the caller."""
        with self._store.read() as connection:
            last, _ = chain.read_head(connection)
        return not written.holds_lines() and (last > 0 or not self._is_given)

    def _refuse_missing(self, *written: Witness) -> None:
        for path in self._missing[:1]:
            raise witness_refusals.out_of_reach(self._store, path, written[0].path if written else path)

    def _refuse_lost(self, witness: Witness, lines: Iterable[Line]) -> None:
        lost = {line.hash: line for line in lines}
        if lost:
            raise witness_refusals.restored(
                self._store, witness.path, min(line.seq for line in lost.values()), len(lost)
            )

    def _tell_all(self, witness: Witness) -> None:
        witnessed = {line.hash for line in witness.lines()}
        with self._store.read() as connection:
            lines = lines_since(connection, 0)
        self.tell([line for line in lines if line.hash not in witnessed])
