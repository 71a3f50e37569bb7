"""`fit` and `run` as a user meets them: what they print, what they charge, what they refuse."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.workflow import fit_from, select_from
from tests.acceptance.conftest import METADATA, people

PLAN = """
schema: discreet/run@1
data: people.parquet
metadata: people.yaml
target: visits
epsilon: 2
delta: 1e-4
select: {method: METHOD, epsilon: 0.5}
fit: {family: linear}
"""


@pytest.fixture
def granted(place):
    """A place whose ledger allows a delta, too."""
    assert place.run("budget", "grant", "clinic", "--epsilon", 10, "--delta", 0.01, "--ledger", place.ledger).code == 0
    return place


def fit(place, *more, **options):
    """Run a `fit`."""
    given = {"data": place.data, "metadata": place.metadata, "ledger": place.ledger} | options
    named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
    return place.run("fit", *(word for pair in named for word in pair), *more)


def plan(place, text):
    """Write a plan."""
    path = place.folder / "plan.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("method", ["pcls", "moments", "pcpl"])
def test_a_plan_is_one_charge_one_release_and_one_report(granted, method):
    """What was selected is what was fitted; the ledger has one entry more, and it is the release's."""
    path = plan(granted, PLAN.replace("METHOD", method))
    shown = granted.run("run", path, "--dry-run")
    assert (shown.code, "epsilon 2, delta 0.0001" in shown.out, granted.spent()) == (0, True, 0.0)
    done = granted.run("run", path, "--ledger", granted.ledger, "--out", "release.json", "--yes")
    assert done.code == 0, done
    assert granted.spent() == 2.0
    release = Release.read(granted.folder / "release.json")
    assert release.fit is not None
    assert {term.column for term in release.fit.coefficients} == {None, *release.selected}
    assert release.guarantee.model_dump()["epsilon"] == 2.0
    assert len(release.steps) >= (1 if method == "moments" else 2)
    for name in ("report.html", "report.pdf", "report.md"):
        assert granted.run("report", "release.json", "--out", name).code == 0
        assert (granted.folder / name).stat().st_size > 3000
    again = granted.run("run", path, "--ledger", granted.ledger, "--yes", "--json")
    assert json.loads(again.out) == release.model_dump(mode="json", by_alias=True)
    assert granted.spent() == 2.0


def test_fits_from_noisy_moments_are_free(granted):
    """One payment; then any of their columns, without the table; others are refused."""
    ask = {"method": "moments", "epsilon": 2, "delta": 1e-4, "out": "moments.json"}
    assert granted.select("--yes", **ask).code == 0
    granted.data.unlink()
    done = granted.run("fit", "--from", "moments.json", "--columns", "age,site", "--out", "fit.json", "--json")
    release = json.loads(done.out)
    assert (done.code, granted.spent()) == (0, 2.0)
    assert [term["column"] for term in release["fit"]["coefficients"]] == [None, "age", "site", "site"]
    assert release["provenance"]["derived_from"]
    assert release["guarantee"]["epsilon"] == 2.0
    granted.run("fit", "--from", "moments.json", "--columns", "age,shoe").refused(2)


@pytest.mark.parametrize(
    "words",
    [
        ["--target", "income"],
        ["--no-intercept"],
        ["--y-bound", "3"],
        ["--y-center", "3"],
        ["--row-norm", "1"],
        ["--solver", "3"],
        ["--epsilon", "1"],
        ["--delta", "0"],
        ["--dry-run"],
        ["--fresh"],
        ["--data", "people.parquet"],
        ["--metadata", "people.yaml"],
        ["--ledger", "ledger.sqlite"],
        ["--table", "people"],
    ],
    ids=lambda words: words[0],
)
def test_a_free_fit_cannot_be_asked_for_what_was_not_bought(granted, words):
    """An option that noisy moments cannot honour is refused by its name, and the line says what to do."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, out="moments.json").code == 0
    line = granted.run("fit", "--from", "moments.json", "--out", "fit.json", *words).refused(2)
    assert f"cannot have {words[0]}. Leave that out." in line
    assert not (granted.folder / "fit.json").exists()


def test_a_free_fit_takes_what_fits_what_was_bought(granted):
    """The same target, the intercept that is there, the family, and whatever concerns the answer alone."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, out="moments.json").code == 0
    words = "--target visits --intercept --family linear --confidence 0.8 --yes --quiet --json"
    done = granted.run("fit", "--from", "moments.json", *words.split())
    assert (done.code, json.loads(done.out)["fit"]["confidence"]) == (0, 0.8)


