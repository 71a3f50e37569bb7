"""Releases of estimates on weighted public points and on a grid, made by hand."""

from typing import Any

from report_fits import LAPLACE, coefficient, composed, regression, step
from report_releases import HOSTILE, ledger_at, make

from discreet.release import CandidateRecord, FitRecord, HybridRecord, NoiseRecord, PointsRecord, Release, TwinRecord

COUNTS = LAPLACE.model_copy(update={"sensitivity": 2.0, "scale": 2.0, "formula": "2 x 1 x 1, rows of one unit"})
MARGINS = COUNTS.model_copy(update={"unit": "products of scaled columns", "sensitivity": 8.0, "scale": 8.0})
VALIDATION = NoiseRecord(
    mechanism="permute_and_flip",
    noise="exponential",
    n_candidates=6,
    sensitivity=2.0,
    scale=13.25,
    unit="rows predicted as wrongly as can be",
    formula="2 x 1, losses from 0 to 1",
    numerics="exact draw; losses are whole steps",
    claim="methods/public_records/public_subset.privacy.md",
)
PRINTED = VALIDATION.model_copy(update={"mechanism": "laplace", "noise": "laplace", "n_candidates": 60, "scale": 2.0})
TWINS = (
    TwinRecord(name="public records alone", error=0.144, low=0.12, high=0.18),
    TwinRecord(name="counts", n_points=5, error=0.02, low=0.01, high=0.03),
    TwinRecord(name="counts", n_points=10, error=0.0084, low=0.0, high=0.012),
    TwinRecord(name="counts", n_points=20, error=0.011, low=0.009, high=0.013),
)
OF_MARGINS = (TWINS[0], TwinRecord(name="margins", error=0.04, low=0.03, high=0.05))


def bare(fitted: FitRecord, factor: float = 1.0) -> FitRecord:
    """Return a fit without intervals, each estimate times a factor."""
    changes = {"low": None, "high": None, "sampling_variance": 0.0, "privacy_variance": 0.0}
    records = (one.model_copy(update={**changes, "estimate": factor * one.estimate}) for one in fitted.coefficients)
    return fitted.model_copy(update={"coefficients": tuple(records), "residual_sd": None, "r_squared": None})


def number(family: str, name: str, *estimates: float) -> FitRecord:
    """Return a fit whose parameters belong to no column."""
    names = [name] if len(estimates) == 1 else [f"{name}[{place}]" for place in range(len(estimates))]
    records = (coefficient(one, value, column=None) for one, value in zip(names, estimates, strict=True))
    return bare(FitRecord(family=family, confidence=0.95, coefficients=tuple(records)))


def points(n: int = 10, measure: str = "counts", n_zero: int = 0, **changes: Any) -> PointsRecord:
    """Return n points of which the first have the largest weights, and the last none."""
    given = {
        "public": "survey_2011.parquet",
        "sha256": "ba" * 32,
        "n_records": 30_000,
        "n_points": 29_000,
        "n_dropped": 12,
        "measure": measure,
        "measured": tuple(range(n)),
        "noisy": tuple(float(n - place) for place in range(n if measure == "counts" else 4)),
        "kept": tuple(range(n)),
        "weights": tuple(float(n - place) if place < n - n_zero else 0.0 for place in range(n)),
    }
    return PointsRecord(**(given | changes))


def rivals(*names: str, chosen: str) -> tuple[CandidateRecord, ...]:
    """Return candidates of which one was chosen."""
    return tuple(
        CandidateRecord(name=name, n_points=0 if name == "no effect" else 10, chosen=name == chosen) for name in names
    )


def make_hybrid(family: str = "logistic", fit: FitRecord | None = None, **changes: Any) -> Release:
    """Return an estimate on counts beside ten points."""
    fitted = fit or bare(regression(family=family))
    names = changes.pop("names", ("lncoins", "site", "age"))
    parameters = changes.pop("parameters", {})
    public = {"name": "survey_2011.parquet", "sha256": "ba" * 32, "file": None}
    given = {
        "method": "hybrid",
        "selected": names,
        "noise": COUNTS,
        "event": {"type": "LaplaceEvent", "epsilon": "1"},
        "fit": fitted,
        "hybrid": HybridRecord(points=points(), public_only=bare(fitted, -0.5), twins=TWINS),
        "request": {
            "target": changes.get("target", "mdvis"),
            "candidates": list(names),
            "parameters": {"epsilon": 1.0, "contrast": family, "measure": "counts", "public": public, **parameters},
        },
        "not_protected": ("the public records, which are released as they are wherever they have a weight",),
    }
    return make(names=names, **(given | changes))


