"""Numbers at the edges: what is taken, what is refused, and in which words."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.guarantee import Guarantee, exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


@given(st.decimals(allow_nan=False, allow_infinity=False).filter(lambda d: abs(d.adjusted()) <= 400))
def test_decimals_and_their_text_are_kept_to_the_last_digit(value):
    """A decimal and the text that prints it are the same fraction, without rounding."""
    assert exact(value, "x") == Fraction(value) == exact(str(value), "x")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(3), Fraction(3)),
        (" 1e-2 ", Fraction(1, 100)),
        ("-0", Fraction(0)),
        (-0.0, Fraction(0)),
        (Decimal("0E-500"), Fraction(0)),
        ("1e400", Fraction(10**400)),
        ("1e-400", Fraction(1, 10**400)),
        (10**400, Fraction(10**400)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_other_kinds(written, meant):
    """Numpy's numbers, text with spaces, zeros of any sign and the ends of the range are taken as they are."""
    found = exact(written, "x")
    assert (found, type(found)) == (meant, Fraction)


@pytest.mark.parametrize(
    "value",
    [
        *(10**5000, -(10**5000), Decimal("1e401"), "1e-401", "1e999999999", Decimal("-1e-999999999")),
        *(Decimal("sNaN"), Decimal("-Infinity"), False, "1/3", "0x10", "1,5", "½ of it", 1j, object(), {}),
    ],
    ids=lambda value: f"{type(value).__name__} {value}" if isinstance(value, str) else type(value).__name__,
)
def test_other_values_are_refused_in_one_short_line(value):
    """Too large to write down, no number, or no finite one: the parameter's name, and never pages of digits."""
    with pytest.raises(InvalidParameterError, match=r"^x must") as refused:
        exact(value, "x")
    assert len(str(refused.value)) < 200
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [1000, "1000", 1e-300, "1e-400", Fraction(1, 10**500)])
def test_epsilon_at_the_ends_of_its_range(value):
    """The largest epsilon is 1000, and there is no smallest one."""
    assert exact_epsilon(value) == exact(value, "epsilon") > 0


@pytest.mark.parametrize("value", ["1000.0000000000000000001", Fraction(1000) + Fraction(1, 10**30), "-1e-400", 0.0])
def test_epsilon_just_beyond_its_range(value):
    """No rounding lets a larger epsilon, zero or a negative one through."""
    with pytest.raises(InvalidParameterError, match=r"epsilon must lie in \(0, 1000\]"):
        exact_epsilon(value)


def test_delta_at_the_ends_of_its_range():
    """Zero is pure differential privacy; one is no promise at all."""
    assert exact_delta(0) == 0
    assert exact_delta("0.9999999999999999999999") < 1
    for value in (1, "1.0", Fraction(1), "-1e-400"):
        with pytest.raises(InvalidParameterError, match="delta must lie"):
            exact_delta(value)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (1001, 0), (1, 1), (1, -1)])
def test_a_guarantee_out_of_range_cannot_be_made(epsilon, delta):
    """Whoever makes a guarantee, its numbers are checked."""
    with pytest.raises(InvalidParameterError):
        Guarantee(Fraction(epsilon), Fraction(delta), REPLACE)


@given(*[st.fractions(Fraction(1, 100), 5)] * 2, *[st.fractions(0, Fraction(99, 100))] * 2)
def test_a_guarantee_implies_what_is_weaker_in_both_numbers(epsilon, other, delta, other_delta):
    """Neither a smaller epsilon nor a smaller delta alone is stronger, and no relation speaks for the other."""
    one, two = Guarantee(epsilon, delta, REPLACE), Guarantee(other, other_delta, REPLACE)
    assert one.implies(two) == (epsilon <= other and delta <= other_delta)
    assert not one.implies(Guarantee(other, other_delta, ADD))


def test_worst_posterior_of_certainties_and_of_no_promise():
    """Who is certain stays so; a guarantee of 1000 lets anybody learn anything, and overflows nowhere."""
    weak, strong = (Guarantee(Fraction(e), Fraction(0), REPLACE) for e in (1000, Fraction(1, 10**9)))
    for guarantee in (weak, strong):
        assert guarantee.worst_posterior(0.0) == 0.0
        assert guarantee.worst_posterior(1.0) == 1.0
    assert weak.worst_posterior(1e-200) == pytest.approx(1.0)
    assert strong.worst_posterior(0.3) == pytest.approx(0.3)
    assert Guarantee(Fraction(1), Fraction(0), REPLACE).worst_posterior(0.5) == pytest.approx(math.e / (1 + math.e))
