"""A reserved cost is spent on what it was reserved for, and on nothing dearer."""

import pyarrow as pa
import pytest

from discreet.accounting.guarantee import exact
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import ConflictError
from discreet.ledger import Ledger
from discreet.methods.registry import method_of
from discreet.release import READ
from discreet.workflow.priced_request import price
from discreet.workflow.request import fulfil, reserve

COLUMNS = {name: {"type": "real", "lower": -1, "upper": 1, "source": "by design"} for name in ("y", "a")}
METADATA = Metadata.from_value(
    {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 40, "columns": COLUMNS}
)


class Unread(FrameTable):
    """A table whose rows must not be read."""

    def batches(self, columns):
        raise AssertionError("a row was read")


def asked(epsilon, **parameters):
    method = method_of("linear", epsilon=epsilon, **parameters)
    return price(method, METADATA, "y", ("a",), name="toy", locator="here", rows_origin=READ)


def table(kind=FrameTable):
    values = [i / 20 - 1 for i in range(40)]
    return kind(pa.table({"y": values, "a": values}), METADATA)


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_what_costs_more_than_was_reserved_reads_no_row(tmp_path, accounting):
    """Another request, or a version that prices it higher, is refused before the rows; the reservation can be kept."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 3, 1e-5, accounting=accounting)
        cheap, dear = asked(0.5, delta=1e-7), asked(0.75, delta=1e-7)
        reservation = reserve(cheap, ledger)
        with pytest.raises(ConflictError, match="no more than what was reserved"):
            fulfil(dear, table(Unread), reservation)
        assert ledger.state(reservation.entry) == "reserved"
        release = fulfil(cheap, table(), ledger.reservation(reservation.entry))
        assert release.guarantee.epsilon == 0.5
        assert ledger.state(reservation.entry) == "released"


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_rows_are_read_once_the_ledger_says_so(tmp_path, accounting):
    """Whoever stops the process while it reads cannot have the cost back: it stands before the first batch."""
    states = []
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 3, 1e-5, accounting=accounting)
        reservation = reserve(asked(0.5), ledger)

        class Watched(FrameTable):
            def batches(self, columns):
                states.append((ledger.state(reservation.entry), float(ledger.account("toy").epsilon_spent)))
                return super().batches(columns)

        fulfil(asked(0.5), table(Watched), reservation)
    assert set(states) == {("touched", 0.5)}


def test_a_dearer_version_is_refused(tmp_path, monkeypatch):
    """When the same request is priced higher than when it was charged, nothing is promised beyond the charge."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 3, 1e-5)
        reservation = reserve(asked(0.5, delta=1e-7), ledger)
        later = asked(0.5, delta=1e-7)
        promised = later.promised
        dearer = type(promised)(promised.epsilon + exact(0.001, "epsilon"), promised.delta, promised.neighboring)
        monkeypatch.setattr("discreet.workflow.dry_runs.guarantee_of", lambda *_: dearer)
        with pytest.raises(ConflictError):
            fulfil(later, table(Unread), reservation)


def test_the_entry_names_the_version(tmp_path):
    """The ledger holds which version of Discreet a cost was computed by."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 3, 1e-5)
        reserve(asked(0.5, delta=1e-7), ledger, reference="a request")
        facts = ledger.history("toy")[-1].facts
        assert set(facts) >= {"discreet", "reference", "method", "parameters"}
