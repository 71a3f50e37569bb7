"""Commands that the documentation prints exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from discreet.cli.main import app

PAGES = ("how-to/ask-a-service.md", "how-to/run-a-service.md", "how-to/plan-before-you-spend.md")


def printed() -> list[str]:
    """Every command of ours that these pages print."""
    docs = Path(__file__).parents[2] / "docs"
    text = "\n".join((docs / page).read_text() for page in PAGES).replace("\\\n", " ")
    return re.findall(r"^\$ (discreet [^#\n]*)", text, re.MULTILINE)


@pytest.mark.parametrize("line", printed())
def test_a_printed_command_is_one(line):
    """Commands and options that the documentation prints exist, and take what they are given."""
    words = shlex.split(line)[1:]
    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "commands"):
        context = command.make_context(words[0], words, parent=context)
        _, command, words = command.resolve_command(context, words)
        words = words if hasattr(command, "commands") else [command.name, *words]
    command.make_context(words[0], words[1:], parent=context)


def test_the_check_of_printed_commands_can_fail():
    """Control: an option that does not exist is seen."""
    with pytest.raises(typer.TyperException):
        test_a_printed_command_is_one("discreet remote datasets --nonsense")
    assert len(printed()) > 20