def test_a_free_fit_of_what_was_selected_has_intervals_that_hold(granted):
    """Columns selected anew by one part, and fitted by the other; all of the moments on request, with a caution."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, out="moments.json").code == 0
    ask = ("fit", "--from", "moments.json", "--out", "fit.json")
    assert "The other half gave these intervals, so they hold" in granted.run(*ask).out
    fitted, bought = Release.read("fit.json"), Release.read("moments.json")
    assert fitted.request["parameters"]["selective_inference"] == "fission"
    assert {term.column for term in fitted.fit.coefficients} == {None, *fitted.selected}
    assert fit_from(bought) == fitted  # nothing is drawn again
    assert "is not guaranteed" in granted.run(*ask, "--selective-inference", "none").out
    assert Release.read("fit.json").selected == bought.selected
    assert "must be fission or none" in granted.run(*ask, "--selective-inference", "split").refused(2)
    older = bought.model_copy(update={"moments": bought.moments.model_copy(update={"fission": None})})
    assert "selective_inference" not in fit_from(older).request["parameters"]
    with pytest.raises(InvalidParameterError, match="moments in two parts"):
        fit_from(older, selective_inference="fission")


def test_how_sure_columns_are_is_free_and_verifies(granted):
    """Of noisy moments, under two priors; the report has it, and the ledger knows the parent."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, out="moments.json").code == 0
    spent = granted.run("budget", "show", "clinic", "--ledger", granted.ledger).out
    done = granted.run("fit", "--from", "moments.json", "--posterior", "--out", "sure.json")
    assert "chance that it matters     broad    sparse" in done.out
    assert granted.run("budget", "show", "clinic", "--ledger", granted.ledger).out == spent
    bought, sure = Release.read("moments.json"), Release.read("sure.json")
    assert sure.model_posterior == bought.posterior()
    assert "How sure" in granted.run("report", "sure.json").out
    page = granted.run("report", "sure.json", "--audience", "analyst", "--format", "html").out
    assert "Chance that the column matters" in page
    words = "--columns age --posterior --confidence 0.8 --out few.json --json"
    told = json.loads(granted.run("fit", "--from", "moments.json", *words.split()).out)["model_posterior"]
    assert (told["confidence"], len(told["priors"])) == (0.8, 2)
    files = [str(granted.folder / name) for name in ("moments.json", "sure.json", "few.json")]
    assert granted.run("budget", "verify", *files, "--ledger", granted.ledger).code == 0
    changed = sure.model_copy(update={"model_posterior": bought.posterior(0.5)})
    changed.save(granted.folder / "changed.json")
    assert granted.run("budget", "verify", "changed.json", "--ledger", granted.ledger).code != 0
    assert "give --from RELEASE" in granted.run("fit", "--posterior").refused(2)


def test_moments_are_bought_in_parts_below_a_ceiling(granted):
    """The same command again is free, the parts verify, and epsilon is refused beside a ceiling."""
    ask = granted.words(epsilon=None, method="moments", until=0.9, at_most=1, delta=1e-4, out="parts.json")
    assert "Bought in" in granted.run(*ask).out
    bought = Release.read("parts.json")
    assert bought.guarantee.epsilon == 1.0 >= bought.pooled.epsilon_spent
    spent = granted.spent()
    granted.run(*ask)
    assert Release.read("parts.json").pooled == bought.pooled
    assert granted.spent() == spent
    assert granted.run("budget", "verify", "parts.json", "--ledger", granted.ledger).code == 0
    assert "Parts" in granted.run("report", "parts.json").out
    assert "leave out --epsilon" in granted.run(*ask, "--epsilon", "1").refused(2)


