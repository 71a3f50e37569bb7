"""A hundred candidates through the command line and through scikit-learn's face, as a user would ask."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as dc
from discreet.mechanisms import subset_race

N_ROWS, N_COLUMNS = 20_000, 100
RIGHT = {"x3": 0.9, "x20": -0.8, "x50": 0.7, "x71": 0.8, "x99": -0.6}
EPSILON = 8
PENALTY = 225
"""About 30 scales of the noise; the weakest of the five effects is worth more than 100: chance has no say."""


@pytest.fixture(scope="module")
def wide():
    """Columns in [-1, 1], neighbors correlated .5; five of them move the target."""
    rng = np.random.default_rng(100)  # noqa: TID251 - simulated data, not noise
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    for j in range(1, N_COLUMNS):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    X = np.clip(X / 3, -1, 1)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    y = X[:, [names.index(name) for name in RIGHT]] @ list(RIGHT.values()) + 0.2 * rng.normal(size=N_ROWS)
    return pa.table({**dict(zip(names, X.T, strict=True)), "y": np.clip(y, -1.5, 1.5)})


@pytest.fixture
def asked(place, wide):
    """The table and its metadata in the place's folder, as options of a `select`."""
    pyarrow.parquet.write_table(wide, place.folder / "wide.parquet")
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "by design"} for name in wide.column_names}
    columns["y"] |= {"lower": -1.5, "upper": 1.5}
    metadata = place.write_metadata(columns=columns, n_rows=N_ROWS)
    return {
        "data": place.folder / "wide.parquet",
        "metadata": metadata,
        "target": "y",
        "epsilon": EPSILON,
        "l1_radius": 4,
        "model_penalty": PENALTY,
        "out": place.folder / "release.json",
    }


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "laplace"])
def test_the_right_model_among_2_to_the_100(place, asked, mechanism):
    """Where the noise is small beside the effects, the five columns that matter are found among 2^100 models."""
    done = place.select(**asked, mechanism=mechanism)
    assert done.code == 0, done.err
    release = dc.Release.read(place.folder / "release.json")
    assert set(release.selected) == set(RIGHT)
    assert release.noise.n_candidates == 2**100
    assert release.guarantee.epsilon == EPSILON
    assert "about 1.27e+30 models of 100 candidates" in done.out
    assert place.spent() == EPSILON


def test_the_same_request_is_stored(place, asked):
    """A lazy search is random, its answer is not drawn twice: asked again, the stored release comes back for free."""
    answers = [place.select("--json", **asked) for _ in range(2)]
    assert [done.code for done in answers] == [0, 0]
    assert json.loads(answers[0].out) == json.loads(answers[1].out)
    assert place.spent() == EPSILON


def test_no_data_for_a_plan(place, asked):
    """A plan of 2^100 models opens nothing and spends nothing."""
    (place.folder / "wide.parquet").unlink()
    pyarrow.parquet.write_table(pa.table({"y": [0.0]}), place.folder / "wide.parquet")
    done = place.select("--dry-run", **asked | {"out": None})
    assert done.code == 0, done.err
    assert "about 1.27e+30 models" in done.out
    assert place.spent() == 0


@pytest.mark.parametrize("choice", [{"max_size": 5}, {"forced": "x3,x20"}, {"forced": "x3", "max_size": 4}])
def test_sizes_and_forced_columns(place, asked, choice):
    """The largest size and the forced columns hold in a lazy search too."""
    done = place.select(**asked | choice)
    assert done.code == 0, done.err
    assert set(dc.Release.read(place.folder / "release.json").selected) == set(RIGHT)


def test_a_search_that_fails_says_nothing(place, asked, monkeypatch):
    """Whatever goes wrong inside the search: the constant message, exit code 5, and the charge stands."""

    def fail(*_):
        raise np.linalg.LinAlgError("cell 17 of person 4711")

    monkeypatch.setattr(subset_race, "fit", fail)
    done = place.select(**asked)
    assert (done.code, done.out) == (5, "")
    assert "4711" not in done.err
    assert place.spent() == EPSILON
    assert not (place.folder / "release.json").exists()


def test_an_interrupted_search_stays_charged(place, asked, monkeypatch):
    """Ctrl-C in the middle of the search ends in one line; the charge stands, as rows were read; no file is left."""
    calls = []

    def interrupted(*given):
        calls.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(subset_race.SubsetRace, "_visit", interrupted)
    done = place.select(**asked)
    assert calls
    assert done.code == 130
    assert done.err.startswith("Error: Interrupted.")
    assert place.spent() == EPSILON
    assert not (place.folder / "release.json").exists()


def test_scikit_learns_face(wide):
    """The estimator takes a hundred columns as it takes ten."""
    names = wide.column_names[:-1]
    box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    columns = {**dict.fromkeys(names, box), "y": box | {"lower": -1.5, "upper": 1.5}}
    metadata = dc.Metadata.model_validate(
        {"dataset": "wide", "unit": "person", "neighboring": "replace_one", "n_rows": N_ROWS, "columns": columns}
    )
    frame = wide.to_pandas()
    select = dc.PCLS(epsilon=EPSILON, l1_radius=4.0, model_penalty=PENALTY, metadata=metadata)
    select.fit(frame[names], frame["y"])
    assert set(select.get_feature_names_out()) == set(RIGHT)
