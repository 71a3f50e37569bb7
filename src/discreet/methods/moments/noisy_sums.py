"""Second moments of a design, released once with additive noise: which sums, at which sensitivity, in which record."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.adjusted_design import AdjustedDesign, Adjustment
from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.unit_rows import CONSTANT, SCALE
from discreet.kernels.sufficient_statistics.gram import KnownGram, NoisyGram
from discreet.mechanisms.rng import Source
from discreet.methods.base.known_columns import KnownColumns
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate, drawn_together
from discreet.release import KnownRecord, MomentsRecord
from discreet.typing import Bools, Floats, Integers

CLAIM = "methods/moments/noisy_moments.privacy.md"
BLOCKS = ("X'y", "diagonal of X'X", "X'X", "y'y", "rows")
KEPT = ("columns", "owners", "noisy_entries", "_pairs", "_is_numeric", "_own_units", "_references", "_labels")
"""What private estimates of the target and of columns' scales leave as it is."""

Sensitivity = tuple[Fraction, str]


@dataclass(frozen=True)
class NoisySums:
    """The sums of products of a design's columns that a request releases, block by block.

    Parameters
    ----------
    design : Design
        The row map.
    fit_intercept : bool
        Whether the constant is a column of X.
    declared : dict of str to (float, float)
        Mean and variance, on the scaled columns, of candidates whose distribution is declared public.
    uncorrelated : bool
        Whether those candidates are declared uncorrelated.
    known : KnownColumns, optional
        Means and covariances of all candidates, where they are public: then nothing of X'X is released.
    """

    design: Design
    fit_intercept: bool
    declared: Mapping[str, tuple[float, float]]
    uncorrelated: bool
    known: KnownColumns | None = None

    def under(self, design: Design) -> "NoisySums":
        """Return the sums of the same columns of a design that private estimates changed; what stays is kept."""
        sums, own = replace(self, design=design), self.design
        same = design.candidates == own.candidates and design.is_weighted == own.is_weighted
        if same and design.metadata is own.metadata:
            sums.__dict__.update((name, getattr(self, name)) for name in KEPT)
        return sums

    # ---- which sums

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Places of X's columns among the design's cells."""
        first = int(self.design.is_weighted) + int(not self.fit_intercept)  # weighted rows have a constant of their own
        return tuple(range(first, self.design.n_columns - 1))

    @property
    def is_unit(self) -> bool:
        """Whether rows are divided by the length of their x."""
        return self.design.unit_bound is not None

    @property
    def adjustment(self) -> Adjustment:
        """The columns that take part without a coefficient."""
        return self.design.adjustment if isinstance(self.design, AdjustedDesign) else Adjustment()

    @property
    def count_is_noisy(self) -> bool:
        """Whether the number of rows, or the sum of their weights, is private."""
        return self.design.metadata.n_rows is None or self.adjustment.weights is not None

    @cached_property
    def owners(self) -> tuple[str | None, ...]:
        """The candidate of each column of X, None for the constant."""
        widths = zip(self.design.candidates, self.design.widths, strict=True)
        owned: list[str | None] = [name for name, width in widths for _ in range(width)]
        return (None, *owned) if self.fit_intercept else tuple(owned)

    @cached_property
    def noisy_entries(self) -> Bools:
        """Entries of X'X that are released with noise; the others are public, or zero by their meaning."""
        if self.known is not None:
            return np.zeros((len(self.owners), len(self.owners)), dtype=np.bool_)
        owners = np.array([owner or "" for owner in self.owners])
        wide = np.array([width > 1 for width in self._widths])
        noisy = ~((owners[:, None] == owners[None, :]) & wide[:, None])  # two levels of a category never meet
        np.fill_diagonal(noisy, True)
        public = np.array(
            [(owner is None and not self.design.is_weighted) or owner in self.declared for owner in self.owners]
        )
        public_pairs = public[:, None] & public[None, :]
        if not self.uncorrelated:
            public_pairs &= np.eye(len(owners), dtype=np.bool_) | (owners == "")[:, None] | (owners == "")[None, :]
        noisy_entries: Bools = noisy & ~public_pairs
        return noisy_entries

    @cached_property
    def _pairs(self) -> dict[str, Integers]:
        """Places of the noisy entries of each block of X'X, its upper half. Shapes: (n, 2) each."""
        places = {BLOCKS[1]: np.diag(np.diagonal(self.noisy_entries)), BLOCKS[2]: np.triu(self.noisy_entries, 1)}
        return {name: np.argwhere(entries) for name, entries in places.items()}

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        widths = [width for width in self.design.widths for _ in range(width)]
        return (1, *widths) if self.fit_intercept else tuple(widths)

    @property
    def size(self) -> tuple[int, int]:
        """The most numbers that are released, and what bounds their scales from below: see `NoiseBudget.of`."""
        n_numbers = len(self.columns) * (len(self.columns) + 3) // 2 + 2
        if self.is_unit:
            n_numbers += 2 * len(self.columns) + 1  # a first look at the columns
        return n_numbers, int(GRID**2 * min(1, self._squared_norm() or 1) / 2)

    @property
    def _n_numbers(self) -> int:
        """How many numbers are released, in one draw."""
        return len(self.columns) + int(np.triu(self.noisy_entries).sum()) + 1 + int(self.count_is_noisy)

    # ---- at which sensitivity

    def estimates(self, shares: tuple[Fraction, Fraction, Fraction, Fraction]) -> tuple[PrivateEstimate, ...]:
        """Return the blocks that need noise, with their sensitivities; X'X in two, its diagonal and the rest.

        Claim: ``noisy_moments.privacy.md``. Source: privacy specification 6.1.
        """
        replaces = self.design.metadata.neighboring is NeighboringRelation.REPLACE_ONE
        m = self._squared_norm()
        # Squared l2 sensitivity of each block in scaled units, its root in words.
        of_xty = (4 * m, "2 sqrt(m)") if replaces else (m, "sqrt(m)")
        of_one = (Fraction(1), "1")
        diagonal, beside = self._gram_sensitivity(m, replaces)
        sensitivities = (of_xty, diagonal, beside, of_one, of_one)
        off_diagonal = bool(np.triu(self.noisy_entries, 1).any())
        has_noise = (True, bool(np.diagonal(self.noisy_entries).any()), off_diagonal, True, self.count_is_noisy)
        parts = (shares[0], shares[1], shares[1], shares[2], shares[3])
        c, unit = self.design.metadata.rows_per_unit, GRID * GRID
        return tuple(
            PrivateEstimate(
                name, l2 * (c * unit) ** 2, share, unit, f"{c} x {formula}" if c > 1 else formula, self._n_numbers
            )
            for name, (l2, formula), share, is_noisy in zip(BLOCKS, sensitivities, parts, has_noise, strict=True)
            if is_noisy
        )

    def _gram_sensitivity(self, m: Fraction, replaces: bool) -> tuple[Sensitivity, Sensitivity]:
        """Return the squared l2 sensitivity, and its root in words, of the diagonal of X'X and of the rest."""
        n_constants = 1 if self.fit_intercept else 0
        if self.design.is_weighted:
            # |dG|_F^2 counts each off-diagonal change twice: noise sqrt(2) larger on the diagonal weighs by that norm.
            factor, formula = (2, "sqrt(2) m") if replaces else (1, "m")
            return (factor * m * m, formula), (factor * m * m / 2, f"{formula} / sqrt(2)")
        if replaces:
            return (2 * m * m, "sqrt(2) m"), (m * m, "m")
        # A row of a box, added or removed: equal noise, as the diagonal's squares add up to m and not m^2.
        triangle = (m * (m + 1) / 2 - n_constants, "sqrt(m (m + 1) / 2)")
        return triangle, triangle

    def _squared_norm(self) -> Fraction:
        """m: bound of |x|^2 over rows, the constant included where it is a column."""
        if self.is_unit:
            return Fraction(1)
        n_constants = 1 if self.fit_intercept else 0
        if self.design.row_norm is not None:
            return (
                n_constants * Fraction(self.design.constant, GRID) ** 2 + exact(self.design.row_norm, "row_norm") ** 2
            )
        return Fraction(n_constants + len(self.design.candidates))

    # ---- in which record

    def draw(
        self, moments: Integers, estimates: tuple[PrivateEstimate, ...], budget: NoiseBudget, rng: Source
    ) -> MomentsRecord:
        """Add the noise to the exact sums; the result may be released.

        Shapes: moments (n_columns, n_columns).
        """
        at, pairs = np.array(self.columns), self._pairs
        exact_sums = {BLOCKS[0]: moments[at, -1], BLOCKS[3]: moments[-1:, -1], BLOCKS[4]: moments[:1, 0]}
        exact_sums |= {name: moments[at[entries[:, 0]], at[entries[:, 1]]] for name, entries in pairs.items()}
        drawn = drawn_together(estimates, {name: sums.tolist() for name, sums in exact_sums.items()}, budget, rng)
        variances = {estimate.name: estimate.variance(budget) for estimate in estimates}
        n_rows, n_variance = float(self.design.metadata.n_rows or 0), 0.0
        if self.count_is_noisy:
            n_rows, n_variance = max(drawn[BLOCKS[4]][0] / GRID**2, 1.0), variances[BLOCKS[4]] / GRID**4
        gram, gram_variance = self._public_gram(n_rows, n_variance)
        for name, (i, j) in ((name, entries.T) for name, entries in pairs.items() if len(entries)):
            gram[i, j] = gram[j, i] = np.array(drawn[name], dtype=object)
            gram_variance[i, j] = gram_variance[j, i] = variances[name]
        xty, yty = drawn[BLOCKS[0]], drawn[BLOCKS[3]][0]
        sums = gram.tolist(), xty, yty, gram_variance.tolist()
        return self._record(*sums, variances[BLOCKS[0]], variances[BLOCKS[3]], n_rows, n_variance)

    def _public_gram(self, n_rows: float, n_variance: float) -> tuple[npt.NDArray[np.object_], Floats]:
        """Return what is declared of X'X, and how far the table's own sums may lie from it, as a variance."""
        if self.known is not None:
            second = np.outer(self._known_means, self._known_means)
            first = int(self.fit_intercept)
            second[first:, first:] += self.known.covariance
            whole = np.rint(second * n_rows * GRID**2).astype(object)
            return whole, np.zeros_like(second)  # the error is of all entries together: `known_error`
        mean = np.array([1.0 if owner is None else self.declared.get(owner, (0.0, 0.0))[0] for owner in self.owners])
        spread = np.array([0.0 if owner is None else self.declared.get(owner, (0.0, 0.0))[1] for owner in self.owners])
        second = np.outer(mean, mean) + np.diag(spread)
        square = np.diag(second)
        public = ~self.noisy_entries & ((square[:, None] * square[None, :]) > 0)
        # |x_i x_j| <= 1, so Var(x_i x_j) <= E x_i^2 x_j^2 <= min(E x_i^2, E x_j^2); the constant's square is no chance.
        sampled = np.minimum(square[:, None], square[None, :]) - second**2
        constant = np.array([owner is None for owner in self.owners])
        sampled[constant[:, None] & constant[None, :]] = 0.0
        gram = np.where(public, second * n_rows, 0.0) * GRID**2
        variance = np.where(public, np.maximum(sampled, 0.0) * n_rows + second**2 * n_variance, 0.0) * GRID**4
        return np.rint(gram).astype(object), variance

    @property
    def _known_means(self) -> Floats:
        """Public means of X's columns, 1 of the constant."""
        means = np.zeros(0) if self.known is None else self.known.means
        return np.append(1.0, means) if self.fit_intercept else means

    @property
    def _known_record(self) -> KnownRecord | None:
        return None if self.known is None else self.known.record(self._known_means.tolist())

    def _record(
        self,
        gram: list[list[int]],
        xty: list[int],
        yty: int,
        gram_variance: list[list[float]],
        xty_variance: float,
        yty_variance: float,
        n_rows: float,
        n_rows_variance: float,
    ) -> MomentsRecord:
        centers, halves = [], []
        for (middle, half), (moved, width) in zip(self._own_units, self._scaling, strict=True):
            centers.append(middle + half * moved)
            halves.append(half * width)
        return MomentsRecord(
            grid=GRID,
            constant=self._constant,
            labels=self._labels,
            owners=self.owners,
            centers=tuple(centers),
            half_widths=tuple(halves),
            ends=self._ends if self.is_unit and self.fit_intercept else (),
            y_center=self.design.center,
            y_bound=self.design.bound,
            n_rows=n_rows,
            n_rows_variance=n_rows_variance,
            sum_of_weights=self._sum_of_weights(gram, n_rows),
            gram=tuple(tuple(int(v) for v in row) for row in gram),
            xty=tuple(xty),
            yty=yty,
            gram_variance=tuple(tuple(row) for row in gram_variance),
            xty_variance=(xty_variance,) * len(xty),
            yty_variance=yty_variance,
            rows_per_unit=self.design.metadata.rows_per_unit,
            references=self._references,
            known=self._known_record,
            offset=self.adjustment.offset,
            weights=self.adjustment.weights,
        )

    @cached_property
    def _is_numeric(self) -> tuple[bool, ...]:
        """Which of X's columns are neither the constant nor a level's."""
        declared = self.design.metadata.declared
        return tuple(owner is not None and isinstance(declared(owner), NumericColumn) for owner in self.owners)

    @cached_property
    def _own_units(self) -> tuple[tuple[float, float], ...]:
        """Middle and half range of each of X's columns in its own unit."""
        columns = zip(self.owners, self._is_numeric, strict=True)
        declared: Any = self.design.metadata.declared
        return tuple(half_width(declared(owner)) if numeric else (0.0, 1.0) for owner, numeric in columns)

    @property
    def _scaling(self) -> list[tuple[float, float]]:
        """Middle and half width of each of X's columns, in half ranges."""
        owned, scaling = sum(self.design.widths), self.design.scaling
        if scaling is None:
            return [(0.0, 1.0)] * len(self.owners)
        pairs = [(middle / GRID, SCALE / factor) for middle, factor in zip(*scaling, strict=True)]
        return [(0.0, 1.0)] * (len(self.owners) - owned) + pairs

    @property
    def _ends(self) -> tuple[tuple[float, float], ...]:
        """Least and largest value of each of X's columns, as they are scaled."""
        ends = list[tuple[float, float]]()
        for owner, is_numeric, (moved, width) in zip(self.owners, self._is_numeric, self._scaling, strict=True):
            constant_or_level = (1.0, 1.0) if owner is None else (0.0, 1.0)
            ends.append(((-1.0 - moved) / width, (1.0 - moved) / width) if is_numeric else constant_or_level)
        return tuple(ends)

    @property
    def _constant(self) -> float:
        """Value of the constant column."""
        return CONSTANT if self.is_unit else self.design.constant / GRID

    @property
    def largest_scale(self) -> float:
        """What a column is multiplied by, at most, where the moments are read: a constant is made 1."""
        return max(1.0, 1.0 / self._constant) if self.fit_intercept else 1.0

    def _sum_of_weights(self, gram: list[list[int]], n_rows: float) -> float | None:
        """Sum of the squared factors of rows of bounded norm, at least what it can be; with noise where it is not n."""
        if self.design.row_norm is None:
            return None
        longest = max(len(self.design.candidates), 1)  # square of the length of x; the squares of f x are told
        squares = gram[0][0] / self.design.constant**2 if self.fit_intercept else _trace(gram) / GRID**2 / longest
        return max(min(squares, n_rows), min(1.0, self.design.row_norm**2 / longest) * n_rows)

    @cached_property
    def _references(self) -> tuple[int, ...]:
        """Places, among X's columns, of the levels that a regression compares others with."""
        references, at = list[int](), 1 if self.fit_intercept else 0
        for name, width in zip(self.design.candidates, self.design.widths, strict=True):
            column = self.design.metadata.declared(name)
            if isinstance(column, CategoryColumn):
                references += [at + place for place in range(width) if place not in column.compared]
            at += width
        return tuple(references)

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        labels = ["(intercept)"] if self.fit_intercept else []
        for name in self.design.candidates:
            column = self.design.metadata.declared(name)
            levels = column.levels if isinstance(column, CategoryColumn) else None
            labels += [f"{name}={level}" for level in levels] if levels else [name]
        return tuple(labels)


