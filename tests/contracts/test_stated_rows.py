"""Rows in memory are private only where somebody states that they are the declared columns as they are."""

import copy
import operator
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Memory
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, f_regression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate, train_test_split
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import resample
from sklearn.utils.validation import check_is_fitted

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import DataMismatchError, InvalidParameterError, PolicyError, VerificationError
from discreet.estimators import arrays, face
from discreet.release import READ, STATED, UNSTATED, Release
from discreet.report import pdf
from discreet.workflow.derive import fit_from

pytestmark = pytest.mark.filterwarnings("ignore:No features were selected")

NAMES = ("a", "b", "c", "d")
BOX = {"type": "real", "lower": 0, "upper": 1, "source": "by design"}
PUBLIC = {"dataset": "toy", "unit": "person", "columns": dict.fromkeys((*NAMES, "y"), BOX)}
REPLACE = dc.Metadata.from_value({**PUBLIC, "neighboring": "replace_one", "n_rows": 41})
ADD = dc.Metadata.from_value({**PUBLIC, "neighboring": "add_or_remove_one"})


def people(last=(1, 1, 0, 0)):
    """Two pairs of like columns; the last of the rows decides which of them goes more with y."""
    rows = [(*[(k % 4) // 2] * 4, k % 3 % 2 if k % 4 < 3 else 1) for k in range(40)]
    return pd.DataFrame([*rows, (*last, 1)], columns=[*NAMES, "y"], dtype=float)


def pair(**more):
    frame = people(**more)
    return frame[list(NAMES)], frame["y"]


def selector(metadata=ADD, **more):
    return dc.PCLS(epsilon=0.01, n0=40, metadata=metadata, **more)


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger(tmp_path / "ledger.sqlite") as book:
        book.grant("toy", 5.0, 1e-4)
        yield book


def spent(ledger):
    return float(ledger.account("toy").epsilon_spent)


# ---- the leak, and what was promised of it


def screened(last, **fit):
    """What a pipeline releases that looks at the rows before the private step."""
    pipeline = make_pipeline(SelectKBest(f_regression, k=2), dc.PCLS(epsilon=0.01, metadata=REPLACE))
    X, y = pair(last=last)
    pipeline.set_output(transform="pandas").fit(X, y, **fit)
    return pipeline["pcls"].release_


def promises_what_it_breaks(first, second):
    """Of neighboring tables: a guarantee for answers that no row but the last can have made different, surely."""
    apart = set(first.request["candidates"]).isdisjoint(second.request["candidates"])
    return apart and first.guarantee is not None and first.guarantee.epsilon == 0.01 and first.private


class TakenForTheTable(ArraysTable):
    """Arrays as they were taken before: for the declared columns, whatever had been done to them."""

    @property
    def rows_origin(self):
        return READ


def test_columns_chosen_by_the_rows_are_promised_to_nobody():
    """Neighboring tables give candidates that have none in common; the release says that it is not private."""
    first, second = screened((1, 1, 0, 0)), screened((0, 0, 1, 1))
    assert (set(first.request["candidates"]), set(second.request["candidates"])) == ({"a", "b"}, {"c", "d"})
    assert not promises_what_it_breaks(first, second)
    assert (first.private, first.guarantee, first.event) == (False, None, None)
    assert "nobody stated" in " ".join(dc.render(first, "text").replace("!!", "").split())


def test_arrays_taken_for_the_table_are_flagged(monkeypatch, ledger):
    """Control: the old way has a guarantee, an entry in the ledger and a board's report for an exact fact."""
    monkeypatch.setattr(arrays, "ArraysTable", TakenForTheTable)
    table = face.PrivateEstimator._table

    def uncharged(self, X, y, target, candidates, charged, observed_bound=False):
        return table(self, X, y, target, candidates, False, observed_bound)

    monkeypatch.setattr(face.PrivateEstimator, "_table", uncharged)
    first, second = (screened(last, pcls__ledger=ledger) for last in ((1, 1, 0, 0), (0, 0, 1, 1)))
    assert promises_what_it_breaks(first, second)
    assert spent(ledger) == 0.02
    assert "Promise" in dc.render(first, "text")


# ---- arrays: through whatever they come, nothing is charged and nothing promised


def through(estimator, **more):
    """Ways of scikit-learn to a private estimator; each gets X, y and what is to be handed on to fit."""
    name = type(estimator).__name__.lower()
    search = {"scoring": lambda *_: 0.0, "cv": 2, "error_score": "raise"}
    ways = {
        "fit": lambda X, y, **on: estimator.fit(X, y, **on),
        "a scaler": lambda X, y, **on: _in_pipeline(StandardScaler(), estimator, name, X, y, on),
        "a screening": lambda X, y, **on: _in_pipeline(SelectKBest(k=2), estimator, name, X, y, on),
        "a search": lambda X, y, **on: GridSearchCV(estimator, {"epsilon": [0.01]}, **search).fit(X, y, **on),
        "cross-validation": lambda X, y, **on: cross_validate(estimator, X, y, params=on, **search),
    }
    return {**ways, **more}


def _in_pipeline(step, estimator, name, X, y, on):
    return make_pipeline(step, estimator).fit(X, y, **{f"{name}__{key}": value for key, value in on.items()})


SELECTS = through(
    selector(),
    **{
        "fit_transform": lambda X, y, **on: selector().fit_transform(X, y, **on),
        "a union": lambda X, y, **on: FeatureUnion([("one", selector())]).fit(X, y, **on),
    },
)
FITS = through(
    dc.LinearRegression(0.01, metadata=ADD),
    **{
        "from a model": lambda X, y, **on: SelectFromModel(dc.LinearRegression(metadata=ADD)).fit(X, y, **on),
        "elimination": lambda X, y, **on: RFE(dc.LinearRegression(metadata=ADD)).fit(X, y, **on),
    },
)
WAYS = [*(("PCLS", *way) for way in SELECTS.items()), *(("LinearRegression", *way) for way in FITS.items())]
IDS = [f"{kind} by {way}" for kind, way, _ in WAYS]


@pytest.mark.parametrize(("kind", "way", "fit"), WAYS, ids=IDS)
def test_no_way_of_arrays_charges_a_ledger(kind, way, fit, ledger):
    """One line says what to write instead, before anything is charged."""
    with pytest.raises(PolicyError, match=r"dc\.open_table\(\(X, y\), metadata\)") as refused:
        fit(*pair(), ledger=ledger)
    assert "\n" not in str(refused.value)
    assert (spent(ledger), len(ledger.history())) == (0.0, 1)


ROUTED = {
    "pipeline": lambda fit: make_pipeline(StandardScaler(), fit),
    "bagging": lambda fit: BaggingRegressor(fit, n_estimators=2),
    "elimination": RFE,
    "search": lambda fit: GridSearchCV(fit, {"epsilon": [0.01]}, cv=2, error_score="raise"),
}


@pytest.mark.parametrize("way", ROUTED)
def test_no_routing_charges_a_ledger(way, ledger):
    """Where scikit-learn hands parameters on by itself, too."""
    with config_context(enable_metadata_routing=True):
        estimator = dc.LinearRegression(0.01, metadata=ADD).set_fit_request(ledger=True)
        with pytest.raises(PolicyError, match="open_table"):
            ROUTED[way](estimator).fit(*pair(), ledger=ledger)
        columns = ColumnTransformer([("one", selector().set_fit_request(ledger=True), list(NAMES))])
        with pytest.raises(PolicyError, match="open_table"):
            columns.fit(*pair(), ledger=ledger)
    assert spent(ledger) == 0.0


FACES = [
    *(dc.PCLS, dc.PCPL, dc.NoisyMoments, dc.DPSIS, dc.TwoStage, dc.AutoSelection, dc.PerturbedHistogram),
    dc.DecorrelatedScores,
    *(dc.LinearRegression, dc.LogisticRegression, dc.PoissonRegression, dc.HybridEstimator, dc.PublicSubset),
]
OF_PUBLIC = (dc.HybridEstimator, dc.PublicSubset)


@pytest.mark.parametrize("kind", FACES, ids=lambda kind: kind.__name__)
def test_no_face_charges_for_arrays(kind, tmp_path):
    """Not even a ledger is made; with and without metadata."""
    for metadata in (None, REPLACE):
        estimator = kind(metadata=metadata)
        if kind in OF_PUBLIC:
            estimator.set_params(public=people())
        with pytest.raises(PolicyError, match="open_table"):
            estimator.fit(*pair(), ledger=tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()


@pytest.mark.parametrize(
    "kind", [kind for kind in FACES if kind is not dc.AutoSelection], ids=lambda kind: kind.__name__
)
def test_no_face_promises_anything_of_arrays(kind):
    """And of the same rows as a table it does."""
    estimator = kind(metadata=REPLACE)
    if kind in OF_PUBLIC:
        estimator.set_params(public=people())
    if kind in (dc.DPSIS, dc.TwoStage):
        estimator.set_params(n_features_to_select=1)
    of_arrays = clone(estimator).fit(*pair()).release_
    of_a_table = estimator.fit(dc.open_table(pair(), REPLACE), target="y").release_
    origins = (of_arrays.provenance.rows_origin, of_a_table.provenance.rows_origin)
    assert (of_arrays.private, of_arrays.guarantee, of_a_table.private) == (False, None, True)
    assert origins == (UNSTATED, STATED)
    assert of_a_table.guarantee.epsilon == 1.0


def test_without_metadata_there_is_no_guarantee():
    """Bounds that nobody declared are no public facts: cells are clipped to [-1, 1], and nothing is promised."""
    assert not dc.PCLS().fit(*pair()).release_.private


# ---- a table: scikit-learn passes on the very object, or fails


def opened():
    return dc.open_table(people(), ADD)


DERIVES = {
    "scaler": lambda table: StandardScaler().fit_transform(table),
    "screening": lambda table: SelectKBest(k=2).fit(table),
    "split": train_test_split,
    "folds": lambda table: list(KFold(2).split(table)),
    "resample": resample,
    "search": lambda table: GridSearchCV(selector(), {"epsilon": [1]}, cv=2).fit(table),
    "validation": lambda table: cross_val_score(selector(), table, cv=2),
    "columns": lambda table: ColumnTransformer([("one", selector(), ["a"])]).fit(table),
    "bagging": lambda table: BaggingRegressor(dc.LinearRegression()).fit(table, [0.0]),
    "elimination": lambda table: RFE(dc.LinearRegression()).fit(table, [0.0]),
    "index": lambda table: table[:3],
    "length": len,
    "rows": list,
}


@pytest.mark.parametrize("way", DERIVES)
def test_nothing_makes_another_table_of_a_table(way):
    """It has no rows to index, no length and no cells that an array could be made of."""
    with pytest.raises((TypeError, ValueError, KeyError)):
        DERIVES[way](opened())


def test_what_passes_a_table_on_passes_the_object_on(ledger):
    """A step that does nothing hands over the same object, and the fit at a pipeline's end is charged and promised."""
    table = opened()
    assert FunctionTransformer().fit_transform(table) is table
    assert np.asarray(table).item() is table
    pipeline = make_pipeline(FunctionTransformer(), dc.PCLS(epsilon=0.5, n0=40))
    pipeline.fit(table, None, pcls__target="y", pcls__ledger=ledger)
    release = pipeline["pcls"].release_
    assert (release.private, release.provenance.rows_origin, spent(ledger)) == (True, STATED, 0.5)


def test_a_table_in_the_middle_of_a_pipeline_is_refused_before_the_charge(ledger):
    """What is selected goes on as a release, so that the next fit reads the same rows and is charged for them."""
    pipeline = make_pipeline(dc.PCLS(n0=40), dc.LinearRegression())
    options = {"target": "y", "ledger": ledger}
    on = {f"{step}__{key}": value for step in pipeline.named_steps for key, value in options.items()}
    with pytest.raises(InvalidParameterError, match=r"fit\(table, from_release=release\)"):
        pipeline.fit(opened(), None, **on)
    assert spent(ledger) == 0.0


def test_no_cache_holds_a_table_or_hides_a_charge(tmp_path):
    """A pipeline's cache cannot keep a step before the last; a fit at its end is charged each time."""
    path, cache = tmp_path / "ledger.sqlite", Memory(tmp_path / "cache", verbose=0)
    with dc.Ledger(path) as ledger:
        ledger.grant("toy", 5.0)
        middle = make_pipeline(dc.PCLS(n0=40), dc.LinearRegression(), memory=cache)
        with pytest.raises(Exception, match="cannot be copied or stored"):
            middle.fit(opened(), None, pcls__target="y", pcls__ledger=str(path))
        assert spent(ledger) == 0.0
        for times in (1, 2):
            end = make_pipeline("passthrough", dc.PCLS(epsilon=0.5, n0=40), memory=cache)
            end.fit(opened(), None, pcls__target="y", pcls__ledger=str(path))
            assert spent(ledger) == 0.5 * times
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or stored"):
            copied(opened())


@pytest.mark.parametrize("ask", ["transform", "fit_transform", "predict"])
def test_a_table_is_for_fit_alone(ask):
    """What would answer for each row says so."""
    fitted = dc.LinearRegression() if ask == "predict" else selector(metadata=None)
    fitted.fit(opened(), target="y")
    with pytest.raises(InvalidParameterError, match="is not private"):
        getattr(fitted, ask)(opened())


def test_metadata_of_a_table_stay(ledger):
    """Neither another attribute nor an estimator's own metadata takes their place."""
    table = opened()
    with pytest.raises(AttributeError):
        table.metadata = REPLACE
    with pytest.raises(AttributeError):
        table.rows_origin = READ
    with pytest.raises(InvalidParameterError, match="metadata of its own"):
        selector(metadata=REPLACE).fit(table, target="y", ledger=ledger)
    assert spent(ledger) == 0.0


def changed_later(open_):
    """Columns of the metadata and bounds of the target in the release, where the caller changes both after opening."""
    own = dc.Metadata.from_value(ADD.to_dict())
    table = open_(people(), own)
    del own.columns["d"]
    own.columns["y"] = own.columns["y"].model_copy(update={"upper": 3.0})
    release = dc.PCLS(n0=40).fit(table, target="y").release_
    bounds = {column.upper for column in release.public if column.role == "target"}
    return set(table.metadata.columns), bounds, release.provenance.metadata_sha256


def sharing(frame, metadata):
    table = dc.open_table(frame, metadata)
    table._metadata = metadata
    return table


def test_metadata_that_somebody_changes_later_do_not_reach_the_table():
    """What was stated of all columns stays true; control: a table that shares its metadata with the caller."""
    assert changed_later(dc.open_table) == ({*NAMES, "y"}, {1.0}, ADD.sha256)
    columns, bounds, digest = changed_later(sharing)
    assert (columns, bounds) == ({"a", "b", "c", "y"}, {3.0})
    assert digest != ADD.sha256


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns.pop("d"),
        lambda columns: columns.popitem(),
        lambda columns: columns.clear(),
        lambda columns: columns.update(d=columns["y"]),
        lambda columns: columns.setdefault("e", columns["y"]),
        lambda columns: operator.delitem(columns, "d"),
        lambda columns: operator.setitem(columns, "d", columns["y"]),
        lambda columns: operator.ior(columns, {}),
    ],
)
def test_columns_of_an_open_table_are_read_only(change):
    """In whatever way a mapping can be changed."""
    table = opened()
    with pytest.raises(TypeError, match="Open the table again"):
        change(table.metadata.columns)
    assert table.metadata == ADD


def test_metadata_of_a_table_are_metadata():
    """Equal to those it was opened with, and the same in files, copies and other processes."""
    own = opened().metadata
    assert own == ADD
    assert (own.to_yaml(), own.sha256, own.model_dump()) == (ADD.to_yaml(), ADD.sha256, ADD.model_dump())
    elsewhere = pickle.loads(pickle.dumps(own))  # noqa: S301 - what was pickled here
    for made in (elsewhere, copy.deepcopy(own), copy.copy(own), own.model_copy(deep=True)):
        assert made == own
        with pytest.raises(TypeError, match="Open the table again"):
            del made.columns["d"]
    assert dc.Metadata.from_value(own.to_dict()) == own
    assert own.with_bounds({"d": (0.0, 2.0)}, "code book").columns["d"].upper == 2.0


# ---- what is not released leaves no release


def test_a_fit_that_raises_leaves_no_earlier_release(ledger):
    """Nobody takes the release of an earlier fit for that of the one that was refused."""
    select = dc.PCLS(n0=40).fit(opened(), target="y")
    model = dc.LinearRegression().fit(opened(), target="y")
    for fitted in (select, model):
        assert fitted.release_.private
        with pytest.raises(PolicyError, match="open_table"):
            fitted.fit(*pair(), ledger=ledger)
        assert [name for name in vars(fitted) if name.endswith("_")] == []
        with pytest.raises(NotFittedError):
            check_is_fitted(fitted)


def test_a_fit_on_public_records_that_raises_leaves_no_earlier_release():
    """Also where it is refused before any table is looked at."""
    fitted = dc.PublicSubset(public=people()).fit(opened(), target="y")
    assert fitted.release_.private
    with pytest.raises(InvalidParameterError, match="public records"):
        fitted.set_params(public=None).fit(opened(), target="y")
    assert not hasattr(fitted, "release_")


# ---- the statement stands wherever the answer stands


@pytest.mark.slow
def test_the_statement_is_in_release_ledger_and_reports(ledger, tmp_path):
    """In each format for each reader; of a file, nobody states anything."""
    release = dc.PCLS(n0=40).fit(opened(), target="y", ledger=ledger).release_
    assert Release.from_json(release.to_json()).provenance.rows_origin == STATED
    assert [entry.facts["rows_origin"] for entry in ledger.history() if "method" in entry.facts] == [STATED]
    people().to_csv(tmp_path / "people.csv", index=False)
    read = dc.PCLS(n0=40).fit(dc.open_table(tmp_path / "people.csv", ADD), target="y").release_
    assert (read.private, read.provenance.rows_origin) == (True, READ)
    statement = "stated that they are the declared columns, complete and unchanged"
    for audience in ("board", "analyst", "participant"):
        for form in ("text", "markdown", "html"):
            assert statement in " ".join(dc.render(release, form, audience).split())
            assert "stated" not in dc.render(read, form, audience)
        assert statement in pdf.page_data(release, audience)
    for form in ("json", "csv"):
        assert STATED in dc.render(release, form)
        assert STATED not in dc.render(read, form)
    assert READ in dc.render(read, "csv")
    assert READ in " ".join(dc.render(read, "text").split())


COVERS = "The promise of the earlier release covers both"


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize("audience", ["board", "analyst", "participant"])
def test_what_is_computed_of_unstated_sums_promises_nothing(form, audience):
    """Neither in its banner nor below it; control: of sums of a table, the promise is said to cover both."""
    of_arrays, of_a_table = dc.NoisyMoments(metadata=REPLACE), dc.NoisyMoments(metadata=None)
    of_arrays.fit(*pair())
    of_a_table.fit(dc.open_table(pair(), REPLACE), target="y")
    bare, private = (fit_from(made.release_, ("a", "b")) for made in (of_arrays, of_a_table))
    bare, private = (" ".join(dc.render(release, form, audience).split()) for release in (bare, private))
    assert COVERS not in bare
    assert "The earlier release carries no guarantee, so this one carries none" in bare
    assert COVERS in private
    assert "carries no guarantee, so" not in private


def test_no_file_of_arrays_can_be_made_private(ledger):
    """A release that says it is private and of arrays is refused, as one without a guarantee is."""
    text = dc.PCLS(n0=40).fit(opened(), target="y").release_.to_json()
    assert Release.from_json(text).private
    with pytest.raises(VerificationError, match="rows that are stated"):
        Release.from_json(text.replace(STATED, UNSTATED))


def test_an_older_release_keeps_its_digest():
    """What it did not say is not added."""
    release = dc.PCLS(n0=40).fit(opened(), target="y").release_
    older = release.to_json().replace(f'    "rows_origin": "{STATED}",\n', "")
    assert older != release.to_json()
    assert Release.from_json(older).to_json() == older


# ---- the short way that is right


def test_a_fit_of_what_was_selected_is_as_short_as_a_pipeline(ledger):
    """Target and columns are the release's; each step is charged once."""
    table = opened()
    select = dc.PCLS(epsilon=1.0, n0=40).fit(table, target="y", ledger=ledger)
    fit = dc.LinearRegression(epsilon=2.0).fit(table, from_release=select.release_, ledger=ledger)
    assert spent(ledger) == 3.0
    assert tuple(fit.release_.request["candidates"]) == select.release_.selected
    assert fit.release_.request["target"] == "y"


def test_a_selection_of_what_was_screened_is_one_line_more(ledger, tmp_path):
    """Its candidates are those of the screening's release, also from its file."""
    table = opened()
    screen = dc.DPSIS(epsilon=1.0, n_features_to_select=2, n0=40).fit(table, target="y", ledger=ledger)
    path = screen.release_.save(tmp_path / "screen.json")
    select = dc.PCLS(epsilon=0.5, n0=40).fit(table, from_release=path, ledger=ledger)
    assert tuple(select.release_.request["candidates"]) == screen.release_.selected
    assert (select.release_.private, spent(ledger)) == (True, 1.5)


def test_what_arrays_selected_is_not_fitted_further(ledger):
    """Its columns may be exact facts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        select = selector().fit(*pair())
    with pytest.raises(PolicyError, match="gives no guarantee"):
        dc.LinearRegression().fit(opened(), from_release=select.release_, ledger=ledger)
    assert spent(ledger) == 0.0


def test_an_incomplete_table_is_refused_before_the_charge(ledger):
    """Also when the missing column would not be read."""
    with pytest.raises(DataMismatchError, match="lacks 'd'"):
        dc.open_table(people().drop(columns="d"), ADD)
    with pytest.raises(DataMismatchError, match="distinct names"):
        dc.open_table(people().rename(columns={"d": "c"}), ADD)
