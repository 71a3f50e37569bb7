"""Lei et al. 2018, figures 1 and 2 and table 3: the chances that are asked of the choice, and the printed table."""

import numpy as np
import pytest
from benchmarks.tables import SHARED
from scipy.stats import binom

from discreet_papers.experiment import Work
from discreet_papers.lei_prostate import EXPERIMENTS, LETTER, LINEAR, OURS, PENALTIES, Prostate, table_3
from discreet_papers.lei_simulation import COEFS, chosen, is_right
from tests.effort import either

pytestmark = pytest.mark.statistics

N_TABLES = either(60, 250)
P_THRESHOLD = 1e-7
"""A share is too small where a choice that is just as good as asked would have it or less so seldom."""

EQUAL, UNEQUAL = COEFS["lei-figure-1"], COEFS["lei-figure-2"]

ASKED = {
    ("replace_one", 1000, 1.0, 1e-6): ((EQUAL, 0.90), (UNEQUAL, 0.70)),
    ("add_or_remove_one", 1000, 1.0, 1e-6): ((EQUAL, 0.99), (UNEQUAL, 0.90)),
    ("add_or_remove_one", 100, 5.0, 0.0): ((EQUAL, 0.60),),
}
"""Least chance of exactly the right model by relation, rows, epsilon, delta and design. With delta 0 the choice does
not reach what is asked of 1000 rows: .79 and .42 under replace_one, .97 and .83 under add_or_remove_one. With this
delta it has .99 and .83, and .99 (.987 of 1000 tables, error .004) and .94."""

BEST_PUBLISHED = {EQUAL: 0.34, UNEQUAL: 0.16}
"""Share of right models of the algorithm as printed at 1000 rows and epsilon 1, at the best R and phi."""


def share(at, coef):
    """How often the plan's choice is right, of so many tables."""
    relation, n, epsilon, delta = at
    hits = is_right(chosen(n, epsilon, relation, delta), (n, epsilon, relation), coef, N_TABLES, 20180)
    return hits.mean()


@pytest.mark.parametrize("at", ASKED, ids=str)
def test_the_choice_is_right_as_often_as_asked(at):
    """On tables that the choice has not seen, with a public bound of 7."""
    for coef, least in ASKED[at]:
        found = share(at, coef)
        assert binom.cdf(round(found * N_TABLES), N_TABLES, least) > P_THRESHOLD, (coef, found, least)


def test_without_delta_the_choice_is_right_far_more_often_than_the_algorithm_as_printed():
    """At the same epsilon; as printed, the algorithm reads its bound off the rows, and R and phi are the best ones."""
    for coef, best in BEST_PUBLISHED.items():
        assert share(("replace_one", 1000, 1.0, 0.0), coef) > 1.5 * best


@pytest.fixture(scope="module")
def men():
    """The prostate table, and how to ask for a part."""
    if not (SHARED / "prostate.parquet").is_file():
        pytest.skip("prostate.parquet is not there: set DISCREET_SHARED to the folder that holds data/")

    def asked(part, repeats):
        return Work(part, SHARED, repeats, 20180)

    return asked


def test_table_3_is_met_by_the_smaller_noise(men):
    """The printed figures lie within .02 on average of noise 2(r + R) / epsilon, and none further than .05."""
    printed = {tuple(row.settings.values()): row.value for row in EXPERIMENTS[0].study.printed}
    found = {tuple(row.settings.values()): row.value for row in table_3(men(LINEAR.name, 500))}
    assert found.keys() == printed.keys()
    away = np.abs([found[at] - printed[at] for at in printed])
    assert away.mean() < 0.02
    assert away.max() < 0.05


def test_table_3_is_not_met_by_the_algorithm_to_the_letter(men):
    """At epsilon 1 it gives about .35 at R = 4 in place of .79, and less than nothing at R = 10 in place of .76."""
    table, work = Prostate.read(men("", 1500)), men("", 1500)
    at_4, at_10 = (
        [table.worth[table.chosen(LETTER, 1, radius, phi, work)].mean() for phi in PENALTIES] for radius in (4, 10)
    )
    assert np.mean(at_4) == pytest.approx(0.35, abs=0.12)
    assert np.max(at_10) < -0.4


def test_the_choice_explains_what_table_3_asks(men):
    """At least .70 of BIC's adjusted R^2 at epsilon 1, in the paper's measure."""
    row = table_3(men(OURS.name, either(60, 300)))[0]
    assert row.settings == {"epsilon": 1}
    assert row.value > 0.70
