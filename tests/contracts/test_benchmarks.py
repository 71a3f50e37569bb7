"""Every study of accuracy is run by `make study`."""

from pathlib import Path

from benchmarks.study import STUDIES

REPOSITORY = Path(__file__).parents[2]


def test_every_study_is_run():
    """What simulates a number of tables that can be chosen is a study, and the target runs all of them."""
    asked = {path.stem for path in (REPOSITORY / "benchmarks").glob("*.py") if '"--tables"' in path.read_text()}
    assert asked - {"study"} == set(STUDIES)
    assert "-m benchmarks.study\n" in (REPOSITORY / "Makefile").read_text()
