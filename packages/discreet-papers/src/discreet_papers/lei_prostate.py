"""Lei et al. 2018, tables 3 and 4: what is selected of five columns of 97 men with prostate cancer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source
from discreet.report.study import Column, Row, Study
from discreet.simulation.choice import best_selection
from discreet.typing import Floats
from discreet_papers.experiment import PRINTED, Experiment, Work
from discreet_papers.figures import adjusted_fit, mean_row, selected_columns, share_row
from discreet_papers.lei_models import Models, declared, picks

COLUMNS = ("lcavol", "lweight", "age", "lbph", "lcp")
TARGET = "lpsa"
BEST = ("lcavol", "lweight")
"""What BIC selects without privacy."""

BOUNDS = {
    "lcavol": (-1.5, 4.0),
    "lweight": (2.0, 5.0),
    "age": (40.0, 80.0),
    "lbph": (-1.5, 2.5),
    "lcp": (-1.5, 3.0),
    "lpsa": (-0.5, 6.0),
}
"""Round clinical ranges, public; the paper takes the extremes of the rows."""

EPSILONS, RADII, PENALTIES = (1, 5), (4, 6, 8, 10), (1, 2, 4, 8)
FIT_RADIUS = 4.0
"""Of the fits whose R^2 table 3 averages: with the radius of the row its lines would differ far more."""

_TABLE_3 = {
    1: ((0.80, 0.79, 0.79, 0.79), (0.79, 0.79, 0.78, 0.78), (0.78, 0.78, 0.77, 0.77), (0.77, 0.77, 0.75, 0.75)),
    5: ((0.86, 0.86, 0.86, 0.86), (0.85, 0.85, 0.86, 0.86), (0.85, 0.85, 0.85, 0.86), (0.85, 0.85, 0.86, 0.86)),
}
_TABLE_4 = {
    1: (0.85, 0.51, 0.48, 0.51, 0.54),
    2: (0.83, 0.53, 0.47, 0.47, 0.58),
    4: (0.83, 0.49, 0.45, 0.45, 0.49),
    8: (0.83, 0.44, 0.39, 0.41, 0.43),
}

LINEAR = Column(
    "noise 2(r + R)/epsilon",
    False,
    "Algorithm 1 with noise of scale 2(r + R)/epsilon in place of 2(r + R)²/epsilon: what the printed figures match. "
    "It is too small for the sensitivity (r + R)², and r and the scaling are read off the rows, unless the "
    "ranges are taken to be public, as the paper says they may be.",
)
LETTER = Column(
    "algorithm as printed",
    False,
    "Algorithm 1 to the letter, noise 2(r + R)²/epsilon, with r the largest target and columns scaled by their "
    "extremes. Both are read off the rows, which voids the guarantee, unless the ranges are taken to be public, as the "
    "paper says they may be.",
)
HONEST = Column(
    "published, honest",
    True,
    "Algorithm 1 with noise 2(r + R)²/epsilon and public bounds: r = 6, columns scaled by round clinical ranges.",
)
OURS = Column(
    "Discreet, auto",
    True,
    "discreet select --method auto at the same epsilon, delta 0, with the same public bounds. It takes no R and no "
    "penalty from the reader, so one figure stands for all of them.",
)


@dataclass(frozen=True)
class Prostate:
    """The table in the paper's units.

    Parameters
    ----------
    X : ndarray of float, shape (97, 6)
        An intercept, then columns centered and divided by their largest absolute value.
    y : ndarray of float, shape (97,)
        log PSA.
    raw : ndarray of float, shape (97, 6)
        Columns and target as measured.
    """

    X: Floats
    y: Floats
    raw: Floats

    @classmethod
    def read(cls, work: Work) -> "Prostate":
        """Read the table of 97 men."""
        raw = work.table("prostate.parquet", (*COLUMNS, TARGET))
        centered = raw[:, :-1] - raw[:, :-1].mean(axis=0)
        scaled = centered / np.abs(centered).max(axis=0)
        return cls(np.column_stack([np.ones(len(raw)), scaled]), raw[:, -1], raw)

    @cached_property
    def models(self) -> Models:
        """All 63 models of the intercept and five columns."""
        return Models.of(self.X, self.y)

    @cached_property
    def public_models(self) -> Models:
        """The same with columns scaled by public bounds."""
        low, high = np.array([BOUNDS[name] for name in COLUMNS]).T
        scaled = np.clip(2.0 * (self.raw[:, :-1] - low) / (high - low) - 1.0, -1.0, 1.0)
        return Models.of(np.column_stack([np.ones(len(self.y)), scaled]), np.clip(self.y, *BOUNDS[TARGET]))

    @cached_property
    def worth(self) -> Floats:
        """Adjusted R^2 of every model's fit with l1 norm 4, over that of least squares on BIC's columns."""
        n, total = len(self.y), float(((self.y - self.y.mean()) ** 2).sum())
        best = self.X[:, [0, *(1 + COLUMNS.index(name) for name in BEST)]]
        residual = self.y - best @ np.linalg.lstsq(best, self.y, rcond=None)[0]
        base = 1.0 - float(residual @ residual) / (n - 3) / (total / (n - 1))
        fits = self.models.residuals(FIT_RADIUS)
        return np.asarray((1.0 - fits / (n - self.models.sizes - 1.0) / (total / (n - 1))) / base)

    def chosen(self, column: Column, epsilon: float, radius: float, penalty: float, work: Work) -> npt.NDArray[np.intp]:
        """Return the places of the models that a variant of Algorithm 1 selects, of shape (repeats,)."""
        models = self.public_models if column is HONEST else self.models
        r = BOUNDS[TARGET][1] if column is HONEST else float(self.y.max())
        reach = r + radius if column is LINEAR else (r + radius) ** 2
        rng = Source.seeded(work.seed + round(1000 * epsilon + 10 * radius + penalty))
        scores = models.residuals(radius) + penalty * models.sizes
        return picks(scores, 2.0 * reach / epsilon, work.repeats, rng)

    def ours(self, epsilon: float, work: Work) -> npt.NDArray[np.intp]:
        """Return the places of the models with intercept that the plan's choice selects, of shape (repeats,)."""
        public = metadata(len(self.y))
        method = best_selection(public, TARGET, COLUMNS, epsilon).rival.at(epsilon)
        prepared = method.prepare(public, TARGET, COLUMNS)
        names = (*COLUMNS, TARGET)
        table = FrameTable(pa.table(dict(zip(names, self.raw.T, strict=True))), public)
        rng = Source.seeded(work.seed + round(1000 * epsilon))
        selections = [prepared.run(table, rng).selected for _ in range(work.repeats)]
        # A model's place is its mask less one, so the intercept's bit, 1, is left out.
        masks = [sum(2 << COLUMNS.index(name) for name in selected) for selected in selections]
        return np.array(masks, dtype=np.intp)