def test_moments_are_bought_until_an_interval_is_narrow(granted):
    """A width that is surely had stops after one part, the rest goes back; a name must be a candidate's."""
    width = {"until_width": 1e6, "at_most": 1, "delta": 1e-4, "out": "parts.json"}
    ask = granted.words(epsilon=None, method="moments", **width)
    assert "is so wide" not in granted.run(*ask).out
    bought = Release.read("parts.json").pooled
    assert (bought.of, bought.until, bought.width, bought.reached, len(bought.parts)) == ("width", None, 1e6, True, 1)
    assert 0 < bought.parts[0].width <= 1e6
    assert float(granted.spent()) == pytest.approx(bought.epsilon_spent)
    assert "the widest interval, of probability 95%, is" in " ".join(granted.run("report", "parts.json").out.split())
    assert granted.run("budget", "verify", "parts.json", "--ledger", granted.ledger).code == 0
    named = granted.run(*ask, "--until-coefficient", "age", "--from", "parts.json")
    assert "the interval of age, of probability 95%, is" in " ".join(named.out.split())
    assert "must be of a candidate" in granted.run(*ask, "--until-coefficient", "nobody").refused(2)


def test_a_release_shows_what_it_was_charged_in_rho(place):
    """Under zcdp the release holds its own rho, that of the account, and the delta at which the cap converts."""
    place.run(
        "budget", "grant", "clinic", "--epsilon", 3, "--delta", 1e-3, "--accounting", "zcdp", "--ledger", place.ledger
    )
    spent = 0.0
    for epsilon in (0.3, 0.5):
        assert place.select("--yes", epsilon=epsilon, out="release.json").code == 0
        charge = Release.read("release.json").provenance.ledger
        assert charge.rho_spent == pytest.approx(spent + charge.rho)
        spent = charge.rho_spent
        assert charge.delta_cap == 1e-3
    assert "The whole cap corresponds to epsilon 3 at delta 0.001." in " ".join(
        place.run("report", "release.json").out.split()
    )


def test_what_was_computed_from_a_release_verifies_and_spent_nothing(granted):
    """Fits and selections, one after the other, belong to the entry of the release that they were computed from."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, max_size=2, out="moments.json").code == 0
    bought = Release.read("moments.json")
    fitted = fit_from(bought, ["age"], 0.8)
    chain = [fitted, select_from(fitted, model_penalty=0.5), select_from(bought, groups=[["age", "income"]])]
    chain += [fit_from(chain[1]), fit_from(chain[2], ["site"]), fit_from(bought)]
    chain += [fit_from(bought, ["age"], selective_inference=way) for way in ("fission", "none")]
    names = [str(one.save(granted.folder / f"{place}.json")) for place, one in enumerate(chain)]
    done = granted.run("budget", "verify", "moments.json", *names, "--ledger", granted.ledger)
    entry = bought.provenance.ledger.entry
    told = [
        f"{name}: computed from the release of entry {entry}, which is in the ledger; it spent nothing."
        for name in names
    ]
    assert (done.code, done.out.splitlines()[1:]) == (0, told)
    done = granted.run("budget", "verify", names[0], "--ledger", granted.ledger, "--json")
    assert json.loads(done.out)["derived"] == [{"file": names[0], "entry": entry}]


FORGED = {
    "a coefficient": (lambda value: value["fit"]["coefficients"][0].update(estimate=1.0), "what this version computes"),
    "the columns": (lambda value: value["request"].update(candidates=["income"]), "what this version computes"),
    "no such column": (lambda value: value["request"].update(candidates=["shoe"]), "what this version computes"),
    "a smaller epsilon": (lambda value: value["guarantee"].update(epsilon=0.1), "what this version computes"),
    "the selection": (lambda value: value.update(selected=["income"]), "what this version computes"),
    "the moments": (lambda value: value["moments"].update(yty=1), "what this version computes"),
    "the parent": (lambda value: value["provenance"].update(derived_from="0" * 64), "no record of it"),
    "the entry": (lambda value: value["provenance"]["ledger"].update(entry=1), "no record of it"),
    "no charge": (lambda value: value["provenance"].update(ledger=None), "no record of it"),
}


@pytest.mark.parametrize("change", FORGED)
def test_what_was_computed_from_a_release_and_changed_does_not_verify(granted, change):
    """Every number is computed again, and all that was promised must be the parent's."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, forced="age", out="moments.json").code == 0
    value = json.loads(fit_from(Release.read("moments.json")).to_json())
    alter, hint = FORGED[change]
    alter(value)
    (granted.folder / "fit.json").write_text(json.dumps(value))
    assert hint in granted.run("budget", "verify", "fit.json", "--ledger", granted.ledger).refused(8)


