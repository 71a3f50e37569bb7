"""The reference of the commands is what the commands say of themselves.

``python -m tests.contracts.test_help_pages`` writes it anew.
"""

from pathlib import Path

import click
import typer
from typer.cli import get_docs_for_click

from discreet.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
LANGUAGES = {"Example:": "console", "Example of PLAN.yaml:": "yaml"}
"""What the indented lines below these words are."""


def imported(group):
    """The group with the commands in place of what help lists of them."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        _, group.commands[name], _ = group.resolve_command(context, [name])
    return group


def generated() -> str:
    """Return the page: usage, options and examples of every command."""
    command = imported(typer.main.get_command(app))
    text = get_docs_for_click(obj=command, ctx=click.Context(command, info_name="discreet"), name="discreet")
    lines, example = [], False
    for line in text.rstrip().splitlines():
        if line.strip() in LANGUAGES:
            lines += [line.strip(), "", f"```{LANGUAGES[line.strip()]}"]
            example = True
        elif example and not line.startswith("  "):
            lines += ["```", "", line]
            example = False
        else:
            lines.append(line.removeprefix("  ") if example else line)
    return "\n".join([*lines, *(["```"] if example else [])]) + "\n"


def test_page_is_what_the_commands_say():
    """Options that change change the page, so that a reader of the history sees it."""
    assert PAGE.read_text() == generated(), "write it anew: python -m tests.contracts.test_help_pages"


def test_the_list_of_commands_says_what_they_say():
    """A summary that help shows without importing the command is the first paragraph of the command's own help."""
    group = typer.main.get_command(app)
    summaries = {name: (command.name, command.help) for name, command in group.commands.items()}
    commands = imported(typer.main.get_command(app)).commands
    assert summaries == {name: (command.name, command.help.split("\n\n")[0]) for name, command in commands.items()}


if __name__ == "__main__":
    PAGE.write_text(generated())
