"""Parts below a ceiling, killed at any step: nothing is overspent, nothing that was bought is lost, and it goes on."""

import os
import signal
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, event
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.data.engine import Table
from discreet.ledger import Ledger
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.release import Release
from discreet.workflow.paid_ceiling import Ceiling, free_reserved, question_of
from discreet.workflow.paid_parts import pay_as_you_go
from discreet.workflow.paid_terms import Terms, terms_for
from discreet.workflow.pooled_parts import parts_of, pool
from discreet.workflow.priced_request import price
from discreet.workflow.request import fulfil, reserve
from tests.effort import either

pytestmark = pytest.mark.processes

EVERY = either(45, 14)
"""Of the ledger's statements, after which the process dies once."""

CAP, AT_MOST, N = 20, 8.0, 300
METADATA = {
    "dataset": "toy", "unit": "row", "neighboring": "replace_one", "n_rows": N,
    "columns": {name: {"type": "real", "lower": -1, "upper": 1, "source": "design"} for name in ("a", "b", "y")},
}  # fmt: skip


def ask(folder):
    """Buy parts until 999 in 1000, which this table does not allow below the ceiling."""
    table = dc.open_table(folder / "toy.parquet", dc.Metadata.from_value(METADATA))
    method = NoisyMoments(delta=1e-6, y_bound=1.0, y_center=0.0)
    with Ledger(folder / "ledger.sqlite") as book:
        terms = terms_for(method, "toy", book, 0.999, AT_MOST)
        return pay_as_you_go(method, terms, table, "y", ledger=book)


def die_after(folder, n_statements):
    """Ask, and end this process at once after so many statements of the ledger, its commits among them."""
    left = [n_statements]

    def count(*_):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    ask(folder)
    print("finished")


@pytest.fixture
def toy(tmp_path):
    """A table, and a ledger with a cap."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    a, b = rng.uniform(-1, 1, (2, N))
    y = np.clip(0.2 * a + 0.3 * rng.normal(size=N), -1, 1)
    pq.write_table(pa.table({"a": a, "b": b, "y": y}), tmp_path / "toy.parquet")
    return tmp_path


def granted(folder, accounting="zcdp"):
    """A new ledger."""
    for path in folder.glob("ledger*"):
        path.unlink()
    with Ledger(folder / "ledger.sqlite") as book:
        book.grant("toy", epsilon=CAP, delta=1e-4, accounting=accounting)


def recorded(folder):
    """Entries whose release the ledger holds, and what is spent of epsilon."""
    with Ledger(folder / "ledger.sqlite") as book:
        entries = {entry.seq for entry in book.history() if book.recorded(entry.seq) is not None}
        return entries, book.account("toy").epsilon_spent


def test_a_process_that_dies_anywhere_overspends_nothing_and_loses_nothing_bought(toy):
    """Asked again, it takes what was recorded for free and goes on; only a draw that told nothing is paid twice."""
    n_deaths, finished = 0, False
    while not finished:
        granted(toy, "basic")  # few parts, so that each is met by a death
        code = f"from pathlib import Path; import {__name__} as t; t.die_after(Path({str(toy)!r}), {EVERY * n_deaths})"
        child = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        finished = "finished" in child.stdout
        assert finished or child.returncode == -signal.SIGKILL, child.stderr
        before, spent = recorded(toy)
        assert spent <= AT_MOST
        release = ask(toy)
        entries = [part.entry for part in release.pooled.parts]
        assert before <= set(entries)
        assert len(set(entries)) == len(entries)
        assert release.pooled.epsilon_spent <= AT_MOST
        after, spent_after = recorded(toy)
        assert after == set(entries)
        largest = max(part.epsilon for part in release.pooled.parts)
        # One part may have been drawn in vain.
        assert spent_after <= AT_MOST + largest + 1e-6
        with Ledger(toy / "ledger.sqlite") as book:
            for entry in [each.seq for each in book.history() if each.state == "reserved"]:
                free_reserved(book, entry)
            used = [each for each in book.history() if each.state in ("released", "touched", "lost")]
            assert book.account("toy").epsilon_spent == sum(Fraction(each.epsilon) for each in used)
            book.verify()
        n_deaths += 1
    assert n_deaths > 3


def opened(place):
    """The table and the question."""
    table = dc.open_table(place / "toy.parquet", dc.Metadata.from_value(METADATA))
    return table, NoisyMoments(delta=1e-6, y_bound=1.0, y_center=0.0)


def test_a_pooled_release_goes_on_below_its_ceiling(toy):
    """What it cost counts; the parts are the ledger's own, and a changed one is refused; so is another ceiling."""
    granted(toy)
    table, method = opened(toy)
    with Ledger(toy / "ledger.sqlite") as book:
        release = pay_as_you_go(method, terms_for(method, "toy", book, 0.51, AT_MOST), table, "y", ledger=book)
        terms = terms_for(method, "toy", book, 0.999999, AT_MOST, release)
        more = pay_as_you_go(method, terms, table, "y", ledger=book, earlier=parts_of(release, book))
        entries = [part.entry for part in release.pooled.parts]
        assert [part.entry for part in more.pooled.parts[: len(entries)]] == entries
        assert len(more.pooled.parts) > len(entries)
        assert more.pooled.epsilon_spent <= AT_MOST
        assert more.moments.xty_variance[0] < release.moments.xty_variance[0]
        for at_most, delta in ((AT_MOST + 1.0, 1e-6), (0.01, 1e-6), (AT_MOST, 1e-12)):
            with pytest.raises(dc.errors.InvalidParameterError, match="the ceiling that they began with"):
                terms_for(method.model_copy(update={"delta": delta}), "toy", book, 0.9, at_most, release)
        path = more.save(toy / "more.json")
        assert dc.workflow.verify(book, [path]).derived
        Release.read(path).model_copy(update={"selected": ("b",)}).save(path)
        with pytest.raises(dc.errors.VerificationError, match="pooled release"):
            dc.workflow.verify(book, [path])