def metadata(n_rows: int) -> Metadata:
    """Return the table's metadata; neighbors differ in one replaced man, as in the paper."""
    return declared("prostate", "man", BOUNDS, "replace_one", n_rows, "clinical range")


def table_3(work: Work) -> list[Row]:
    """Compute the average relative adjusted R^2 of one variant, by epsilon, R and phi."""
    table = Prostate.read(work)
    if work.part == OURS.name:
        return [mean_row(work.part, {"epsilon": e}, table.worth[table.ours(e, work)]) for e in EPSILONS]
    column = next(variant for variant in (LINEAR, LETTER, HONEST) if variant.name == work.part)
    return [
        mean_row(work.part, {"epsilon": e, "R": R, "phi": phi}, table.worth[table.chosen(column, e, R, phi, work)])
        for e in EPSILONS
        for R in RADII
        for phi in PENALTIES
    ]


def table_4(work: Work) -> list[Row]:
    """Compute how often each column is selected by one variant at R = 4 and epsilon = 1, by phi and column."""
    table = Prostate.read(work)
    if work.part == OURS.name:
        settings, chosen = [dict[str, Any]()], [table.ours(1, work)]
    else:
        column = next(variant for variant in (LINEAR, LETTER, HONEST) if variant.name == work.part)
        settings = [dict[str, Any](phi=phi) for phi in PENALTIES]
        chosen = [table.chosen(column, 1, 4, phi, work) for phi in PENALTIES]
    return [
        share_row(work.part, {**setting, "variable": name}, table.models.has(1 + place)[models])
        for setting, models in zip(settings, chosen, strict=True)
        for place, name in enumerate(COLUMNS)
    ]


_DESIGN = (
    "97 men with prostate cancer; log PSA on an intercept and five columns, 63 models. The paper scales all "
    "variables to between -1 and 1, which it calls private if their ranges are public. It does not say how exactly, "
    "nor how models were fitted. Its figures are met when columns are centered and divided by their largest absolute "
    "value, the intercept is one of the columns that may be left out, the target keeps its unit, and fits "
    "have an l1 norm of at most 4 whatever R is."
)

EXPERIMENTS = (
    Experiment(
        Study(
            "lei-table-3",
            "Prostate cancer: how good the selected models are",
            "Lei et al. 2018, table 3",
            (
                _DESIGN,
                "The figure is the adjusted R² of the selected model's fit over .587, that of BIC's two columns, a "
                "mean over draws of the noise.",
            ),
            (PRINTED, LINEAR, LETTER, HONEST, OURS),
            tuple(
                Row(PRINTED.name, {"epsilon": e, "R": R, "phi": phi}, _TABLE_3[e][i][j])
                for e in EPSILONS
                for i, R in enumerate(RADII)
                for j, phi in enumerate(PENALTIES)
            ),
            (),
            (adjusted_fit("table-3", 0.0),),
            ("prostate.parquet",),
            1000,
        ),
        (LINEAR.name, LETTER.name, HONEST.name, OURS.name),
        table_3,
    ),
    Experiment(
        Study(
            "lei-table-4",
            "Prostate cancer: how often each column is selected",
            "Lei et al. 2018, table 4",
            (_DESIGN, "Epsilon 1, R = 4. The figure is the share of draws whose model has the column."),
            (PRINTED, LINEAR, LETTER, HONEST, OURS),
            tuple(
                Row(PRINTED.name, {"phi": phi, "variable": name}, _TABLE_4[phi][place])
                for phi in PENALTIES
                for place, name in enumerate(COLUMNS)
            ),
            (),
            (selected_columns("table-4"),),
            ("prostate.parquet",),
            1000,
        ),
        (LINEAR.name, LETTER.name, HONEST.name, OURS.name),
        table_4,
    ),
)
"""Tables 3 and 4."""
