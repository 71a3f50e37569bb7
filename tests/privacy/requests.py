"""Requests of every method at the edges of what may be asked, and small tables as hostile as storage allows."""

import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import DiscreetError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome
from discreet.methods.registry import method_of
from discreet.release import Release
from discreet.workflow.priced_request import price

WIDTHS = (1, 2, 3, 5, 9, 17, 33, 64, 65, 100, 128)
SIZES = (0, 1, 2, 3, None)
EPSILONS = (1e-9, 1.1e-9, 1e-8, 1e-4, 0.1, 1.0, 30.0, 1000.0)
DELTAS = (0.0, 1e-300, 1e-18, 1e-6, 1e-3, 0.5)
NUMBERS = (
    5e-324, 1e-300, 1e-100, 1e-30, 1e-9, 1e-6, 0.01, 0.5, 1.0, 3.0, 100.0, 1e9, 1e30, 1e100, 1e130, 1e200, 1e308,
    math.inf, math.nan, -1.0, 0.0,
)  # fmt: skip
"""Of every other parameter: most are out of every range."""

BOUNDS = ((-1.0, 1.0), (0.0, 1.0), (0.0, 1e100), (-1e100, 1e100), (0.0, 1e-89), (5.0, 5.0 + 1e-9), (-1e-300, 1e300))
DERIVED = ("x0 * 0.5", "x0 / x0", "log(x0)", "exp(x0 ** 9)", "is(g, 'l0') * x0", "sqrt(x0 - 1) + (x0 > 0)")
"""Where the declared bounds cut what has no value."""
TABLES = ("random", "equal", "separable", "ends", "missing", "not numbers", "copies")
ROWS = (0, 1, 2, 17)
PUBLIC = 60
"""Public records."""
SELECTIONS, SCREENINGS, FAMILIES = ("pcls", "pcpl", "moments"), ("sis", "two-stage"), ("linear", "logistic", "poisson")
HYBRIDS = ("hybrid", "public-subset", "histogram")


