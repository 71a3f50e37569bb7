"""Every function that a release rests on has a claim, and the claim was read against the code as it is."""

import ast
import copy
import importlib
import inspect
import pkgutil
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

import discreet.mechanisms
import discreet.methods
from discreet.accounting.neighbors import NeighboringRelation
from discreet.mechanisms.rng import Source
from tests.contracts import claims as tool
from tests.contracts.claims import FIELDS, ROOT, claims, functions, head, may_be_proved, readers, renewed
from tests.contracts.locks import compared
from tests.contracts.reach import Module

TESTS = Path(__file__).parents[1]
BETWEEN = ("accounting", "data", "estimators", "kernels", "ledger", "mechanisms", "methods", "workflow")
"""Folders with code between a cell and a release, or that decide what is promised of it."""

NOT_COVERED = {
    "data.arrow_functions": "hands on the functions of pyarrow.compute as they are",
    "data.array_names": "names of an array's columns, from public facts",
    "data.engines.sql_identity": "tells whether two addresses are one table, from the server's catalog",
    "data.dummy": "makes fake tables from metadata",
    "data.formats.": "metadata of other programs, read before any table",
    "data.lint": "advice on metadata",
    "data.public_moments": "computes from public records",
    "data.skeleton": "drafts metadata from a header",
    "estimators.best_subsets": "for public tables: nothing is promised",
    "estimators.public_screening": "for public tables: nothing is promised",
    "kernels.subsets.best_subsets": "for public tables: no method uses it",
    "kernels.top_k.top_k_metrics": "measures accuracy in simulations",
    "ledger.migrations.": "changes of the ledger's tables",
    "methods.registry": "names of methods",
    "workflow": "tells where its exports are",
    "workflow.auto": "plans from public facts",
    "workflow.code": "prints a request as a program",
    "workflow.demo": "makes a public table",
    "workflow.derive": "computes from a release, without rows",
    "workflow.expectation": "simulates from public facts",
    "workflow.recommendation": "words for what a plan simulated",
    "workflow.request_outlook": "simulates one request from public facts",
    "workflow.metadata": "checks and converts metadata",
    "workflow.run_file": "reads requests from a file",
    "workflow.table_shape": "drafts metadata from a header, and makes fake tables",
    "workflow.verification": "checks a ledger against its witness",
    "workflow.hybrid": "chooses among public records",
    "workflow.installation": "runs on invented rows, with a known seed, and throws the releases away",
}
"""Modules that no claim covers, each with the reason; one that ends in a dot, or its beginning, stands for several."""


def registered():
    """Functions that draw noise, and runs of methods: what must have a claim."""
    found = set()
    for package in (discreet.mechanisms, discreet.methods):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            module = importlib.import_module(info.name)
            for name, thing in vars(module).items():
                if getattr(thing, "__module__", None) != info.name or name.startswith("_"):
                    continue
                if inspect.isfunction(thing) and draws(thing):
                    found.add(f"{info.name}.{name}")
                if inspect.isclass(thing) and not inspect.isabstract(thing) and draws(getattr(thing, "run", None)):
                    found.add(f"{info.name}.{name}.run")
    return found


def draws(function):
    """Whether a function takes a Source."""
    parameters = inspect.signature(function).parameters.values() if inspect.isfunction(function) else ()
    return any(parameter.annotation in (Source, "Source") for parameter in parameters)


def uncovered(covered):
    """Modules between a cell and a release that hold code and that neither a claim nor the list covers."""
    modules = {
        name.removeprefix("discreet."): module
        for name, module in tool.house().modules.items()
        if name.split(".")[1:2] and name.split(".")[1] in BETWEEN
    }
    return [
        name
        for name, module in modules.items()
        if module.definitions
        and f"discreet.{name}" not in covered
        and not any(name == key or ("." in key and name.startswith(key)) for key in NOT_COVERED)
    ]


@pytest.fixture(scope="module")
def covered():
    """Modules with a definition that a claim covers."""
    return {tool.house().home(name) for path in claims() for name in tool.reach(path).definitions}


def test_everything_that_draws_noise_has_a_claim():
    """A function or method that takes a Source is named by exactly one claim; so is whatever else has one."""
    named = [name for path in claims() for name in functions(head(path))]
    assert registered() <= set(named)
    assert {name for name in named if name.split(".")[1] in ("mechanisms", "methods")} <= registered()
    starts = [(path, tool.house().resolve(name)[0]) for path in claims() for name in functions(head(path))]
    assert len(set(starts)) == len({start for _, start in starts})


