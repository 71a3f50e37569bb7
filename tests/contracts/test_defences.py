"""Defences that are removed to measure the tests: each stands where its entry says, and its tests are there."""

import ast

import pytest
from benchmarks.defences import broken_source, module_of
from benchmarks.defences_list import DEFENCES, Defence
from benchmarks.mutant_tests import REPOSITORY

from tests.contracts.test_attack_table import functions


def test_the_text_of_a_defence_stands_once():
    """Without it the module can still be read, and means something else."""
    for defence in DEFENCES:
        source = module_of(REPOSITORY, defence).read_text()
        assert ast.dump(ast.parse(broken_source(REPOSITORY, defence))) != ast.dump(ast.parse(source)), defence.name


@pytest.mark.parametrize(("stands", "times"), [("no such line", 0), ("class ", "[0-9][0-9]+")])
def test_a_text_that_stands_no_more_or_twice_is_named(stands, times):
    """Control: an entry that the code has left behind, or that could be put in many places."""
    with pytest.raises(SystemExit, match=f"'the one that is gone' stands {times} times in errors.py"):
        broken_source(REPOSITORY, Defence("the one that is gone", "errors.py", stands, "pass"))


def test_a_test_of_a_defence_exists():
    """By its file and its function; the cases of one are its own affair."""
    names = {tuple(name.partition("[")[0].split("::")) for defence in DEFENCES for name in defence.tests}
    assert [(file, test) for file, *test in names if not set(test) <= functions(file)] == []
    assert all(functions(file) for file, *_ in names)


def test_each_defence_has_a_name_of_its_own():
    """By which one can be tried alone."""
    assert len({defence.name for defence in DEFENCES}) == len(DEFENCES)
