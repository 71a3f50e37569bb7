"""What a claim covers, and that its fingerprint knows a change from a change of names."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts import shapes
from tests.contracts.reach import House

SOURCES = {
    "__init__.py": "",
    "top.py": '''"""The claimed function."""

from importlib import import_module

import numpy as np

from house.errors import InvalidParameterError
from house.low import LIMIT, Box, shifted
from house.other import noise

HOMES = {"a": ("house.kinds", "Circle")}


def claimed(values: list[float], box: "Box", scale: float = 2.0) -> float:
    """Add up."""
    # a comment
    total: float = 0.0
    for value in values:
        total += shifted(value - box.lower, by=scale)
    if total > LIMIT:
        raise InvalidParameterError(f"total must be below {LIMIT}, but it is not.")
    compiled = import_module("house.fast")
    return noise(np.sum(np.array([total, box.upper])), compiled.run(total, times=3)) + len(HOMES)
''',
    "low.py": """LIMIT = 10
UNUSED = 1


class Base:
    def width(self):
        return self.upper - self.lower


class Box(Base):
    def __init__(self, lower, upper):
        self.lower, self.upper = lower, upper

    def middle(self):
        return half(self.lower + self.upper)


def half(value):
    return value / 2


def shifted(value, by=1.0):
    return value * 3 + by


def unused(value):
    return value
""",
    "other.py": "from house.low import unused\n\n\ndef noise(value, more):\n    return unused(value) + more\n",
    "fast.py": """def run(value, times):
    return value * times


def walk(value, times):
    return value + times
