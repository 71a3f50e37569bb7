"""Moments in two parts are post-processing: neighbors whose moments came out alike are divided in the same way."""

from typing import Any

import pytest

from discreet.methods.moments import fission
from discreet.methods.moments.noisy_sums import NoisySums
from tests.privacy.odd_tables import pair_of, plain
from tests.privacy.replayed import RELATIONS, cases

HIGH = plain(a=1, b=5, c="u", d=1, e=10, g="no", y=2, z=1, k=9)
LOW = plain(a=-1, b=0, c="w", d=-1, e=0, g="yes", y=-2, z=0, k=0)
BASE = [plain(a=0.3, b=1, y=0.7, k=3), plain(a=-0.2, c="v", d=0.1, y=1)]
DIVIDED = next(case for case in cases() if case.name == "run: moments, linear, in parts")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_parts_tell_nothing_that_the_moments_do_not(relation):
    """Same draws, same release; what is spent are the sums alone, and the draws that divide them are handed zeros."""
    spent = DIVIDED.compared(pair_of(BASE, HIGH, LOW, relation, 1), relation)
    assert [part.part for part in spent] == ["discrete_gaussian of noise_budget"]
    assert 0 < spent[0].share <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_variances_from_the_rows_are_flagged(relation, monkeypatch):
    """Control: the product's own parts, with a dividing noise that is larger by a product of the rows."""
    rows: dict[str, int] = {}
    draw, sampling = NoisySums.draw, fission._sampling

    def seen(self: NoisySums, moments: Any, *others: Any) -> Any:
        rows["product"] = int(moments[-1, 1])
        return draw(self, moments, *others)

    monkeypatch.setattr(NoisySums, "draw", seen)
    monkeypatch.setattr(
        fission, "_sampling", lambda record: (sampling(record)[0], sampling(record)[1] + rows["product"])
    )
    with pytest.raises(AssertionError, match="release depends on the rows"):
        DIVIDED.compared(pair_of(BASE, HIGH, LOW, relation, 1), relation)
