"""A service in processes of its own: servers, and crowds of clients that call them at once."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet_service.context import open_context
from discreet_service.settings import SCHEMA, Settings
from tests.office import furnish, settings_of, write_table

PATIENCE_S = 120.0


def set_up(folder: Path, database: str | None = None, **changes: Any) -> tuple[Path, Settings, dict[str, str]]:
    """Set an office up without a server: its service file, its settings, and the keys of its people."""
    for part in ("private", "public"):
        (folder / part).mkdir(exist_ok=True)
    write_table(folder)
    settings = settings_of(folder, database, **changes)
    with open_context(settings) as context:
        keys = furnish(context)
    return write_file(folder, settings), settings, keys


def write_file(folder: Path, settings: Settings) -> Path:
    """Write the service file that says these settings, and the pepper beside it."""
    (folder / "pepper").touch(mode=0o600)
    (folder / "pepper").write_bytes(settings.secret)
    given = settings.model_dump(mode="json", exclude={"pepper", "sign_on"}, exclude_none=True)
    (folder / "service.yaml").write_text(yaml.safe_dump({"schema": SCHEMA, "pepper_file": "pepper"} | given))
    return folder / "service.yaml"


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that has one thread."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def start(*words: object, log: Path, **more: str) -> "subprocess.Popen[bytes]":
    """Start the command in a session of its own, as from a terminal; what it says goes to a file."""
    with log.open("ab") as said:
        command = [sys.executable, "-m", "discreet", *map(str, words)]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment(**more),
            start_new_session=True,
        )


def serve(file: Path, log: Path, **more: str) -> "tuple[subprocess.Popen[bytes], str]":
    """Start a server and wait until it answers; the process and its URL."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = start("serve", "--config", file, "--port", port, log=log, **more)
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{url}/v1/health", timeout=PATIENCE_S):  # noqa: S310 - ours
            return process, url
        time.sleep(0.1)
    process.kill()
    raise AssertionError(log.read_text())


@contextmanager
def server(file: Path, log: Path, **more: str) -> Iterator[str]:
    """Run a server until the end of the block; its URL."""
    process, url = serve(file, log, **more)
    try:
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


Call = tuple[str, str, str, Any, dict[str, str]]
"""Method, path below /v1, key, body, further headers."""


def crowd(urls: list[str], work: list[list[Call]]) -> list[list[tuple[int, Any]]]:
    """Let processes that start together make their calls, one after another; statuses and bodies of each."""
    command = [sys.executable, Path(__file__).with_name("service_client.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    crowd = [subprocess.Popen([*command, urls[i % len(urls)]], **pipes) for i in range(len(work))]
    for process, calls in zip(crowd, work, strict=True):
        process.stdin.write(json.dumps(calls) + "\n")
        process.stdin.flush()
    for process in crowd:
        assert process.stdout.readline() == "ready\n"
    for process in crowd:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [[tuple(one) for one in json.loads(process.communicate(timeout=600)[0])] for process in crowd]
    assert all(process.returncode == 0 for process in crowd)
    return found


@contextmanager
def own_machine(folder: Path) -> Iterator[None]:
    """Remember witnesses where the processes of an office do: a copy of it is an older ledger to any other machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield


def play(scenarios: list[dict[str, Any]]) -> tuple[list[dict[str, int]], str]:
    """Have `service_crash` play scenarios; how the processes of each ended, and what all of them said."""
    command = [sys.executable, Path(__file__).with_name("service_crash.py")]
    done = subprocess.run(
        command, input=json.dumps(scenarios), capture_output=True, text=True, timeout=600, check=True, env=environment()
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    ends = dict(lines)
    return [ends[number] for number in range(len(scenarios))], done.stdout + done.stderr