def test_every_module_between_a_cell_and_a_release_is_covered(covered):
    """By a claim's reach, or by a reason on the list."""
    assert uncovered(covered) == []


def test_a_module_that_no_claim_reaches_is_seen(covered):
    """Control: with any of the data's claims gone its modules stand uncovered."""
    assert uncovered(covered - {"discreet.data.engines.parquet_files"}) == ["data.engines.parquet_files"]
    assert uncovered(covered - {"discreet.accounting.totals"}) == ["accounting.totals"]
    assert uncovered(covered - {"discreet.estimators.face"}) == ["estimators.face"]


CHARGED = re.compile(r"        if charged:\n            raise PolicyError\(.*?\n            \)\n", re.DOTALL)
DECIDES = {
    "a ledger named for arrays": ("face", "estimators.face", CHARGED, ""),
    "what a caller states": ("sources", "data.sources", "rows_origin != READ", "rows_origin == READ"),
    "three kinds of rows": ("release", "release.provenance", r"READ, STATED, UNSTATED =", "READ, UNSTATED, STATED ="),
    "two kinds of rows": (
        "release",
        "release.provenance",
        "get_args\\(RowsOrigin\\)",
        "(*get_args(RowsOrigin)[:2], STATED)",
    ),
    "kinds of rows, to an engine": (
        "engine",
        "release.provenance",
        r"READ, STATED, UNSTATED =",
        "READ, UNSTATED, STATED =",
    ),
    "what private means": ("release", "release.release", "promised and origin", "promised or origin"),
    "a comma for a break": ("csv_file", "kernels.rows.csv_compiled", "QUOTE, FEED, RETURN =", "FEED, QUOTE, RETURN ="),
}


def codes_with(name, module, old, new):
    """Fingerprints of a claim before and after an edit of a module."""
    path = next(path for path in claims() if head(path)["claim"] == name)
    house = tool.house()
    edited = copy.copy(house)
    file = ROOT / Path(*module.split(".")).with_suffix(".py")
    text, n_edits = re.subn(old, new, file.read_text(), count=1)
    assert n_edits == 1
    parsed = Module.parse(f"discreet.{module}", text, is_package=False)
    edited.modules = {**house.modules, parsed.name: parsed}
    edited._shapes, edited._resolved = {}, {}
    return tool.reach(path).codes, edited.reach(functions(head(path)), tool.claimed()).codes


@pytest.mark.parametrize("edit", DECIDES.values(), ids=DECIDES)
def test_what_decides_a_promise_is_covered(edit):
    """A change of it makes a claim stale, whichever of the two fingerprints is looked at."""
    assert not any(code == other for code, other in zip(*codes_with(*edit), strict=True))


def test_an_edit_without_a_meaning_changes_no_claim():
    """Control: the same way of editing, with a comment."""
    before, after = codes_with(
        "release", "release.provenance", "READ, STATED, UNSTATED =", "# three\nREAD, STATED, UNSTATED ="
    )
    assert before == after


def test_names_of_claims_differ():
    """A claim is referred to by its name, wherever its file lies."""
    names = [head(path)["claim"] for path in claims()]
    assert len(names) == len(set(names))


def is_complete(fields):
    """Tell whether a head holds the fixed fields in their order, each with a value of a known kind."""
    named = any(name in fields["neighboring"] for name in NeighboringRelation.__members__)
    return (
        tuple(fields) == FIELDS
        and (fields["status"] == "contrib" or (fields["status"] == "proved" and may_be_proved(fields)))
        and (fields["read_by"] == "nobody" or bool(readers(fields)))
        and fields["numerics"] in ("idealized", "float-safe", "exact")
        and (named or fields["neighboring"].startswith("the relation "))
    )


def test_head_has_every_field():
    """The head holds the fixed fields in their order; status and numerics are of the known kinds."""
    assert [path.stem for path in claims() if not is_complete(head(path))] == []


@cache
def functions_of(place):
    """Names of the functions of a file of tests, if it is there."""
    body = ast.parse(place.read_text()).body if place.is_file() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def missing_tests(node_ids):
    """Names of tests that are in no file."""
    missing = []
    for node_id in node_ids:
        file, _, name = node_id.partition("::")
        if not name.startswith("test_") or name not in functions_of(TESTS / file):
            missing.append(node_id)
    return missing


