"""The command ``discreet``: parse, call the workflow, print; each error one line and one exit code."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Annotated

import typer
from typer.main import get_command

from discreet.cli import budget, metadata, remote
from discreet.cli import fit as fitting
from discreet.cli import hybrid as weighting
from discreet.cli import plan as planning
from discreet.cli import reproduce as reproducing
from discreet.cli import run as running
from discreet.cli import select as selecting
from discreet.cli import selftest as testing
from discreet.cli import serve as serving
from discreet.cli.demo import demo
from discreet.cli.report import report
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

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which variables matter in a table about people, under a differential privacy guarantee.",
)
app.command()(demo)
app.add_typer(metadata.app, name="metadata")
app.command()(metadata.dummy)
app.command(epilog=planning.EXAMPLE)(planning.plan)
app.command(epilog=selecting.EXAMPLE)(selecting.select)
app.command(epilog=fitting.EXAMPLE)(fitting.fit)
app.command(epilog=weighting.EXAMPLE)(weighting.hybrid)
app.command(epilog=running.EXAMPLE)(running.run)
app.add_typer(budget.app, name="budget")
app.command()(report)
app.command(epilog=reproducing.EXAMPLE)(reproducing.reproduce)
app.command(epilog=testing.EXAMPLE)(testing.selftest)
app.add_typer(remote.app, name="remote")
app.command(epilog=serving.SERVE_EXAMPLE)(serving.serve)
app.command(epilog=serving.WORKER_EXAMPLE)(serving.worker)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {version('discreet')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
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
        code = int(_command()(arguments, standalone_mode=False) or 0)
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
    return _fail(f"{text.rstrip('.')}. See `{context.command_path} --help`." if context else text, 2)


def _fail(text: str, code: int) -> int:
    """Print an error as one line, whatever a name in it holds."""
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    typer.echo(f"Error: {line}", err=True)
    return code
