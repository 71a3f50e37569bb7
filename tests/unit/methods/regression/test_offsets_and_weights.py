"""Offsets, exposures and weights: the estimates of an independent solver, intervals that cover, and what is refused."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.workflow import answer, dry_run

RELATIONS = ("replace_one", "add_or_remove_one")
BOUNDS = {"a": (0, 10), "b": (-1, 3), "o": (2, 5), "e": (0.1, 100), "w": (0, 5)}
RESPONSES = {"linear": (-4, 16), "logistic": (0, 1), "poisson": (0, 60)}
TRUTH = {"linear": (1.0, 0.3, -0.5), "logistic": (-4.5, 0.2, -0.3), "poisson": (-2.0, 0.1, -0.3)}


def metadata(family, n_rows, neighboring="replace_one", **changes):
    """Bounds of all columns."""
    ends = BOUNDS | {"y": RESPONSES[family]}
    columns = {name: {"type": "real", "lower": low, "upper": high, "source": "s"} for name, (low, high) in ends.items()}
    for name, more in changes.items():
        columns[name] |= more
    size = {"n_rows": n_rows} if neighboring == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": neighboring, "columns": columns} | size
    )


def drawn(family, n_rows, seed, offset=None):
    """Rows of the model with the named offset."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated rows, not noise
    data = {name: rng.uniform(*ends, n_rows) for name, ends in BOUNDS.items()}
    data["e"] = np.exp(rng.uniform(np.log(0.1), np.log(100.0), n_rows))
    shift = {"o": data["o"], "e": np.log(data["e"]), None: 0.0}[offset]
    eta = shift + TRUTH[family][0] + TRUTH[family][1] * data["a"] + TRUTH[family][2] * data["b"]
    if family == "linear":
        data["y"] = eta + rng.normal(size=n_rows)
    elif family == "logistic":
        data["y"] = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    else:
        data["y"] = rng.poisson(np.exp(eta)).astype(float)
    low, high = RESPONSES[family]
    data["y"] = np.clip(data["y"], low, high)
    return data, shift * np.ones(n_rows)


def solved(family, data, shift, weights):
    """Estimates and standard errors of the weighted estimating equation by Newton's method."""
    columns = np.column_stack([np.ones(len(shift)), data["a"], data["b"]])
    theta = np.zeros(3)
    theta[0] = np.log(data["y"].sum() / np.exp(shift).sum()) if family == "poisson" else -shift.mean()
    for _ in range(30):
        eta = columns @ theta + shift
        mean = {"linear": eta, "logistic": 1.0 / (1.0 + np.exp(-eta)), "poisson": np.exp(eta)}[family]
        slope = {"linear": np.ones(len(eta)), "logistic": mean * (1.0 - mean), "poisson": mean}[family]
        information = columns.T @ (columns * (weights * slope)[:, None])
        theta = theta + np.linalg.solve(information, columns.T @ (weights * (data["y"] - mean)))
    inverse = np.linalg.inv(information)
    scores = columns.T @ (columns * (weights * (data["y"] - mean))[:, None] ** 2)
    return theta, np.sqrt(np.diag(inverse @ scores @ inverse))


def fitted(family, about, data, seed=1, epsilon=1000.0, **named):
    """The release's fit."""
    method = method_of(family, epsilon=epsilon, delta=1e-6, **named)
    prepared = method.prepare(about, "y", ["a", "b"])
    return prepared.run(ArraysTable(data, about), Source.seeded(seed)).fit


CASES = [
    ("linear", {"offset": "o"}),
    ("linear", {"weights": "w"}),
    ("linear", {"offset": "o", "weights": "w"}),
    ("logistic", {"offset": "o"}),
    ("logistic", {"offset": "o", "weights": "w"}),
    ("poisson", {"exposure": "e"}),
    ("poisson", {"exposure": "e", "weights": "w"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "named"), CASES)
@pytest.mark.parametrize("neighboring", RELATIONS)
def test_nearly_without_noise_estimates_are_those_of_newtons_method(family, named, neighboring):
    """Within half a standard error, the intercept where the offset is zero too; errors are no smaller than they are."""
    about = metadata(family, 20_000, neighboring)
    data, shift = drawn(family, 20_000, 3, named.get("offset") or named.get("exposure"))
    weights = data["w"] if "weights" in named else np.ones(20_000)
    estimates, errors = solved(family, data, shift, weights)
    fit = fitted(family, about, data, **named)
    assert np.abs(np.array([term.estimate for term in fit.coefficients]) - estimates).max() < 0.5 * errors.max()
    for term, estimate, error in zip(fit.coefficients, estimates, errors, strict=True):
        assert abs(term.estimate - estimate) < 0.5 * error
        told = (term.sampling_variance + term.privacy_variance) ** 0.5
        assert 0.95 * error < told < 1.4 * error  # with weights at most the root of their largest over their mean
        assert term.low < estimate < term.high
    assert {name: value for name, value in fit.model_dump().items() if name in named} == named


SAMPLE_SIZE = 30
P_THRESHOLD = 1e-4
"""Of 90 intervals at 95%, at most 13 miss with this chance."""


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("family", "named", "neighboring"),
    [
        ("poisson", {"exposure": "e"}, "replace_one"),
        ("linear", {"offset": "o", "weights": "w"}, "add_or_remove_one"),
    ],
)
def test_intervals_cover_at_usual_epsilons(family, named, neighboring):
    """With much noise, and with some."""
    misses = 0
    for seed in range(SAMPLE_SIZE):
        data, _ = drawn(family, 10_000, seed, named.get("offset") or named.get("exposure"))
        about = metadata(family, 10_000, neighboring)
        fit = fitted(family, about, data, seed, epsilon=(1.0, 4.0)[seed % 2], **named)
        for term, true in zip(fit.coefficients, TRUTH[family], strict=True):
            low, high = term.interval
            misses += not low <= true <= high
    assert misses <= 13


