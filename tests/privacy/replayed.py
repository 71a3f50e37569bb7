"""Every method, with every option by which it reaches its noise on another way."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.mechanisms import subset_search
from discreet.methods.base import public_check
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.methods.regression import linear
from discreet.methods.screening.own_score import OwnScore
from tests.privacy.odd_tables import COLUMNS, Pair
from tests.privacy.recording import Spent, asked, compared

RELATIONS = ("replace_one", "add_or_remove_one")
NUMBERS = ("a", "b", "d", "e")
OF_MOMENTS = {"a": {"mean": 0.1, "sd": 0.5}, "b": {"mean": 2.0, "sd": 1.0}}
PUBLIC = {
    "labels": ("a", "b", "c=u", "c=v", "c=w"),
    "means": (0.1, 2.0, 0.4, 0.3, 0.3),
    "covariance": (
        (0.25, 0.1, 0.01, 0.0, -0.01),
        (0.1, 2.0, 0.1, 0.0, -0.1),
        (0.01, 0.1, 0.24, -0.12, -0.12),
        (0.0, 0.0, -0.12, 0.21, -0.09),
        (-0.01, -0.1, -0.12, -0.09, 0.21),
    ),
    "n_records": 40,
}
"""Means and covariances of a public table."""
SCORE_SENSITIVITY = 2.0 + 1e-9


@cache
def public_records() -> PublicRecords:
    """Records of other people, beside which private rows are counted."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    n = 24
    cells: dict[str, Any] = {
        "a": rng.uniform(-1, 1, n),
        "b": rng.integers(0, 6, n),
        "c": rng.choice(["u", "v", "w"], n),
        "y": rng.uniform(-2, 2, n),
        "z": rng.integers(0, 2, n),
        "k": rng.integers(0, 10, n),
    }
    metadata = Metadata.from_value(
        {"dataset": "open", "unit": "person", "neighboring": "add_or_remove_one",
         "columns": {name: COLUMNS[name] for name in cells}}
    )  # fmt: skip
    return PublicRecords(pa.table(cells), metadata)


def products(X: Any, y: Any) -> Any:
    """A score of one's own: in any order of the rows the same to about a millionth of a millionth."""
    return np.abs(X.T @ y)


@dataclass(frozen=True)
class Case:
    """A method with options that change its path, and what it is asked of."""

    name: str
    method: Method
    target: str = "y"
    candidates: tuple[str, ...] = ("a", "b", "c")
    rows_per_unit: int = 1
    private: tuple[str, ...] = ()
    relations: tuple[str, ...] = RELATIONS
    enumerated: int | None = None
    enough: float | None = None
    surely: float | None = None

    @property
    def is_by_half(self) -> bool:
        """Whether half of the units choose, and the others are fitted."""
        return getattr(self.method, "selective_inference", None) == "split"

    def compared(self, pair: Pair, relation: str, seed: int = 0) -> list[Spent]:
        return self.of_tables(*pair.tables(relation, self.rows_per_unit, self.private), seed)

    def of_tables(self, one: Any, other: Any, seed: int = 0) -> list[Spent]:
        with pytest.MonkeyPatch.context() as patch:
            if self.enumerated is not None:
                patch.setattr(subset_search, "ENUMERATED", self.enumerated)
            if self.enough is not None:
                patch.setattr(linear, "ENOUGH", self.enough)
            if self.surely is not None:
                patch.setattr(public_check, "SURELY", self.surely)
            return compared(lambda table: asked(self.method, table, self.target, self.candidates), one, other, seed)


def case(name: str, method: str, target: str = "y", candidates: Any = ("a", "b", "c"), **options: Any) -> Case:
    """A case of a method by its name on the command line; what is no parameter is of the case.

    Nothing is estimated of the target but what a case asks for.
    """
    if method in ("pcls", "pcpl", "moments"):
        options = {"y_center": "middle", "y_bound": "furthest"} | options
    own = {
        key: options.pop(key)
        for key in ("rows_per_unit", "private", "relations", "enumerated", "enough", "surely")
        if key in options
    }
    if method == "own-score":
        built: Method = OwnScore.of(score_func=products, sensitivity=SCORE_SENSITIVITY, **options)
    else:
        public = {"public": public_records()} if method in ("hybrid", "public-subset") else {}
        built = method_of(method, **public, **options)
    return Case(f"{method}: {name}", built, target, tuple(candidates), **own)


