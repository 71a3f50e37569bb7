"""Screening as a user meets it: select, plan, dry run, report, and what is refused before anything is charged."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.release import Release

N, D = 2000, 1500
BOX = {"type": "real", "lower": -1, "upper": 1, "source": "assay's range"}
WIDE = {
    "schema": "discreet/metadata@1",
    "dataset": "clinic",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": N,
    "columns": {
        "sick": {"type": "category", "levels": ["no", "yes"], "source": "diagnosis"},
        "dose": BOX,
    },
    "features": {**BOX, "match": "gene *", "count": D},
}

PLAN = """
schema: discreet/run@1
data: wide.parquet
metadata: wide.yaml
target: dose
epsilon: 6
screen: {method: sis, n_features_to_select: 5, epsilon: 3}
select: {method: pcls}
fit: {family: linear}
"""


@pytest.fixture
def wide(place):
    """A table of 1500 genes with blanks and quotes in their names, two of which matter."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    cells = rng.uniform(-1, 1, (N, D))
    dose = np.clip(0.7 * cells[:, 7] - 0.7 * cells[:, 1200] + 0.1 * rng.standard_normal(N), -1, 1)
    names = [f'gene "{i}"' for i in range(D)]
    columns = {name: cells[:, i] for i, name in enumerate(names)}
    pq.write_table(
        pa.table({**columns, "dose": dose, "sick": np.where(dose > 0, "yes", "no")}), place.folder / "wide.parquet"
    )
    (place.folder / "wide.yaml").write_text(json.dumps(WIDE))
    return place


def screen(place, *more, **options):
    """Run a `select` by screening."""
    given = {"data": "wide.parquet", "metadata": "wide.yaml", "target": "dose", "method": "sis", "epsilon": 5}
    return place.select("--yes", *more, **(given | options))


@pytest.mark.parametrize("method", ["sis", "two-stage"])
def test_many_columns_are_screened_charged_and_reported(wide, method):
    """The two that matter; a release of a few kilobytes; every report; the same request is free again."""
    done = screen(wide, "-k", 2, method=method, epsilon=9, out="release.json")
    assert done.code == 0, done
    assert 'Selected for dose: gene "7", gene "1200"\n  of 1,500 candidates' in done.out
    assert wide.spent() == 9.0
    release = Release.read("release.json")
    assert release.request["candidates"]["count"] == D
    assert len(release.to_json()) < 12_000
    for name in ("report.html", "report.pdf", "report.md"):
        assert wide.run("report", "release.json", "--out", name).code == 0
    told = " ".join(wide.run("report", "release.json").out.split())
    assert "2 of 1500 candidate columns were selected for dose" in told
    assert "each by itself" in told
    assert wide.run("budget", "verify", "release.json", "--ledger", wide.ledger).code == 0
    again = screen(wide, "-k", 2, "--json", method=method, epsilon=9)
    assert json.loads(again.out) == release.model_dump(mode="json", by_alias=True)
    assert wide.spent() == 9.0


def test_a_dry_run_opens_no_data(wide):
    """The cost and the noise, from the declared count alone."""
    (wide.folder / "wide.parquet").unlink()
    done = screen(wide, "--n-features", 3, "--dry-run", data=None)
    assert done.code == 0, done
    assert "Dry run for dose on 1,500 candidates\n  cost         epsilon 5, replace_one" in done.out
    assert "a row adds a half at most" in done.out
    plan = json.loads(screen(wide, "--n-features", 3, "--dry-run", "--json", data=None).out)
    assert [step["name"] for step in plan["steps"]] == ["screening", "noise_test"]
    products = ("--association", "products", "--dry-run")
    done = screen(wide, "--n-features", 3, *products, data=None)
    assert "y_center" in done.out
    plan = json.loads(screen(wide, "--n-features", 3, *products, "--json", data=None).out)
    assert (plan["candidates"], plan["cost"]["epsilon"]) == ({"count": D}, 5.0)
    assert [step["name"] for step in plan["steps"]] == ["y_center", "y_bound", "y_shift", "screening", "noise_test"]
    lead = math.ceil(plan["noise"]["scale"] * math.log(math.comb(D, 3)))  # all sets of three race
    assert f"a column whose score is about {lead:,} above others" in done.out
    assert wide.spent() == 0.0