def noisy_gram(record: MomentsRecord) -> NoisyGram:
    """Return released moments in scaled units, for the kernels."""
    unit = float(record.grid) ** 2
    # A constant that is not 1 is made 1, and its noise with it.
    column_scales = np.array([1.0 if owner is not None else 1.0 / record.constant for owner in record.owners])
    products = np.outer(column_scales, column_scales)
    return NoisyGram(
        np.array(record.gram, dtype=object).astype(np.float64).reshape(len(column_scales), -1) / unit * products,
        np.array(record.xty, dtype=object).astype(np.float64) / unit * column_scales,
        record.yty / unit,
        np.array(record.gram_variance, dtype=np.float64).reshape(len(column_scales), -1) / unit**2 * products**2,
        np.array(record.xty_variance, dtype=np.float64) / unit**2 * column_scales**2,
        record.yty_variance / unit**2,
        float(record.sum_of_weights or record.n_rows),  # residuals are weighted: so is their number
        record.n_rows_variance,
        _known_gram(record),
    )


def _known_gram(record: MomentsRecord) -> KnownGram | None:
    """Return how far the rows' own X'X may lie from public moments; rows of a unit may be alike."""
    if record.known is None:
        return None
    of_records = 0.0 if record.known.n_records is None else record.n_rows**2 / record.known.n_records
    spread = (record.n_rows * record.rows_per_unit + of_records) * record.known.tails
    return KnownGram(spread, np.array(record.known.means), record.n_rows)


def _trace(gram: list[list[int]]) -> int:
    return sum(row[j] for j, row in enumerate(gram))
