"""Tests of one module with a fault in it, each in a process forked from one that has loaded the libraries already.

A first run without faults notes how long each test takes and which functions of the modules it calls. A fault is then
met by the tests that call its function, the quickest first, until one fails. Everything happens in a copy of the tree.
"""

import contextlib
import functools
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[1]
LIBRARIES = (
    "alembic.command",
    "duckdb",
    "hypothesis.stateful",
    "mpmath",
    "numba",
    "opendp.measurements",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pydantic",
    "scipy.optimize",
    "scipy.stats",
    "sqlalchemy",
)
"""Loaded once; the package itself never is, so that each process loads it with its fault."""

TOO_LONG = 124
"""Exit status of a test that took far longer than without a fault."""


@dataclass(frozen=True)
class Baseline:
    """What a run without faults found: seconds of each test, and the tests that call each function, by its line."""

    seconds: dict[str, float]
    callers: dict[str, dict[int, list[str]]]
    everywhere: set[tuple[str, int]]


def copied_tree(folder: Path) -> Path:
    """Copy what the tests need, the compiled kernels included."""
    tree = folder / "tree"
    for name in ("src", "packages", "tests", "benchmarks"):
        shutil.copytree(REPOSITORY / name, tree / name)
    shutil.copy(REPOSITORY / "pyproject.toml", tree)
    return tree


def load_libraries() -> None:
    """Load what every process needs."""
    for name in LIBRARIES:
        importlib.import_module(name)


def baseline(tree: Path, suite: tuple[str, ...], modules: list[str], kept: Path | None, *, servers: bool) -> Baseline:
    """Run all tests of a suite without faults, but those of files whose notes are kept; every one must pass."""
    notes = json.loads(kept.read_text()) if kept and kept.exists() else {}
    sources = _digest(tree / path for path in modules)
    keys = {str(file.relative_to(tree)): _digest([file]) + sources for file in _files(tree, suite)}
    asked = tuple(file for file, key in keys.items() if notes.get(file, {}).get("key") != key)
    if asked:
        target = tree.parent / "notes.json"
        plugin = functools.partial(_Notes, tree, modules, target, servers=servers)
        status = in_fork(tree, functools.partial(run_tests, asked, plugin), 3600.0, show=True)
        if status != 0:
            raise SystemExit(f"The tests must pass without a fault, but pytest ended with {status}.")
        fresh = json.loads(target.read_text())
        notes |= {file: {"key": keys[file], "tests": fresh["tests"].get(file, {})} for file in asked}
        notes["everywhere"] = sorted({tuple(at) for at in (*notes.get("everywhere", ()), *fresh["everywhere"])})
        if kept:
            kept.write_text(json.dumps(notes))
    return _joined({name: test for file in keys for name, test in notes[file]["tests"].items()}, notes["everywhere"])


def _files(tree: Path, suite: tuple[str, ...]) -> list[Path]:
    named = [tree / name for name in suite]
    return sorted(file for one in named for file in (one.rglob("test_*.py") if one.is_dir() else [one]))


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _joined(tests: dict[str, Any], everywhere: list[list[Any]]) -> Baseline:
    callers: dict[str, dict[int, list[str]]] = {}
    for name, test in tests.items():
        for path, line in test["calls"]:
            callers.setdefault(path, {}).setdefault(line, []).append(name)
    return Baseline({name: test["seconds"] for name, test in tests.items()}, callers, {tuple(at) for at in everywhere})


def outcome(tree: Path, path: str, faulty: str, tests: list[str], seconds: dict[str, float]) -> str:
    """Return "killed", "too long" or "survived" for a module's source with a fault."""
    if not tests:
        return "survived"
    with changed(tree / path, faulty):
        files = tuple(dict.fromkeys(name.split("::")[0] for name in tests))
        allowed = sum(_limit(seconds[name]) for name in tests) + 60.0
        status = in_fork(tree, functools.partial(run_tests, files, lambda: _Chosen(tests, seconds)), allowed)
    return {0: "survived", TOO_LONG: "too long", -signal.SIGKILL: "too long"}.get(status, "killed")


@contextlib.contextmanager
def changed(module: Path, source: str) -> Iterator[None]:
    """Have a module say something else for a while."""
    before = module.read_text()
    for file in module.parent.glob(f"__pycache__/{module.stem}.*.pyc"):  # a fault within the same second is not seen
        file.unlink()
    module.write_text(source)
    try:
        yield
    finally:
        module.write_text(before)