@dataclass(frozen=True)
class Request:
    """A method, its parameters, and what the metadata say."""

    method: str
    parameters: dict[str, Any]
    width: int
    relation: str
    n_rows: int
    bounds: tuple[float, float] | None
    features: tuple[float, float]
    rows_per_unit: int
    n_levels: int
    kind: str
    others: tuple[float, float] | None = None
    beside: tuple[float, float] | None = None
    derived: str | None = None
    reference: str | None = None
    counts_units: bool = False

    def metadata(self) -> Metadata:
        """Numeric columns, at times a category, and a target; bounds at times to be bought."""
        ends = [self.features, *[self.others or self.features] * (self.width - 1)]
        columns: dict[str, Any] = {
            f"x{j}": {"type": "real", "lower": low, "upper": high, "source": "test"}
            for j, (low, high) in enumerate(ends)
        }
        if self.n_levels:
            columns["g"] = {"type": "category", "levels": [f"l{j}" for j in range(self.n_levels)], "source": "test"}
            columns["g"] |= {"reference": self.reference} if self.reference else {}
        if self.derived is not None:
            columns["d"] = {"type": "real", "derived": self.derived, "lower": -3.0, "upper": 3.0}
        if self.beside is not None:
            columns["o"] = {"type": "real", "lower": self.beside[0], "upper": self.beside[1], "source": "test"}
        columns["y"] = {"type": "real", "bounds": "private"} if self.bounds is None else {
            "type": "real", "lower": self.bounds[0], "upper": self.bounds[1], "source": "test",
        }  # fmt: skip
        size = ("n_units", (max(self.n_rows, 1) + 1) // 2) if self.counts_units else ("n_rows", max(self.n_rows, 1))
        public = dict([size]) if self.relation == "replace_one" else {}
        unit = {"rows_per_unit": self.rows_per_unit, "unit_id": "who"} if self.rows_per_unit > 1 else {}
        return Metadata.from_value(
            {"dataset": "edge", "unit": "person", "neighboring": self.relation, "columns": columns, **public, **unit}
        )

    def rows(self, metadata: Metadata, kind: str, n: int) -> pa.Table:
        """Rows of one kind."""
        rng = np.random.default_rng(n)  # noqa: TID251 - a table, not noise
        stored = [name for name in metadata.columns if name not in metadata.derived]
        cells = {name: _cells(name, metadata, kind, n, rng) for name in stored}
        if kind == "copies" and n:
            cells |= {name: cells["y"] for name in cells if name.startswith("x")}
        return pa.table({**cells, "who": pa.array([f"p{i // 2}" for i in range(n)], pa.string())})

    def table(self, metadata: Metadata, kind: str) -> FrameTable:
        """The private table, with as many rows as the relation asks for."""
        n = max(self.n_rows, 1) if self.relation == "replace_one" else self.n_rows
        table = FrameTable(self.rows(metadata, kind, n), metadata)
        table.state()
        return table


def _cells(name: str, metadata: Metadata, kind: str, n: int, rng: Any) -> pa.Array:
    column = metadata.columns[name]
    if column.type == "category":
        return pa.array([None if kind == "missing" else f"l{i % 2}" for i in range(n)], pa.string())
    low = column.lower if column.lower is not None else -5.0
    high = column.upper if column.upper is not None else 5.0
    values: dict[str, Iterator[Any]] = {
        "random": iter(low + (high - low) * rng.random(n)),
        "equal": cycle([low]),
        "separable": cycle([low, high]),
        "ends": iter(np.where(rng.random(n) < 0.5, low, high)),
        "missing": cycle([None, math.nan, math.inf]),
        "not numbers": cycle(["", "none", "1e999", "-inf", "\x00"]),
        "copies": cycle([low, high, high]),
    }
    type_ = pa.string() if kind == "not numbers" else pa.float64()
    return pa.array(list(islice(values[kind], n)), type_)


def requests(methods: tuple[str, ...] = (*SELECTIONS, *SCREENINGS, "decorrelated", *FAMILIES, *HYBRIDS, "run")) -> Any:
    """One request of a method; the first values of each list are the tame ones."""
    return _requests(methods)


@st.composite
def _requests(draw: Any, methods: tuple[str, ...]) -> Request:
    name = draw(st.sampled_from(methods))
    widths = WIDTHS if name in ("pcls", *SCREENINGS) else WIDTHS[: 3 if name in HYBRIDS else 6]
    width = draw(st.sampled_from(widths))
    usual = draw(st.sampled_from([0, 0, 1, 2]))  # how many odd numbers there are
    epsilon = draw(st.sampled_from(EPSILONS))
    delta = draw(st.sampled_from(DELTAS))
    parameters = {"epsilon": epsilon, **({"delta": delta} if name not in HYBRIDS else {}), **_own(draw, name, width)}
    numbers = _numbers_of(name)
    for parameter in draw(st.lists(st.sampled_from(sorted(numbers)), max_size=usual, unique=True)) if numbers else ():
        parameters[parameter] = numbers[parameter](draw(st.sampled_from(NUMBERS)))
    screens = name in SCREENINGS or "screen" in parameters
    beside = _adjusted(draw, name, parameters)
    # A regression is refused where bounds are odd: half of them have bounds that are not.
    tame = [(0.0, 1.0)] * len(BOUNDS) if name in (*FAMILIES, "run") else []
    ends = [*tame, *BOUNDS]
    return Request(
        name,
        parameters,
        width,
        draw(st.sampled_from(["replace_one", "add_or_remove_one"])),
        draw(st.sampled_from(ROWS)),
        draw(st.sampled_from([*tame, *BOUNDS, None] if name in (*SELECTIONS, "linear", "decorrelated") else ends)),
        draw(st.sampled_from(ends)),
        draw(st.sampled_from([1, 1, 2])),
        draw(st.sampled_from([0, 0, 2, 5])) if not screens else 0,
        draw(st.sampled_from(TABLES)),
        draw(st.sampled_from([None, *BOUNDS])),
        beside,
        draw(st.sampled_from([None, None, *DERIVED])),
        draw(st.sampled_from([None, "l1", "l9"])),
        draw(st.booleans()),
    )


def _adjusted(draw: Any, name: str, parameters: dict[str, Any]) -> tuple[float, float] | None:
    """Give a fit an offset, an exposure or weights at times, and return the bounds of their column."""
    role = draw(st.sampled_from([None, "offset", "exposure", "weights"]))
    step = parameters if name in FAMILIES else parameters.get("fit") if name == "run" else None
    if role is None or step is None:
        return None
    step[role] = "o"
    return draw(st.sampled_from([(0.1, 2.0), (0.0, 1.0), *BOUNDS]))


def _numbers_of(name: str) -> dict[str, Any]:
    """Real parameters of a method, and how a number becomes one."""
    plain = lambda value: value  # noqa: E731
    subset = {
        "l1_radius": plain, "y_bound": plain, "y_center": plain, "model_penalty": plain, "l1_grid": lambda v: (1.0, v),
        "shares": lambda v: {"sigma2": v}, "y_quantile": plain,
    }  # fmt: skip
    moments = {"y_bound": plain, "y_center": plain, "row_norm": plain, "confidence": plain}
    screening = {"gamma": plain, "expected_score": plain}
    estimate = {"huber_delta": plain, "ridge": plain, "quantile": plain}
    return {
        "pcls": subset,
        "pcpl": {**subset, "rss_guess": plain, "variance_floor": plain, "shares": lambda v: {"sum_of_squares": v}},
        "moments": {**moments, "model_penalty": plain},
        "sis": {**screening, "y_center": plain, "y_bound": plain, "shares": lambda v: {"y_center": v}},
        "two-stage": {**screening, "alpha": plain},
        "decorrelated": {"y_center": plain, "max_false": plain, "shares": lambda v: {"gram": v}},
        "linear": moments,
        "logistic": {"confidence": plain},
        "poisson": {"confidence": plain},
        "hybrid": estimate,
        "public-subset": {
            **estimate,
            "log_clip": plain,
            "ridges": lambda v: (v,),
            "shares": lambda v: {"validation": v},
        },
        "histogram": estimate,
        "run": {},
    }[name]


def _own(draw: Any, name: str, width: int) -> dict[str, Any]:
    """What a method needs besides, and choices that change its way."""
    if name in SELECTIONS:
        parameters: dict[str, Any] = {"max_size": draw(st.sampled_from(SIZES))}
        if draw(st.booleans()) and width > 2:
            parameters["forced"] = ("x0",)
        if draw(st.booleans()) and width > 4:
            parameters["groups"] = (("x1", "x2"),)
        if name != "moments":
            parameters["model_penalty"] = draw(st.sampled_from(["auto", "aic", "bic"]))
            parameters["mechanism"] = draw(st.sampled_from(["permute_and_flip", "exponential", "laplace"]))
            if draw(st.booleans()):
                parameters["l1_radius"] = "private"
            if name == "pcls" and width > 9 and parameters["max_size"] in (None,) and draw(st.integers(0, 3)):
                parameters["max_size"] = 2  # the lazy search has an end, but no bound of its time
            if name == "pcpl" or draw(st.booleans()):
                parameters["n0"] = draw(st.sampled_from([1, 100, 2**33 - 1]))
        else:
            parameters |= {"model_penalty": draw(st.sampled_from(["auto", "aic", "bic"])), "fit": draw(st.booleans())}
        if draw(st.booleans()):
            parameters["y_bound"] = "private"
        return parameters
    if name == "sis" and draw(st.booleans()):
        center = draw(st.sampled_from(["private", "middle"]))
        return {"n_features_to_select": "auto", "y_center": center, "n0": draw(st.sampled_from([1, 20, 2**33 - 1]))}
    if name == "decorrelated":
        forced = ("x0",) if draw(st.booleans()) and width > 2 else ()
        groups = (("x1", "x2"),) if draw(st.booleans()) and width > 4 else ()
        return {"forced": forced, "groups": groups, "y_center": draw(st.sampled_from(["private", "middle", 0.5]))}
    if name in SCREENINGS:
        mechanism = draw(st.sampled_from(["auto", "canonical_lipschitz", "one_shot", "peeling"]))
        return {
            "n_features_to_select": draw(st.sampled_from([1, 2, width // 2 or 1])),
            "mechanism": mechanism,
            "n0": 20,
        }
    if name == "run":
        steps: dict[str, Any] = {"fit": {"family": draw(st.sampled_from(FAMILIES))}}
        if width > 1 and draw(st.booleans()):
            steps["screen"] = {"method": draw(st.sampled_from(SCREENINGS)), "n_features_to_select": 1, "n0": 20}
        if "screen" not in steps or draw(st.booleans()):
            steps["select"] = {"method": draw(st.sampled_from(SELECTIONS)), "max_size": 1}
        steps["selective_inference"] = draw(st.sampled_from([None, "split", "fission", "none"]))
        return steps
    if name in HYBRIDS:
        contrast = draw(st.sampled_from(["linear", "huber", "mean", "median", "quantile", "auto"]))
        cells = {"bins": 3} if name == "histogram" else {}
        return {**cells, "contrast": contrast, **({"n0": 20} if draw(st.booleans()) else {})}
    return {"robust": draw(st.booleans())} if name in FAMILIES and draw(st.booleans()) else {}


def outcome_of(request: Request, kind: str | None = None) -> Release | None:
    """The release, or nothing where the request is refused in one line before anything is charged."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            metadata = request.metadata()
            table = request.table(metadata, kind or request.kind)
            parameters = dict(request.parameters)
            if request.method in ("hybrid", "public-subset"):
                parameters["public"] = PublicRecords(request.rows(metadata, "random", PUBLIC), metadata)
            method = method_of(request.method, **parameters)
            priced = price(method, metadata, "y", name="edge", locator=None, rows_origin=table.rows_origin)
            priced.record()
            # Public records in memory are of no file that the metadata could name: such a request is never charged.
            priced.prepared.check_table(table, request.method not in ("hybrid", "public-subset"))
        except DiscreetError as refusal:
            if "\n" in str(refusal) or len(str(refusal)) > 500:
                raise AssertionError("a refusal must be one line") from refusal
            return None
        outcome: Outcome = priced.prepared.run(table, Source())
        release = priced.release(outcome, None)
    json.loads(release.model_dump_json())
    return release


def shape_of(release: Release) -> tuple[Any, ...]:
    """What must not depend on the rows: how many numbers there are, and what is said of the noise and the cost."""
    fit = release.fit if release.method in FAMILIES else None
    return (
        release.guarantee,
        release.event,
        len(release.by_size),
        None if fit is None else len(fit.coefficients),
        None if release.moments is None or release.method == "run" else np.shape(release.moments.gram),
        [step.name for step in release.steps],
        release.public,
    )
