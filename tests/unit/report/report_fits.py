"""Releases with steps, coefficients and noisy moments, made by hand."""

import math
from typing import Any

from report_releases import HOSTILE, ledger_at, make

from discreet.accounting.neighbors import NeighboringRelation
from discreet.release import (
    CoefficientRecord,
    FissionRecord,
    FitRecord,
    MomentsRecord,
    NoiseRecord,
    Release,
    SizeRecord,
    StepRecord,
)

GAUSSIAN = NoiseRecord(
    mechanism="discrete_gaussian",
    noise="gaussian",
    sensitivity=6.0,
    scale=25.35,
    unit="products of scaled columns",
    formula="sqrt(m^2 + categories)",
    numerics="exact draw on whole steps",
    claim="methods/moments/noisy_moments.privacy.md",
)
LAPLACE = GAUSSIAN.model_copy(update={"mechanism": "discrete_laplace", "noise": "laplace", "unit": "rows"})
QUANTILE = make().noise.model_copy(update={"n_candidates": 32, "sensitivity": 2.0, "scale": 20.0, "unit": "rows"})


def step(
    name: str, noise: NoiseRecord, value: float | None = None, event: str = "SelectionEvent", **price: Any
) -> StepRecord:
    """Return a priced part."""
    return StepRecord(name=name, event={"type": event, **price}, noise=noise, value=value)


def composed(*steps: StepRecord, **more: Any) -> dict[str, Any]:
    """Return the steps, and the event that they make together."""
    parts = [part.event for part in steps]
    return {"steps": steps, "event": {"type": "ComposedEvent", "events": parts}, "noise": steps[-1].noise, **more}


def coefficient(
    name: str,
    estimate: float,
    sampling: float = 0.01,
    privacy: float = 0.01,
    column: str | None = "",
    level: str | None = None,
    ends: tuple[float | None, float | None] | None = None,
) -> CoefficientRecord:
    """Return a coefficient with the normal interval of its variances, or with given ends."""
    reach = 1.959964 * math.sqrt(sampling + privacy)
    low, high = ends or (estimate - reach, estimate + reach)
    return CoefficientRecord(
        name=name,
        column=name if column == "" else column,
        level=level,
        estimate=estimate,
        low=low,
        high=high,
        sampling_variance=sampling,
        privacy_variance=privacy,
    )


def regression(*more: CoefficientRecord, family: str = "linear", has_usual: bool = True) -> FitRecord:
    """Return a fit with an intercept, two columns and two levels of a site, and what is given."""
    usual = (
        coefficient("intercept", 2.41, 0.01, 0.004, column=None),
        coefficient("lncoins", -0.0812, 2e-4, 9e-5),
        coefficient("age", 0.0131, 4e-6, 9e-6),
        coefficient("site=fitchburg", 0.34, 0.004, 0.012, column="site", level="fitchburg"),
        coefficient("site=franklin", -0.05, 0.003, 0.013, column="site", level="franklin"),
    )
    linear = {"residual_sd": 4.5041, "r_squared": 0.0712} if family == "linear" else {}
    return FitRecord(family=family, confidence=0.95, coefficients=(usual if has_usual else ()) + more, **linear)


def moments(names: tuple[str, ...] = ("lncoins", "idp"), n_rows_variance: float = 0.0) -> MomentsRecord:
    """Return noisy moments of a few columns."""
    k, grid = len(names) + 1, 1000
    sd = 25.0 * grid**2
    return MomentsRecord(
        grid=grid,
        labels=("constant", *names),
        owners=(None, *names),
        centers=(0.0,) * k,
        half_widths=(1.0,) * k,
        y_center=15.0,
        y_bound=15.0,
        n_rows=20190,
        n_rows_variance=n_rows_variance,
        gram=((1,) * k,) * k,
        xty=(1,) * k,
        yty=1,
        gram_variance=((sd**2,) * k,) * k,
        xty_variance=(sd**2,) * k,
        yty_variance=sd**2,
    )


def by_size(names: tuple[str, ...], rise: float = 0.02) -> tuple[SizeRecord, ...]:
    """Return best models by size that take one column after the other, and once exchange two."""
    found = []
    for size in range(len(names) + 1):
        columns = names[:size] if size != 2 or len(names) < 3 else (names[0], names[2])
        share = 0.3 * (1 - math.exp(-rise * 10 * size))
        found.append(
            SizeRecord(
                size=size,
                columns=columns,
                criterion=100.0 - 50.0 * share + 2.0 * size,
                r_squared=share,
                r_squared_low=share - 0.02 * size,
                r_squared_high=share + 0.02 * size,
            )
        )
    return tuple(found)


