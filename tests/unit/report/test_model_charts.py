"""Charts of models: a lasso's path, and which columns the best model of each size has."""

import re

import numpy as np
import pytest
from report_fits import make_moments

from discreet.errors import InvalidParameterError
from discreet.release import SizeRecord
from discreet.report.drawing import ACCENT, MUTED, REST
from discreet.report.model_charts import lasso_chart, subset_chart

NAMES = ("age", "income", "female")


def size(*columns):
    """Return the best model of a size."""
    return SizeRecord(
        size=len(columns), columns=columns, criterion=1234.5, r_squared=0.1, r_squared_low=0.0, r_squared_high=0.2
    )


def models(**changes):
    """Return a release of four sizes."""
    by_size = (size(), size("income"), size("age", "income"), size(*NAMES))
    return make_moments(NAMES, **({"by_size": by_size, "selected": ("age", "income")} | changes))


def cells(drawn, color):
    """Return how many cells have a color."""
    return len(re.findall(f'<rect [^>]*fill="{color}"', drawn))


def test_a_cell_is_filled_where_a_model_has_the_column():
    """Two cells of the selected model, four of the others, and the rest empty."""
    drawn = subset_chart(models())
    assert (cells(drawn, ACCENT), cells(drawn, MUTED), cells(drawn, REST)) == (2, 4, 6)
    assert "The selected one has age, income." in drawn
    assert all(f">{words}</text>" in drawn for words in (*NAMES, "0", "3", "1,234.5"))


def test_a_column_that_no_model_has_is_shown_empty():
    """Candidates come after the columns of the models."""
    drawn = subset_chart(models(by_size=(size("income"),), selected=("income",)))
    assert (cells(drawn, ACCENT), cells(drawn, REST)) == (1, 2)


def test_a_release_without_sizes_is_refused():
    """It says what to do."""
    with pytest.raises(InvalidParameterError, match="Select with noisy moments"):
        subset_chart(models(by_size=()))


def test_each_path_goes_from_zero_to_its_coefficient():
    """The largest is named first, with the value at its end; hostile names are escaped."""
    path = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, -1.0]])
    drawn = lasso_chart(path, ["<b>age", "income"])
    assert 'aria-label="Paths of 2 coefficients. At the end the largest are income -1, &lt;b&gt;age 0.5."' in drawn
    curves = re.findall(r'<path d="M([^"]*)" fill="none" stroke="#\w+" stroke-width="2.5"', drawn)
    ends = [[float(part.split(",")[1]) for part in (curve.split("L")[0], curve.split("L")[-1])] for curve in curves]
    (income_start, income_end), (age_start, age_end) = ends
    assert income_start == age_start
    assert age_end < age_start < income_end


def test_names_at_the_end_do_not_run_into_each_other():
    """Equal coefficients are named one below the other."""
    drawn = lasso_chart(np.array([[0.0] * 3, [1.0] * 3]), NAMES)
    heights = sorted(float(re.search(rf"translate\([\d.]+,([\d.-]+)\)[^>]*>{name}<", drawn)[1]) for name in NAMES)
    assert min(np.diff(heights)) >= 14


def test_an_empty_path_is_refused():
    """Nothing would be drawn."""
    with pytest.raises(InvalidParameterError, match="The path is empty"):
        lasso_chart(np.zeros((2, 3)), NAMES)


def test_charts_fit_a_phone():
    """Long names take their room from the panel; nine columns stand closer than three."""
    names = [f"a_rather_long_name_{place}" for place in range(9)]
    columns = tuple(f"x{place}" for place in range(9))
    by_size = tuple(size(*columns[:count]) for count in range(10))
    path = lasso_chart(np.array([[0.0] * 9, np.arange(1.0, 10.0)]), names)
    chosen = subset_chart(make_moments(columns, by_size=by_size, selected=()))
    assert max(float(re.search(r'width="(\d+)"', drawn)[1]) for drawn in (path, chosen)) <= 374
