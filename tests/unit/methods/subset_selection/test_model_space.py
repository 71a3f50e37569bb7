"""The candidate models, counted by hand."""

import math

import pytest

from discreet.errors import InvalidParameterError
from discreet.methods.subset_selection.model_space import MAX_LISTED_UNITS, MAX_MODELS, MAX_UNITS, ModelSpace

ABC = ("a", "b", "c")


def names(space):
    return {space.names(int(mask)) for mask in space.masks()}


def test_all_subsets_with_and_without_the_empty_one():
    """2^d models, each once, in the order of the candidates."""
    space = ModelSpace.plan(ABC)
    assert space.n_models == len(space.masks()) == len(names(space)) == 8
    assert () in names(space)
    assert ("a", "c") in names(space)
    assert ModelSpace.plan(ABC, include_empty=False).n_models == 7


def test_forced_columns_are_in_every_model():
    """A forced column halves the number of models."""
    space = ModelSpace.plan(ABC, forced=("b",))
    assert names(space) == {("b",), ("a", "b"), ("b", "c"), ("a", "b", "c")}


def test_groups_enter_and_leave_together():
    """A group counts as one."""
    space = ModelSpace.plan(ABC, groups=(("a", "c"),))
    assert names(space) == {(), ("b",), ("a", "c"), ("a", "b", "c")}


@pytest.mark.parametrize("max_size", [0, 1, 2, 5, 40])
def test_max_size_counts_by_binomials(max_size):
    """The number of models is the sum of binomials, for d beyond what all subsets allow."""
    columns = tuple(f"x{i}" for i in range(5 if max_size == 40 else 18))
    space = ModelSpace.plan(columns, max_size=max_size)
    assert space.n_models == len(set(space.masks().tolist()))
    assert space.n_models == sum(math.comb(len(columns), k) for k in range(min(max_size, len(columns)) + 1))


def test_listed_models_are_taken_as_they_are():
    """Forced columns are added, groups must be whole."""
    space = ModelSpace.plan(ABC, forced=("c",), models=(("a",), (), ("a", "b")))
    assert names(space) == {("a", "c"), ("c",), ("a", "b", "c")}
    with pytest.raises(InvalidParameterError, match="groups whole"):
        ModelSpace.plan(ABC, groups=(("a", "b"),), models=(("a",),))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"forced": ("z",)}, "forced must name candidates"),
        ({"forced": ("a", "a")}, "forced must name candidates"),
        ({"groups": (("a",), ("a", "b"))}, "groups must name candidates"),
        ({"forced": ("a",), "groups": (("a", "b"),)}, "cannot be in a group"),
        ({"models": (("a",), ("a",))}, "must differ"),
        ({"models": (("z",),)}, "must hold candidates"),
        ({"models": (("a",),), "max_size": 1}, "cannot both"),
        ({"forced": ABC, "include_empty": False}, "must be a model"),
    ],
)
def test_contradictions_are_refused(arguments, words):
    """Each contradiction in a request is named."""
    with pytest.raises(InvalidParameterError, match=words):
        ModelSpace.plan(ABC, **arguments)


@pytest.mark.parametrize("d", [21, 30, MAX_LISTED_UNITS])
def test_too_many_models_of_a_loop_say_what_fits(d):
    """Where each model is scored, the message beyond 2^20 names the largest max_size that works."""
    columns = tuple(f"x{i}" for i in range(d))
    with pytest.raises(InvalidParameterError, match="Set max_size to at most") as refused:
        ModelSpace.plan(columns, include_empty=False)
    fits = int(str(refused.value).split("at most ")[1].split(",")[0])
    assert ModelSpace.plan(columns, max_size=fits, include_empty=False).n_models <= MAX_MODELS
    with pytest.raises(InvalidParameterError):
        ModelSpace.plan(columns, max_size=fits + 1, include_empty=False)


