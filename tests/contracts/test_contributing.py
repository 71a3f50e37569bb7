"""The method that CONTRIBUTING.md adds as an example works as it is printed there."""

import importlib.util
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import discreet.methods
from discreet.mechanisms.rng import Source
from discreet.methods import registry
from tests.contracts import claims
from tests.contracts.claims import FIELDS, head_of
from tests.contracts.reach import House
from tests.privacy.screenings import table_of

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
LISTINGS = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))


def module_of(path, name, text):
    """A listing of the page as a module."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The example as if its file, and its line in the registry, were there."""
    text = LISTINGS["src/discreet/methods/strongest.py"]
    module = module_of(tmp_path / "strongest.py", "discreet.methods.strongest", text)
    monkeypatch.setitem(sys.modules, "discreet.methods.strongest", module)
    monkeypatch.setattr(discreet.methods, "strongest", module, raising=False)
    line = re.search(r'^"strongest": \("(\S+)", "(\S+)"\),$', PAGE, re.MULTILINE)
    monkeypatch.setitem(registry._HOMES, "strongest", line.groups())
    return module


def test_example_selects(example):
    """By its name, the column that makes the target is found where noise is small."""
    table = table_of([[0.1, x, 0.0, x] for x in (-1.0, 1.0)] * 500)
    prepared = registry.method_of("strongest", epsilon=100.0).prepare(table.metadata, "y")
    assert prepared.run(table, Source()).selected == ("x1",)


def test_privacy_test_of_the_example_passes(example, tmp_path, monkeypatch):
    """Its worst pairs hold, and its control is flagged."""
    checks = module_of(tmp_path / "checks.py", "checks", LISTINGS["tests/privacy/test_strongest.py"])
    for relation in checks.PAIRS:
        with monkeypatch.context() as patch:
            checks.test_worst_pair_loses_at_most_epsilon(patch, relation)
            checks.test_half_the_noise_is_flagged(patch, relation)


def test_head_of_the_example_has_the_fields(example):
    """The head that the page shows is one that the checks of claims take."""
    fields = head_of(re.search(r"````text\n(.*?)````", PAGE, re.DOTALL).group(1))
    assert tuple(fields) == FIELDS
    for field in ("tests", "controls"):
        name = fields[field].split("::")[1]
        assert f"def {name}(" in LISTINGS[f"tests/{fields[field].split('::')[0]}"]


@pytest.mark.slow
def test_what_the_example_rests_on_follows_from_its_code(tmp_path):
    """The sources with the example in them: its reach covers its own file, and ends at the claims that it names."""
    fields = head_of(re.search(r"````text\n(.*?)````", PAGE, re.DOTALL).group(1))
    root = shutil.copytree(claims.ROOT, tmp_path / "discreet", ignore=shutil.ignore_patterns(*claims.ABOVE))
    (root / "methods" / "strongest.py").write_text(LISTINGS["src/discreet/methods/strongest.py"])
    reach = House(root, claims.LEFT_OUT).reach([fields["function"]], claims.claimed())
    assert {name.partition(" ")[0] for name in reach.claims} == set(fields["rests_on"].split(", "))
    assert "discreet.methods.strongest.Strongest" in reach.definitions


def test_map_names_every_folder():
    """A folder of the core, or a package beside it, that the map leaves out is seen."""
    package, beside = Path(registry.__file__).parents[1], Path(__file__).parents[2] / "packages"
    table = PAGE[PAGE.index("## The map") : PAGE.index("Beside them:")]
    folders = {path.name for path in package.iterdir() if (path / "__init__.py").is_file()}
    folders |= {path.name for path in beside.iterdir()}
    assert [name for name in sorted(folders) if f"`{name}`" not in table] == []


def walks():
    """The walks of the page: for each, its files in their order."""
    text = PAGE[PAGE.index("## Three walks") : PAGE.index("## Rules that are not style")]
    return [re.findall(r"^[0-9]\. `([a-z_/]+)\.py`", walk, re.MULTILINE) for walk in text.split("**")[2::2]]


def test_each_walk_can_be_followed():
    """Every file is there, and one before it imports it, or its package, or names it."""
    package = Path(registry.__file__).parents[1]
    assert len(walks()) == 3
    for files in walks():
        assert len(files) > 5
        earlier = (package / f"{files[0]}.py").read_text()
        for file in files[1:]:
            folder, _, module = f"discreet.{file.replace('/', '.')}".rpartition(".")
            ways = (rf"{folder}\.{module}\b", rf"from {folder} import .*\b{module}\b", rf"from {folder} import [A-Z]")
            top = rf"from discreet import {folder.removeprefix('discreet.')}$"
            assert any(re.search(way, earlier, re.MULTILINE) for way in (*ways, top)), file
            earlier += (package / f"{file}.py").read_text() + (package / file).with_name("__init__.py").read_text()


def test_citation_names_the_version_and_the_papers():
    """CITATION.cff is of this version, and its references are the papers that the documentation corrects."""
    root = Path(__file__).parents[2]
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert citation["version"] == tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    papers = (root / "docs" / "explanation" / "papers.md").read_text().casefold()
    assert len(citation["references"]) == 3
    for one in citation["references"]:
        assert f"*{one['title']}*".casefold() in papers
        assert all(author["family-names"].casefold() in papers for author in one["authors"])