def test_another_selection_says_what_it_was_asked_with(granted):
    """Not with what the first one was: a limit that no longer holds must not stand in the release."""
    assert granted.select("--yes", method="moments", epsilon=2, delta=1e-4, max_size=1, out="moments.json").code == 0
    again = select_from(fit_from(Release.read("moments.json"), ["age"]), forced=["income"])
    assert "income" in again.selected
    assert again.request["candidates"] == ["age", "income", "site"]
    parameters = again.request["parameters"]
    assert (parameters.get("max_size"), parameters["forced"], parameters.get("confidence")) == (None, ["income"], None)
    with pytest.raises(TypeError, match="epsilon"):
        select_from(again, epsilon=1.0)


def test_a_fit_of_what_a_release_selected_spends(granted):
    """The columns come from the release, the budget from the ledger."""
    assert granted.select("--yes", forced="age", out="release.json").code == 0
    done = fit(granted, "--from", "release.json", "--yes", "--json", epsilon=1, delta=1e-4)
    release = json.loads(done.out)
    assert (release["target"] if "target" in release else release["request"]["target"]) == "visits"
    assert "age" in release["request"]["candidates"]
    assert granted.spent() == 2.0
    assert "is not guaranteed" in fit(granted, "--from", "release.json", "--yes", epsilon=1, delta=1e-4).out
    named = fit(granted, "--target", "visits", "--columns", "age,site", "--yes", "--fresh", epsilon=1, delta=1e-4)
    assert "is not guaranteed" not in named.out


def test_what_was_computed_from_a_plan_in_parts_verifies(granted):
    """A fit asks what the plan's selection asked, or what was asked since; each is computed anew as it was."""
    path = plan(granted, PLAN.replace("METHOD", "moments").replace("epsilon: 0.5", "max_size: 1, model_penalty: aic"))
    assert granted.run("run", path, "--ledger", granted.ledger, "--out", "release.json", "--yes").code == 0
    bought = Release.read("release.json")
    chosen = select_from(bought, model_penalty=0.01)
    chain = [fit_from(bought), chosen, fit_from(chosen), fit_from(bought, selective_inference="none")]
    assert fit_from(bought).fit == bought.fit
    assert len(bought.selected) <= 1 < len(fit_from(chosen).selected)
    assert fit_from(chosen).selected == chosen.selected
    names = [str(one.save(granted.folder / f"{place}.json")) for place, one in enumerate(chain)]
    assert granted.run("budget", "verify", "release.json", *names, "--ledger", granted.ledger).code == 0


WAYS = {
    "fission": ("one half of the information", "one chose the columns, the other gave"),
    "split": ("half of the units select", "which the choice did not use"),
    "none": ("all rows", "intervals too narrow"),
}
"""What the dry run says of each way to keep intervals valid, and the report."""


@pytest.mark.parametrize("inference", WAYS)
def test_a_plan_says_whether_its_intervals_hold_after_the_selection(granted, inference):
    """Noisy moments are divided by default; people, or nothing, on request: release, text and report tell."""
    asked = "" if inference == "fission" else f"selective_inference: {inference}\n"
    path = plan(granted, PLAN.replace("METHOD", "moments").replace("epsilon: 0.5", "model_penalty: aic") + asked)
    shown = granted.run("run", path, "--dry-run").out
    assert [way for way, (before, _) in WAYS.items() if before in shown] == [inference]
    done = granted.run("run", path, "--ledger", granted.ledger, "--out", "release.json", "--yes")
    assert ("hold after the selection" in done.out) == (inference != "none"), done
    release = Release.read(granted.folder / "release.json")
    assert release.request["parameters"]["selective_inference"] == inference
    assert (release.event["type"] == "ParallelEvent") == (inference == "split")
    assert granted.run("report", "release.json", "--out", "report.md").code == 0
    text = " ".join((granted.folder / "report.md").read_text().split())
    assert [way for way, (_, after) in WAYS.items() if after in text] == [inference]


