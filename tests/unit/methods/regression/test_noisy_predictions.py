"""Where noise hides most of what a table tells, predictions are hardly worse than the mean."""

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.kernels.glm.families import LOGISTIC
from discreet.kernels.glm.problem import Problem

N_ROWS, N_TABLES = 300, 8


def test_rows_of_columns_of_two_values_count_whole():
    """Their length is public: a cap below it takes from all rows, and others' rows are as long as is typical."""
    facts = {"family": LOGISTIC, "n_coefficients": 5, "groups": (), "mu": 0.1, "replace": False, "n_rows": N_ROWS}
    assert Problem(**facts, two_valued=(1, 2, 3, 4)).cap == pytest.approx(5.0)
    assert Problem(**facts, two_valued=(1, 2)).cap == pytest.approx(3.0 + 0.35 * 2.0)


def test_counts_of_few_rows_are_predicted_about_as_well_as_by_their_mean():
    """Questions with yes and no, epsilon .5: the mean share of the deviance that is explained was -.32."""
    columns = {f"q{j}": {"type": "integer", "lower": 0, "upper": 1, "source": "form"} for j in range(6)}
    columns["visits"] = {"type": "integer", "lower": 0, "upper": 15, "source": "form"}
    facts = {"schema": "discreet/metadata@1", "dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    metadata = dc.Metadata.model_validate({**facts, "columns": columns})
    shares = []
    for seed in range(N_TABLES):
        rng = np.random.default_rng(900 + seed)  # noqa: TID251 - simulated rows
        X = (rng.uniform(size=(N_ROWS + 4000, 6)) < [0.5, 0.4, 0.3, 0.2, 0.6, 0.1]) * 1
        y = np.minimum(rng.poisson(np.exp(-1.2 + 0.8 * X[:, 0] + 0.5 * X[:, 2] - 0.6 * X[:, 4])), 15)
        frame = pd.DataFrame(X, columns=list(columns)[:6])
        model = dc.PoissonRegression(epsilon=0.5, delta=1e-6, metadata=metadata, random_state=seed)
        model.fit(frame[:N_ROWS], y[:N_ROWS], target="visits")
        worst = deviance(y[N_ROWS:], np.full(4000, y[N_ROWS:].mean()))
        shares.append(1.0 - deviance(y[N_ROWS:], model.predict(frame[N_ROWS:])) / worst)
    assert np.mean(shares) > -0.1


def deviance(y, mean):
    """Of counts, but for what depends on them alone: less that of the saturated model."""
    saturated = np.where(y > 0, y * np.log(np.maximum(y, 1)), 0.0) - y
    return 2.0 * float(np.sum(saturated - (y * np.log(mean) - mean)))
