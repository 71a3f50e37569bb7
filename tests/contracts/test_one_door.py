"""No chance but through mechanisms/rng.py: not by another library, not in SQL, not by a name that is looked up.

`test_house.py` looks for random, numpy.random, secrets, os.urandom and uuid; this looks for the ways around them.
"""

import ast
import re

import pytest

from tests.contracts.test_house import DOOR, PACKAGE, trees

DRAWS = re.compile(
    r"rvs|sample|shuffle|choices|permut(ation|ed)|rand(|n|int|range|_bytes)|random_sample|RAND_bytes|get(randbits|random)"
    r"|SystemRandom|token_(bytes|hex|urlsafe)|train_test_split|kmeans_plusplus|\w*(KFold|ShuffleSplit)"
)
SQL = re.compile(r"\b(random|rand|randn|uuid|gen_random_uuid)\s*\(\s*\)|\bsetseed\b|\b(TABLE|USING )SAMPLE\b", re.I)
LOOKED_UP = re.compile(r"(^|\.)(random|secrets|uuid|urandom|getrandom)$")

# What draws by itself, and why it may.
OPENDP = "mechanisms/additive.py"
"""OpenDP draws from the system's entropy in Rust; tests/privacy/test_additive.py tests its law."""
FIXED = {"kernels/public_records/representatives.py"}
"""A constant `random_state`: public records fall into the same clusters every time."""
SEEDED = (
    "simulation/",
    "discreet_papers/",
    "estimators/face.py",
    "methods/public_records/twins.py",
    "methods/screening/standing_out.py",
    "methods/screening/step_down.py",
    "methods/screening/threshold_choice.py",
    "workflow/expectation_parts.py",
    "workflow/installation.py",
    "mechanisms/rng.py",
)
"""Simulations on public facts, a threshold from them, made-up tables that compiled code is made ready by;
`random_state` of an estimator whose release has no guarantee."""
PASSED_ON = (*SEEDED, "workflow/expectation_figures.py", "workflow/expectation_stages.py")
"""Who may speak of a seed: a plan's too."""


def around(tree: ast.AST) -> list[str]:
    """Ways around the door that a module takes."""
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings say much
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += _called(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            found += SQL.findall(node.value)[:1] and [node.value]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names]
            found += [name for name in (*names, str(getattr(node, "module", ""))) if name.split(".")[0] == "opendp"]
            found += [name for name in names if DRAWS.fullmatch(name)]
    return found


def _called(node: ast.Call) -> list[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    found = [name] if DRAWS.fullmatch(name) else []
    if name in ("getattr", "import_module", "__import__", "attrgetter"):
        found += [text for text in texts if LOOKED_UP.search(text)]
    if name == "hash" and isinstance(node.func, ast.Name) and "numbers" not in ast.unparse(node):
        found.append("hash")  # its salt differs between processes
    return found + [str(one.arg) for one in node.keywords if one.arg in ("random_state", "shuffle", "seed")]


def test_no_way_leads_around_the_door():
    """No sampler of another library, no SQL that draws, no name that is looked up; what is listed is there still."""
    ways = {place: set(around(tree)) for place, tree in trees().items() if place != DOOR}
    for place in FIXED:
        assert ways.pop(place) == {"random_state"}
        assert re.findall(r"random_state=(.*?)[,)]", (PACKAGE / place).read_text()) == ["0"]
    assert {name.split(".")[0] for name in ways.pop(OPENDP)} == {"opendp"}
    undue = {place: each - ({"seed"} if place.startswith(PASSED_ON) else set()) for place, each in ways.items()}
    assert {place: each for place, each in undue.items() if each} == {}


def test_seeds_are_for_simulations():
    """A seeded Source is made where nothing is private or no guarantee follows, and never from the time."""
    undue = []
    for place, tree in trees().items():
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        made = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "seeded"]
        timed = [node for node in made if re.search(r"time|pid|urandom|words", ast.unparse(node))]
        undue += [(place, ast.unparse(node)) for node in (timed if place.startswith(SEEDED) else made)]
    assert undue == []


@pytest.mark.parametrize(
    "line",
    [
        "from scipy import stats; stats.norm.rvs(size=3)",
        "frame.sample(3)",
        "from sklearn.utils import shuffle",
        "KMeans(3, random_state=seed)",
        "polars.Series(x).shuffle(seed=3)",
        "connection.execute('SELECT random() FROM people')",
        "connection.execute('SELECT * FROM people TABLESAMPLE reservoir(9)')",
        "connection.execute('SELECT * FROM people USING SAMPLE 10%')",
        "getattr(numpy, 'random').rand()",
        "importlib.import_module('numpy.random')",
        "__import__('secrets')",
        "os.getrandom(8)",
        "hash('a text')",
        "import opendp.prelude as dp",
        "from opendp.measurements import make_laplace",
    ],
)
def test_the_ways_around_are_seen(line):
    """Control: each of them is found."""
    assert around(ast.parse(line))
