"""Habits of the house that a reader can rely on, each kept by a check."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

import discreet
import discreet_papers
import discreet_service
from discreet import report, workflow
from tests.conftest import LONG_FILES
from tests.contracts.docstrings import SECTION, inner_functions_with_sections, parsed

PACKAGE = Path(discreet.__file__).parent
REPOSITORY = Path(__file__).parents[2]
PLUGINS = tuple(Path(package.__file__).parent for package in (discreet_papers, discreet_service))
MODULES = sorted(path for package in (PACKAGE, *PLUGINS) for path in package.rglob("*.py"))
DOOR = "mechanisms/rng.py"


def place_of(path):
    """A module's place in the core, or below the folder of the other packages."""
    folder = next((package.parent for package in PLUGINS if path.is_relative_to(package)), PACKAGE)
    return path.relative_to(folder).as_posix()


@cache
def trees():
    """All modules by their place."""
    return {place_of(path): parsed(path) for path in MODULES}


@cache
def named(tree):
    """Dotted names that a module imports or reaches."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found.append(ast.unparse(node))
    return found


CHANCE = re.compile(r"^(random|secrets)(\.|$)|(np|numpy)\.random|os\.urandom|uuid\.uuid[14]|default_rng|RandomState")


def test_randomness_has_one_door():
    """Only mechanisms/rng.py may touch a source of random bits."""
    assert [place for place, tree in trees().items() if any(map(CHANCE.search, named(tree)))] == [DOOR]


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


def test_no_format_that_can_run_code():
    """No pickle, no eval, no YAML loader that builds objects; but Spark's own way to send a task to its workers."""
    names = {place: set(running(tree)) for place, tree in trees().items()}
    used = {place: sorted(each) for place, each in names.items() if each}
    assert used.keys() == TASKS, used
    assert all(name.startswith("cloudpickle") for each in used.values() for name in each), used


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


LAZY = {
    **{f"discreet{package}": ("_HOMES",) for package in ("", ".report", ".workflow")},
    **{f"discreet_service.{face}": ("ROUTERS",) for face in ("api", "pages")},
}
"""Tables that a package's own file holds beside its imports."""

PATCHES = {
    "kernels/rows/thread_limits.py": ("sys.modules", "kind._running", "kind._limits"),
    "discreet_service/worker/delivery.py": ("sys.modules",),
}
"""What looks at the modules that are loaded, and what sets up a class of its own."""


def beside_imports(tree, tables=()):
    """Statements of a package's own file that are no import, docstring, `__all__`, table or function."""
    statements = []
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse
        if is_typing and all(isinstance(inner, ast.ImportFrom) for inner in node.body):
            continue
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and not _of_arguments(node):
            continue
        targets = [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []
        is_table = targets and not any(isinstance(part, ast.Call) for part in ast.walk(node.value))
        if not (isinstance(node, (ast.Import, ast.ImportFrom)) or is_text):
            statements += [] if is_table and set(targets) <= {"__all__", *tables} else [ast.unparse(node)]
    return statements


def _of_arguments(function):
    """Calls that run when a function is defined."""
    defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
    return [part for default in defaults for part in ast.walk(default) if isinstance(part, ast.Call)]


def patches(tree):
    """What a file changes of something that it imports or defines, or reaches by a module's table of names."""
    shared = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            shared |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    own = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    own |= {part.arg for part in ast.walk(tree) if isinstance(part, ast.arg)}
    for node in ast.walk(tree):  # another name of such a thing is that thing
        is_name = isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name)
        if is_name and ast.unparse(node.value).partition(".")[0] in shared - own:
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            own, shared = own - names, shared | names
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            first = node.value
            while isinstance(first, (ast.Attribute, ast.Subscript)):
                first = first.value
            if isinstance(first, ast.Name) and first.id in shared - own:
                yield ast.unparse(node)
            if isinstance(first, ast.Call) and re.search("import_module|__import__|^vars", ast.unparse(first)):
                yield ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            first = node.args[0]
            if not (isinstance(first, ast.Name) and first.id in own):
                yield ast.unparse(node)
        is_all = isinstance(node, ast.Attribute) and node.attr == "modules"
        is_all = is_all or (isinstance(node, ast.Call) and not node.args)
        if is_all and ast.unparse(node) in ("sys.modules", "globals()"):
            yield ast.unparse(node)


def test_to_import_a_package_does_nothing_else():
    """No claim covers a package's own file: it imports, names what it exports, and tells where the rest is."""
    packages = {
        ".".join([*([] if place.startswith("discreet_") else ["discreet"]), *place.split("/")[:-1]]): tree
        for place, tree in trees().items()
        if place.endswith("__init__.py")
    }
    statements = {name: beside_imports(tree, LAZY.get(name, ())) for name, tree in packages.items()}
    assert len(packages) > 20
    assert {name: each for name, each in statements.items() if each} == {}


def test_nothing_is_replaced_in_another_module():
    """No code gives a module, class or function of another file other attributes; the self-test does, to break them."""
    replaced = {place: set(patches(tree)) - set(PATCHES.get(place, ())) for place, tree in trees().items()}
    assert {place: each for place, each in replaced.items() if each and not place.startswith("selftest/")} == {}


