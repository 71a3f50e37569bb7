"""The faults that measure the tests: every operator works, and texts are left alone."""

import ast

import pytest
from benchmarks.mutant_tests import REPOSITORY
from benchmarks.mutants import PACKAGES, modules_of
from benchmarks.mutants_equivalent import EQUIVALENT
from benchmarks.mutations import changes, places, with_fault

from tests.effort import either


def faults(source: str) -> set[str]:
    """The lines that faults leave in a source."""
    return {with_fault(source, place).after for place in places(source)}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a is None", {"a is not None"}),
        ("a - b", {"a + b"}),
        ("total += cost", {"total -= cost"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = 0.5", {"x = 1.0", "x = 0.25"}),
        ("x = True", {"x = False"}),
        ("a and b", {"a or b"}),
        ("not a", {"not not a"}),
        ("-a", {"+a"}),
        ("max(a, b)", {"min(a, b)", "pass"}),
        ("np.floor(a)", {"np.ceil(a)", "pass"}),
        ("Relation.REPLACE_ONE", {"Relation.ADD_OR_REMOVE_ONE"}),
        ("a[i:]", {"a[i + 1:]"}),
        ("a if b else c", {"a if not b else c"}),
        ("def f():\n    return a", {"return None"}),
        ("def f():\n    raise E('text')", {"pass"}),
        ("[a for a in b if a]", {"[a for a in b if not a]"}),
    ],
)
def test_each_operator_puts_its_fault(source, found):
    """A line becomes what the operator says, and nothing else."""
    assert faults(source) == found


@pytest.mark.parametrize(
    "source",
    [
        '"""Docstring 1."""',
        "text = 'words' + f'{a + 1}'",
        "def f(x: Literal[3] | None) -> A[1]: ...",
        "@cache(size=4)\ndef f(): ...",
        "Number = int | str",
        "pairs = zip(a, b, strict=True)",
    ],
)
def test_what_is_no_behavior_is_left_alone(source):
    """Docstrings, texts, annotations and decorators have no faults."""
    assert faults(source) == set()


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_every_fault_is_a_module_that_differs(package):
    """Whatever the place, the module can be read, and means something else."""
    for path in modules_of(package):
        source = (REPOSITORY / path).read_text()
        plain = ast.dump(ast.parse(source))
        for place in places(source)[::53]:
            assert ast.dump(ast.parse(with_fault(source, place).source)) != plain


def lines_left(source: str, wanted: set[str]) -> set[str]:
    """Those of the lines that some fault leaves; only where the changed statement has one is it asked which."""
    found: set[str] = set()
    for place in places(source):
        tree = ast.parse(source)
        changed = next(node for at, node in enumerate(ast.walk(tree)) if at == place.node)
        whole = next((one for one in tree.body if one.lineno <= place.line <= (one.end_lineno or 0)), tree)
        changes(changed)[place.change]()
        lines = {line.strip() for line in ast.unparse(ast.fix_missing_locations(whole)).splitlines()}
        if (wanted - found) & lines:
            found |= {with_fault(source, place).after} & wanted
        if found == wanted:
            break
    return found


@pytest.mark.slow
def test_faults_without_effect_can_still_be_put():
    """A reason is kept only as long as its line is there."""
    left = {one for at, one in enumerate(sorted(EQUIVALENT)) if at % either(6, 1) == 0}
    for path in (path for package in PACKAGES for path in modules_of(package)):
        name = path.rsplit("/", 1)[-1].removesuffix(".py")
        if any(stem == name for stem, _ in left):
            source = (REPOSITORY / path).read_text()
            left -= {(name, after) for after in lines_left(source, {line for stem, line in left if stem == name})}
    assert left == set()
