"""``discreet serve`` and ``discreet worker``: the trusted third party."""

import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import say
from discreet.errors import InvalidParameterError

SERVE_EXAMPLE = """\b
Example:
  discreet serve --demo
  discreet serve --init office
  discreet serve --config office/service.yaml
"""
WORKER_EXAMPLE = """\b
Example:
  discreet worker --config office/service.yaml
"""

server = typer.Typer(add_completion=False)
answering = typer.Typer(add_completion=False)
"""The commands `serve` and `worker`."""

Config = Annotated[Path | None, typer.Option("--config", help="Service file, as --init writes it.")]
DEMO = Path("discreet-service")


@server.command(epilog=SERVE_EXAMPLE)
def serve(
    config: Config = None,
    init: Annotated[
        Path | None, typer.Option(help="Folder in which to set up a service. The command ends then.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="With --init: database of the service, postgresql://USER@HOST/NAME. Default: an SQLite "
            "file in that folder."
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Try the service on this machine, with a table, four accounts, a server and a worker."
        ),
    ] = False,
    dir_: Annotated[Path, typer.Option("--dir", help="Folder of the demonstration.")] = DEMO,
    host: Annotated[
        str, typer.Option(help="Address to listen on. A proxy in front of it provides HTTPS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
) -> None:
    """Serve the page and the API: the trusted third party that holds the data."""
    if sum((config is not None, init is not None, demo)) != 1:
        raise InvalidParameterError("One of --config FILE, --init FOLDER and --demo is needed.")
    if init is not None:
        _init(init, database)
        return
    listener = _listen(host, port)
    if demo:
        _demo(dir_, host, port, listener)
    else:
        with listener:
            _serve(Path(str(config)), listener, f"http://{host}:{port}")


@answering.command(epilog=WORKER_EXAMPLE)
def worker(
    config: Annotated[Path, typer.Option("--config", help="Service file, as --init writes it.")],
    once: Annotated[bool, typer.Option("--once", help="End when no request is waiting.")] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="Leave when the process that started it is gone.")
    ] = False,
) -> None:
    """Answer approved requests: the only process that opens private tables."""
    settings = _service("settings").read_settings(config)
    _service("logs").take_over()
    parent = os.getppid()
    with _signals() as stopping, _service("context").open_context(settings) as context:
        say(f"Answering requests of {config}. Ctrl-C ends it after the request under way.")
        _service("worker.loop").work(
            context, until=lambda: bool(stopping) or (with_parent and os.getppid() != parent), once=once
        )


@contextmanager
def _signals() -> Iterator[list[int]]:
    """What asked for an end meanwhile, in place of an end in mid-request."""
    seen = list[int]()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda number, _frame: seen.append(number)) for number in numbers]
    try:
        yield seen
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _init(folder: Path, database: str | None) -> None:
    setup = _service("setup")
    created = setup.set_up(folder, database=database or setup.DATABASE)
    say(
        f"Service file: {created.file}. Read it before you start.\n"
        f"Account admin, password {created.passwords['admin']} (shown this once).\n"
        f"Next: discreet serve --config {created.file}, and beside it discreet worker --config {created.file}."
    )


def _demo(folder: Path, host: str, port: int, listener: socket.socket) -> None:
    created = _service("setup").set_up_demo(folder)
    say(f"Accounts of this demonstration, to sign in with on http://{host}:{port}:")
    for name, password in sorted(created.passwords.items()):
        say(f"  {name:<8} {password}")
    say(f"Its files are in {folder}.")
    command = [sys.executable, "-m", "discreet", "worker", "--with-parent", "--config", str(created.file)]
    with listener, subprocess.Popen(command, stderr=subprocess.DEVNULL) as beside:  # noqa: S603 - ours
        try:
            _serve(created.file, listener, f"http://{host}:{port}")
        finally:
            say("Stopped; a request under way comes to its end first.")
            beside.send_signal(signal.SIGTERM)


def _listen(host: str, port: int) -> socket.socket:
    """Take the port before anything else is done."""
    try:
        created = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # asyncio switches Nagle's delay off only where it is told that the protocol is TCP, and 0 does not say so.
        return socket.socket(created.family, created.type, socket.IPPROTO_TCP, fileno=created.detach())
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise InvalidParameterError(
            f"The address must be free to listen on, but {host} port {port}: {reason}. Give another --port."
        ) from None


def _serve(config: Path, listener: socket.socket, url: str) -> None:
    settings = _service("settings").read_settings(config)
    _service("logs").take_over()
    with _service("context").open_context(settings):
        pass  # says what is wrong with the database in our words, before uvicorn would in its own
    app = _service("app").create_app(settings, is_warm=True)
    uvicorn = importlib.import_module("uvicorn")
    quiet = {"log_level": "warning", "access_log": False, "server_header": False}
    believed = {"proxy_headers": bool(settings.proxies), "forwarded_allow_ips": list(settings.proxies)}
    server = uvicorn.Server(uvicorn.Config(app, **quiet, **believed))
    say(f"Serving on {url}. Ctrl-C ends it.")
    # Else each full collection looks through all that was loaded, and every call waits a tenth of a second for it.
    gc.collect()
    gc.freeze()
    with suppress(KeyboardInterrupt):  # how a server is ended
        server.run(sockets=[listener])


def _service(module: str) -> Any:
    return importlib.import_module(f"discreet_service.{module}")  # no command waits for what another one needs
