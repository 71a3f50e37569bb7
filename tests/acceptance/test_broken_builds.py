"""Builds that are broken on purpose: the selftest, run on each as a process of its own, must notice.

All faults that it must see are put in, within one process, by tests/contracts/test_selftest.py; here one, or a few in
the long run, are in the files of a copy, as they would be in an installation.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.selftest.faults import FAULTS
from tests.effort import either

pytestmark = pytest.mark.processes

NAMES = (
    "half the noise: selections",
    "rows per unit ignored: moments",
    "a replaced row charged as an added one: correlations",
)
BREAKS = [fault for fault in FAULTS if fault.name in NAMES]

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


def checked(copy, fault):
    words = [sys.executable, "-W", "ignore", "-c", RUN, fault.check, fault.relation, str(fault.epsilon)]
    environment = {"PYTHONPATH": str(copy.parent), "PATH": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=300, check=False, cwd=copy.parent
    )


@pytest.mark.parametrize("fault", either(BREAKS[:1], BREAKS), ids=lambda fault: fault.name)
def test_a_broken_build_is_noticed(copy, fault):
    """One expression of the package changed: the check flags it, and not the copy as it was."""
    assert len(BREAKS) == len(NAMES)
    place = copy / f"{fault.where.partition(':')[0].replace('.', '/')}.py"
    text = place.read_text()
    assert fault.sound in text
    try:
        place.write_text(text.replace(fault.sound, fault.broken))
        done = checked(copy, fault)
    finally:
        place.write_text(text)
    assert done.returncode == 8, done.stdout + done.stderr
    assert "law" in done.stdout or "claimed" in done.stdout
    done = checked(copy, fault)
    assert done.returncode == 0, done.stdout + done.stderr
