"""What a release answers as a plain table."""

import csv
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report_fits import coefficient, make_fit, make_moments, moments
from report_hybrids import make_hybrid
from report_releases import make
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.methods.moments.noisy_sums import noisy_gram
from discreet.release import LARGEST, STATED
from discreet.report import render

ORIGIN = ["method", "target", "private", "epsilon", "delta", "neighboring", "unit", "rows_per_unit"]
ORIGIN += ["dataset", "entry", "rows_origin"]
STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?[0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?")

nasty = st.text(st.sampled_from("=+-@\t\r\n;,\"' a1.e\u3000\xa0\uff1d\x00\x0b\x1b\x85\u2028") | st.characters())
numbers = st.floats(allow_nan=False)


def cells(text):
    """Return the rows of a CSV text; its lines end as they stand there."""
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def frame(release):
    """Return the table as pandas reads it, empty names kept."""
    return pd.read_csv(io.StringIO(render(release, "csv")))


def is_safe(cell):
    """Tell whether no spreadsheet runs a cell, or what is left of it where tables are split at other marks."""
    parts = re.split("[;\t\r\n]", cell)
    text = all(NUMBER.fullmatch(cell) or not part.strip().startswith(STARTS) for part in parts)
    return text and not cell.startswith(STARTS[:7] if not NUMBER.fullmatch(cell) else ())


@given(st.lists(nasty, min_size=3, max_size=3), st.lists(numbers, min_size=3, max_size=3))
@example(["=1+1", "a;=1", "-1\n"], [-1.0, math.inf, -0.0])
@example(["\t=1", "\r-1", "\x0b@"], [1e-300, -math.inf, 1e300])
def test_every_cell_is_a_number_or_text_that_nothing_runs(texts, values):
    """Whatever names, levels and estimates are, the table stays rectangular, and its numbers numbers."""
    name, level, target = texts
    ends = (min(values[1:]), max(values[1:]))
    one = coefficient(name, values[0], column=name, level=level, ends=ends)
    release = make_fit("linear", one, target=target)
    head, *rows = cells(render(release, "csv"))
    assert {len(row) for row in rows} == {len(head)}
    assert len(rows) == len(release.fit.coefficients)
    assert all(is_safe(cell) for row in rows for cell in row)
    last = dict(zip(head, rows[-1], strict=True))
    for column, value in zip(("estimate", "low", "high"), (values[0], *ends), strict=True):
        assert last[column] == (repr(value) if abs(value) < (math.inf if column == "estimate" else LARGEST) else "")


@given(st.lists(nasty, min_size=1, max_size=4, unique=True))
def test_names_of_columns_are_safe_and_can_be_encoded(names):
    """In a selection and in a list of the columns of a model."""
    for release in (make(names=tuple(names)), make_moments(names=tuple(names))):
        text = render(release, "csv")
        text.encode()
        head, *rows = cells(text)
        assert {len(row) for row in rows} == {len(head)}
        assert all(is_safe(cell) for row in rows for cell in row)


def test_every_release_is_a_rectangle(release):
    """Head first, the origin last, and pandas reads it."""
    head, *rows = cells(render(release, "csv"))
    assert head[-len(ORIGIN) :] == ORIGIN
    assert len(set(head)) == len(head)
    assert {len(row) for row in rows} <= {len(head)}
    table = frame(release)
    assert table.shape == (len(rows), len(head))
    assert all(is_safe(cell) for row in rows for cell in row)


@pytest.mark.parametrize("name", ["linear", "logistic", "run", "fit says nothing", "derived fit"])
def test_coefficients_are_those_of_the_release(samples, name):
    """Every digit of estimates, ends and standard errors; negative ones stay numbers."""
    fit = samples[name].fit
    table = frame(samples[name])
    assert table["name"].tolist() == [one.name for one in fit.coefficients]
    for column in ("estimate", "low", "high"):
        told = [getattr(one, column) for one in fit.coefficients]
        assert table[column].tolist() == pytest.approx(
            [math.nan if end is None else end for end in told], nan_ok=True, rel=0
        )
    for column in ("sampling", "privacy"):
        errors = [math.sqrt(getattr(one, f"{column}_variance")) for one in fit.coefficients]
        assert table[f"{column}_standard_error"].tolist() == errors
    assert (table["estimate"] < 0).any()
    assert set(table["confidence"]) == {0.95}
    assert table["uninformative"].tolist() == [one.uninformative for one in fit.coefficients]
    assert table["column"].isna().tolist() == [one.column is None for one in fit.coefficients]
    assert set(table["family"]) == {fit.family}


def test_no_interval_no_number(samples):
    """Where a method makes none, its cells are empty; an end that is not told is no number either."""
    bare = frame(samples["no intervals"])
    assert bare.loc[:, "low":"uninformative"].isna().all(axis=None)
    assert bare["estimate"].notna().all()
    above, below, nothing = frame(samples["open ends"]).iloc[-3:].to_dict("records")
    assert (above["low"], math.isnan(above["high"]), above["uninformative"]) == (1.25, True, False)
    assert (math.isnan(below["low"]), below["high"], below["uninformative"]) == (True, -0.75, False)
    assert (math.isnan(nothing["low"]), math.isnan(nothing["high"]), nothing["uninformative"]) == (True, True, True)


def test_an_estimate_on_public_records_stands_beside_theirs(samples):
    """Empty where they make none."""
    release = samples["hybrid"]
    table = frame(release)
    beside = [one.estimate for one in release.hybrid.public_only.coefficients]
    assert table["public_estimate"].tolist() == beside
    assert frame(samples["histogram"])["public_estimate"].isna().all()
    assert "public_estimate" not in frame(samples["linear"])


def test_a_selection_has_a_row_for_each_candidate(samples):
    """Selected or not, forced or not."""
    table = frame(samples["with ledger"])
    assert table["column"].tolist() == ["lncoins", "idp", "site", "age", "female"]
    assert table["selected"].tolist() == [True, False, True, False, False]
    forced = frame(samples["forced"])
    assert forced["forced"].tolist() == [True, False]
    assert forced["selected"].tolist() == [True, True]


def test_of_very_many_candidates_the_selected_ones_are_told():
    """Their list is not in the release."""
    many = make(request={"target": "mdvis", "candidates": {"count": 10**6, "sha256": "0"}}, selected=("x7",))
    table = frame(many)
    assert table["column"].tolist() == ["x7"]
    assert table["selected"].tolist() == [True]


def test_models_by_size_come_in_their_order(samples):
    """The selected one is marked."""
    release = samples["moments"]
    table = frame(release)
    assert table["size"].tolist() == list(range(6))
    assert table["columns"][3] == "lncoins; idp; site"
    assert table["selected"].tolist() == [False] * 4 + [True, False]
    assert table["r_squared_low"].tolist() == [one.r_squared_low for one in release.by_size]


@pytest.mark.parametrize("constant", [1.0, 0.25])
def test_noisy_sums_are_those_that_answers_are_computed_from(constant):
    """In scaled units, the constant made 1, each pair once."""
    record = moments(("a", "b")).model_copy(
        update={
            "constant": constant,
            "gram": ((4_000_000, -3, 5), (-3, 7_000_000, -11), (5, -11, 13)),
            "xty": (17, -19, 23),
            "yty": 29,
            "half_widths": (1.0, 2.0, 3.0),
        }
    )
    table = frame(make_moments(("a", "b"), moments=record, by_size=(), selected=()))
    gram = noisy_gram(record)
    places = {"constant": 0, "a": 1, "b": 2, "mdvis": 3}
    sums = np.block([[gram.gram, gram.xty[:, None]], [gram.xty[None, :], np.array([[gram.yty]])]])
    assert len(table) == 10
    for row in table.itertuples():
        assert row.sum == pytest.approx(sums[places[row.first], places[row.second]], rel=1e-12)
    told = table.set_index(["first", "second"])
    assert told.loc[("a", "mdvis"), ["first_half_width", "second_center", "second_half_width"]].tolist() == [2, 15, 15]
    assert told.loc[("a", "b"), "privacy_standard_error"] == pytest.approx(25.0)
    assert told.loc[("constant", "b"), "privacy_standard_error"] == pytest.approx(25.0 / constant)


def test_each_row_says_what_is_promised(samples):
    """Epsilon, delta, relation, unit, data set, entry and what says that the rows are the declared ones."""
    older = samples["ledger in rho"]
    stated = older.model_copy(update={"provenance": older.provenance.model_copy(update={"rows_origin": STATED})})
    told = ["pcls", "mdvis", True, 1.0, 0.0, "replace_one", "person", 1, "rand-hie", 3]
    assert frame(stated).iloc[0][ORIGIN].tolist() == [*told, STATED]
    assert frame(older).iloc[0][ORIGIN[:-1]].tolist() == told
    assert frame(older)["rows_origin"].isna().all()


@pytest.mark.parametrize("name", ["not private", "seeded", "fit for study"])
def test_what_is_not_private_promises_nothing(samples, name):
    """No epsilon stands beside it, not even one that it states: a guarantee is void where noise has a seed."""
    stated = samples[name].model_copy(update={"guarantee": samples["linear"].guarantee})
    for release in (samples[name], stated):
        table = frame(release)
        assert not table["private"].any()
        assert table.loc[:, "epsilon":"rows_per_unit"].isna().all(axis=None)


def test_both_readers_get_the_same(samples):
    """Like the release itself, the table knows no audience."""
    assert render(samples["run"], "csv", "board") == render(samples["run"], "csv", "analyst")


def test_the_command_writes_it(tmp_path):
    """To a file by its ending, and to standard output by its name."""
    release = make_hybrid()
    release.save(tmp_path / "r.json")
    words = ["report", str(tmp_path / "r.json")]
    runner = CliRunner()
    assert runner.invoke(app, [*words, "--out", str(tmp_path / "r.csv")]).exit_code == 0
    assert (tmp_path / "r.csv").read_bytes() == render(release, "csv").encode()
    assert runner.invoke(app, [*words, "--format", "csv"]).stdout == render(release, "csv")
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(release.to_json())
