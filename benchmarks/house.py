"""The house in figures, beside an earlier commit: its lines, its names, its docstrings, its start and its size.

python -m benchmarks.house                      this tree
python -m benchmarks.house --against COMMIT     and that one, side by side
python -m benchmarks.house --times              the wall time of make demo, check and test in a fresh clone: 40 minutes
"""

import argparse
import ast
import io
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import tokenize
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

EMPTY_NAMES = """
found told one ones asked kept heard spare seat given known seen here there this that some much many wanted
thing things stuff said came got had made handed among apart what whatever it them they again away back bought
"""
"""Names that do not say what they hold."""

MB = 2**20


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit, measured beside this tree")
    parser.add_argument("--times", action="store_true", help="make demo, check, check again and test, in a fresh clone")
    options = parser.parse_args()
    if options.times:
        times()
        return
    against = options.against
    columns = [("this tree", figures(REPOSITORY))]
    if against:
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(
                ["git", "archive", against], cwd=REPOSITORY, capture_output=True, check=True
            ).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                files.extractall(folder, filter="data")
            columns.insert(0, (against[:12], figures(Path(folder))))
    print(f"{'':52}", *(f"{title:>14}" for title, _ in columns))
    for name in columns[-1][1]:
        print(f"{name:52}", *(f"{values[name]:>14}" for _, values in columns))


TARGETS = ("demo", "check", "check", "test")
"""The second `check` finds what numba and mypy kept."""


def times() -> None:
    """Print how long each takes from a fresh clone of the last commit, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
        surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for target in TARGETS:
            start = time.perf_counter()
            done = subprocess.run(["make", target], cwd=clone, env=surroundings, capture_output=True, check=False)
            minutes, seconds = divmod(time.perf_counter() - start, 60.0)
            print(
                f"make {target:6} {minutes:3.0f} min {seconds:2.0f} s{'' if done.returncode == 0 else '  FAILED'}",
                flush=True,
            )


def figures(tree: Path) -> dict[str, str]:
    """Return the figures of a tree by their names."""
    files = sorted(file for home in (tree / "src", tree / "packages") for file in home.rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    all_lines = sum(file.read_text().count("\n") for file in files)
    comments, docstrings = sum(map(comment_lines, files)), sum(map(docstring_lines, trees.values()))
    code = all_lines - comments - docstrings - sum(map(blank_lines, files))
    empty_names = EMPTY_NAMES.split()
    names = [name for tree_ in trees.values() for name in assigned_names(tree_)]
    empty = sum(name.strip("_") in empty_names for name in names)
    lengths = [pair for tree_ in trees.values() for pair in docstring_and_body(tree_)]
    longer = sum(docstring > body for docstring, body in lengths)
    tests = sum(
        len(re.findall(r"^ *def test_", file.read_text(), re.MULTILINE)) for file in (tree / "tests").rglob("test_*.py")
    )
    packages = closure(tomllib.loads((tree / "pyproject.toml").read_text())["project"]["dependencies"])
    return {
        "files of the packages": f"{len(files):,}",
        "lines": f"{all_lines:,}",
        "  of code": f"{code:,}",
        "  of docstrings": f"{docstrings:,}",
        "  of comments": f"{comments:,}",
        "comments for 100 lines of code": f"{100 * comments / code:.1f}",
        "docstrings longer than their function": f"{longer / len(lengths):.0%}",
        "names that do not say what they hold": f"{empty / len(names):.2%}",
        "files that hold l1_radius": str(sum("l1_radius" in file.read_text() for file in files)),
        "longest file, lines": str(max(file.read_text().count("\n") for file in files)),
        "test functions": f"{tests:,}",
        "packages of the core": str(len(packages)),
        "  installed, MB": f"{sum(map(installed_size, packages)) / MB:.0f}",
        "CPU s of --version": f"{cpu_seconds(tree, '--version'):.2f}",
        "CPU s of --help": f"{cpu_seconds(tree, '--help'):.2f}",
    }


def comment_lines(file: Path) -> int:
    """Return the number of lines that are a comment alone."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
    return sum(token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") for token in tokens)


def blank_lines(file: Path) -> int:
    """Return the number of lines with nothing on them, those of docstrings left out."""
    lines, inside = file.read_text().split("\n")[:-1], set()
    for node in docstring_nodes(ast.parse(file.read_text())):
        inside.update(range(node.lineno - 1, node.end_lineno or node.lineno))
    return sum(not line.strip() for number, line in enumerate(lines) if number not in inside)


def docstring_nodes(tree: ast.AST) -> Iterator[ast.Expr]:
    """Return every text that stands as a statement: docstrings, and those below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def docstring_lines(tree: ast.AST) -> int:
    """Return the number of lines of docstrings."""
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in docstring_nodes(tree))


def docstring_and_body(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Return the lines of each function's docstring and those of its body without it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            first = node.body[0]
            docstring = (first.end_lineno or first.lineno) - first.lineno + 1
            yield docstring, (node.end_lineno or first.lineno) - (first.end_lineno or first.lineno)


def assigned_names(tree: ast.AST) -> Iterator[str]:
    """Return each name that something is given: variables, parameters, attributes, functions, classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def closure(requirements: list[str]) -> set[str]:
    """Return the installed packages that requirements bring, all the way down."""
    packages: set[str] = set()
    waiting = [requirement for requirement in requirements if "extra ==" not in requirement]
    while waiting:
        name = re.split(r"[ ;<>=!~\[(]", waiting.pop(), maxsplit=1)[0].lower().replace("_", "-")
        if name in packages:
            continue
        try:
            inner = distribution(name).requires or []
        except PackageNotFoundError:  # for another system or version of Python
            continue
        packages.add(name)
        waiting += [requirement for requirement in inner if "extra ==" not in requirement]
    return packages


def installed_size(package: str) -> int:
    """Return the bytes of an installed package's files."""
    places = (Path(str(file.locate())) for file in distribution(package).files or ())
    return sum(place.stat().st_size for place in places if place.is_file())


def cpu_seconds(tree: Path, option: str) -> float:
    """Return the least CPU time of three starts of the command."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "discreet", option]
        subprocess.run(command, cwd=tree, env={"PYTHONPATH": str(tree / "src")}, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


if __name__ == "__main__":
    main()