""",
    "kinds.py": "class Circle:\n    radius = 1\n\n\nclass Square:\n    radius = 2\n",
    "errors.py": "class InvalidParameterError(ValueError):\n    pass\n",
}
CLAIMED = {"house.top.claimed": "top", "house.other.noise": "noise"}


def written(folder, edits=(), sources=SOURCES):
    """The package in a folder, with texts replaced: each must stand in the file."""
    root = folder / "house"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, text in sources.items():
        for file, old, new in edits:
            if name == file:
                assert old in text, f"{old} is not in {name}"
                text = text.replace(old, new)
        (root / name).write_text(text)
    return root


def code(folder, edits=(), claimed=CLAIMED, sources=SOURCES):
    """Fingerprint of the first claim."""
    house = House(written(folder, edits, sources), ["house.errors"])
    return house.reach([next(iter(claimed))], claimed).codes


def test_what_is_covered(tmp_path):
    """Functions, constants, classes with bases and methods, registries, modules by name; no further than a claim."""
    reached = House(written(tmp_path), ["house.errors"]).reach(["house.top.claimed"], CLAIMED)
    assert set(reached.definitions) == {
        *("house.top.claimed", "house.top.HOMES", "house.low.LIMIT", "house.low.shifted", "house.low.half"),
        *("house.low.Base", "house.low.Base.width", "house.low.Box", "house.low.Box.__init__", "house.low.Box.middle"),
        *("house.fast.run", "house.fast.walk", "house.kinds.Circle"),
    }
    assert reached.claims == ("noise",)


SAME = {
    "a local": [("top.py", "total", "amount"), ("top.py", "value in", "item in"), ("top.py", "(value -", "(item -")],
    "a parameter with its keyword": [("top.py", "by=scale", "amount=scale"), ("low.py", "by", "amount")],
    "a parameter that a method takes": [("top.py", "times=3", "n=3"), ("fast.py", "times", "n")],
    "a function": [("top.py", "shifted", "moved"), ("low.py", "shifted", "moved")],
    "a function beyond a claim": [("other.py", "unused", "spare"), ("low.py", "unused", "spare")],
    "a constant": [("top.py", "LIMIT", "MOST"), ("low.py", "LIMIT", "MOST")],
    "a class": [("top.py", "Box", "Frame"), ("low.py", "Box", "Frame")],
    "an attribute": [("top.py", ".lower", ".start"), ("low.py", "self.lower", "self.start")],
    "a method": [("low.py", "middle", "center")],
    "a class in a registry": [("top.py", "Circle", "Disc"), ("kinds.py", "Circle", "Disc")],
    "an alias of an import": [("top.py", "import numpy as np", "import numpy"), ("top.py", "np.", "numpy.")],
    "a comment": [("top.py", "# a comment", "# another")],
    "a docstring": [("top.py", "Add up.", "Sum.")],
    "layout": [("low.py", "return value * 3 + by", "return (\n        value * 3\n        + by\n    )")],
    "an annotation": [("top.py", "list[float]", "tuple[float, ...]"), ("top.py", "total: float = 0", "total = 0")],
    "words of an error": [("top.py", "total must be below {LIMIT}, but it is not.", "below {LIMIT}!")],
    "what is not used": [("low.py", "UNUSED = 1", "UNUSED = 2"), ("kinds.py", "radius = 2", "radius = 3")],
    "what another claim covers": [("other.py", "+ more", "- more"), ("low.py", "return value\n", "return -value\n")],
}


@pytest.mark.parametrize("edits", SAME.values(), ids=SAME)
def test_names_do_not_count(tmp_path, edits):
    """What leaves the meaning as it is leaves the fingerprint as it is."""
    assert code(tmp_path, edits) == code(tmp_path)


def test_a_move_does_not_count(tmp_path):
    """A module has another name, and a function stands in another module."""
    before = code(tmp_path)
    moved = {("deep.py" if name == "low.py" else name): text for name, text in SOURCES.items()}
    moved = {name: text.replace("house.low", "house.deep") for name, text in moved.items()}
    assert code(tmp_path, sources=moved) == before
    text = "def shifted(value, by=1.0):\n    return value * 3 + by\n"
    moved = SOURCES | {
        "low.py": SOURCES["low.py"].replace(text, ""),
        "else_.py": text,
        "top.py": SOURCES["top.py"].replace(", shifted", "\nfrom house.else_ import shifted"),
    }
    assert code(tmp_path, sources=moved) == before
    fast = {
        ("quick.py" if name == "fast.py" else name): t.replace("house.fast", "house.quick")
        for name, t in SOURCES.items()
    }
    assert code(tmp_path, sources=fast) == before
    claimed = {"house.top.summed": "top", "house.other.noise": "noise"}
    assert code(tmp_path, [("top.py", "claimed(", "summed(")], claimed) == before


def test_order_does_not_count_where_it_means_nothing(tmp_path):
    """Definitions of a module, imports, and methods of a class may stand in any order."""
    swapped = SOURCES["low.py"]
    for first, second in (("def half", "def shifted"), ("    def __init__", "    def middle")):
        a, b = swapped.index(first), swapped.index(second)
        ends = [swapped.index("\n\n", start) for start in (a, b)]
        upper, lower = swapped[a : ends[0]], swapped[b : ends[1]]
        swapped = swapped[:a] + lower + swapped[ends[0] : b] + upper + swapped[ends[1] :]
    assert swapped != SOURCES["low.py"]
    assert code(tmp_path, sources=SOURCES | {"low.py": swapped}) == code(tmp_path)


DIFFERENT = {
    "a constant": [("low.py", "LIMIT = 10", "LIMIT = 11")],
    "a number": [("low.py", "value * 3", "value * 4")],
    "an operator": [("top.py", "value - box.lower", "value + box.lower")],
    "an operator of a base's method": [("low.py", "self.upper - self.lower", "self.upper + self.lower")],
    "a comparison": [("top.py", "total > LIMIT", "total >= LIMIT")],
    "a call": [("top.py", "= shifted(value - box.lower, by=scale)", "= half(value - box.lower)")],
    "another function of the same form": [("low.py", "half(self.lower", "shifted(self.lower")],
    "a function of numpy": [("top.py", "np.sum", "np.prod")],
    "the order of arguments": [("fast.py", "value * times", "times * value")],
    "the order of parameters": [("low.py", "lower, upper)", "upper, lower)")],
    "a default": [("low.py", "by=1.0", "by=1.5")],
    "a default of the claimed function": [("top.py", "= 2.0", "= 2.5")],
    "a value of a keyword": [("top.py", "times=3", "times=4")],
    "another keyword": [("top.py", "times=3", "value=3")],
    "another attribute": [("top.py", "box.lower", "box.upper")],
    "another method": [("top.py", "compiled.run", "compiled.walk")],
    "another class in a registry": [("top.py", "Circle", "Square")],
    "a value that an error shows": [("top.py", "below {LIMIT}", "below {total}")],
    "another claim": [("top.py", "noise(np", "half(np")],
    "a name of numpy's": [("top.py", "np.array", "np.asarray")],
}


@pytest.mark.parametrize("edits", DIFFERENT.values(), ids=DIFFERENT)
def test_meaning_counts(tmp_path, edits):
    """Control: what a proof could speak of changes the fingerprint."""
    extra = [("top.py", "LIMIT, Box, shifted", "LIMIT, Box, half, shifted")]
    assert code(tmp_path, [*extra, *edits]) != code(tmp_path, extra)


MARKS = {
    "__init__.py": "",
    "top.py": """QUOTE, FEED = 34, 10
(LEAST, MOST), *REST = (1, 2), 3
LOW = HIGH = 5


def claimed(cells):
    return [cell != QUOTE and LEAST <= cell <= MOST for cell in cells.split(FEED)], REST, LOW, HIGH
