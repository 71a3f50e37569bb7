"""One expression of the product's code replaced for a while."""

import pytest

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import DiscreetError
from discreet.mechanisms.quantile import rank_sensitivity
from discreet.mechanisms.selection import noisy_min
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.faults import FAULTS
from discreet.selftest.tape import Tape

TWICE = Fault("", "mechanisms.quantile:rank_sensitivity", "2 * rows_per_unit", "4 * rows_per_unit", "")


def test_a_function_is_another_one_for_a_while():
    """Whoever holds it calls the broken one; after, and after an error, it is what it was."""
    law = (0.5, NeighboringRelation.REPLACE_ONE, 1)
    with broken(TWICE):
        assert rank_sensitivity(*law) == 4
    assert rank_sensitivity(*law) == 2
    with pytest.raises(ZeroDivisionError), broken(TWICE):
        raise ZeroDivisionError
    assert rank_sensitivity(*law) == 2


@pytest.mark.parametrize("sound", ["no such text", "rows_per_unit"])
def test_what_does_not_stand_there_once_is_refused(sound):
    """Neither nowhere, nor more than once."""
    with pytest.raises(DiscreetError, match="must hold"), broken(Fault("", TWICE.where, sound, "0", "")):
        pass


def test_what_is_no_function_of_python_is_refused():
    """A constant of a module."""
    fault = Fault("", "mechanisms.quantile:DENOMINATOR", "1", "2", "")
    with pytest.raises(DiscreetError, match="must be a function"), broken(fault):
        pass


def test_every_fault_can_be_put_in():
    """What it breaks stands where it is looked for."""
    lost = []
    for fault in FAULTS:
        try:
            with broken(fault):
                pass
        except DiscreetError as error:
            lost.append((fault.name, str(error)))
    assert lost == []


def test_noise_is_what_it_was_after_all_faults():
    """Nothing stays."""
    assert noisy_min([0.0, 0.4], 1, 1, Tape((0.5, 0.3))) == 1
