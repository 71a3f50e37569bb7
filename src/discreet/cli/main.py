"""The command ``discreet``: parse, call the workflow, print; each error one line and one exit code."""

import importlib
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer
from typer.main import get_command

from discreet.cli.lazy import LazyGroup, ListedCommand, PluggedCommand
from discreet.errors import (
    BudgetError,
    ComputationFailedError,
    DataMismatchError,
    DiscreetError,
    ForbiddenError,
    InvalidParameterError,
    MetadataError,
    NotFoundError,
    NotSignedInError,
    PolicyError,
    VerificationError,
    WaitingError,
)

EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidParameterError, 2),
    (NotFoundError, 2),
    (MetadataError, 3),
    (BudgetError, 4),
    (DataMismatchError, 5),
    (ComputationFailedError, 5),
    (NotSignedInError, 6),
    (ForbiddenError, 6),
    (WaitingError, 7),
    (VerificationError, 8),
    (PolicyError, 9),
    (DiscreetError, 1),
)
"""0 done, 1 internal, 2 usage, 3 metadata, 4 budget, 5 data, 6 not authorised, 7 waiting, 8 verification, 9 policy."""

INTERRUPTED = 130

SERVICE = ("discreet-service", "The service")

COMMANDS = (
    ListedCommand("demo", "Select the variables behind doctor visits in the RAND Health Insurance Experiment."),
    ListedCommand("dummy", "Write a fake table of the declared shape, to write code against.", module="metadata"),
    ListedCommand(
        "plan",
        "Tell how well each selection can be expected to do, by simulation. No data are opened and nothing is spent.",
    ),
    ListedCommand("select", "Spend budget to learn which variables belong in the regression of TARGET."),
    ListedCommand("fit", "Spend budget to learn the coefficients of a regression of TARGET, with intervals."),
    ListedCommand(
        "predict", "Predict the mean of the target at given values from a released fit, for free.", module="answers"
    ),
    ListedCommand(
        "joint", "Tell whether a category, or several columns, can have no effect at all, for free.", module="answers"
    ),
    ListedCommand(
        "effects",
        "Tell how the mean of the target changes with each column, the others held, for free.",
        module="answers",
    ),
    ListedCommand("hybrid", "Spend budget to estimate on public records that the private rows weight."),
    ListedCommand("run", "Screen or select columns, then fit their model: one charge, one release."),
    ListedCommand("report", "Explain a release to an ethics board, an analyst or a participant."),
    PluggedCommand(
        "reproduce",
        "Show published tables and figures beside what can honestly be had at the same epsilon. No ledger is charged.",
        "discreet-papers",
        "The reproduction of the papers",
    ),
    ListedCommand(
        "selftest",
        "Attack the guarantee: every mechanism and method on its worst pairs, and the product broken on purpose.",
    ),
    ListedCommand("doctor", "Tell what is installed and works, and compile what the first request would wait for."),
    PluggedCommand("serve", "Serve the page and the API: the trusted third party that holds the data.", *SERVICE),
    PluggedCommand("worker", "Answer approved requests: the only process that opens private tables.", *SERVICE),
    ListedCommand("metadata", "What is public about a table: bounds, levels, unit, relation.", function="app"),
    ListedCommand(
        "budget", "The ledger: what each data set may spend in its lifetime, and what it has spent.", function="app"
    ),
    PluggedCommand("remote", "Ask a service that holds the table: log in, plan, ask, approve, read.", *SERVICE),
)


NOT_ASKED = {"help": False, "install_completion": False, "show_completion": False}
"""Typer loads pydantic to read an option that is None, and every help page would wait for it; False it takes as is."""

DEFAULTS = {**NOT_ASKED, **{str(command.name): NOT_ASKED for command in COMMANDS}}


class Commands(LazyGroup):
    """All commands, in the order of the help page."""

    listed = COMMANDS


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "default_map": DEFAULTS},
    help="Find which variables matter in a table about people, under a differential privacy guarantee.",
)


def _version(is_set: bool) -> None:
    if is_set:
        metadata = importlib.import_module("importlib.metadata")  # as slow to load as all else together
        typer.echo(f"discreet {metadata.version('discreet')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@cache
def _command() -> Callable[..., int | None]:
    """All commands and their options, put together once."""
    return get_command(app)


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; never a traceback.

    As `EXIT_CODES` says; 130 when interrupted.
    """
    try:
        code = int(_command()(arguments, prog_name="discreet", standalone_mode=False) or 0)
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        return _fail("Stopped before anything was spent.", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except tuple(kind for kind, _ in EXIT_CODES) as error:
        return _fail(str(error), next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    except Exception as error:  # its text may hold anything: only its kind is shown
        return _fail(
            f"Internal error ({type(error).__name__}). This is a fault of Discreet; nothing was half-written.",
            1,
        )
    if code == INTERRUPTED:  # typer makes a code of ctrl-C
        return _fail("Interrupted. `discreet budget history` tells whether anything was charged.", INTERRUPTED)
    return code


def _misused(error: typer.TyperException) -> int:
    text = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":  # typer shows the help, and gives the error no name of its own
        typer.echo(text, err=True, nl=bool(text))
        return 2
    context = getattr(error, "ctx", None)
    text = re.sub(r" \(Possible options: (.*)\)", r". Did you mean \1?", text)
    text = re.sub(r"Input should be a valid integer\b.*", "it must be a whole number", text)
    text = re.sub(r"Input should be a valid number\b.*", "it must be a number", text)
    text = re.sub(r"Input should be greater than or equal to", "it must be at least", text)
    text = re.sub(r"Input should be less than or equal to", "it must be at most", text)
    text = text if text.endswith(("?", ".")) else f"{text}."
    return _fail(f"{text} See `{context.command_path} --help`." if context else text, 2)


def _fail(text: str, code: int) -> int:
    """Print an error as one line, whatever a name in it holds."""
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    typer.echo(f"Error: {line}", err=True)
    return code
