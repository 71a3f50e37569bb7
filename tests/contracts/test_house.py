"""Habits of the house that a reader can rely on, each kept by a check."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import discreet

PACKAGE = Path(discreet.__file__).parent
REPOSITORY = Path(__file__).parents[2]
MODULES = sorted(PACKAGE.rglob("*.py"))
DOOR = PACKAGE / "mechanisms" / "rng.py"


def named(tree):
    """Dotted names that a module imports or reaches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


CHANCE = re.compile(r"^(random|secrets)(\.|$)|(np|numpy)\.random|os\.urandom|uuid\.uuid[14]|default_rng|RandomState")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_randomness_has_one_door(path):
    """Only mechanisms/rng.py may touch a source of random bits."""
    found = [name for name in named(ast.parse(path.read_text())) if CHANCE.search(name)]
    assert bool(found) == (path == DOOR)


def test_the_check_for_chance_can_fail():
    """Control: the ways in which randomness slips in are all seen."""
    for line in ("import random", "from numpy.random import default_rng", "np.random.rand(3)", "os.urandom(8)"):
        assert any(CHANCE.search(name) for name in named(ast.parse(line))), line


RUNS_CODE = re.compile(
    r"^(pickle|_pickle|cloudpickle|dill|shelve|marshal|joblib|jsonpickle)(\.|$)|^(builtins\.)?(eval|exec)$"
    r"|^yaml\.(unsafe|full)_load|^yaml\.(Unsafe|Full)?Loader$|\.read_pickle$|allow_pickle"
)


TASKS = {"data/engines/spark.py", "data/engines/spark_worker.py"}
"""A session sends its own task, as bytes, to its own workers: none is read from a file or from somebody else."""


def running(tree):
    """What a module names that may run code out of a file."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [node.func.id for node in calls if isinstance(node.func, ast.Name)]
    keywords = [str(keyword.arg) for node in calls for keyword in node.keywords]
    return [name for name in (*named(tree), *names, *keywords) if RUNS_CODE.search(name)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_format_that_can_run_code(path):
    """No pickle, no eval, no YAML loader that builds objects; but Spark's own way to send a task to its workers."""
    found = running(ast.parse(path.read_text()))
    assert all(name.startswith("cloudpickle") for name in found)
    assert bool(found) == (path.relative_to(PACKAGE).as_posix() in TASKS)


def test_the_check_for_running_code_can_fail():
    """Control: the ways in which a file could run code are all seen."""
    lines = (
        "import pickle",
        "from pickle import loads",
        "from joblib import load",
        "eval(text)",
        "yaml.unsafe_load(x)",
    )
    lines += ("yaml.load(x, yaml.Loader)", "pd.read_pickle(path)", "np.load(path, allow_pickle=True)", "import shelve")
    for line in lines:
        assert running(ast.parse(line)), line


def public_things():
    for info in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if "migrations" in info.name or "__main__" in info.name:
            continue
        module = importlib.import_module(info.name)
        yield info.name, module
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) == info.name and not name.startswith("_"):
                yield f"{info.name}.{name}", thing


def test_everything_public_is_documented():
    """Every public module, class and function says in a sentence what it is."""
    kinds = (inspect.ismodule, inspect.isclass, inspect.isfunction)
    things = [(name, thing) for name, thing in public_things() if any(kind(thing) for kind in kinds)]
    assert [name for name, thing in things if not inspect.getdoc(thing)] == []


def test_version_is_stated_once():
    """The installed version is the project's."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert version("discreet") == project["version"]


@pytest.mark.parametrize(
    "statement",
    [
        "import discreet",
        "import discreet; discreet.Metadata",
        "from discreet.cli import main",
        "from discreet import workflow",
    ],
)
def test_start_waits_for_no_slow_library(statement):
    """At their start package and command load no compiler, no scikit-learn, no pictures, no migrations."""
    slow = ("numba", "sklearn", "altair", "alembic", "opendp", "pandas", "scipy")
    code = f"{statement}; import sys; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exports_are_there():
    """Each name of __all__ can be had, and an unknown one is refused as any attribute."""
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = discreet.nothing_such


def tracked_text():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    for name in filter(None, listed):
        path = REPOSITORY / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".j2", ".yaml", ".yml", ""} and path.is_file():
            yield name, path.read_text(errors="replace")


def test_no_path_of_one_machine_and_no_address_of_a_registry():
    """The tree names no host of a package registry and no folder of one machine."""
    path = re.compile(r"(^|[^A-Za-z0-9_.])/(work|home|root|Users)/")
    host = re.compile(r"https?://[^ )\"]*(pypi|pythonhosted|npmjs|debian)\.")
    found = [name for name, text in tracked_text() if path.search(text) or host.search(text)]
    assert [name for name in found if name != "tests/contracts/test_house.py"] == []


def test_constraints_pin_names_versions_and_digests_alone():
    """A constraint is NAME==VERSION and the digests of its files: no address, no path, no local build."""
    part = r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+( \\\n    --hash=sha256:[0-9a-f]{64})+(\n    # needs [a-z0-9 -]+)?\n"
    assert re.fullmatch(f"({part})+", (REPOSITORY / "constraints.txt").read_text())
