"""Commands whose modules are imported when they are used: no command waits for the libraries of another."""

import importlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from discreet.errors import NotInstalledError

WIDE_ENOUGH = 110
"""Characters of a line from which on the panels of help have room."""

ENTRY_POINTS = "discreet.commands"
"""The group in which other packages name their commands, each an app of typer."""


class ListedCommand(TyperCommand):
    """What help and completion list of a command: its name and the first paragraph of its own help."""

    def __init__(self, name: str, summary: str, module: str = "", function: str = "") -> None:
        super().__init__(name, help=summary)
        self.module, self.function = module or name, function or name

    def loaded(self) -> Any:
        """Import the command, or the group of commands, that its module holds."""
        module = importlib.import_module(f"discreet.cli.{self.module}")
        function = getattr(module, self.function)
        if isinstance(function, typer.Typer):
            command: Any = get_group(function)
        else:
            app = typer.Typer(add_completion=False)
            app.command(epilog=getattr(module, "EXAMPLE", None))(function)
            command = get_command(app)
        command.name = self.name
        _sort_options(command, getattr(module, "PANELS", {}))
        return _without_panels_where_narrow(command)


class PluggedCommand(ListedCommand):
    """A command of another package, which is looked for when it is used."""

    def __init__(self, name: str, summary: str, package: str, content: str) -> None:
        super().__init__(name, summary)
        self.package, self.content = package, content

    def loaded(self) -> Any:
        """Import the command by the entry point of its name."""
        metadata = importlib.import_module("importlib.metadata")  # as slow to load as all else together
        for entry in metadata.entry_points(group=ENTRY_POINTS, name=self.name):
            command = get_command(entry.load())
            command.name = self.name
            return _without_panels_where_narrow(command)
        raise NotInstalledError(self.content, self.package)


def _without_panels_where_narrow(command: Any) -> Any:
    """Have help in two plain columns where panels would leave a word or two for what an option does."""
    if shutil.get_terminal_size().columns < WIDE_ENOUGH:
        for each in getattr(command, "commands", {"": command}).values():  # a list of commands has room
            each.rich_markup_mode = None
    return command


def _sort_options(command: Any, panels: Mapping[str, Sequence[str]]) -> None:
    """Show the options that few need below the others, under the titles of a module's `PANELS`."""
    title_of = {name: title for title, names in panels.items() for name in names}
    for option in command.params if title_of else ():
        option.rich_help_panel = title_of.get(str(option.name), option.rich_help_panel)
    command.params.sort(key=lambda option: list(panels).index(title_of[option.name]) if option.name in title_of else -1)


class LazyGroup(TyperGroup):
    """A group that imports a command when a command line names it."""

    listed: Iterable[ListedCommand] = ()

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.listed:
            self.add_command(command)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the imported command and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.loaded() if isinstance(command, ListedCommand) else command, rest