@pytest.mark.slow
@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("neighboring", RELATIONS)
def test_no_weight_at_all_gives_a_release_all_the_same(family, neighboring):
    """Of weights that are 0, missing or text nothing can be learned; whatever is told is finite or open."""
    data, _ = drawn(family, 500, 1)
    for cells in (np.zeros(500), np.full(500, np.nan), np.array(["?"] * 500, dtype=object)):
        fit = fitted(family, metadata(family, 500, neighboring), data | {"w": cells}, epsilon=1.0, weights="w")
        assert all(np.isfinite(term.estimate) for term in fit.coefficients)
        assert all(term.interval[0] <= term.estimate <= term.interval[1] for term in fit.coefficients)


REFUSED = [
    ("poisson", {"exposure": "e"}, {"e": {"lower": 0}}, "lower bound above 0"),
    ("poisson", {"exposure": "e"}, {"e": {"lower": 1.0, "upper": 1.0 + 1e-10}}, "Declare wider bounds"),
    ("poisson", {"exposure": "e", "offset": "o"}, {}, "an offset or an exposure"),
    ("poisson", {"offset": "e"}, {}, "by more than 20"),
    ("linear", {"offset": "y"}, {}, "'y' is the target too"),
    ("logistic", {"offset": "a"}, {}, "'a' is a candidate too"),
    ("linear", {"offset": "o", "weights": "o"}, {}, "'o' is the offset too"),
    ("linear", {"weights": "b"}, {}, "'b' is a candidate too"),
    ("linear", {"weights": "w"}, {"w": {"lower": -1}}, "lower bound of at least 0"),
    ("linear", {"weights": "none"}, {}, "is not declared"),
    ("linear", {"offset": "o"}, {"o": {"lower": None, "bounds": "private"}}, "public bounds"),
    ("linear", {"offset": "o", "y_bound": "private"}, {}, "public bounds"),
    ("linear", {"exposure": "e"}, {}, "has no parameter exposure"),
    ("logistic", {"offset": "o", "delta": 0.0}, {}, "needs a delta"),
]


@pytest.mark.parametrize(("family", "named", "changes", "words"), REFUSED)
def test_what_cannot_be_is_refused_before_the_charge(tmp_path, family, named, changes, words):
    """In one line, by the plan as by the request; nothing is entered."""
    about = metadata(family, 100, **changes)
    data, _ = drawn(family, 100, 1)
    parameters = {"epsilon": 1.0, "delta": 1e-6} | named
    with pytest.raises(DiscreetError, match=words):
        dry_run(method_of(family, **parameters), about, "y", ["a", "b"])
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 10, 0.01)
        with pytest.raises(DiscreetError, match=words):
            answer(method_of(family, **parameters), ArraysTable(data, about), "y", ["a", "b"], ledger=ledger)
        assert len(ledger.history()) == 1


def test_by_default_an_offset_and_weights_are_no_candidates():
    """And the release says what each column is."""
    data, _ = drawn("poisson", 2_000, 1, "e")
    about = metadata("poisson", 2_000)
    method = method_of("poisson", epsilon=4.0, delta=1e-6, exposure="e", weights="w")
    release = answer(method, ArraysTable(data, about), "y", rng=Source.seeded(1)).release
    assert release.selected == ("a", "b", "o")
    assert {column.name: column.role for column in release.public if column.role != "candidate"} == {
        "y": "target",
        "e": "exposure",
        "w": "weights",
    }
    assert release.request["parameters"]["exposure"] == "e"