@pytest.mark.parametrize(
    ("change", "code", "hint"),
    [
        (("epsilon: 0.5", "epsilon: 2.5"), 2, "must cost at most the whole"),
        (("epsilon: 0.5", "epsilon: 0"), 2, "epsilon must lie in"),
        (("method: METHOD", "method: magic"), 2, "select.method must be one of"),
        (("family: linear", "family: magic"), 2, "fit.family must be one of linear, logistic, poisson"),
        (("family: linear", "family: logistic"), 3, "numeric from 0 to 1"),
        (("family: linear", "family: linear, colour: red"), 2, "colour"),
        (("family: linear", "family: linear, delta: 1e-7"), 2, "fit step cannot have delta"),
        (("family: linear", "family: linear, fit_intercept: false"), 2, "cannot have fit_intercept"),
        (("method: METHOD", "method: moments, delta: 1e-2"), 2, "select step cannot have delta"),
        (("method: METHOD", "method: pcpl, delta: 1e-3"), 2, "delta must cover its parts"),
        (("delta: 1e-4", "delta: 2"), 2, r"delta must lie in \[0, 0\.999999999\]"),
        (("target: visits", "target: shoe"), 3, "shoe"),
        (("schema: discreet/run@1", "schema: discreet/run@9"), 2, "discreet/run@1"),
        (("fit:", "finish:"), 2, "fit: must be given"),
        (("select:", "selekt:"), 2, "selekt: is not a known key. Did you mean select?"),
        (("metadata: people.yaml", "metadata: nothing.yaml"), 2, "nothing.yaml"),
        (("PLAN", "PLAN"), 0, ""),
    ],
)
def test_bad_plans_are_refused_and_cost_nothing(granted, change, code, hint):
    """One clear line; the last case is the plan as it should be."""
    text = PLAN.replace(*change).replace("METHOD", "pcls")
    done = granted.run("run", plan(granted, text), "--ledger", granted.ledger, "--yes")
    if code:
        import re

        assert re.search(hint, done.refused(code)), done
        assert granted.spent() == 0.0
    else:
        assert done.code == 0


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"columns": None}, 2, "--columns"),
        ({"target": None}, 2, "--target"),
        ({"epsilon": None}, 2, "--epsilon"),
        ({"columns": "age,age"}, 2, "repeat"),
        ({"columns": "visits"}, 2, "cannot be a candidate"),
        ({"family": "poisson", "delta": 2}, 2, "delta must lie in [0, 0.999999999]"),
        ({"family": "logistic"}, 3, "numeric from 0 to 1"),
        ({"family": "magic"}, 2, "magic"),
        ({"confidence": 1.5}, 2, "confidence"),
        ({"delta": 1.5}, 2, "delta"),
        ({"epsilon": 20}, 4, "10"),
    ],
)
def test_bad_fits_are_refused_and_cost_nothing(granted, options, code, hint):
    """One clear line."""
    given = {"target": "visits", "columns": "age,site", "epsilon": 1, "delta": 1e-4} | options
    assert hint in fit(granted, "--yes", **given).refused(code)
    assert granted.spent() == 0.0


BINARY = METADATA | {"columns": METADATA["columns"] | {"visits": {"type": "integer", "lower": 0, "upper": 1}}}


