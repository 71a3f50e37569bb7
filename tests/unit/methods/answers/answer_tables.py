"""Tables with a number, a column without effect, and a category, and releases of their fits."""

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

import discreet as dc
from discreet.release import MomentsRecord

LEVELS = ("a", "b", "c", "d")
COLUMNS = {
    "age": {"type": "real", "lower": 20, "upper": 80, "source": "law"},
    "site": {"type": "category", "levels": list(LEVELS), "source": "design"},
}
TARGETS = {
    "linear": {"type": "real", "lower": -6, "upper": 6, "source": "design"},
    "logistic": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
    "poisson": {"type": "integer", "lower": 0, "upper": 12, "source": "design"},
}
ESTIMATORS = {"linear": dc.LinearRegression, "logistic": dc.LogisticRegression, "poisson": dc.PoissonRegression}
SITES = {"a": 0.0, "b": 0.4, "c": -0.3, "d": 0.1}
AGE = 0.03


def truth(age, site, sites=SITES):
    """The linear predictor."""
    return -0.3 + AGE * (np.asarray(age) - 50.0) + np.array([sites[one] for one in np.atleast_1d(site)])


def rows(family, n, seed, sites=SITES):
    """Draw a table."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    age, site = rng.uniform(20, 80, n), rng.choice(LEVELS, n, p=[0.4, 0.3, 0.2, 0.1])
    eta = truth(age, site, sites)
    if family == "linear":
        y = np.clip(eta + rng.normal(size=n), -6, 6)
    elif family == "logistic":
        y = (rng.random(n) < expit(eta)).astype(int)
    else:
        y = np.minimum(rng.poisson(np.exp(eta)), 12)
    return pd.DataFrame({"age": age, "site": site, "y": y})


def fitted(family, frame, epsilon, seed=0, **parameters):
    """Fit a table; nothing is promised."""
    n = len(frame)
    metadata = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n}
        | {"columns": {**COLUMNS, "y": TARGETS[family]}}
    )
    model = ESTIMATORS[family](epsilon=epsilon, delta=1e-6, random_state=seed, metadata=metadata, **parameters)
    return model.fit(frame[["age", "site"]], frame["y"])


@cache
def released(family, epsilon=4.0):
    """One release, made once."""
    return fitted(family, rows(family, 4000, 1), epsilon).release_


def exact(frame, y_bound=6.0, step=2**20):
    """Moments without noise."""
    X = np.column_stack([np.ones(len(frame)), (frame["age"] - 50) / 30, *(frame["site"] == one for one in LEVELS)])
    y = frame["y"].to_numpy() / y_bound
    names = ("(intercept)", "age", *(f"site={one}" for one in LEVELS))
    p = len(names)
    return MomentsRecord(
        grid=step,
        labels=names,
        owners=(None, "age", *("site",) * len(LEVELS)),
        centers=(0.0, 50.0, *(0.0,) * len(LEVELS)),
        half_widths=(1.0, 30.0, *(1.0,) * len(LEVELS)),
        y_center=0.0,
        y_bound=y_bound,
        n_rows=len(frame),
        n_rows_variance=0.0,
        gram=tuple(tuple(round(v * step**2) for v in row) for row in X.T @ X),
        xty=tuple(round(v * step**2) for v in X.T @ y),
        yty=round(float(y @ y) * step**2),
        gram_variance=tuple((0.0,) * p for _ in range(p)),
        xty_variance=(0.0,) * p,
        yty_variance=0.0,
    )