def test_subsets_of_128_columns_are_searched():
    """All 2^128 subsets are candidates; one column more is refused, however few the models."""
    columns = tuple(f"x{i}" for i in range(MAX_UNITS + 1))
    space = ModelSpace.plan(columns[:-1])
    assert space.n_models == 2**128
    assert space.names(1 << 127 | 1) == ("x0", "x127")
    with pytest.raises(InvalidParameterError, match="At most 128"):
        ModelSpace.plan(columns, max_size=1)


def test_a_list_has_at_most_63_columns():
    """A list of models is kept in machine words."""
    columns = tuple(f"x{i}" for i in range(MAX_LISTED_UNITS + 1))
    with pytest.raises(InvalidParameterError, match="At most 63"):
        ModelSpace.plan(columns, models=(("x0",),))


def test_units_stand_in_the_order_of_the_candidates():
    """Bit j is the unit whose first column comes j-th; names come out in the order of the candidates."""
    columns = ("d", "b", "e", "a", "c")
    space = ModelSpace.plan(columns, forced=("e",), groups=(("c", "b"), ("d", "a")))
    assert space.units == (("d", "a"), ("c", "b"))
    for mask in space.masks():
        found = space.names(int(mask))
        assert found == tuple(name for name in columns if name in found)
        assert "e" in found
    alone = ModelSpace.plan(columns)
    assert [alone.names(1 << j) for j in range(5)] == [(name,) for name in columns]


@pytest.mark.parametrize("include_empty", [True, False])
@pytest.mark.parametrize("max_size", [None, 0, 1, 3, 9])
def test_masks_are_each_model_once(max_size, include_empty):
    """The masks are distinct, as many as counted, no larger than allowed, and the empty one is there when asked for."""
    columns = tuple("abcde")
    if max_size == 0 and not include_empty:
        with pytest.raises(InvalidParameterError, match="must be a model"):
            ModelSpace.plan(columns, max_size=max_size, include_empty=include_empty)
        return
    space = ModelSpace.plan(columns, max_size=max_size, include_empty=include_empty)
    largest = min(5, 5 if max_size is None else max_size)
    sizes = range(0 if include_empty else 1, largest + 1)
    expected = [mask for mask in range(32) if mask.bit_count() in sizes]
    assert sorted(space.masks().tolist()) == expected
    assert space.n_models == len(expected)
    assert space.max_size == largest


def test_a_loop_takes_just_2_to_the_20():
    """The paper's loop takes half of the subsets of 21 columns, and no more."""
    columns = tuple(f"x{i}" for i in range(21))
    assert ModelSpace.plan(columns[:20]).n_models == MAX_MODELS == 2**20
    assert ModelSpace.plan(columns, max_size=10, include_empty=False).n_models == MAX_MODELS - 1
    with pytest.raises(InvalidParameterError, match="Set max_size to at most 10,"):
        ModelSpace.plan(columns, include_empty=False)


def test_a_list_counts_its_own_models():
    """The empty model may be listed, whatever else is said of it; order and number are those of the list."""
    space = ModelSpace.plan(ABC, models=((), ("c", "a"), ("b",)), include_empty=False)
    assert space.n_models == 3
    assert [space.names(int(mask)) for mask in space.masks()] == [(), ("a", "c"), ("b",)]


@pytest.mark.parametrize("d", [129, 200, 500])
def test_more_than_128_columns_are_told_what_helps(d):
    """No max_size makes 129 free columns fit, so the message does not say so; forcing or grouping them does help."""
    columns = tuple(f"x{i}" for i in range(d))
    with pytest.raises(InvalidParameterError, match=f"there are {d}. Force or group") as refused:
        ModelSpace.plan(columns)
    assert "max_size" not in str(refused.value)
    assert ModelSpace.plan(columns, forced=columns[10:]).n_models == 2**10
    assert ModelSpace.plan(columns, groups=(columns[10:],)).n_models == 2**11