def plans(inference: str, tuned: dict[str, Any]) -> list[Case]:
    """Plans of several steps: all rows do all, or half of the units choose and the others are fitted."""

    def plan(name: str, *options: Any, **more: Any) -> Case:
        words = f"{name}, by half" if inference == "split" else name
        return case(words, "run", *options, selective_inference=inference, **more)

    return [
        plan("pcls, linear", select={"method": "pcls"}, fit={"family": "linear"}),
        plan("pcls tuned, linear, delta", delta=1e-5, select={"method": "pcls", **tuned},
             fit={"family": "linear"}, rows_per_unit=2),
        plan("pcpl, linear, delta", delta=1e-5, select={"method": "pcpl", "n0": 50, "delta": 1e-6},
             fit={"family": "linear"}),
        plan("moments, linear", select={"method": "moments"}, fit={"family": "linear"}),
        plan("moments, logistic", "z", delta=1e-5, select={"method": "moments"}, fit={"family": "logistic"}),
        plan("decorrelated, linear", select={"method": "decorrelated"}, fit={"family": "linear"}),
        plan("decorrelated, either way, linear", select={"method": "decorrelated", "public_moments": PUBLIC},
             fit={"family": "linear"}, surely=0),
        plan("sis, pcls, linear", candidates=NUMBERS, screen={"n_features_to_select": 2},
             select={"method": "pcls"}, fit={"family": "linear"}),
        plan("votes, poisson", "k", NUMBERS, delta=1e-5, fit={"family": "poisson"},
             screen={"method": "two-stage", "n_features_to_select": 2, "n_blocks": 3}),
        plan("sis, moments, linear", candidates=NUMBERS, delta=1e-5, select={"method": "moments"},
             screen={"n_features_to_select": 2, "mechanism": "peeling"}, fit={"family": "linear"}),
        plan("pcls, pure logistic", "z", select={"method": "pcls"}, fit={"family": "logistic"}),
        plan("pcls, linear, units", select={"method": "pcls"}, fit={"family": "linear"}, rows_per_unit=2),
        plan("sis, poisson, units", "k", NUMBERS, delta=1e-5, fit={"family": "poisson"}, rows_per_unit=2,
             screen={"n_features_to_select": 2}),
    ]  # fmt: skip


