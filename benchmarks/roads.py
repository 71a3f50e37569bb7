"""Three newcomers follow the documentation, with a stopwatch: ``python -m benchmarks.roads``.

Each works in an empty folder with a home of their own, and enters what the pages print, as printed, in their order.
What cannot run as printed, such as what needs a server, is left out, as in the tests of the documentation.
``--install`` begins with a clone of this repository and ``make demo``, which fetches packages from the net.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).parents[1]
ROADS = {
    "statistician": ("docs/tutorials/quickstart.md",),
    "data owner": ("docs/how-to/write-metadata.md", "docs/tutorials/quickstart.md"),
    "data scientist": ("docs/tutorials/quickstart-python.md",),
}
"""Who, and the pages that the landing page sends them to."""
RESULTS = ("discreet demo", "discreet select", "discreet fit", ".fit(")
"""A step with one of these, and not a dry run, is a private result."""
ASKED_S = 300.0
PYTHON = "python"
SESSION = """
import contextlib, io, json, sys
names, told = {"__name__": "__main__"}, sys.stdout
for line in sys.stdin:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(json.loads(line), names)
        print("done", file=told, flush=True)
    except Exception as error:
        print(type(error).__name__, file=told, flush=True)
"""
"""A notebook, as far as time goes: blocks of code, one after another, share their names."""


class Step(NamedTuple):
    """What was entered, how long it took, and whether it did what the page says."""

    words: str
    seconds: float
    is_done: bool


def entered(page: Path) -> Iterator[tuple[str, list[str], bool]]:
    """Yield what a page has its reader enter: words to show, the command, and whether an error is what it shows."""
    from tests.acceptance.test_documentation import CODE, COMMANDS, FILES, blocks, code_reason, commands, reason

    for block in blocks(page.read_text()):
        if block.language in COMMANDS:
            for command in commands(block):
                if reason(command.line) is None:
                    yield command.line, ["sh", "-c", command.line], command.shown.startswith("Error: ")
        elif block.language in CODE and code_reason(block.text) is None and ">>>" not in block.text:
            yield block.text.strip().splitlines()[0], [PYTHON, block.text], False
        elif block.language in FILES and block.text.startswith("# ") and block.text.splitlines()[0].endswith(".yaml"):
            name = block.text.splitlines()[0].removeprefix("# ")
            yield f"(write {name})", ["sh", "-c", f"cat > {name} <<'END'\n{block.text}END"], False


def walk(pages: tuple[str, ...]) -> list[tuple[Step, bool]]:
    """Follow the pages; each step, and whether it is a private result."""
    steps = []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "work")
        folder.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        place: dict[str, Any] = {"cwd": folder, "text": True, "stderr": subprocess.DEVNULL}
        place["env"] = {**os.environ, "HOME": home, "XDG_DATA_HOME": home, "PATH": path}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", SESSION], **place, **pipes) as session:
            for words, command, is_refusal in (step for page in pages for step in entered(REPOSITORY / page)):
                start = time.perf_counter()
                is_well = _in_session(session, command[1]) if command[0] == PYTHON else _in_shell(command, place)
                step = Step(words, time.perf_counter() - start, is_well != is_refusal)
                is_result = any(part in " ".join(command) for part in RESULTS) and "--dry-run" not in command[-1]
                steps.append((step, is_result and step.is_done))
            session.communicate()
    return steps


def _in_shell(command: list[str], place: dict[str, Any]) -> bool:
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    return subprocess.run(command, check=False, **place, **quiet).returncode == 0


def _in_session(session: "subprocess.Popen[str]", code: str) -> bool:
    """Enter a block in the one session of Python that the reader has open."""
    assert session.stdin is not None
    assert session.stdout is not None
    session.stdin.write(json.dumps(code) + "\n")
    session.stdin.flush()
    return session.stdout.readline() == "done\n"


def install() -> float:
    """Clone and `make demo`; seconds."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), f"{home}/clone"], check=True)
        subprocess.run(["make", "-s", "demo"], cwd=f"{home}/clone", check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start


def main() -> None:
    """Walk each road and print its steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="begin with a clone and `make demo`")
    parser.add_argument("--only", nargs="+", choices=ROADS, default=list(ROADS))
    given = parser.parse_args()
    console = Console(width=110)
    begun_s = install() if given.install else 0.0
    if given.install:
        console.print(f"Clone and `make demo`, which ends with a private result: {begun_s:.0f} s")
    for who in given.only:
        steps, elapsed_s, first_s = walk(ROADS[who]), begun_s, None
        table = Table(who, "s", "as the page says")
        for step, is_result in steps:
            elapsed_s += step.seconds
            first_s = elapsed_s if is_result and first_s is None else first_s
            table.add_row(step.words[:80], f"{step.seconds:.1f}", "yes" if step.is_done else "NO")
        console.print(table)
        told = "never" if first_s is None else f"after {first_s:.0f} s (asked: {ASKED_S:.0f})"
        console.print(f"{who}: first private result {told}; all {len(steps)} steps {elapsed_s:.0f} s\n")


if __name__ == "__main__":
    main()