def make_fit(family: str = "linear", *more: CoefficientRecord, **changes: Any) -> Release:
    """Return a regression on named columns, paid in Gaussian noise."""
    given = {
        "names": ("lncoins", "site", "age"),
        "selected": ("lncoins", "site", "age"),
        "method": family,
        "delta": 1e-6,
        "noise": GAUSSIAN,
        "event": {"type": "GaussianEvent", "rho": 0.028, "lattice": 1e-7},
        "fit": regression(*more, family=family),
    }
    return make(**(given | changes))


def make_bare(release: Release, *more: CoefficientRecord) -> Release:
    """Return a release like the given one, of a method that makes no intervals."""
    noise = GAUSSIAN.model_copy(update={"mechanism": "objective_perturbation", "noise": "gamma"})
    records = (*release.fit.coefficients, *more)
    bare = {"low": None, "high": None, "sampling_variance": 0.0, "privacy_variance": 0.0}
    fitted = release.fit.model_copy(update={"coefficients": tuple(one.model_copy(update=bare) for one in records)})
    guarantee = release.guarantee.model_copy(update={"delta": 0.0})
    return release.model_copy(update={"fit": fitted, "noise": noise, "guarantee": guarantee})


def make_run(family: str = "linear", **changes: Any) -> Release:
    """Return a selection and the coefficients of what it selected."""
    steps = (
        step("y_bound", QUANTILE, 12.0, epsilon=0.1),
        step("selection", make().noise, epsilon=0.4),
        step("fit", GAUSSIAN, event="GaussianEvent", rho=0.0071, lattice=1e-7),
    )
    given = {
        "method": "run",
        "names": ("lncoins", "idp", "site", "age", "female"),
        "selected": ("lncoins", "site", "age"),
        "delta": 1e-6,
        "fit": regression(family=family),
    }
    return make(**(composed(*steps) | given | changes))


def make_run_by_half(**changes: Any) -> Release:
    """Return a selection by half of the units, and the coefficients that the others give."""
    steps = (
        step("y_bound", QUANTILE, 12.0, epsilon=0.2),
        step("selection", make().noise, epsilon=0.8),
        step("fit", GAUSSIAN, event="GaussianEvent", rho=0.0284, lattice=1e-7),
    )
    told = make_run(**changes)
    choice = {"type": "ComposedEvent", "events": [part.event for part in steps[:2]]}
    request = {**told.request, "parameters": {**told.request["parameters"], "selective_inference": "split"}}
    event = {"type": "ParallelEvent", "events": [choice, steps[2].event]}
    return told.model_copy(update={"steps": steps, "event": event, "request": request})


def make_run_in_parts() -> Release:
    """Return a selection by one part of noisy moments, and the coefficients that the other gives."""
    record = moments(("lncoins", "idp", "site", "age", "female"))
    fission = FissionRecord(share=0.5, gram=record.gram, xty=record.xty, yty=record.yty, n_rows=10095.0)
    chosen = make_moments(fit=regression(), method="run", moments=record.model_copy(update={"fission": fission}))
    parameters = {**chosen.request["parameters"], "selective_inference": "fission"}
    return chosen.model_copy(update={"request": {**chosen.request, "parameters": parameters}})


def make_moments(names: tuple[str, ...] = ("lncoins", "idp", "site", "age", "female"), **changes: Any) -> Release:
    """Return noisy moments, the best models by size and a selection."""
    steps = (
        step("X'y", GAUSSIAN, event="GaussianEvent", rho=0.014, lattice=1e-7),
        step("X'X", GAUSSIAN, event="GaussianEvent", rho=0.01, lattice=1e-7),
        step("y'y", GAUSSIAN, event="GaussianEvent", rho=0.004, lattice=1e-7),
    )
    given = {
        "method": "moments",
        "names": names,
        "selected": names[:4],
        "delta": 1e-6,
        "moments": moments(names),
        "by_size": by_size(names),
    }
    return make(**(composed(*steps) | given | changes))


def derived(release: Release, **changes: Any) -> Release:
    """Return a release that was computed from another for free."""
    provenance = release.provenance.model_copy(update={"derived_from": "0a" * 32, "ledger": None})
    return release.model_copy(update={"provenance": provenance, **changes})