@pytest.fixture
def yes_or_no(place):
    """The same people, asked whether they came often: the older ones did."""
    place.metadata.write_text(json.dumps(BINARY))
    table = people()
    often = pa.array([int(visits > 10) for visits in table["visits"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("visits"), "visits", often), place.data)
    return place


@pytest.mark.parametrize("given", [{}, {"delta": 0}], ids=["default", "delta 0"])
def test_a_logistic_fit_without_a_delta_is_pure(yes_or_no, given):
    """Shown beforehand, charged once, without a delta."""
    asked = {"target": "visits", "columns": "age,site", "family": "logistic", "epsilon": 9} | given
    shown = fit(yes_or_no, "--dry-run", **asked)
    assert (shown.code, yes_or_no.spent()) == (0, 0.0)
    done = fit(yes_or_no, "--yes", "--json", **asked, out="fit.json")
    assert done.code == 0, done
    release = Release.read(yes_or_no.folder / "fit.json")
    assert yes_or_no.spent() == 9.0
    assert (release.guarantee.epsilon, release.guarantee.delta) == (9.0, 0.0)
    assert release.noise.mechanism == "objective_perturbation"
    assert {coefficient.column for coefficient in release.fit.coefficients} >= {"age"}
    assert release.fit.has_intervals
    for name in ("report.html", "report.md"):
        assert yes_or_no.run("report", "fit.json", "--out", name).code == 0
    text = (yes_or_no.folder / "report.md").read_text()
    assert "objective perturbation" in text
    assert fit(yes_or_no, "--yes", "--json", **asked).out == done.out


@pytest.mark.parametrize("word", ["one class", "all missing", "separable"])
def test_a_pure_logistic_fit_of_any_rows_answers(yes_or_no, word):
    """No table of whatever kind is a failure."""
    table = pq.read_table(yes_or_no.data)
    n, at = table.num_rows, table.column_names.index("visits")
    cells = {
        "one class": pa.array([1] * n),
        "all missing": pa.nulls(n, pa.int64()),
        "separable": pa.array([int(age > 50) for age in table["age"].to_pylist()]),
    }[word]
    pq.write_table(table.set_column(at, "visits", cells), yes_or_no.data)
    done = fit(yes_or_no, "--yes", "--json", target="visits", columns="age,site", family="logistic", epsilon=1)
    assert done.code == 0, done


def degenerate(column):
    """Rows in which something is as bad as can be."""
    table = people()
    n = table.num_rows
    rows = {
        "a constant column": {"age": [40] * n},
        "all y equal": {"visits": [3] * n},
        "a perfect fit": {"visits": [age / 110 * 20 for age in table["age"].to_pylist()]},
        "separable": {"visits": [int(age > 50) for age in table["age"].to_pylist()]},
        "all missing": {"age": [None] * n, "visits": [None] * n},
    }[column]
    return pa.table({name: rows.get(name, table[name].to_pylist()) for name in table.column_names})


@pytest.mark.parametrize("case", ["a constant column", "all y equal", "a perfect fit", "separable", "all missing"])
@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_degenerate_rows_give_finite_numbers(granted, case, family):
    """The rows may be anything: there is a release, its numbers are finite, and ends that are told are in order."""
    pq.write_table(degenerate(case), granted.data)
    upper = 1 if family == "logistic" else 20
    other = granted.write_metadata(lambda value: value["columns"]["visits"].update(upper=upper))
    ask = {"target": "visits", "columns": "age,site,income", "epsilon": 5, "delta": 1e-4, "metadata": other}
    done = fit(granted, "--yes", "--json", family=family, **ask)
    assert done.code == 0, done
    for term in json.loads(done.out)["fit"]["coefficients"]:
        ends = [number for number in (term["low"], term["estimate"], term["high"]) if number is not None]
        assert all(map(math.isfinite, ends))
        assert ends[0] <= ends[-1]


def test_columns_of_a_release_without_a_guarantee_are_not_fitted(granted):
    """They may be exact facts about the rows; of a table that was opened they are fitted and charged."""
    rows, metadata, path = people(), Metadata.read(granted.metadata), granted.folder / "earlier.json"
    arrays = (rows.select(["age", "income"]), rows["visits"].to_numpy())
    dc.PCLS(metadata=metadata).fit(*arrays, target="visits").release_.save(path)
    more = ("--from", path, "--yes", "--epsilon", 1, "--delta", 1e-6)
    assert "gives no guarantee" in fit(granted, *more).refused(9)
    assert granted.spent() == 0.0
    dc.PCLS().fit(dc.open_table(rows, metadata), target="visits").release_.save(path)
    assert fit(granted, *more).code == 0
    assert granted.spent() == 1.0


def test_delta_too_large_for_the_rows_is_refused(place):
    """A delta above one in n would allow a whole row to be published."""
    assert "delta" in place.select("--yes", method="pcpl", delta=0.1).refused(2)
    assert METADATA["n_rows"] * 0.1 > 1