def test_the_fit_of_a_plan_has_an_offset_that_its_selection_leaves_out():
    """Under one charge, with the columns known before it."""
    data, _ = drawn("poisson", 5_000, 1, "e")
    about = metadata("poisson", 5_000)
    fit = {"family": "poisson", "exposure": "e", "weights": "w"}
    method = method_of("run", epsilon=8.0, delta=1e-6, select={"method": "pcls"}, fit=fit)
    prepared = method.prepare(about, "y")
    assert prepared.candidates == ("a", "b", "o")
    assert {"e", "w"} <= set(prepared.columns)
    release = answer(method, ArraysTable(data, about), "y", rng=Source.seeded(1)).release
    assert release.fit.exposure == "e"
    with pytest.raises(DiscreetError, match="'e' is a candidate too"):
        method.prepare(about, "y", ["a", "e"])
    steps = {"select": {"method": "moments"}, "fit": {"family": "linear", "offset": "o"}}
    free = method_of("run", epsilon=8.0, delta=1e-6, selective_inference="none", **steps)
    with pytest.raises(DiscreetError, match="noisy moments cannot have offset"):
        free.prepare(about, "y")


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_derived_columns_may_be_offsets_weights_and_columns(family):
    """The same integers, and so the same release, as with the columns stored in the table."""
    data, _ = drawn(family, 3_000, 5, "o")
    about = metadata(family, 3_000)
    stored = about.model_dump(mode="json", exclude_none=True)
    written = {"a2": "a * 0.5", "o2": "o - 1", "w2": "w * 2"}
    derived = {name: {"type": "real", "derived": text} for name, text in written.items()}
    ends = {"a2": (0, 5), "o2": (1, 4), "w2": (0, 10)}
    numbers = {name: {"type": "real", "lower": low, "upper": high} for name, (low, high) in ends.items()}
    cells = {"a2": data["a"] * 0.5, "o2": data["o"] - 1, "w2": data["w"] * 2}
    releases = []
    for columns, table in ((derived, data), (numbers, data | cells)):
        whole = dc.Metadata.from_value(stored | {"columns": stored["columns"] | columns})
        method = method_of(family, epsilon=5.0, delta=1e-6, offset="o2", weights="w2")
        prepared = method.prepare(whole, "y", ["a2", "b"])
        assert set(prepared.columns) == ({"a", "b", "o", "w", "y"} if table is data else {"a2", "b", "o2", "w2", "y"})
        releases.append(prepared.run(ArraysTable(table, whole), Source.seeded(4)).fit)
    assert releases[0] == releases[1]


def test_a_plan_reads_what_its_derived_offset_is_made_of():
    """The table's columns, by half and on the same rows."""
    data, _ = drawn("poisson", 4_000, 6, "o")
    stored = metadata("poisson", 4_000).model_dump(mode="json", exclude_none=True)
    derived = {"o2": {"type": "real", "derived": "o - 1"}}
    whole = dc.Metadata.from_value(stored | {"columns": stored["columns"] | derived})
    for inference in ("split", "none"):
        method = method_of(
            "run",
            epsilon=8.0,
            delta=1e-6,
            selective_inference=inference,
            select={"method": "pcls"},
            fit={"family": "poisson", "offset": "o2"},
        )
        release = answer(method, ArraysTable(data, whole), "y", candidates=["a", "b"], rng=Source.seeded(1)).release
        assert release.fit.offset == "o2"


def test_clipped_rows_of_a_derived_target_are_counted():
    """As those of the same target stored; with an offset the count is refused before any charge."""
    data, _ = drawn("linear", 3_000, 7)
    stored = metadata("linear", 3_000).model_dump(mode="json", exclude_none=True)
    fits = []
    for column, table in (
        ({"type": "real", "derived": "y * 2"}, data),
        ({"type": "real", "lower": -8, "upper": 32}, data | {"y2": data["y"] * 2}),
    ):
        whole = dc.Metadata.from_value(stored | {"columns": stored["columns"] | {"y2": column}})
        method = method_of("linear", epsilon=5.0, delta=1e-6, count_clipped=True, y_center=2.0, y_bound=3.0)
        prepared = method.prepare(whole, "y2", ["a", "b"])
        fits.append(prepared.run(ArraysTable(table, whole), Source.seeded(4)).fit)
    assert fits[0] == fits[1]
    truth = np.sum(np.abs(data["y"] * 2 - 2.0) > 3.0)
    assert fits[0].clipped.low <= truth <= fits[0].clipped.high
    counted = method_of("linear", epsilon=5.0, delta=1e-6, count_clipped=True, offset="o")
    with pytest.raises(DiscreetError, match="an offset is taken off"):
        counted.prepare(metadata("linear", 3_000), "y", ["a", "b"])
