"""Noisy moments bought in parts, in Python: what is spent is what the ledger says."""

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import InvalidParameterError

N_ROWS = 3000
METADATA = {
    "dataset": "toy",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": N_ROWS,
    "columns": {name: {"type": "real", "lower": -1, "upper": 1, "source": "test"} for name in ("a", "b", "c")}
    | {"y": {"type": "real", "lower": -4, "upper": 4, "source": "test"}},
}


def rows():
    """A table in which one column of three matters, clearly."""
    rng = np.random.default_rng(4)  # noqa: TID251 - made-up data, not noise
    columns = {name: rng.uniform(-1, 1, N_ROWS) for name in ("a", "b", "c")}
    return pl.DataFrame(columns | {"y": np.clip(2.0 * columns["a"] + rng.normal(0, 0.5, N_ROWS), -4, 4)})


def opened():
    """The table, opened."""
    return dc.open_table(rows(), dc.Metadata.from_value(METADATA))


def test_parts_are_bought_until_columns_are_sure(tmp_path):
    """The column is found below the ceiling; the account is charged what the release says."""
    with dc.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", epsilon=5, delta=1e-5)
        moments = dc.NoisyMoments(delta=1e-6, y_center=0.0, y_bound=4.0).fit(
            opened(), target="y", ledger=ledger, until=0.9, at_most=3.0
        )
        release, spent = moments.release_, float(ledger.account("toy").epsilon_spent)
    assert "a" in release.selected
    assert list(moments.get_support()) == [name in release.selected for name in ("a", "b", "c")]
    assert (release.guarantee.epsilon, release.guarantee.delta) == (3.0, 1e-6)
    assert release.pooled.epsilon_spent == pytest.approx(spent)
    assert 0.0 < spent <= 3.0
    assert moments.coefficients(["a"]).params["a"] == pytest.approx(2.0, abs=1.5)


def test_what_was_bought_is_gone_on_from(tmp_path):
    """With a higher aim the parts count below the ceiling, and are not bought again."""
    with dc.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", epsilon=5, delta=1e-5)
        table, asked = opened(), {"target": "y", "ledger": ledger}
        first = dc.NoisyMoments(delta=1e-6).fit(table, **asked, until=0.6, at_most=3.0).release_
        again = dc.NoisyMoments(delta=1e-6).fit(table, **asked, until=0.999999, at_most=3.0, from_release=first)
        parts = [part.entry for part in again.release_.pooled.parts]
        assert parts[: len(first.pooled.parts)] == [part.entry for part in first.pooled.parts]
        assert len(parts) > len(first.pooled.parts)
        assert float(ledger.account("toy").epsilon_spent) <= 3.0


def test_parts_of_arrays_or_without_a_ceiling_are_refused():
    """Before anything is computed, in a line that says what to give."""
    frame = rows()
    with pytest.raises(InvalidParameterError, match="below a ceiling: give a table"):
        dc.NoisyMoments().fit(frame[["a", "b", "c"]], frame["y"], until=0.9, at_most=1.0)
    with pytest.raises(InvalidParameterError, match="below a ceiling: give a table"):
        dc.NoisyMoments().fit(opened(), target="y", until=0.9)