def _limit(seconds: float) -> float:
    """How long a test may take beside a fault: on a busy machine, too."""
    return 10.0 + 10.0 * seconds


# ---- processes


def in_fork(tree: Path, work: Callable[[], int], allowed_s: float, *, show: bool = False) -> int:
    """Run something in a process of its own, and in a folder of its own for temporary files; return its status."""
    scratch = Path(tempfile.mkdtemp(prefix="mutant-", dir=tree.parent))
    scratch.chmod(0o755)  # a server of the tests' own runs as another user
    process = os.fork()
    if process == 0:
        status = 3
        with contextlib.suppress(BaseException):
            _settle(tree, scratch, show=show)
            status = work()
        os._exit(status)
    end = time.monotonic() + allowed_s
    found, how = 0, 0
    try:
        while found == 0 and time.monotonic() < end:
            found, how = os.waitpid(process, os.WNOHANG)
            time.sleep(0.01)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what the tests left running, and on timeout the tests
        shutil.rmtree(scratch, ignore_errors=True)
    if found == 0:
        _, how = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(how)


def _settle(tree: Path, scratch: Path, *, show: bool) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(tree)
    tempfile.tempdir = None
    sources = [str(path) for path in (tree / "src", *sorted(tree.glob("packages/*/src")), tree)]
    os.environ |= {
        "TMPDIR": str(scratch),
        "PYTHONPATH": ":".join(sources),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    sys.path[:0] = sources
    for name in [name for name in sys.modules if name.split(".")[0].startswith(("discreet", "tests", "benchmarks"))]:
        del sys.modules[name]
    if not show:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        limit = 12 * 2**30  # a fault may ask for any amount of memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_tests(words: tuple[str, ...], plugin: Callable[[], Any]) -> int:
    """Run tests in a fork until one fails, watched by a plugin; return pytest's exit status."""
    import discreet  # only here, and only in a fork

    assert Path(discreet.__file__).is_relative_to(Path.cwd()), discreet.__file__
    options = ["-x", "-q", "-p", "_hypothesis_pytestplugin", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *words], plugins=[plugin()]))


# ---- what the first run notes


class _Notes:
    """A plugin of pytest that notes seconds and calls."""

    def __init__(self, tree: Path, modules: list[str], target: Path, *, servers: bool) -> None:
        self._names = {str(tree / path): path for path in modules}
        self._target, self._servers = target, servers
        self._seconds: dict[str, float] = {}
        self._calls: dict[str, set[CodeType]] = {}
        self._shared: set[CodeType] = set()
        self._now = self._shared
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self._servers:
            items[:] = [item for item in items if "postgres" not in item.nodeid and "server" not in item.nodeid]

    def _trace(self, frame: FrameType, _event: str, _arg: object) -> None:
        if frame.f_code.co_filename in self._names:
            self._now.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for module in [module for name, module in sys.modules.items() if name.startswith("discreet.")]:
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):  # or only the first test would be seen to call it
                    value.cache_clear()
        self._now = self._calls.setdefault(item.nodeid, set())
        sys.settrace(self._trace)  # some libraries put their own
        start = time.perf_counter()
        result = yield
        self._seconds[item.nodeid] = time.perf_counter() - start
        self._now = self._shared
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        before = self._now
        if fixturedef.scope != "function":  # serves other tests, too
            self._now = self._shared
        try:
            return (yield)
        finally:
            self._now = before

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        threading.settrace(None)
        tests: dict[str, dict[str, Any]] = {}
        for name, seconds in self._seconds.items():
            noted = {"seconds": seconds, "calls": self._places(self._calls[name])}
            tests.setdefault(name.split("::")[0], {})[name] = noted
        self._target.write_text(json.dumps({"tests": tests, "everywhere": self._places(self._shared)}))

    def _places(self, codes: set[CodeType]) -> list[tuple[str, int]]:
        return sorted({(self._names[code.co_filename], code.co_firstlineno) for code in codes})


class _Chosen:
    """A plugin of pytest that runs chosen tests in their order, none of them for long."""

    def __init__(self, tests: list[str], seconds: dict[str, float]) -> None:
        self._order, self._seconds = {name: at for at, name in enumerate(tests)}, seconds
        signal.signal(signal.SIGALRM, lambda *_: os._exit(TOO_LONG))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda i: self._order[i.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        signal.setitimer(signal.ITIMER_REAL, _limit(self._seconds[item.nodeid]))
        result = yield
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return result
