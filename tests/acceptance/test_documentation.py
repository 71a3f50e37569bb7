"""Every example of the documentation runs as it is printed, in a folder that holds what the page names.

Of a page, the commands of its ``console`` and ``sh`` blocks and the code of its ``python`` blocks run in order. A
``yaml`` block whose first line is a comment with a file name becomes that file. What cannot run in a test is listed
in `NOT_RUN` with a reason; if it is a command of ours, it must still parse.
"""

import contextlib
import doctest
import functools
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from discreet.cli.main import app, run
from discreet.data.metadata import Metadata
from discreet.simulation import choice
from discreet.workflow.run_file import read_run
from tests.acceptance import documented_tables

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
BLOCK = re.compile(r"^( *)```(\{?[\w-]*\}?)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

COMMANDS, CODE = {"console", "sh"}, {"python"}
FILES = {"yaml"}
NEITHER = {"text", "json", "r", "sql", "ini", "", "{toctree}", "{eval-rst}", "{image}", "{math}"}
"""Languages of blocks: what runs, what may become a file, and what is only read."""

SERVICE = "needs a service and a key; test_remote_command and test_service_* run one"
CLUSTER = "needs a Spark session of its own; test_spark_table runs one"
SERVER = "needs a database server; test_postgres_table and test_service_backup run one"
MACHINE = "changes the machine, or needs the network"
RESTORED = "needs a ledger that was put back; back-up.md runs these commands, and test_restored_backup"
LONG = "takes minutes; test_reproduce_command runs it on small tables"

NOT_RUN = (
    (r"discreet remote ", SERVICE),
    (r"discreet serve --(demo|config)", "serves until it is stopped; tests/e2e and test_service_* do so"),
    (r"discreet worker ", "serves until it is stopped; test_service_* do so"),
    (r"discreet reproduce .*--data", LONG),
    (r"discreet selftest", "takes a minute; tests/contracts/test_selftest.py runs it in parts"),
    (r"curl ", SERVICE),
    (r".*\bpostgresql://", SERVER),
    (r".*\bspark:", CLUSTER),
    (r'.*"\$OWNER"', SERVER),
    (r'psql "\$ADMIN"|pg_dump|pg_restore', SERVER),
    (r"discreet budget (reconcile|verify) .*(ledger\.witness|office/)", RESTORED),
    (r"pip install|make |\. \.venv|useradd|chown|chmod|sed -i|export PGPASSFILE|rm -f office|cp backup", MACHINE),
    (r"mkdir -p backup|python3 -c .*office/|python3 -m venv", MACHINE),
)
"""Commands that begin in one of these ways are only parsed, for the reason given."""

CODE_NOT_RUN = (
    ("dc.Remote(", SERVICE),
    ("service.wait(", SERVICE),
    ("spark.read.table(", CLUSTER),
    ("ibis.snowflake.", "needs a warehouse on the network"),
    ('dc.open_table("reads.parquet"', "shows one call; test_wide_table runs it"),
    ("dc.best_subsets(gram", "shows two calls on moments of the reader; test_best_subsets runs them"),
)
"""Python blocks that hold one of these do not run."""

NOTHING_RUNS = {
    "docs/how-to/ask-a-service.md": SERVICE,
    "docs/how-to/run-on-spark.md": CLUSTER,
    "docs/how-to/test-the-guarantee.md": "takes a minute; tests/contracts/test_selftest.py runs it in parts",
    "docs/tutorials/quickstart-service.md": SERVICE,
    "docs/reference/metadata.md": "its Python shows one call",
    "docs/reference/python/without-privacy.md": "generated from docstrings, whose examples run as doctests",
}
"""Pages with examples of which none runs."""

HELP = "docs/reference/commands.md"
"""Generated from what the commands say of themselves: examples without a prompt, which must parse."""

SMALLER = {"plan": (["--tables", "2"], ["--method", "moments"], ["--epsilon", "0.5,1"])}
"""Added to a command where it does not say otherwise: coarser figures, of one method, at two epsilons."""
FEW_TABLES = ((4, 2), (4, 1))
"""On which the method `auto` is chosen: what it chooses does not matter here."""

EXACT = re.compile(r"sha256sum|discreet metadata check|discreet budget (grant|allot|show)|discreet .*--dry-run$")
"""Commands whose printed output is not noisy: what the page shows of it must be what they print."""

ALLOWED = {"sha256sum", "head", "ls", "mkdir"}


class Block(NamedTuple):
    """A block of a page."""

    language: str
    text: str


class Command(NamedTuple):
    """A command as the page prints it, and what it shows below."""

    line: str
    shown: str


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page."""
    return [Block(found[2], re.sub(f"^{found[1]}", "", found[3], flags=re.MULTILINE)) for found in BLOCK.finditer(text)]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a block: after a prompt, or every line where the block has none."""
    text = re.sub(r" *\\\n *", " ", block.text)
    if block.language == "sh":
        text = re.sub(r"^(?=\S)", "$ ", text, flags=re.MULTILINE)
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Command(shlex.join(shlex.split(line, comments=True)) if "#" in line else line.strip(), shown.strip())


def reason(line: str) -> str | None:
    """Why a command does not run."""
    return next((why for start, why in NOT_RUN if re.match(start, line)), None)


def code_reason(code: str) -> str | None:
    """Why a block of Python does not run."""
    return next((why for part, why in CODE_NOT_RUN if part in code), None)


@functools.cache
def ours() -> Any:
    """The command with all that are below it."""
    return typer.main.get_command(app)


def parse(line: str) -> None:
    """Check that a command of ours, and its options, exist and take what they are given."""
    words = shlex.split(line)[1:]
    command = ours()
    context = None
    while hasattr(command, "commands"):
        context = command.make_context(words[0], words, parent=context)
        _, command, words = command.resolve_command(context, words)
        words = words if hasattr(command, "commands") else [command.name, *words]
    command.make_context(words[0], words[1:], parent=context)


class Reader:
    """Somebody who follows a page, in a folder."""

    def __init__(self, folder: Path, text: str, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capture, self.n_run = folder, capture, 0
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.given = documented_tables.prepare(folder, text)

    def follow(self, text: str) -> None:
        """Run every example of the page."""
        for block in blocks(text):
            if block.language in COMMANDS:
                for command in commands(block):
                    self.enter(command)
            elif block.language in CODE and code_reason(block.text) is None:
                self.execute(block.text)
            elif block.language in FILES and (name := re.match(r"# ([\w.-]+\.yaml)\n", block.text)):
                (self.folder / name[1]).write_text(block.text)

    def enter(self, command: Command) -> None:
        """Run a command, or check that it could be."""
        line = command.line
        if reason(line) is not None:
            if line.startswith("discreet "):
                parse(line.partition(" > ")[0])
            return
        self.n_run += 1
        words, _, target = line.partition(" > ")
        if line.startswith("discreet metadata new") and " --out " in line:
            (self.folder / line.partition(" --out ")[2].split()[0]).unlink(missing_ok=True)  # an earlier block used it
        code, out, err = self.run(shlex.split(words))
        if target:
            (self.folder / target.strip()).write_text(out)
        told = " ".join((out + err).split())
        if command.shown.startswith("Error: "):
            assert code != 0, line
            assert " ".join(command.shown.split()) in told, line
            return
        assert code == 0, (line, code, err)
        if EXACT.search(line):
            for shown in command.shown.splitlines():
                assert " ".join(shown.split()) in told, (line, shown, out, err)
        if line.startswith("discreet metadata new"):
            documented_tables.fill_in(self.folder, self.given)

    def run(self, words: list[str]) -> tuple[int, str, str]:
        """Run the words of a command; return its code and what it printed."""
        if words[0] == "discreet":
            given = SMALLER.get(words[1], ())
            self.capture.readouterr()
            code = run([*words[1:], *(word for option in given if option[0] not in words for word in option)])
            return code, *self.capture.readouterr()
        assert words[0] in ALLOWED, words
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def execute(self, code: str) -> None:
        """Run Python, in the one namespace of the page; with prompts, compare what it prints."""
        self.n_run += 1
        if not code.lstrip().startswith(">>>"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, "page", "exec"), self.names)  # noqa: S102 - our own pages
            return
        test = doctest.DocTestParser().get_doctest(code, {}, "page", None, 0)
        test.globs = self.names
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        assert runner.run(test, out=report.write, clear_globs=False).failed == 0, report.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; nothing outside it and its neighbor is written."""
    home, work = tmp_path / "home", tmp_path / "work"
    for path in (home, work):
        path.mkdir()
    for name in ("TMPDIR", "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("DISCREET_OWNER_LOG", raising=False)
    monkeypatch.delenv("DISCREET_WITNESS", raising=False)
    monkeypatch.setenv("DISCREET_LEDGER", str(work / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(choice, "ROUNDS", FEW_TABLES)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(work)
    return work


def examples(text: str) -> int:
    """How many commands and blocks of code a page prints."""
    return sum(
        len(list(commands(block))) if block.language in COMMANDS else block.language in CODE for block in blocks(text)
    )


@pytest.mark.parametrize("page", [page for page, path in PAGES.items() if page != HELP and examples(path.read_text())])
def test_the_examples_of_a_page_run(page, folder, capsys):
    """A reader who does what the page prints gets what it says, in the order of the page."""
    text = PAGES[page].read_text()
    reader = Reader(folder, text, capsys)
    reader.follow(text)
    assert (reader.n_run == 0) == (page in NOTHING_RUNS), "no example ran, and the page is not listed, or one did"


def test_every_block_is_of_a_known_kind():
    """A block in a language that nobody runs or reads is a mistake."""
    languages = {(page, block.language) for page, path in PAGES.items() for block in blocks(path.read_text())}
    assert {(page, name) for page, name in languages if name not in COMMANDS | CODE | FILES | NEITHER} == set()


@pytest.mark.parametrize("page", [page for page, path in PAGES.items() if "schema: discreet/" in path.read_text()])
def test_printed_metadata_and_plans_are_valid(page, folder):
    """Whole files that a page prints are read without a complaint."""
    for block in blocks(PAGES[page].read_text()):
        if block.language == "yaml" and "schema: discreet/metadata@1" in block.text:
            Metadata.from_text(block.text)
        elif block.language == "yaml" and "schema: discreet/run@1" in block.text:
            (folder / "plan.yaml").write_text(block.text)
            read_run(folder / "plan.yaml")


def test_printed_help_parses():
    """Examples of the help, which run on other pages, exist and take what they are given."""
    lines = [
        line
        for block in blocks(PAGES[HELP].read_text())
        if block.language == "console"
        for line in re.sub(r" *\\\n *", " ", block.text).splitlines()
        if line.startswith("discreet ")
    ]
    for line in lines:
        parse(line.partition("#")[0].partition(" > ")[0])
    assert len(lines) > 20


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ discreet plan --metadata clinic.yaml --target visits --nonsense\n```\n",
        "```console\n$ discreet remote datasets --nonsense\n```\n",
        "```console\n$ discreet budget show\nError: There is something else.\n```\n",
        "```console\n$ discreet metadata check clinic.yaml\nclinic.yaml is ready: 99 columns, 0 warnings.\n```\n",
        "```python\nimport discreet as dc\ndc.nonsense\n```\n",
        "```python\n>>> 1 + 1\n3\n\n```\n",
    ],
)
def test_the_check_can_fail(text, folder, capsys):
    """Control: an option, an output, an error or a name that is not what the page says is seen."""
    reader = Reader(folder, text, capsys)
    with pytest.raises((AssertionError, AttributeError, typer.TyperException)):
        reader.follow(text)
