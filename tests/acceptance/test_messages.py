"""The page of messages is what the command says to each typical mistake."""

import re

import pytest

from tests.acceptance.messages import MISTAKES, PAGE, message, page

ALL = [mistake for mistakes in MISTAKES.values() for mistake in mistakes]


def test_page_is_what_the_command_says():
    """A message that changes changes the page, so that a reader of the history sees it."""
    assert PAGE.read_text() == page(), "write it anew: python -m tests.acceptance.messages"


@pytest.mark.parametrize("mistake", ALL, ids=lambda mistake: mistake.words)
def test_a_mistake_is_told_in_whole_sentences(mistake, tmp_path):
    """The last line is the error, with a code of its own, in whole sentences and without notation of the code."""
    code, words = message(mistake, tmp_path)
    assert code in {2, 3, 4, 5, 8, 9}
    last = words.rstrip("\n").splitlines()[-1]
    assert re.fullmatch(r"Error: [^\n]+[.?)`\w]", last), last
    assert not re.search(r"Fraction\(|\bNone\b|Traceback|<class|np\.", last), last


def test_there_are_many():
    """Each has its own words."""
    assert len({mistake.words for mistake in ALL}) == len(ALL) >= 40