NAMES = ("no effect", "public records alone", "5 points, ridge 0", "5 points, ridge 0.03", "10 points, ridge 0")


def make_choice(chosen: str = "10 points, ridge 0", kept: PointsRecord | None = None, **changes: Any) -> Release:
    """Return a private choice among estimates on public points."""
    fitted = bare(regression(family="logistic"))
    steps = (
        step("counts", COUNTS, event="LaplaceEvent", epsilon=0.85),
        step("validation", VALIDATION, epsilon=0.15),
    )
    record = HybridRecord(
        points=kept or points(n_zero=3),
        public_only=bare(fitted, 0.4),
        candidates=rivals(*NAMES, "histogram", chosen=chosen),
        twins=TWINS,
    )
    return make_hybrid(**({"method": "public-subset", "hybrid": record} | composed(*steps) | changes))


def make_published() -> Release:
    """Return the published algorithm, run for study, with many sizes."""
    sizes = range(10, 3010, 50)
    fitted = bare(regression(family="logistic"))
    record = HybridRecord(
        points=points(noisy=()),
        public_only=bare(fitted, 0.4),
        candidates=rivals(*(f"{size} points" for size in sizes), chosen="1510 points"),
    )
    return make_hybrid(
        method="public-subset",
        hybrid=record,
        noise=PRINTED,
        parameters={"as_published": True, "sizes": list(sizes)},
        private=False,
        guarantee=None,
        event=None,
    )


def make_margins(n: int = 20_000, **changes: Any) -> Release:
    """Return an estimate on margins, which weight all public points."""
    fitted = bare(regression(family="linear"))
    record = HybridRecord(points=points(n, "margins"), public_only=bare(fitted, 0.4), twins=OF_MARGINS)
    return make_hybrid("linear", fitted, **({"hybrid": record, "noise": MARGINS} | changes))


def make_own(name: str = "<b>trimmed</b> | *mean*", **changes: Any) -> Release:
    """Return an estimate by a contrast of the user's own."""
    fitted = number("own", "theta", 0.25, -1.5, 1e6)
    record = HybridRecord(points=points(), public_only=bare(fitted, 2.0))
    return make_hybrid("own", fitted, hybrid=record, parameters={"contrast": name}, **changes)


_HOSTILE_FIT = bare(
    FitRecord(
        family="logistic",
        confidence=0.95,
        coefficients=tuple(coefficient(name, 0.1 * place) for place, name in enumerate(HOSTILE)),
    )
)

HYBRIDS = {
    "hybrid": make_hybrid(ledger=ledger_at(1.5, 3.0)),
    "hybrid of few": make_hybrid("huber", hybrid=HybridRecord(points=points(1), public_only=None)),
    "hybrid quantile": make_hybrid("quantile", number("quantile", "mdvis", 12.25), parameters={"quantile": 0.9}),
    "hybrid mean": make_hybrid("mean", number("mean", "mdvis", 12.25)),
    "hybrid poisson": make_hybrid("poisson", rows_per_unit=3, unit="household"),
    "margins": make_margins(),
    "choice": make_choice(),
    "choice of nothing": make_choice("no effect", points(kept=(), weights=())),
    "choice of public": make_choice("public records alone"),
    "choice of grid": make_choice("histogram", points(kept=(), weights=())),
    "published": make_published(),
    "own": make_own(),
    "histogram": make_hybrid(method="histogram", hybrid=HybridRecord(), parameters={"n_cells": 150, "public": None}),
    "hostile hybrid": make_hybrid(
        fit=_HOSTILE_FIT,
        names=HOSTILE,
        target="<script>t</script>",
        hybrid=HybridRecord(
            points=points(public="<img src=x>|`a`.csv"),
            public_only=bare(_HOSTILE_FIT, -1.0),
            candidates=rivals("<i>a</i>|*b*", chosen="<i>a</i>|*b*"),
            twins=(TwinRecord(name="<b>|", error=0.1, low=0.0, high=0.2),),
        ),
    ),
    "weightless": make_hybrid(hybrid=HybridRecord(points=points(weights=(0.0,) * 10), twins=())),
}
"""A release for each thing that an estimate on public points can be."""
