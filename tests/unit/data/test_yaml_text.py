"""YAML that was made to hurt: refused before anything is built of it, whatever its size."""

import subprocess
import sys

import pytest
import yaml

from discreet.data import yaml_text
from discreet.data.yaml_text import MOST_DEPTH, parse_text
from discreet.errors import MetadataError

LAUGHS = "a0: &a0 [lol]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
"""The billion laughs: 2 kilobytes that stand for 9^11 words."""


def test_it_is_parsed_by_the_c_library():
    """The parser in Python takes ten times as long, which a caller of the service could make others wait for."""
    assert issubclass(yaml_text._StrictLoader, yaml.CSafeLoader)


@pytest.mark.parametrize("text", [LAUGHS, "a: &a 1\nb: *a\n", "&a [*a]"])
def test_an_alias_is_refused(text):
    """What grows when it is expanded is not expanded."""
    with pytest.raises(MetadataError, match="aliases are not allowed"):
        parse_text(text)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_depth_is_refused(opening):
    """Half a megabyte of brackets neither ends the process nor is followed down."""
    with pytest.raises(MetadataError, match=f"nested more than {MOST_DEPTH} deep"):
        parse_text(opening * 200_000)
    assert parse_text("[" * MOST_DEPTH + "]" * MOST_DEPTH) is not None


@pytest.mark.processes
def test_depth_ends_a_process_that_does_not_look():
    """Control: without the look at the events, the C parser follows the brackets until its stack is full."""
    code = "import yaml; yaml.load('[' * 1_000_000, Loader=yaml.CSafeLoader)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode < 0


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", '{"a": 1, "b": 2, "a": 3}'])
def test_a_key_that_repeats_is_named(text):
    """In YAML and in JSON."""
    with pytest.raises(MetadataError, match="the key 'a' repeats"):
        parse_text(text)


def test_length_is_refused(monkeypatch):
    """Before it is parsed."""
    monkeypatch.setattr(yaml_text, "MOST_CHARACTERS", 10)
    assert parse_text("a: 1234567") == {"a": 1234567}
    with pytest.raises(MetadataError, match="at most 10 characters"):
        parse_text("a: 12345678")
