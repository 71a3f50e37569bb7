"""The caller's own part of a transaction, and handles on what another process reserved."""

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select

from discreet.errors import BudgetError, BudgetExceededError
from discreet.ledger import Ledger

desk = Table("desk", MetaData(), Column("entry", Integer), Column("word", String(10)))


@pytest.fixture
def rows(ledger):
    """A table of the caller's beside the ledger's; give what it holds."""
    with ledger._store.write() as connection:
        desk.create(connection)

    def read():
        with ledger._store.read() as connection:
            return [tuple(row) for row in connection.execute(select(desk))]

    return read


def noting(ledger, word):
    """Write a row that names the entry just made."""
    return lambda connection: connection.execute(insert(desk).values(entry=ledger.last_entry(connection), word=word))


def refusing(connection):
    """Fail after the caller's own row is written."""
    connection.execute(insert(desk).values(entry=0, word="never"))
    raise LookupError


def test_every_step_takes_the_callers_part_along(ledger, rows, ask):
    """The row and the entry stand together, and the row can name the entry."""
    ledger.grant("rand-hie", 2, within=noting(ledger, "grant"))
    ledger.allot("rand-hie", "thesis", 1, within=noting(ledger, "allot"))
    done, lost, back = (ask(ledger, question=n, within=noting(ledger, "reserve")) for n in range(3))
    done.touch(within=noting(ledger, "touch"))
    done.release("text", within=noting(ledger, "release"))
    lost.touch()
    lost.lose(within=noting(ledger, "lost"))
    back.cancel(within=noting(ledger, "cancel"))
    kinds = {entry.seq: entry.kind for entry in ledger.history()}
    assert [word for _, word in rows()] == [*("grant", "allot"), *["reserve"] * 3, "touch", "release", "lost", "cancel"]
    assert all(kinds[entry] == word for entry, word in rows())
    ledger.verify()


def test_what_it_raises_undoes_both(ledger, rows, ask):
    """No step leaves a trace of itself or of the caller's part."""
    reserved, touched = ask(ledger, question=1), ask(ledger, question=2)
    touched.touch()
    before = ledger.head, ledger.account("rand-hie"), ledger.accounts()
    steps = [
        lambda: ledger.grant("rand-hie", 3, within=refusing),
        lambda: ledger.grant("new", 3, within=refusing),
        lambda: ledger.allot("rand-hie", "thesis", 1, within=refusing),
        lambda: ask(ledger, within=refusing),
        lambda: reserved.touch(within=refusing),
        lambda: reserved.cancel(within=refusing),
        lambda: touched.release("text", within=refusing),
        lambda: touched.lose(within=refusing),
    ]
    for step in steps:
        with pytest.raises(LookupError):
            step()
    assert (ledger.head, ledger.account("rand-hie"), ledger.accounts()) == before
    assert rows() == []
    assert (ledger.state(reserved.entry), ledger.state(touched.entry)) == ("reserved", "touched")
    assert ledger.stored(ledger.history()[2].request) is None
    ledger.verify()


def test_a_refused_step_never_calls_it(ledger, rows, ask):
    """The ledger's own refusals come first."""
    with pytest.raises(BudgetExceededError):
        ask(ledger, 2, within=noting(ledger, "reserve"))
    with pytest.raises(BudgetError, match="must follow"):
        ask(ledger).lose(within=noting(ledger, "lost"))
    assert rows() == []


def test_an_error_of_the_database_is_one_line(ledger, ask):
    """What the caller's part does wrong with the database ends as the ledger's own errors do."""
    with pytest.raises(BudgetError, match="desk") as refused:
        ask(ledger, within=noting(ledger, "no such table"))
    assert "\n" not in str(refused.value)
    assert ledger.account("rand-hie").epsilon_spent == 0


def test_another_process_takes_the_next_step(ledger, path, ask):
    """A handle needs the entry's number alone, and is the one that reserving gave."""
    made = ask(ledger, "0.25")
    ask(ledger, "0.5")
    with Ledger(path) as other:
        handle = other.reservation(made.entry)
        assert (handle.entry, handle.head, handle.rho) == (made.entry, made.head, made.rho)
        assert handle.account == ledger.account("rand-hie")
        states = [other.state(made.entry)]
        handle.touch()
        states.append(ledger.state(made.entry))
        handle.release("text")
        assert [*states, ledger.state(made.entry)] == ["reserved", "touched", "released"]
    with pytest.raises(BudgetError, match="must follow"):
        made.cancel()


def test_a_handle_knows_its_rho(ledger, ask):
    """Under zcdp it is what the entry holds."""
    ledger.grant("toy", 1, "1e-6", accounting="zcdp")
    made = ask(ledger, dataset="toy")
    assert ledger.reservation(made.entry).rho == made.rho > 0


@pytest.mark.parametrize("entry", [0, 1, 3, 99])
def test_no_handle_on_anything_else(ledger, ask, entry):
    """A grant, a step and what is not there have neither handle nor state."""
    ask(ledger).touch()
    for look in (ledger.reservation, ledger.state):
        with pytest.raises(BudgetError, match=f"entry={entry} is not"):
            look(entry)