MONKEYS = (
    "from discreet.mechanisms import rng\nrng.Source = None",
    "from discreet.mechanisms.rng import Source\nSource.bits = lambda self, n: 0",
    "import discreet.mechanisms.rng\ndiscreet.mechanisms.rng.Source.bits = None",
    "from discreet.mechanisms.rng import Source\nsetattr(Source, 'bits', None)",
    "import importlib\nimportlib.import_module('discreet.mechanisms.rng').Source = None",
    "from discreet.mechanisms import rng\nsource = rng.Source\nsource.bits = None",
    "import sys\nsys.modules['discreet.mechanisms.rng'] = None",
    "globals()['Source'] = None",
)


@pytest.mark.parametrize("text", MONKEYS)
def test_a_replaced_source_is_seen(text):
    """Control: in a package's own file, and inside of a function, which runs when a name is asked for."""
    assert beside_imports(ast.parse(text))
    assert list(patches(ast.parse(text)))
    inside = "def __getattr__(name):\n" + "".join(f"    {line}\n" for line in text.splitlines())
    assert list(patches(ast.parse(inside)))


@pytest.mark.parametrize(
    "text", ["run()", "x = run()", "for a in b: pass", "@run\ndef f(): pass", "def f(a=run()): pass"]
)
def test_what_runs_at_an_import_is_seen(text):
    """Control: calls, loops, decorators and defaults."""
    assert beside_imports(ast.parse(text), ("x",))


def stating(tree):
    """Calls of what states that rows are the declared columns as they are."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "state"
        and not node.args
    ]


def test_only_one_function_states_what_rows_are():
    """That which opens a table for its caller."""
    calls = {(place, call) for place, tree in trees().items() for call in stating(tree)}
    assert calls == {("data/sources.py", "opened.state()")}
    assert stating(ast.parse("made = ArraysTable(columns, metadata)\nmade.state()")) == ["made.state()"]


def public_things():
    packages = (discreet, discreet_papers, discreet_service)
    for info in (info for each in packages for info in pkgutil.walk_packages(each.__path__, f"{each.__name__}.")):
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
    """The installed version is the project's, and that of the packages that go with it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert version("discreet") == project["version"]
    plugins = [tomllib.loads(file.read_text())["project"] for file in REPOSITORY.glob("packages/*/pyproject.toml")]
    assert {each["name"]: each["version"] for each in plugins} == {
        "discreet-papers": project["version"],
        "discreet-service": project["version"],
    }
    assert all(f"discreet=={project['version']}" in each["dependencies"] for each in plugins)


@pytest.mark.processes
@pytest.mark.parametrize(
    "statement",
    [
        "import discreet",
        "import discreet; discreet.Metadata",
        "from discreet.cli import fit, main, plan, report, select",
        "from discreet_service.cli import remote, serve",
        "from discreet import workflow",
    ],
)
def test_start_waits_for_no_slow_library(statement):
    """At their start package and command load no compiler, no scikit-learn, no migrations."""
    slow = ("numba", "sklearn", "alembic", "opendp", "pandas", "scipy")
    code = f"{statement}; import sys; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], []])
def test_help_loads_no_command(arguments):
    """Version and list of commands need the command line's own library alone."""
    code = f"""if True:
        import sys
        from discreet.cli.main import run
        run({arguments})
        ours = {{name for name in sys.modules if name.startswith("discreet.")}}
        slow = {{"numpy", "pyarrow", "sqlalchemy", "duckdb", "scipy", "pydantic", "jinja2"}} & set(sys.modules)
        print(sorted(ours), sorted(slow), file=sys.stderr)
    """
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = ["discreet.cli", "discreet.cli.lazy", "discreet.cli.main", "discreet.errors"]
    assert completed.stderr.splitlines()[-1] == f"{ours} []"


@pytest.mark.processes
def test_help_of_a_command_loads_no_library():
    """Help of a command needs its options alone, and parameters as they are written: no table, no ledger, no page."""
    code = """if True:
        import sys
        from discreet.cli.main import COMMANDS, run
        pages = [[command.name] for command in COMMANDS] + [["metadata", "check"], ["budget", "grant"]]
        codes = {run([*page, "--help"]) for page in pages}
        slow = {"numpy", "pyarrow", "sqlalchemy", "duckdb", "scipy", "numba", "jinja2", "httpx2", "fastapi"}
        print(codes, sorted(slow & set(sys.modules)), file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "{0} []"


@pytest.mark.parametrize("package", [discreet, report, workflow])
def test_exports_are_there(package):
    """Each name of __all__ can be had and is no module's name, and an unknown one is refused as any attribute."""
    for name in package.__all__:
        assert not inspect.ismodule(getattr(package, name))
        assert importlib.util.find_spec(f"{package.__name__}.{name}") is None
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = package.nothing_such


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


def test_sections_of_docstrings_stand_where_they_are_due():
    """In what people call and what a proof cites; elsewhere one to three lines say what name and types do not."""
    assert not inner_functions_with_sections()
    assert SECTION.search("Return a sum.\n\n    Parameters\n    ----------\n    x : int")


def test_what_is_begun_first_is_there():
    """A long file of tests that is renamed keeps its place."""
    assert set(LONG_FILES) <= {path.stem for path in (REPOSITORY / "tests").rglob("test_*.py")}