@pytest.mark.parametrize("accounting", ["zcdp", "basic"])
def test_parts_are_not_restated_below_another_ceiling(toy, accounting):
    """A file that states as its ceiling what was spent, or one to go on with, is told from the ledger's ceiling."""
    granted(toy, accounting)
    table, method = opened(toy)
    with Ledger(toy / "ledger.sqlite") as book:
        release = pay_as_you_go(method, terms_for(method, "toy", book, 0.51, AT_MOST), table, "y", ledger=book)
        parts = parts_of(release, book)
        for at_most in (release.pooled.epsilon_spent + 0.01, 2.0 * AT_MOST):
            restated = pool(parts, Terms(0.51, at_most, 1e-6, accounting == "zcdp"))
            with pytest.raises(dc.errors.VerificationError, match="the ceiling that their release states"):
                dc.workflow.verify(book, [restated.save(toy / "restated.json")])
            with pytest.raises(dc.errors.VerificationError, match="the ceiling that their release states"):
                parts_of(restated, book)


@pytest.mark.parametrize("accounting", ["zcdp", "basic"])
def test_a_plain_release_behind_a_ceiling_is_no_part_of_it(toy, accounting):
    """A ceiling that is freed and reserved again leaves the kinds of entries of a draw, and takes nothing from it."""
    granted(toy, accounting)
    table, method = opened(toy)
    terms = Terms(0.51, 2.0, 1e-6, accounting == "zcdp")
    with Ledger(toy / "ledger.sqlite") as book:
        ceiling = Ceiling(book, table.metadata, terms, question_of(table.locator, "y", None))
        free_reserved(book, ceiling.reserve().entry)
        ceiling.reserve()
        asked = method.model_copy(update={"epsilon": 1.8, "delta": 9e-7, "selective_inference": "none"})
        plain = dc.workflow.answer(asked, table, "y", ledger=book).release
        path = pool([plain], terms).save(toy / "picked.json")
        with pytest.raises(dc.errors.VerificationError, match="the ceiling that their release states"):
            dc.workflow.verify(book, [path])


def test_any_release_of_moments_is_topped_up_and_its_cost_adds_up(toy):
    """Epsilon and delta of what stood before the ceiling count beside those of the parts; a changed file is refused."""
    granted(toy)
    table, method = opened(toy)
    with Ledger(toy / "ledger.sqlite") as book:
        asked = method.model_copy(update={"epsilon": 1.0, "selective_inference": "none"})
        first = dc.workflow.answer(asked, table, "y", ledger=book).release
        wider = method.model_copy(update={"delta": 3e-6})
        terms = terms_for(wider, "toy", book, 0.999999, AT_MOST, first)
        more = pay_as_you_go(wider, terms, table, "y", ledger=book, earlier=parts_of(first, book))
        assert more.pooled.before == (1.0, 1e-6)
        assert 1.0 < more.pooled.epsilon_spent <= AT_MOST
        assert (more.guarantee.epsilon, more.guarantee.delta) == (AT_MOST, 3e-6)
        assert more.moments.xty_variance[0] < first.moments.xty_variance[0]
        assert dc.workflow.verify(book, [more.save(toy / "more.json")]).derived
        for at_most, delta in ((0.5, 3e-6), (1.0, 3e-6), (AT_MOST, 1e-7)):
            with pytest.raises(dc.errors.InvalidParameterError, match="must be above what the earlier release cost"):
                terms_for(method.model_copy(update={"delta": delta}), "toy", book, 0.9, at_most, first)
        cheaper = first.model_copy(update={"guarantee": first.guarantee.model_copy(update={"epsilon": 0.1})})
        with pytest.raises(dc.errors.VerificationError, match="as this ledger recorded it"):
            parts_of(cheaper, book)


