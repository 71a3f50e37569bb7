"""Commands whose modules are imported when they are used: no command waits for the libraries of another."""

import importlib
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class ListedCommand(TyperCommand):
    """What help and completion list of a command: its name and the first paragraph of its own help."""

    def __init__(self, name: str, summary: str, module: str = "", function: str = "", example: str = "EXAMPLE") -> None:
        super().__init__(name, help=summary)
        self.module, self.function, self.example = module or name, function or name, example

    def loaded(self) -> Any:
        """Import the command, or the group of commands, that its module holds."""
        module = importlib.import_module(f"discreet.cli.{self.module}")
        function = getattr(module, self.function)
        if isinstance(function, typer.Typer):
            command: Any = get_group(function)
        else:
            app = typer.Typer(add_completion=False)
            app.command(epilog=getattr(module, self.example, None))(function)
            command = get_command(app)
        command.name = self.name
        return command


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