def test_claim_is_attacked():
    """At least one test with a law or a worst pair, and one control, both of which exist."""
    cited = {path.stem: head(path) for path in claims()}
    missing = {
        (claim, field): missing_tests(fields[field].split(", "))
        for claim, fields in cited.items()
        for field in ("tests", "controls")
    }
    assert {where: names for where, names in missing.items() if names} == {}


def test_a_test_that_is_not_there_is_seen():
    """Control: another name, another file, nothing at all."""
    test = head(claims()[0])["tests"].split(", ")[0]
    wrong = [test + "x", "unit/" + test, "", "none"]
    assert missing_tests([test, *wrong]) == wrong


def test_who_may_call_a_claim_proved():
    """Control: one reader, the same one twice, or a proof about real numbers is not enough; a change undoes it."""
    fields = {"numerics": "exact", "read_by": "A B 2026-01-01, C 2026-01-02"}
    assert may_be_proved(fields)
    for change in ({"read_by": "A B 2026-01-01"}, {"read_by": "C 2026-01-01, C 2026-01-02"}, {"numerics": "idealized"}):
        assert not may_be_proved(fields | change)
    text = "```\nstatus: proved\nread_by: A 2026-01-01, B 2026-01-01\nrests_on: x\ncode: 1\n```\n"
    assert renewed(text, "2", ["a", "b"]) == "```\nstatus: contrib\nread_by: nobody\nrests_on: a, b\ncode: 2\n```\n"


def there_is(name):
    """Tell whether a function exists."""
    thing = importlib.import_module(tool.house().home(name))
    for part in name.removeprefix(thing.__name__ + ".").split("."):
        thing = getattr(thing, part, None)
    return callable(thing)


def test_claim_stands_beside_its_code():
    """NAME.privacy.md lies beside NAME.py, and what it names exists, some of it there."""
    astray = []
    for path in claims():
        module = ".".join(["discreet", *path.relative_to(ROOT).parts[:-1], path.name.split(".")[0]])
        beside = path.with_name(path.name.replace(".privacy.md", ".py")).is_file()
        names = functions(head(path))
        if not (beside and any(name.startswith(module + ".") for name in names) and all(map(there_is, names))):
            astray.append(path.stem)
    assert astray == []


def test_proof_was_read_against_this_code():
    """What a proof speaks of has changed: read it again, then ``python -m tests.contracts.claims --read``."""
    stale = {path.stem: tool.changes(path) for path in claims() if not tool.is_fresh(path)}
    assert stale == {}, "`python -m tests.contracts.claims --show`"


@pytest.fixture
def example(tmp_path, monkeypatch):
    """A package with one claim, and the tool that looks at it."""
    root = tmp_path / "house"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "noise.py").write_text("SCALE = 2\n\n\ndef draw(value):\n    return value * SCALE\n")
    fields = dict.fromkeys(FIELDS, "none") | {"claim": "draw", "function": "house.noise.draw", "status": "proved"}
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    (root / "noise.privacy.md").write_text(f"```\n{lines}```\n\n## Proof\nIt is clear.\n")
    monkeypatch.setattr(tool, "ROOT", root)
    monkeypatch.setattr(tool, "SOURCE", root)

    def forget():
        for cached in (tool.house, tool.claimed, tool.reach):
            cached.cache_clear()

    forget()
    yield root / "noise.privacy.md", forget
    forget()


def test_a_change_asks_for_a_reading_and_a_new_name_does_not(example, capsys):
    """From the first record to a rename and to a change, and what the tool shows of each."""
    path, forget = example
    tool.run(["--read", "draw", "--because", "Written together with the function."])
    assert tool.state(path) == "fresh"
    assert head(path)["status"] == "contrib"
    code = path.with_name("noise.py")
    code.write_text(code.read_text().replace("SCALE", "FACTOR").replace("value", "number"))
    forget()
    assert tool.state(path) == "names"
    with pytest.raises(tool.RefusedError):
        tool.read_again(path, "The constant has another name.")
    tool.run(["--names"])
    assert tool.state(path) == "fresh"
    assert "house.noise.FACTOR" in tool.locked(path).definitions
    code.write_text(code.read_text().replace("= 2", "= 3"))
    forget()
    assert tool.state(path) == "STALE  1 changed"
    capsys.readouterr()
    tool.run(["--show", "draw"])
    assert capsys.readouterr().out == "draw\n  changed  house.noise.FACTOR\n"
    tool.run(["--read", "stale", "--because", "The factor is three, as the proof now says."])
    assert tool.state(path) == "fresh"
    assert tool.locked(path).because == "The factor is three, as the proof now says."