def test_a_ceiling_beyond_the_cap_is_refused_before_anything_is_charged(toy):
    """In numbers."""
    granted(toy)
    table = dc.open_table(toy / "toy.parquet", dc.Metadata.from_value(METADATA))
    method = NoisyMoments(delta=1e-6, y_bound=1.0, y_center=0.0)
    with Ledger(toy / "ledger.sqlite") as book:
        with pytest.raises(dc.errors.BudgetExceededError, match="is left"):
            pay_as_you_go(method, terms_for(method, "toy", book, 0.9, 40.0), table, "y", ledger=book)
        assert book.account("toy").rho_spent == 0


def left_by_a_dead_process(folder, monkeypatch):
    """Buy one part and die; return the entry that holds the rest."""

    def die(_):
        raise KeyboardInterrupt

    table, method = opened(folder)
    with Ledger(folder / "ledger.sqlite") as book, monkeypatch.context() as dead:
        dead.setattr(Ceiling, "give_back", lambda self: None)
        with pytest.raises(KeyboardInterrupt):
            pay_as_you_go(method, terms_for(method, "toy", book, 0.999, AT_MOST), table, "y", ledger=book, kept=die)
        held = [entry.seq for entry in book.history() if entry.state == "reserved"]
    assert len(held) == 1
    return held[0]


def test_a_ceiling_that_nobody_draws_from_is_given_back(toy, monkeypatch):
    """What was drawn stays charged, to the grain; nothing else is freed, nor twice; the question goes on."""
    granted(toy)
    entry = left_by_a_dead_process(toy, monkeypatch)
    place = ["--ledger", str(toy / "ledger.sqlite")]
    with Ledger(toy / "ledger.sqlite") as book:
        (drawn,) = (each for each in book.history() if each.kind == "reserve" and each.state == "released")
        assert book.account("toy").rho_spent > 10 * Fraction(drawn.rho)
    freed = CliRunner().invoke(app, ["budget", "free", str(entry), *place])
    assert freed.exit_code == 0, freed.output
    with Ledger(toy / "ledger.sqlite") as book:
        assert book.account("toy").rho_spent == Fraction(drawn.rho)
        for wrong in (entry, drawn.seq, 10_000):
            with pytest.raises(
                dc.errors.BudgetError, match="only an entry that is reserved, and for which no row was opened, can"
            ):
                free_reserved(book, wrong)
        book.verify()
    assert drawn.seq in {part.entry for part in ask(toy).pooled.parts}


def test_a_part_is_freed_until_it_is_touched_and_opens_no_row_afterwards(toy):
    """Its process may still run: the touch before rows is refused. Control: a part that was touched stays charged."""
    granted(toy)
    table, method = opened(toy)
    method = method.model_copy(update={"epsilon": 1.0, "delta": 1e-7, "selective_inference": "none"})
    priced = price(method, table.metadata, "y", None, name="toy", locator=None, rows_origin="read", is_system=True)
    terms = Terms(0.9, AT_MOST, 1e-6, True)
    with Ledger(toy / "ledger.sqlite") as book:
        for is_touched in (False, True):
            ceiling = Ceiling(book, table.metadata, terms, question_of(table.locator, "y", None))
            ceiling.reserve()
            part = reserve(priced, book, ceiling=ceiling.request)
            ceiling.give_back()
            spent = book.account("toy").rho_spent
            assert spent == part.rho > 0
            if is_touched:
                part.touch()
                with pytest.raises(dc.errors.BudgetError, match="for which no row was opened"):
                    free_reserved(book, part.entry)
                assert book.account("toy").rho_spent == spent
            else:
                free_reserved(book, part.entry)
                assert book.account("toy").rho_spent == 0
                with pytest.raises(dc.errors.BudgetError, match="Step 'touch' must follow"):
                    fulfil(priced, Unread(table.metadata), part)
        book.verify()


class Unread(Table):
    """A table that must not be read."""

    name, header, batches = "toy", None, None


def test_a_ceiling_of_a_service_is_not_freed_beside_it(toy):
    """Its request would end without a result."""
    granted(toy)
    _, method = opened(toy)
    with Ledger(toy / "ledger.sqlite") as book:
        terms = terms_for(method, "toy", book, 0.999, AT_MOST)
        ceiling = Ceiling(book, dc.Metadata.from_value(METADATA), terms, {"method": "moments"})
        entry = ceiling.reserve(reference="jedgs42ckgossynx").entry
        with pytest.raises(dc.errors.BudgetError, match="of its request jedgs42ckgossynx"):
            free_reserved(book, entry)
        assert book.state(entry) == "reserved"


def test_history_says_what_to_do_with_a_ceiling_that_nobody_draws_from(toy, monkeypatch):
    """It names the entry that a dead process left; the same request again gives the rest back, and nothing is named."""
    granted(toy)
    held = left_by_a_dead_process(toy, monkeypatch)
    shown = ["budget", "history", "--ledger", str(toy / "ledger.sqlite")]
    assert f"Entry {held} reserves budget for the next parts of a request" in CliRunner().invoke(app, shown).output
    ask(toy)
    assert "may still draw" not in CliRunner().invoke(app, shown).output
