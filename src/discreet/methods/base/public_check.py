"""A private look at whether rows go with public moments, before these are used: if not, moments are bought."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.events import AlternativeEvent, ComposedEvent, CubeEvent, event_record
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import SaturatedRows
from discreet.kernels.sufficient_statistics.cut_columns import Columns
from discreet.kernels.sufficient_statistics.public_check import largest_difference, most_difference, whitening
from discreet.mechanisms.cube import check_cube, cube_noise, cube_variance
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.part import Part
from discreet.release import NoiseRecord, StepRecord

CLAIM = "methods/base/public_check.privacy.md"
NAME = "public_check"

SURELY = 2.0
"""Scales of its noise by which a difference is larger than it may be, before public moments are left aside."""

SHARES = (0.01, 0.08)
"""Of epsilon, the least and the most that a look takes."""

ENOUGH = 0.04
"""Share where a thousand rows at epsilon 1 are replaced one by one; fewer need more."""


def share_of_look(information: float) -> Fraction:
    """Return the share of epsilon of a look.

    Parameters
    ----------
    information : float
        Thousands of rows times epsilon, at least 0.

    Returns
    -------
    Fraction
        In `SHARES`.
    """
    least, most = SHARES
    return Fraction(round(1000 * min(max(ENOUGH / max(information, 1e-9), least), most)), 1000)


@dataclass(frozen=True)
class PublicLook:
    """A look at one number: the largest sum of turned columns, and of products of two, that should be about zero.

    Parameters
    ----------
    design : Design
        The row map.
    rows : SaturatedRows
        Of the columns as they are.
    columns : Columns
        What is public of them.
    epsilon : Fraction
        Of the look.
    """

    design: Design
    rows: SaturatedRows
    columns: Columns
    epsilon: Fraction

    @property
    def _has_count(self) -> bool:
        return self.design.metadata.n_rows is None

    @property
    def moved(self) -> int:
        """The most that one unit changes the number by, in rows."""
        metadata = self.design.metadata
        return (2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1) * metadata.rows_per_unit

    @property
    def scale(self) -> Fraction:
        """Scale of its noise, in rows."""
        return self.moved / self.epsilon

    def part(self) -> Part:
        """Return its cost and its noise box."""
        n_numbers = 1 + self._has_count
        check_cube(n_numbers, self.scale * GRID**2, "the look at the public moments")
        box = NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=float(self.moved),
            scale=float(self.scale),
            unit="rows",
            formula=f"{self.moved}, the most that one {self.design.metadata.unit} changes the largest sum by",
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part(NAME, CubeEvent(self.epsilon), box)

    def ratio(self, table: Table, rng: Source) -> float:
        """Return the noisy largest difference over the most that it may be: above 1 public moments are not used.

        Parameters
        ----------
        table : Table
            The private table.
        rng : Source
            Where the noise comes from.

        Returns
        -------
        float
            Two decimals. Cost: one pass.
        """
        p = self.rows.width
        turned, constants = whitening(self.columns)
        work = partial(self.rows.turned, turned=turned, constants=constants)
        sums = table.map_reduce(self.design, work, np.zeros(1 + p + p * (p - 1) // 2, dtype=np.int64))
        exact = [*([int(sums[0])] if self._has_count else []), largest_difference(sums[1:], p)]
        noisy = cube_noise(exact, self.scale * GRID**2, rng)
        n_rows = float(self.design.metadata.n_rows or 1)
        if self._has_count:
            n_rows = max(noisy[0] / GRID**2, math.sqrt(cube_variance(2, self.scale)))
        most = most_difference(self.columns, n_rows) + SURELY * float(self.scale)
        return round(noisy[-1] / GRID**2 / most, 2)


class LookedAt(Preparation):
    """A request that looks first, and then is made with public moments or with bought ones.

    Parameters
    ----------
    look : PublicLook
        At the rows.
    used, bought : Preparation
        The request with public moments, and without: what the look leaves of epsilon is for one of them.
    """

    def __init__(self, look: PublicLook, used: Preparation, bought: Preparation) -> None:
        self.look, self.used, self.bought = look, used, bought
        self.part = look.part()
        self.columns, self.target, self.candidates = used.columns, used.target, used.candidates
        self.parameters: dict[str, Any] = used.parameters
        self.public, self.not_protected = used.public, used.not_protected
        paths = [path.event for path in (used, bought) if path.event is not None]
        one_of_two = AlternativeEvent(tuple(paths))
        self.event = ComposedEvent((self.part.event, one_of_two))
        self.noise = max(used.noise, bought.noise, key=lambda noise: noise.scale or 0.0)
        self.steps = (
            self.part.record(),
            StepRecord(name="public or bought", event=event_record(one_of_two), noise=self.noise),
        )

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Look, and go on with public moments or with bought ones.

        Parameters
        ----------
        table : Table
            Whose metadata both requests were prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Of the request that is made; its steps are public.

        Returns
        -------
        Outcome
            Of that request, with the look as its first step.

        Notes
        -----
        Claim: ``public_check.privacy.md``. Cost: one pass over the columns beside those of the request.
        """
        ratio = self.look.ratio(table, rng)
        path = self.used if ratio <= 1.0 else self.bought
        outcome = path.run(table, rng, progress)
        steps = (self.part.record(ratio), *outcome.steps)
        return replace(outcome, steps=steps)
