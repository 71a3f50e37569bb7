"""The table of attacks names each row once, and tests that exist."""

import ast
import re
from functools import cache

from tests.contracts.test_house import REPOSITORY

PAGE = REPOSITORY / "docs" / "explanation" / "attacks.md"
IDS = [*(f"N{i}" for i in range(1, 13)), *(f"A{i}" for i in range(1, 26))]
ELSEWHERE = {"N10"}
"""Closed by other rows."""


def rows(text):
    """What stands in each row, by its id."""
    parts = re.split(r"^- \*\*([NA]\d+)\. ", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def named(text):
    """Tests that a text names, as file and function."""
    return re.findall(r"`([\w/]+\.py)::(\w+)`", text)


@cache
def functions(file):
    """What can be run of a file of tests."""
    path = REPOSITORY / "tests" / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def problems(text):
    """What is wrong with a page."""
    ids = [id_ for id_, _ in rows(text)]
    wrong = [] if ids == IDS else [f"rows are {ids}"]
    wrong += [f"{file}::{name}" for file, name in named(text) if name not in functions(file)]
    return wrong + [f"{id_} names no test" for id_, row in rows(text) if not named(row) and id_ not in ELSEWHERE]


def test_each_attack_is_there_once_with_tests_that_exist():
    """N1 to N12 and A1 to A25, in order, each with its tests."""
    assert problems(PAGE.read_text()) == []


def test_a_wrong_table_is_seen():
    """Control: a row that is missing or there twice, a test that is not there, a row without a test."""
    text = PAGE.read_text()
    seventh = re.search(r"^- \*\*A7\. .*?(?=^- )", text, re.MULTILINE | re.DOTALL)[0]
    assert problems(text.replace(seventh, ""))
    assert problems(text.replace(seventh, 2 * seventh))
    assert problems(text.replace(seventh, "- **A7. Noise repeats.** Nobody knows.\n"))
    assert problems(text.replace("::test_forty_threads`", "::test_forty_thieves`"))
    assert problems(text.replace("`contracts/test_ledger_race.py::", "`contracts/test_ledger_chase.py::"))
