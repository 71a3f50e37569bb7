"""The conda recipe says what pyproject.toml says: name, version, dependencies, command and license."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from tests.contracts.test_house import REPOSITORY

RECIPE = REPOSITORY / "packages" / "conda" / "meta.yaml"
CONDA_NAMES = {"duckdb": "python-duckdb", "typst": "typst-py"}
"""Python packages that conda-forge lists under another name, because their own is a program there."""


def read_recipe():
    """Read it as plain YAML: it holds no template."""
    return yaml.safe_load(RECIPE.read_text())


def read_project():
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def bounds_by_name(lines):
    """Version bounds by the package's name on conda-forge."""
    parsed = [Requirement(line) for line in lines]
    assert not [each for each in parsed if each.marker or each.extras or each.url]
    return {CONDA_NAMES.get(each.name, each.name): each.specifier for each in parsed}


def test_dependencies_are_the_projects():
    """Each with the same bounds; what runs needs no more and no less, and what builds adds pip."""
    recipe, project = read_recipe(), read_project()
    python = f"python{project['project']['requires-python']}"
    needed = {"run": project["project"]["dependencies"], "host": ["pip", *project["build-system"]["requires"]]}
    for part, lines in needed.items():
        assert bounds_by_name(recipe["requirements"][part]) == bounds_by_name([python, *lines])
    assert recipe["requirements"].keys() == needed.keys()


def test_name_version_command_and_license_are_the_projects():
    """The recipe repeats nothing that has changed."""
    recipe, project = read_recipe(), read_project()["project"]
    assert recipe["package"] == {"name": project["name"], "version": project["version"]}
    assert recipe["build"]["entry_points"] == [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["license_file"] == project["license-files"]
    assert recipe["about"]["summary"] == project["description"]


def test_it_is_built_from_the_tree_for_every_platform():
    """From the folder that holds pyproject.toml, by pip without an index; no address and no template."""
    recipe = read_recipe()
    assert (RECIPE.parent / recipe["source"].pop("path") / "pyproject.toml").resolve() == REPOSITORY / "pyproject.toml"
    assert recipe["source"] == {}
    assert recipe["build"]["noarch"] == "python"
    assert {"--no-deps", "--no-build-isolation", "--no-index"} <= set(recipe["build"]["script"].split())
    assert not re.search(r"https?:|\{\{|\{%", RECIPE.read_text())


@pytest.mark.parametrize(("name", "other"), [("numpy", "numpy>=1.0"), ("opendp", "opendp>=0.16"), ("duckdb", "typst")])
def test_a_dependency_that_differs_is_seen(name, other):
    """Control: another bound, a missing upper bound, another package."""
    lines = read_project()["project"]["dependencies"]
    changed = [other if Requirement(line).name == name else line for line in lines]
    assert bounds_by_name(changed) != bounds_by_name(lines)