def cases() -> list[Case]:
    """Every method, and every option by which it reaches its noise on another way."""
    tuned = {"y_bound": "private", "l1_radius": "private", "model_penalty": "aic"}
    return [
        case("all subsets", "pcls"),
        case("groups and forced", "pcls", mechanism="exponential", groups=(("a", "b"),), forced=("d",),
             candidates=("a", "b", "c", "d")),
        case("listed models", "pcls", mechanism="laplace", models=((), ("a",), ("a", "c")), fit_intercept=False),
        case("at most one", "pcls", max_size=1, l1_radius=0.5, y_bound=1.0, y_center=0.5, model_penalty=0.3),
        case("lazily", "pcls", enumerated=2),
        case("lazily, gumbel", "pcls", enumerated=2, mechanism="exponential", epsilon=4.0),
        case("units", "pcls", rows_per_unit=2),
        case("tuned", "pcls", **tuned),
        case("private center", "pcls", y_center="private"),
        case("private center, tuned, units", "pcpl", n0=50, rows_per_unit=2, y_center="private", y_bound="private"),
        case("tuned, exponential, units", "pcls", rows_per_unit=2, mechanism="exponential", **tuned),
        case("wide grid", "pcls", l1_radius="private", l1_grid=(0.01, 1.0, 100.0), n0=50, model_penalty="bic"),
        case("private bounds", "pcls", private=("a", "y")),
        case("private bounds, tuned", "pcls", private=("a", "y"), n0=40, **tuned),
        case("published sum", "pcpl", n0=50),
        case("small sensitivity", "pcpl", n0=50, y_bound=0.01, l1_radius=0.01, epsilon=20.0, mechanism="exponential"),
        case("floor", "pcpl", n0=50, variance_floor=0.5),
        case("tuned, units", "pcpl", n0=50, rows_per_unit=2, y_bound="private", l1_radius="private", rss_guess=500.0),
        case("private bounds", "pcpl", n0=50, private=("b", "y"), model_penalty="bic"),
        case("pure", "moments"),
        case("gaussian", "moments", delta=1e-6, fit=True, groups=(("a", "b"),)),
        case("row norm, units", "moments", delta=1e-6, row_norm=0.5, rows_per_unit=2),
        case("known moments", "moments", design_moments=OF_MOMENTS, uncorrelated=True, candidates=("a", "b")),
        case("known moments, for coefficients", "moments", design_moments=OF_MOMENTS, uncorrelated=True,
             candidates=("a", "b"), question="coefficients"),
        case("public columns", "moments", public_moments=PUBLIC, epsilon=8.0, question="coefficients"),
        case("public columns, units", "moments", public_moments=PUBLIC, epsilon=9.0, fit=True, rows_per_unit=2,
             question="coefficients"),
        case("public columns, delta, private clip", "moments", public_moments=PUBLIC, delta=1e-6, y_bound="private"),
        case("for coefficients", "moments", question="coefficients", delta=1e-6, fit_intercept=False, max_size=1),
        case("clip, private bounds", "moments", y_bound="private", private=("a",), delta=1e-6),
        case("clip of unit rows", "moments", y_bound="private"),
        case("by default", "moments", n0=1000, relations=("add_or_remove_one",), y_center=None, y_bound=None),
        case("scaled columns", "moments", epsilon=900.0, y_bound="private"),
        case("scaled columns, units", "moments", delta=1e-6, epsilon=1000.0, rows_per_unit=2, fit=True),
        case("private center, row norm, units", "moments", delta=1e-6, row_norm=0.5, rows_per_unit=2,
             y_center="private"),
        case("pure", "linear"),
        case("gaussian", "linear", delta=1e-6),
        case("two passes, pure", "linear", enough=0.0),
        case("two passes, gaussian", "linear", enough=0.0, delta=1e-6, robust=False),
        case("two passes, units", "linear", enough=0.0, delta=1e-6, rows_per_unit=3),
        case("two passes, pure, units", "linear", enough=0.0, rows_per_unit=2, epsilon=20.0),
        case("two passes, private bounds", "linear", enough=0.0, delta=1e-6, private=("y", "a"), y_bound="private"),
        case("the same moments twice", "linear", enough=1e9, delta=1e-6, relations=("add_or_remove_one",)),
        case("few rows, median", "linear", delta=1e-6, epsilon=0.5),
        case("few rows, sum, units", "linear", delta=1e-6, epsilon=900.0, enough=1e9, rows_per_unit=2),
        case("few rows, sum", "linear", epsilon=900.0, enough=1e9),
        case("pure, row norm, units", "linear", row_norm=0.7, rows_per_unit=2),
        case("clip", "linear", delta=1e-6, y_bound="private", fit_intercept=False),
        case("clipped rows, units", "linear", delta=1e-6, y_bound=1.0, count_clipped=True, rows_per_unit=2),
        case("private bounds, units", "linear", private=("y", "a"), rows_per_unit=2),
        case("rule", "sis", candidates=NUMBERS, n_features_to_select=2),
        case("canonical", "sis", candidates=NUMBERS, n_features_to_select=2, mechanism="canonical_lipschitz"),
        case("canonical, gumbel, units", "sis", candidates=NUMBERS, n_features_to_select=2, rows_per_unit=2,
             mechanism="canonical_lipschitz", noise="gumbel", gamma=0.3, association="products"),
        case("one shot, middle", "sis", candidates=NUMBERS, n_features_to_select=3, mechanism="one_shot",
             y_center="middle"),
        case("peeled, delta", "sis", candidates=NUMBERS, n_features_to_select=2, mechanism="peeling", delta=1e-6,
             y_center=0.3, y_bound=1.0),
        case("peeled, exponential", "sis", candidates=NUMBERS, n_features_to_select=2, mechanism="peeling"),
        case("threshold", "sis", candidates=NUMBERS, n_features_to_select="auto", n0=30),
        case("threshold, middle, units", "sis", candidates=NUMBERS, n_features_to_select="auto", y_center="middle",
             n0=30, rows_per_unit=2, noise="gumbel", saturation=0.3),
        case("threshold, level", "sis", "g", NUMBERS, n_features_to_select="auto", level="yes", n0=30),
        case("median split", "sis", candidates=NUMBERS, n_features_to_select=2, association="median_split"),
        case("median split, threshold, units", "sis", "g", NUMBERS, n_features_to_select="auto", level="yes",
             association="median_split", n0=30, rows_per_unit=2, max_size=2),
        case("products", "sis", candidates=NUMBERS, n_features_to_select=2, association="products", noise_test=True),
        case("products, threshold", "sis", candidates=NUMBERS, n_features_to_select="auto", n0=30,
             association="products"),
        case("kendall, units", "sis", candidates=NUMBERS, n_features_to_select=2, association="kendall",
             rows_per_unit=2, noise_test=True),
        case("kendall, threshold, level", "sis", "g", NUMBERS, n_features_to_select="auto", level="yes",
             association="kendall"),
        case("category", "sis", "c", NUMBERS, n_features_to_select=1, codes={"u": 0.0, "v": 1.0, "w": 5.0}),
        case("level", "sis", "g", NUMBERS, n_features_to_select=1, level="yes", rows_per_unit=3),
        case("votes", "two-stage", candidates=NUMBERS, n_features_to_select=2, n_blocks=5),
        case("votes, noise test, units", "two-stage", candidates=NUMBERS, n_features_to_select=2, n_blocks=5,
             noise_test=True, rows_per_unit=2),
        case("noise test", "sis", candidates=NUMBERS, n_features_to_select=2, noise_test=True),
        case("noise test, peeled, delta", "sis", "g", NUMBERS, n_features_to_select=2, mechanism="peeling", delta=1e-6,
             level="yes", n0=30, noise_test=True),
        case("votes, units", "two-stage", candidates=NUMBERS, n_features_to_select=1, n_blocks=4, rows_per_unit=2,
             alpha=0.01),
        case("votes, gumbel", "two-stage", "g", NUMBERS, n_features_to_select=2, n_blocks=3, mechanism="peeling",
             delta=1e-6),
        case("rule", "decorrelated"),
        case("numbers, middle", "decorrelated", "k", NUMBERS, y_center="middle", epsilon=20.0),
        case("groups and forced", "decorrelated", candidates=("a", "b", "c", "d"), groups=(("a", "c"),), forced=("d",),
             y_center=0.3),
        case("a first screening", "decorrelated", candidates=("a", "b", "c", "d"), n_screened=2),
        case("a first screening, one round, groups, units", "decorrelated", candidates=("a", "b", "c", "d", "e"),
             n_screened=1, groups=(("a", "c"),), forced=("d",), y_center="middle", x_center={"a": 0.9, "d": 0.1},
             rows_per_unit=2, shares={"first_screening": 0.5, "gram": 0.2}),
        case("public centers", "decorrelated", x_center={"a": 0.9, "b": 1.0}),
        case("units", "decorrelated", rows_per_unit=2, shares={"gram": 0.5}),
        case("public columns", "decorrelated", public_moments=PUBLIC),
        case("public columns, either way", "decorrelated", public_moments=PUBLIC, shares={"public_check": 0.01},
             surely=0),
        case("public columns, pilot, units", "decorrelated", public_moments=PUBLIC, epsilon=900.0, n0=10_000,
             rows_per_unit=2, y_center="middle", groups=(("a", "c"),)),
        case("declared", "own-score", candidates=NUMBERS, n_features_to_select=2),
        case("declared, canonical", "own-score", candidates=NUMBERS, n_features_to_select=2,
             mechanism="canonical_lipschitz", relations=("replace_one",)),
        case("gaussian", "logistic", "z"),
        case("gaussian, units", "logistic", "z", rows_per_unit=2, epsilon=20.0),
        case("pure", "logistic", "z", delta=0.0),
        case("pure, large epsilon", "logistic", "z", delta=0.0, epsilon=20.0),
        case("pure, units", "logistic", "z", delta=0.0, epsilon=20.0, rows_per_unit=2),
        case("gaussian", "poisson", "k"),
        case("pure, large epsilon", "poisson", "k", delta=0.0, epsilon=20.0),
        case("pure, units", "poisson", "k", delta=0.0, epsilon=20.0, rows_per_unit=2),
        case("three passes", "poisson", "k", epsilon=100.0, n0=10_000, rows_per_unit=2),
        case("rule", "hybrid"),
        case("counts", "hybrid", measure="counts", n_points=6),
        case("counts, units", "hybrid", measure="counts", n_points="all", rows_per_unit=2, contrast="huber"),
        case("margins", "hybrid", measure="margins"),
        case("margins of classes, units", "hybrid", "z", measure="margins", rows_per_unit=2, ridge=0.1),
        case("median", "hybrid", contrast="median"),
        case("counts of a count", "hybrid", "k", contrast="poisson", measure="counts", n_points=5),
        case("twins", "hybrid", twins=1, candidates=("a",), measure="counts", n_points=4),
        case("rule", "public-subset"),
        case("counts, histogram", "public-subset", measure="counts", n_points=6, candidates=("a",),
             shares={"histogram": 0.2}, order="weight"),
        case("classes, units", "public-subset", "z", measure="counts", n_points=8, loss="log", rows_per_unit=2,
             mechanism="exponential"),
        case("margins, quantile", "public-subset", contrast="quantile", quantile=0.3, measure="counts"),
        case("cells", "histogram", candidates=("a", "c"), bins=3),
        case("cells, units", "histogram", "z", candidates=("b",), rows_per_unit=2),
        *(each for inference in ("none", "split") for each in plans(inference, tuned)),
        case("moments, linear, in parts", "run", delta=1e-5, select={"method": "moments"}, fit={"family": "linear"},
             selective_inference="fission"),
    ]  # fmt: skip
