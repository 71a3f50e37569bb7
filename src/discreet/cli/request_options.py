"""Options that several commands share: what is asked is the same, wherever the table lies."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet import workflow

Command = Callable[..., None]


@dataclass(frozen=True)
class Asked:
    """What a command asks.

    Parameters
    ----------
    method : str
        Its name.
    target : str
        The response.
    candidates : tuple of str or None
        Columns that may be selected, or that the model has.
    parameters : dict
        Of the method, those that were given.
    supposed : dict
        What is supposed of the table, where a plan chooses the method.
    reads : tuple of Path
        Files that were read for it.
    """

    method: str
    target: str
    candidates: tuple[str, ...] | None
    parameters: dict[str, Any]
    supposed: dict[str, Any] = field(default_factory=dict)
    reads: tuple[Path, ...] = ()

    def chosen(self) -> Any:
        """Return the method, its parameters checked."""
        return workflow.method_of(self.method, **self.parameters)


def sharing(*groups: Callable[..., Any]) -> Callable[[Command], Command]:
    """Give a command the options of other functions, after those of its own that it needs.

    Decorates the command.
    """

    def decorate(command: Command) -> Command:
        shared = [inspect.signature(group, eval_str=True).parameters for group in groups]
        own = list(inspect.signature(command, eval_str=True).parameters.values())[len(groups) :]

        def called(**values: Any) -> None:
            option_groups = [
                group(**{name: values.pop(name) for name in names}) for group, names in zip(groups, shared, strict=True)
            ]
            command(*option_groups, **values)

        needed = [option for option in own if option.default is option.empty]
        every = [*needed, *(option for options in shared for option in options.values())]
        every += [option for option in own if option.default is not option.empty]
        # By name alone: then an option that must be given may stand after one that may be left out.
        named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in every]
        called.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
        called.__doc__, called.__name__, called.__module__ = command.__doc__, command.__name__, command.__module__
        return called

    return decorate