@pytest.fixture
def read(example):
    """The package's claim, read; and how its text is edited by hand."""
    path, _ = example
    tool.run(["--read", "draw", "--because", "Written together with the function."])

    def edit(old, new):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return path, edit


def test_a_record_is_not_written_without_need_or_reason(read):
    """An equal fingerprint is not written again, and a changed one not without a reason."""
    path, _ = read
    before = tool.lock_of(path).read_text(), path.read_text()
    for because in ("Nothing of it has changed, I only want to.", "", "short", "two\nlines that are long enough"):
        with pytest.raises(tool.RefusedError):
            tool.read_again(path, because)
    assert before == (tool.lock_of(path).read_text(), path.read_text())


BY_HAND = {
    "sensitivity": ("sensitivity: none", "sensitivity: 1"),
    "epsilon": ("epsilon: none", "epsilon: half of it"),
    "controls": ("controls: none", "controls: privacy/test_x.py::test_y"),
    "## Proof": ("It is clear.", "It is plain."),
    "## More": ("## Proof", "## More\n\n## Proof"),
    "status": ("status: contrib", "status: proved"),
    "read_by": ("read_by: nobody", "read_by: Ada X 2026-01-01, Bob Y 2026-01-02"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_claim_that_was_rewritten_is_stale(read, name):
    """What is claimed, why, and who has read it do not change by hand without a record of the reason."""
    path, edit = read
    assert tool.is_fresh(path)
    edit(*BY_HAND[name])
    assert not tool.is_fresh(path)
    assert tool.changes(path) == [f"text     {name}"]
    tool.run(["--read", "draw", "--because", "What is claimed has other words now."])
    assert tool.is_fresh(path)
    assert tool.locked(path).since == (f"text     {name}",)
    assert (head(path)["status"], head(path)["read_by"]) == ("contrib", "nobody")


def test_two_fields_changed_by_hand_do_not_make_a_proof(read):
    """Status and readers together, as somebody would write them who wants a claim to look proved."""
    path, edit = read
    edit(*BY_HAND["read_by"])
    edit(*BY_HAND["status"])
    assert may_be_proved(head(path))
    assert tool.misstated(path) == ["read_by"]


@pytest.mark.parametrize("name", BY_HAND)
def test_code_alone_does_not_see_a_rewritten_claim(read, name):
    """Control: the fingerprints of the code, all that was compared before, are as they were."""
    path, edit = read
    edit(*BY_HAND[name])
    assert head(path)["code"] == " ".join(tool.locked(path).codes)
    assert tool.locked(path).codes == tool.reach(path).codes


def test_layout_of_a_proof_does_not_count(read):
    """Lines may break elsewhere."""
    path, edit = read
    edit("It is clear.", "It\n   is clear.")
    assert tool.is_fresh(path)


def test_readers_sign_what_they_read(read):
    """A status of `proved` needs two who signed a fresh claim, each with what they tried; a new reading undoes it."""
    path, edit = read
    tried = "Half the scale, and an infinite cell."
    for reader in ("Ada X 2026-01-01", "Bob Y 2026-01-02"):
        tool.run(["--sign", "draw", "--reader", reader, "--because", tried])
    assert head(path)["read_by"] == "Ada X 2026-01-01, Bob Y 2026-01-02"
    assert tool.locked(path).signed == (f"Ada X 2026-01-01: {tried}", f"Bob Y 2026-01-02: {tried}")
    edit("status: contrib", "status: proved")
    assert tool.is_fresh(path)
    for again in ("Ada X 2026-01-03", "nobody", "Ada X", "Cy 2026-01-01, Di 2026-01-01"):
        with pytest.raises(tool.RefusedError):
            tool.sign(path, again, tried)
    edit("It is clear.", "It is not.")
    with pytest.raises(tool.RefusedError, match="stale"):
        tool.sign(path, "Cy Z 2026-01-03", tried)
    tool.run(["--read", "draw", "--because", "The proof has another sentence."])
    assert (head(path)["status"], tool.locked(path).signed) == ("contrib", ())


def test_what_was_read_together_says_so(read):
    """Each lock tells with how many others it was recorded, and what had changed for it."""
    path, _ = read
    other = path.with_name("low.privacy.md")
    other.write_text(path.read_text().replace("claim: draw", "claim: low").replace("noise.draw", "low.floor"))
    other.with_name("low.py").write_text("def floor(value):\n    return value // 1\n")
    path.with_name("noise.py").write_text("SCALE = 3\n\n\ndef draw(value):\n    return value * SCALE\n")
    for cached in (tool.house, tool.claimed, tool.reach):
        cached.cache_clear()
    assert tool.locked(path).together == "none"
    tool.run(["--read", "stale", "--because", "The scale is three, and the floor is new."])
    assert [tool.locked(claim).together for claim in (path, other)] == ["1 more", "1 more"]
    assert tool.locked(path).since == ("changed  house.noise.SCALE",)
    assert tool.locked(other).since == ("first reading",)
    assert tool.Lock.parse(tool.locked(path).text()) == tool.locked(path)


def test_a_definition_that_moved_is_told_from_one_that_is_new():
    """What has the shape of something that is gone was renamed."""
    before = {"a.f": "11111111 22222222", "a.g": "33333333 44444444", "a.h": "55555555 66666666"}
    now = {"b.f": "11111111 22222222", "a.g": "33333333 99999999", "a.k": "77777777 88888888"}
    assert compared(before, now) == ["new      a.k", "gone     a.h", "names    a.g", "renamed  a.f -> b.f"]


def test_claims_rest_on_claims_that_exist():
    """And those that a text names by file exist too."""
    names = {head(path)["claim"] for path in claims()}
    files = {path.name for path in claims()}
    for path in claims():
        assert {name for name in head(path)["rests_on"].split(", ") if name != "none"} <= names
        assert set(re.findall(r"[a-z_0-9]+\.privacy\.md", path.read_text())) <= files, path.name


def test_event_of_a_run_states_the_claimed_epsilon():
    """The event that is charged for a run carries the method's epsilon and its noise."""
    from discreet.data.metadata import Metadata
    from discreet.methods.subset_selection.pcls import PenalizedLeastSquares

    box = {"type": "real", "lower": -1, "upper": 1}
    for relation, public in (("replace_one", {"n_rows": 10}), ("add_or_remove_one", {})):
        metadata = Metadata.from_value(
            {"dataset": "d", "unit": "person", "neighboring": relation, "columns": {"x": box, "y": box}, **public}
        )
        for mechanism, noise in (
            ("permute_and_flip", "exponential"),
            ("exponential", "gumbel"),
            ("laplace", "laplace"),
        ):
            chosen = PenalizedLeastSquares(
                epsilon=0.3, mechanism=mechanism, model_penalty=0.0, y_center="middle", y_bound="furthest"
            )
            event = chosen.prepare(metadata, "y").event
            assert (float(event.epsilon), event.noise) == (0.3, noise)


WIDENED = {
    "the largest epsilon": ("shared.py", "Between(float(MIN_EPSILON), MAX_EPSILON)", "Between(-5.0, 1e9)"),
    "the type of a parameter": ("subset_selection.py", "    epsilon: Epsilon = first", "    epsilon: float = first"),
    "the range of a floor": ("subset_selection.py", "Between(1e-220, 1e220)", "Between(-1.0, 1e220)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", WIDENED.values(), ids=WIDENED)
def test_a_wider_range_makes_a_proof_stale(tmp_path, edit):
    """A parameter's type and range are part of what a method's claim covers, wherever they are written."""
    file, old, new = edit
    root = tmp_path / "discreet"
    shutil.copytree(tool.ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    text = (root / "parameters" / file).read_text()
    assert old in text
    (root / "parameters" / file).write_text(text.replace(old, new, 1))
    edited = tool.House(root, tool.LEFT_OUT, tool.ABOVE)
    claims_of_pcpl = tool.functions(tool.head(next(path for path in claims() if path.stem == "pcpl.privacy")))
    before, after = (house.reach(claims_of_pcpl, tool.claimed()).codes for house in (tool.house(), edited))
    assert before != after
