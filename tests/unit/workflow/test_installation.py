"""What `discreet doctor` finds out."""

import json
import sys

import pytest
from typer.testing import CliRunner

from discreet.cli import main
from discreet.kernels.search.separable_balance import invert_blocks
from discreet.workflow import installation


def test_what_is_missing_is_told_with_a_remedy(monkeypatch):
    """A part that cannot be loaded counts as missing, whatever lies on the disk."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    part = next(each for each in installation.parts() if each.name == "psycopg")
    assert not part.is_installed
    assert "pip install" in part.remedy


@pytest.mark.slow
def test_warming_leaves_nothing_of_a_search_to_compile():
    """The innermost loop of the search, which is compiled last, has machine code afterwards."""
    names = [name for name, _ in installation.warm()]
    assert len(names) == installation.N_TASKS
    assert invert_blocks.signatures


def test_the_command_says_it_as_json(monkeypatch):
    """Versions, parts and what was compiled stand in one value."""
    monkeypatch.setattr(installation, "warm", lambda: iter([("a search", 1.234)]))
    answer = CliRunner().invoke(main.app, ["doctor", "--json"])
    assert answer.exit_code == 0
    value = json.loads(answer.stdout)
    assert value["schema"] == "discreet/doctor@1"
    assert value["compiled_s"] == {"a search": 1.23}
    assert {part["name"] for part in value["parts"]} == set(installation.PARTS)
