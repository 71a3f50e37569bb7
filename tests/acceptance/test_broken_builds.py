"""Builds that are broken on purpose: the selftest, run on each as a process of its own, must notice.

Each is a fault that somebody made: papers as printed, or the scale of a noise halved.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

HALF = "exact(scale, 'scale') / 2"
BREAKS = {
    "discrete Laplace noise of half its scale": (
        "mechanisms/additive.py",
        'return _noisy(values, _rounded_up(scale), rng, "laplace", _simulated_laplace)',
        f'return _noisy(values, _rounded_up({HALF}), rng, "laplace", _simulated_laplace)',
        ("additive", "-", 1.0),
    ),
    "discrete Gaussian noise of half its scale": (
        "mechanisms/additive.py",
        'return _noisy(values, _rounded_up(scale), rng, "gaussian", _simulated_gaussian)',
        f'return _noisy(values, _rounded_up({HALF}), rng, "gaussian", _simulated_gaussian)',
        ("additive", "-", 1.0),
    ),
    "selections with half the noise": (
        "mechanisms/selection.py",
        "slope = exact_epsilon(epsilon) / gamma",
        "slope = 2 * exact_epsilon(epsilon) / gamma",
        ("selection", "-", 1.0),
    ),
    "the lazy search with half the noise": (
        "mechanisms/subset_search.py",
        'slope = exact_epsilon(epsilon) / exact(range_sensitivity, "range_sensitivity")',
        'slope = 2 * exact_epsilon(epsilon) / exact(range_sensitivity, "range_sensitivity")',
        ("subset_search", "replace_one", 4.0),
    ),
    "class sizes as Swope et al. print them": (
        "mechanisms/lipschitz_race.py",
        "math.comb(stop - head - 2, k - head) - math.comb(start - head - 2, k - head)",
        "math.comb(stop - head - 1, k - head) - math.comb(start - head - 1, k - head)",
        ("top_k", "-", 1.0),
    ),
    "a replaced row priced as an added one, in least squares": (
        "methods/calibration.py",
        "factor = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1",
        "factor = 1",
        ("least_squares", "replace_one", 1.0),
    ),
    "a replaced row priced as an added one, in correlations": (
        "methods/sis.py",
        "both = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1\n        sensitivity",
        "both = 1\n        sensitivity",
        ("screening", "replace_one", 1.0),
    ),
    "ties that count at every nearest public point, as Wang et al. have them": (
        "methods/measures.py",
        "return np.bincount(nearest.nearest(cells), minlength=size).astype(np.int64)",
        "far = ((cells[:, None, :].astype(float) - self.cells[None]) ** 2).sum(axis=2); "
        "return (far == far.min(axis=1, keepdims=True)).sum(axis=0).astype(np.int64)",
        ("public_records", "replace_one", 1.0),
    ),
    "the sign of the likelihood as Lei et al. print it": (
        "methods/profile_choice.py",
        "profile.log_likelihood(sums) + float(choice.penalty) * counted",
        "-profile.log_likelihood(sums) + float(choice.penalty) * counted",
        ("profile", "replace_one", 4.0),
    ),
    "all rows of a person, where three are declared": (
        "kernels/unit_cuts.py",
        "many, unit = _crowded(starts, most)",
        "many, unit = _crowded(starts, 1000 * most)",
        ("public_records", "replace_one", 1.0),
    ),
}
"""File, what stands there, what stands there once it is broken, and the check at one relation and epsilon."""

RUN = """
import sys
from discreet.selftest.suite import Task
name, relation, epsilon = sys.argv[1:]
found = Task(name, relation, float(epsilon), 1).run()
print(*(reason for one in found for reason in one.reasons), sep="\\n")
sys.exit(8 if any(one.is_flagged for one in found) else 0)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package, with what numba has compiled."""
    place = tmp_path_factory.mktemp("build") / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, place, copy_function=shutil.copy2)
    return place


def checked(copy, name, relation, epsilon):
    words = [sys.executable, "-W", "ignore", "-c", RUN, name, relation, str(epsilon)]
    environment = {"PYTHONPATH": str(copy.parent), "PATH": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, check=False, cwd=copy)


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_build_is_noticed(copy, name):
    """One line of the package changed: the check flags it."""
    file, sound, broken, task = BREAKS[name]
    place = copy / file
    text = place.read_text()
    assert sound in text
    try:
        place.write_text(text.replace(sound, broken))
        done = checked(copy, *task)
    finally:
        place.write_text(text)
    assert done.returncode == 8, done.stdout + done.stderr
    assert "law" in done.stdout or "claimed" in done.stdout


@pytest.mark.parametrize(
    "task", [("additive", "-", 1.0), ("public_records", "replace_one", 1.0)], ids=lambda task: task[0]
)
def test_the_copy_is_sound(copy, task):
    """Control: what is not broken is not flagged, so that the flags above are the breaks'."""
    done = checked(copy, *task)
    assert done.returncode == 0, done.stdout + done.stderr
