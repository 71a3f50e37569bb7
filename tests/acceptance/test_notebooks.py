"""The notebooks of the documentation run from the first cell to the last, and what they show is shown."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells(path):
    """The code cells, as a notebook runs them."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def run(code, names):
    """Run a cell; return the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - ours
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """In an empty folder; objects of ours that end a cell have a view of their own."""
    monkeypatch.chdir(tmp_path)
    names, views = {"__name__": "__main__"}, 0
    for code in cells(path):
        value = run(code, names)
        if type(value).__module__.startswith("discreet"):
            view = getattr(value, "_repr_html_", None) or getattr(value, "_repr_svg_", None)
            assert view is not None, (path.name, code)
            assert len(view()) > 100
            views += 1
    assert views >= 2, path.name


def test_there_are_notebooks_without_outputs():
    """Three, and none with a number that somebody's run left."""
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        document = json.loads(path.read_text())
        assert document["nbformat"] == 4
        code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
        assert Path(path).read_text().endswith("\n")