""",
}
SWAPS = {
    "of a pair": [("top.py", "QUOTE, FEED = 34", "FEED, QUOTE = 34")],
    "of their values": [("top.py", "34, 10", "10, 34")],
    "in a nested pair": [("top.py", "(LEAST, MOST)", "(MOST, LEAST)")],
    "with a starred name": [("top.py", "(LEAST, MOST), *REST", "(LEAST, REST), *MOST")],
}


@pytest.mark.parametrize("edits", SWAPS.values(), ids=SWAPS)
def test_a_swap_of_names_counts(tmp_path, edits):
    """Which value of a tuple is a constant's own."""
    claimed = {"house.top.claimed": "top"}
    before, after = (code(tmp_path, edit, claimed, MARKS) for edit in ([], edits))
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_names_of_a_pair_do_not_count(tmp_path):
    """Where both are renamed everywhere, nothing changed."""
    claimed, edits = {"house.top.claimed": "top"}, [("top.py", "QUOTE", "MARK"), ("top.py", "FEED", "BREAK")]
    assert code(tmp_path, edits, claimed, MARKS) == code(tmp_path, [], claimed, MARKS)


def test_one_shape_for_all_names_of_a_pair_is_flagged(tmp_path, monkeypatch):
    """Control: without the place of the name in its tuple, a swap is not seen."""
    claimed = {"house.top.claimed": "top"}
    monkeypatch.setattr(shapes, "place_of", lambda name, node: None)
    assert code(tmp_path, SWAPS["of a pair"], claimed, MARKS) == code(tmp_path, [], claimed, MARKS)


ENDS = {
    "__init__.py": "",
    "top.py": """from house.table import Table


def claimed(table: Table):
    return table.moments(size=3) + table.n_rows
""",
    "table.py": """class Table:
    def __init__(self):
        self.n_rows = 1

    def moments(self, size):
        return 2 * size

    def products(self, size):
        return 2 * size
""",
}
BEYOND = {"house.top.claimed": "top", "house.table.Table": "table"}
MORE = [("table.py", "    def moments", "    def first(self):\n        return 1\n\n    def moments")]
RENAMED = [
    *(("table.py", old, new) for old, new in (("moments", "sums"), ("size", "n"), ("n_rows", "count"))),
    *(("top.py", old, new) for old, new in (("moments", "sums"), ("size", "n"), ("n_rows", "count"))),
]


def test_a_class_with_a_claim_of_its_own_may_change(tmp_path):
    """One of the fingerprints stays when its members are renamed, or get more; both when their code changes."""
    before = code(tmp_path, [], BEYOND, ENDS)
    assert code(tmp_path, [("table.py", "return 2 * size\n\n", "return 9\n\n")], BEYOND, ENDS) == before
    renamed, more = code(tmp_path, RENAMED, BEYOND, ENDS), code(tmp_path, MORE, BEYOND, ENDS)
    assert (renamed[0] == before[0], renamed[1] == before[1]) == (False, True)
    assert (more[0] == before[0], more[1] == before[1]) == (True, False)


@pytest.mark.parametrize("edit", [("moments", "products"), ("n_rows", "products"), ("size=3", "size=4")])
def test_another_use_of_such_a_class_counts(tmp_path, edit):
    """Control: both fingerprints change with the method that is called, with the attribute, with the argument."""
    before, after = (code(tmp_path, edits, BEYOND, ENDS) for edits in ([], [("top.py", *edit)]))
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_fingerprint_of_names_alone_is_flagged(tmp_path):
    """Control: the digest of the syntax that stood here before changes with a name and with a move."""
    import ast

    dumps = [
        ast.dump(ast.parse((written(tmp_path, edits) / "low.py").read_text())) for edits in ([], SAME["a function"])
    ]
    assert dumps[0] != dumps[1]


@pytest.mark.processes
def test_it_is_the_same_in_every_process(tmp_path):
    """Sets have another order in each process; the fingerprint has not."""
    root = written(tmp_path)
    program = (
        "from pathlib import Path; from tests.contracts.reach import House; "
        f"print(House(Path({str(root)!r})).reach(['house.top.claimed']).codes)"
    )
    fingerprints = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    }
    assert len(fingerprints) == 1


def test_changed_definitions_are_told_apart(tmp_path):
    """The digests of a definition's shape say which ones changed, and those of names which ones were renamed."""
    edits = [*DIFFERENT["a number"], *SAME["a constant"]]
    before = House(written(tmp_path), ["house.errors"]).reach(["house.top.claimed"], CLAIMED).shapes
    after = House(written(tmp_path, edits), ["house.errors"]).reach(["house.top.claimed"], CLAIMED).shapes
    shape = {name for name in before if name in after and before[name].split()[0] != after[name].split()[0]}
    names = {name for name in before if name in after and before[name].split()[1] != after[name].split()[1]}
    assert shape == {"house.low.shifted"}
    assert "house.top.claimed" in names - shape
