"""What Discreet is made of is pinned, listed and can be looked up: `make audit` writes the list and asks about it."""

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution, distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.contracts.test_house import REPOSITORY

OURS = ("discreet", "discreet-papers", "discreet-service")
EXTRAS = ("postgres", "spark", "dev")
NOT_IN_THE_CORE = {"pandas", "pyspark", "statsmodels"}


def audit():
    """Where `make` puts the tools of the audit, apart from what they look at."""
    place = Path(sys.prefix) / "audit"
    assert place.is_dir(), "The tools of the audit are not there: `make .venv/audit/tools` installs them"
    return place


def canonical(name):
    """One name of a package for all its spellings."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned():
    """Versions by name, as constraints.txt has them."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (REPOSITORY / "constraints.txt").read_text(), re.MULTILINE)
    return {canonical(name): version for name, version in lines}


def chosen(*words):
    """What is installed for some words of the Makefile: the text that pip is given."""
    command = [sys.executable, REPOSITORY / "constraints.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def chosen_names(*words):
    """Names of what is installed for some words of the Makefile."""
    return {canonical(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", chosen(*words), re.MULTILINE)}


def needed(names=OURS, extras=EXTRAS):
    """Every part that packages need, and those that these need."""
    todo, seen = [(name, tuple(extras)) for name in names], set()
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        found = [Requirement(text) for text in distribution(one[0]).requires or []]
        asked = [need for need in found if _applies(need, one[1])]
        todo += [(canonical(need.name), tuple(sorted(need.extras))) for need in asked]
    return {name for name, _ in seen} - {*OURS}


def _applies(need, extras):
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def test_every_part_is_pinned():
    """Whatever comes with Discreet and its parts stands in constraints.txt, with the version that is installed."""
    parts = needed() | needed(["hatchling"], ())
    assert len(parts) > 100
    assert parts - pinned().keys() == set()
    other = {name for name in parts if distribution(name).version != pinned()[name]}
    assert other == set()


@pytest.mark.processes
def test_what_is_installed_is_complete():
    """Each group brings all that its parts need, as they say themselves, and nothing that no part of it needs."""
    everything = chosen_names("build-system", *OURS, *EXTRAS)
    assert everything == needed() | needed(["hatchling"], ())
    assert chosen_names("discreet") == needed(["discreet"], ())
    for name in OURS:
        assert chosen_names("discreet", name) == needed([name], ())
    assert chosen_names("pip", "setuptools") == {"pip", "setuptools"}


def test_everything_is_installed_by_its_digest():
    """Each use of pip in the Makefile takes what constraints.py prints, or the wheels that were built here."""
    text = (REPOSITORY / "Makefile").read_text()
    (install,) = re.findall(r"^INSTALL := (.*)", text, re.MULTILINE)
    (install_ours,) = re.findall(r"^INSTALL_OURS := (.*)", text, re.MULTILINE)
    assert {"--require-hashes", "--no-deps", "--no-build-isolation"} <= set(install.split())
    assert {"--no-index", "--no-deps"} <= set(install_ours.split())
    lines = [line for line in text.splitlines() if line.startswith("\t$(PIP)")]
    assert len(lines) == 6
    for line in lines:
        requirements = re.search(r"\$\(INSTALL\) (\S+)$", line)
        is_ours = re.search(r" \$\(INSTALL_OURS\) (discreet|\$\(PLUGINS\))$", line)
        assert is_ours or f"> {requirements[1]}\n" in text, line


@pytest.mark.parametrize("closure", [chosen_names, lambda name: needed([name], ())], ids=["pinned", "installed"])
def test_the_core_needs_neither_pandas_nor_statsmodels_nor_spark(closure):
    """Neither what is pinned for the core nor what its parts say themselves brings them; the other groups do."""
    core = closure("discreet")
    assert "numpy" in core
    assert core & NOT_IN_THE_CORE == set()
    assert chosen_names("spark", "dev") >= NOT_IN_THE_CORE


def commands_of(target, folder):
    """What make would run for a target, from nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "--directory", REPOSITORY, f"VENV={folder / 'none'}", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment)
    return done.stdout


def test_the_demonstration_installs_the_core_alone(tmp_path):
    """`make demo` asks for the core and what builds it; `make docs`, the control, for the other groups as well."""
    groups = re.compile(r"constraints\.py (.*) >")
    core = ["pip setuptools", "build-system discreet"]
    assert groups.findall(commands_of("demo", tmp_path)) == core
    assert groups.findall(commands_of("docs", tmp_path)) == [
        *core,
        "discreet-service discreet-papers postgres spark dev",
    ]


def run_with_the_core_alone(*words, folder=None):
    """Run `discreet`, or a module, where nothing is imported or plugged in that another part than the core's brings."""
    core = chosen_names("discreet") | {"discreet"}
    other = {name for name, owners in packages_distributions().items() if not {*map(canonical, owners)} & core}
    code = (
        "import importlib.metadata, runpy, sys\n"
        "every = importlib.metadata.entry_points\n"
        "def entry_points(**words):\n"
        f"    return [entry for entry in every(**words) if entry.dist.name in {core!r}]\n"
        "importlib.metadata.entry_points = entry_points\n"
        "class Blocker:\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {other!r}:\n"
        "            raise ModuleNotFoundError(f'blocked: {name}', name=name)\n"
        "sys.meta_path.insert(0, Blocker)\n"
        "del sys.argv[0]\n"
        "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
    )
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)


@pytest.mark.processes
def test_the_demonstration_runs_with_the_core_alone(tmp_path):
    """From the table to the report, where no other part can be imported."""
    done = run_with_the_core_alone("discreet", "demo", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Selected for mdvis: ")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "content", "package"),
    [
        ("serve", "The service", "discreet-service"),
        ("worker", "The service", "discreet-service"),
        ("remote", "The service", "discreet-service"),
        ("reproduce", "The reproduction of the papers", "discreet-papers"),
    ],
)
def test_a_command_of_a_package_that_is_not_there_says_what_to_install(name, content, package):
    """In one line, with the code of a wrong use; where the package is there, its help is shown."""
    alone = run_with_the_core_alone("discreet", name, "--help")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr == f"Error: {content} is not installed. Install it: pip install {package}\n"
    command = [sys.executable, "-m", "discreet", name, "--help"]
    assert f"discreet {name}" in subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.processes
def test_the_core_alone_lists_selects_and_fits(tmp_path):
    """Its list of commands is the same, and so are their options."""
    assert " reproduce " in run_with_the_core_alone("discreet", "--help").stdout
    for name in ("select", "fit"):
        done = run_with_the_core_alone("discreet", name, "--help")
        assert (done.returncode, done.stderr) == (0, "")


CLASSES = """
from discreet import *
import discreet
print(PCLS.__name__)
try:
    discreet.Remote
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.processes
def test_the_class_of_the_service_says_what_to_install(tmp_path):
    """As its commands do; every other name is there without it."""
    (tmp_path / "classes.py").write_text(CLASSES)
    done = run_with_the_core_alone("classes", folder=tmp_path)
    line = "NotInstalledError The service is not installed. Install it: pip install discreet-service"
    assert done.stdout.splitlines() == ["PCLS", line], done.stderr


@pytest.mark.parametrize("name", sorted(NOT_IN_THE_CORE))
def test_what_is_not_in_the_core_is_blocked(name):
    """Control: these are installed here, and the run above could not have imported them."""
    assert name in packages_distributions()
    done = run_with_the_core_alone(name)
    assert (done.returncode, f"blocked: {name}" in done.stderr) == (1, True)


def installed_by(text, folder):
    """Have pip install from a folder of one wheel alone, told so much of it."""
    folder.mkdir(exist_ok=True)
    wheel = folder / "part-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("part.py", "")
        file.writestr("part-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: part\nVersion: 1\n")
        file.writestr("part-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("part-1.dist-info/RECORD", "")
    (folder / "parts.txt").write_text(text.format(digest=hashlib.sha256(wheel.read_bytes()).hexdigest()))
    (words,) = re.findall(r"^INSTALL := (.*) -r$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    where = ["--no-index", "--find-links", folder, "--target", folder / "there", "-r", folder / "parts.txt"]
    command = [sys.executable, "-m", "pip", "--isolated", *words.split(), *where]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.processes
def test_another_file_is_not_installed(tmp_path):
    """Controls: a file whose digest is another's, and one without; the right one is installed."""
    right = installed_by("part==1 \\\n    --hash=sha256:{digest}\n    # needs nothing\n", tmp_path / "right")
    assert (right.returncode, (tmp_path / "right" / "there" / "part.py").exists()) == (0, True), right.stderr
    wrong = installed_by(f"part==1 \\\n    --hash=sha256:{64 * '0'}\n", tmp_path / "wrong")
    assert (wrong.returncode != 0, "DO NOT MATCH THE HASHES" in wrong.stderr) == (True, True)
    none = installed_by("part==1\n", tmp_path / "none")
    assert (none.returncode != 0, "Hashes are required" in none.stderr) == (True, True)


def test_every_tool_of_the_audit_is_pinned():
    """They are parts of nothing, and pinned as well."""
    (place,) = audit().glob("lib/python*/site-packages")
    tools = {canonical(one.name): one.version for one in distributions(path=[str(place)])}
    assert {"cyclonedx-bom", "pip-audit"} <= tools.keys()
    assert tools.items() <= pinned().items()


def components(path):
    """Versions by name, as a list of parts has them."""
    found = json.loads(path.read_text())
    assert found["bomFormat"] == "CycloneDX"
    assert found["metadata"]["component"]["name"] == "discreet"
    for one in found["components"]:
        assert canonical(one["purl"].partition("@")[0]) == f"pkg:pypi/{canonical(one['name'])}"
    return {canonical(one["name"]): one["version"] for one in found["components"]}


def told(tool):
    """What the Makefile tells a tool of the audit."""
    (line,) = re.findall(rf"bin/{tool} (.*)", (REPOSITORY / "Makefile").read_text().replace("\\\n", ""))
    return line


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    """The list as `make audit` writes it, without the check of its form, which takes a minute."""
    path = tmp_path_factory.mktemp("audit") / "list.json"
    words = told("cyclonedx-py").replace("dist/discreet.cdx.json", str(path)).replace("$(BIN)/python", sys.executable)
    command = [str(audit() / "bin" / "python"), "-m", "cyclonedx_py", *words.split(), "--no-validate"]
    subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True, timeout=300)
    return path


@pytest.mark.processes
def test_every_part_is_listed(listed):
    """The list has each part that Discreet needs, with its version and the name under which faults are recorded."""
    found, parts = components(listed), needed()
    assert {name: found.get(name) for name in parts} == {name: distribution(name).version for name in parts}


@pytest.mark.processes
def test_the_list_names_no_place_of_this_machine(listed):
    """No path: the list is published."""
    assert not re.search(r'"(file:|/)[^"]*"', listed.read_text())


def test_what_cannot_be_audited_is_a_failure():
    """`make audit` asks about the pinned versions, and a part that the database does not know ends it with an error."""
    assert {"--strict", "-r", "constraints.txt"} <= set(told("pip-audit").split())


@pytest.mark.processes
def test_a_missing_part_is_seen(listed, tmp_path):
    """Control: a list without one of the parts is not the list."""
    value = json.loads(listed.read_text())
    value["components"] = [one for one in value["components"] if one["name"] != "opendp"]
    (tmp_path / "list.json").write_text(json.dumps(value))
    with pytest.raises(AssertionError):
        test_every_part_is_listed(tmp_path / "list.json")