def test_a_target_of_two_levels_and_its_codes(wide):
    """Nothing to say for two levels; a level or codes of one's own are taken."""
    for more in ([], ["--level", "no"], ["--code", "no=0", "--code", "yes=1"]):
        done = screen(wide, "-k", 3, *more, target="sick", epsilon=3)
        assert 'gene "7", gene "1200", dose' in done.out, done
    assert wide.spent() == 9.0


def test_a_plan_screens_selects_and_fits_as_one(wide):
    """One charge, one release, with what was screened, selected and fitted."""
    (wide.folder / "plan.yaml").write_text(PLAN)
    assert "epsilon 6" in wide.run("run", "plan.yaml", "--dry-run").out
    done = wide.run("run", "plan.yaml", "--ledger", wide.ledger, "--out", "release.json", "--yes")
    assert done.code == 0, done
    release = Release.read("release.json")
    screened = next(step.columns for step in release.steps if step.columns)
    assert {'gene "7"', 'gene "1200"'} <= set(release.selected) <= set(screened)
    assert {term.column for term in release.fit.coefficients} == {None, *release.selected}
    assert (wide.spent(), release.guarantee.epsilon) == (6.0, 6.0)
    for name in ("report.html", "report.pdf", "report.md"):
        assert wide.run("report", "release.json", "--out", name).code == 0


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["-k", "0"], {}, "n_features_to_select"),
        (["-k", "1500"], {}, "nothing needs to be spent"),
        (["-k", "9999"], {}, "there are 1500 candidates"),
        (["-k", "2"], {"max_size": 3}, "max_size must come with n_features_to_select=auto"),
        (["-k", "2"], {"l1_radius": 1}, "Method sis has no parameter l1_radius"),
        (["-k", "2"], {"model_penalty": "bic"}, "Method sis has no parameter model_penalty"),
        (["-k", "2", "--no-intercept"], {}, "Method sis has no parameter fit_intercept"),
        (["-k", "2"], {"method": "pcls"}, "Method pcls has no parameter n_features_to_select"),
        (["-k", "2"], {"method": "two-stage", "y_center": 0}, "Method two-stage has no parameter y_center"),
        (["-k", "2"], {"mechanism": "laplace"}, "mechanism"),
        (["-k", "2"], {"y_center": "mean"}, "y_center must be a number"),
        (["-k", "2"], {"target": "sick", "level": "maybe"}, "level must be one of the levels"),
        (["-k", "2", "--code", "no"], {"target": "sick"}, "--code NAME=NUMBER"),
        (["-k", "2", "--set", "shares=3"], {}, "shares"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_for_free(wide, words, options, message):
    """One line, exit code 2, nothing spent, no data opened."""
    (wide.folder / "wide.parquet").write_bytes(b"PAR1 not a table")
    line = screen(wide, "--dry-run", *words, **options).refused(2)
    assert message in line
    assert wide.spent() == 0.0


def test_a_header_with_another_number_of_features_is_refused(wide):
    """The declared count is public, and so is the header."""
    other = {**WIDE, "features": {**WIDE["features"], "count": D + 1}}
    (wide.folder / "wide.yaml").write_text(json.dumps(other))
    screen(wide, "-k", 2).refused(5)
    assert wide.spent() == 0.0


def test_a_dry_run_asks_the_header_where_no_count_is_declared(wide):
    """With the data named, their header tells how many features there are; no row can be read there."""
    without = {**WIDE, "features": {key: value for key, value in WIDE["features"].items() if key != "count"}}
    (wide.folder / "wide.yaml").write_text(json.dumps(without))
    assert "Dry run for dose on 1,500 candidates" in screen(wide, "-k", 3, "--dry-run").out
    assert "features.count" in screen(wide, "-k", 3, "--dry-run", data=None).refused(2)
    assert wide.spent() == 0.0
