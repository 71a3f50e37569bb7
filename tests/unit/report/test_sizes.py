"""Models by size in short texts."""

import pytest
from report_fits import make_moments

from discreet.release import SizeRecord
from discreet.report import sizes


def size(number, *columns):
    """Return a model of a size."""
    return SizeRecord(size=number, columns=columns, criterion=1.0, r_squared=0.1, r_squared_low=0.0, r_squared_high=0.2)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, size(0), "no column"),
        (None, size(2, "a", "b"), "a, b"),
        (size(1, "a"), size(2, "a", "b"), "+ b"),
        (size(2, "a", "b"), size(3, "b", "c", "d"), "+ c + d \u2212 a"),
        (size(1, "a"), size(2, "a"), "the same columns"),
    ],
)
def test_a_model_is_named_by_how_it_differs(before, after, told):
    """What came, then what left."""
    assert sizes.change(before, after) == told


def test_the_selected_size_is_marked():
    """Forced columns are left aside; where another model was selected, none is."""
    marked = [one.size for one in sizes.sizes(make_moments()) if one.is_chosen]
    assert marked == ["4"]
    assert not any(one.is_chosen for one in sizes.sizes(make_moments(selected=("female",))))


def test_the_selected_size_is_drawn_however_large():
    """The picture holds the small models, and the one that was selected."""
    names = tuple(f"x{place}" for place in range(60))
    release = make_moments(names, by_size=tuple(size(n, *names[:n]) for n in range(61)), selected=names[:50])
    assert [record.size for record in sizes.drawn_sizes(release)] == [*range(40), 50]