TUNED = make(
    **composed(
        step("y_bound", QUANTILE, 12.0, epsilon=0.05),
        step("l1_radius", QUANTILE.model_copy(update={"n_candidates": 5}), 24.0, epsilon=0.15),
        step("residual_variance", LAPLACE, 20.312, event="LaplaceEvent", epsilon=0.1),
        step("n_rows", LAPLACE, 20188.0, event="LaplaceEvent", epsilon=0.05),
        step("bounds of lncoins", QUANTILE, epsilon=0.05),
        step("selection", make().noise, epsilon=0.6),
    )
)
PCPL = make(
    method="pcpl",
    delta=1e-6,
    **composed(
        step(
            "f_min",
            LAPLACE.model_copy(update={"unit": "squared units of the target"}),
            412345.6,
            "LaplaceEvent",
            epsilon=0.2,
        ),
        StepRecord(
            name="selection",
            event={
                "type": "ComposedEvent",
                "events": [{"type": "SelectionEvent", "epsilon": 0.8}, {"type": "FailureEvent", "delta": 1e-6}],
            },
            noise=make().noise.model_copy(update={"unit": "log likelihood"}),
        ),
    ),
)
MANY = tuple(f"a_rather_long_column_name_{index}" for index in range(25))
OPEN = (
    coefficient("idp", 3.1, 0.04, 0.6, ends=(1.25, None)),
    coefficient("female", -2.2, 0.04, 0.6, ends=(None, -0.75)),
    coefficient("black", 0.4, 0.04, 99.0, ends=(None, None)),
)
HOSTILE_COEFFICIENTS = tuple(
    coefficient(name, 0.1 * place - 0.5, column=name, level=name if place % 2 else None)
    for place, name in enumerate(HOSTILE)
)

FITS = {
    "tuned": TUNED,
    "pcpl": PCPL,
    "linear": make_fit(),
    "logistic": make_fit("logistic"),
    "poisson": make_fit("poisson", ledger=ledger_at(1.5, 3.0)),
    "run": make_run(ledger=ledger_at(1.5, 3.0)),
    "run by half": make_run_by_half(),
    "run in parts": make_run_in_parts(),
    "moments": make_moments(),
    "moments alone": make_moments(by_size=(), selected=()),
    "moments of many": make_moments(
        MANY, moments=moments(MANY, 9.0), neighboring=NeighboringRelation.ADD_OR_REMOVE_ONE
    ),
    "moments of none": make_moments(selected=(), by_size=by_size(())),
    "derived fit": derived(make_moments(), by_size=(), moments=None, fit=regression(), method="linear"),
    "derived choice": derived(make_moments(), moments=None, selected=("lncoins",)),
    "fit of many": make_fit(
        "linear",
        *(coefficient(name, 0.3 * math.sin(place), 0.001, 0.002 * place) for place, name in enumerate(MANY)),
        names=("lncoins", "site", "age", *MANY),
    ),
    "fit says nothing": make_fit(
        "linear",
        coefficient("idp", 1.0, 0.01, 900.0, ends=(None, None)),
        coefficient("female", 0.2, 0.01, 9.0, ends=(None, None)),
        names=("lncoins", "site", "age", "idp", "female"),
    ),
    "logistic says nothing": make_fit(
        "logistic",
        coefficient("female", 0.2, 0.01, 99.0, ends=(None, None)),
        names=("lncoins", "site", "age", "female"),
    ),
    "open ends": make_fit("linear", *OPEN, names=("lncoins", "site", "age", *(one.name for one in OPEN))),
    "logistic open ends": make_fit("logistic", *OPEN, names=("lncoins", "site", "age", *(one.name for one in OPEN))),
    "no intervals": make_bare(make_fit("logistic"), coefficient("noise", -8.0412), coefficient("far", 20.0)),
    "run without intervals": make_bare(make_run("logistic")),
    "intercept alone": make_fit(
        fit=regression(coefficient("intercept", 2.4, column=None), has_usual=False), selected=(), names=("age",)
    ),
    "fit for study": make_fit(private=False, guarantee=None, event=None),
    "hostile fit": make_run(
        fit=regression(*HOSTILE_COEFFICIENTS, family="logistic"),
        names=HOSTILE,
        selected=HOSTILE[:6],
        target="<script>t</script>",
        method="run",
        by_size=by_size(HOSTILE),
        **composed(*(step(name, QUANTILE, 1.5, epsilon=1 / len(HOSTILE)) for name in HOSTILE)),
    ),
    "extreme fit": make_fit(
        "poisson",
        coefficient("idp", 800.0, 0.0, 0.0),
        coefficient("female", 1e-9, 1e300, 1e300),
        coefficient("far", -2.0, 1e4, 1e6),
    ),
}
