"""A region's bound as real numbers, and models drawn from it: in floats, or in decimals where floats cannot decide."""

import functools
import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal

import numpy as np

from discreet.kernels.search.separable import Bound
from discreet.mechanisms.reals import ROUNDING, Interval, Real, Uniform, Words, context_for, widened
from discreet.typing import Floats


def bound_value(bound: Bound, model: int) -> Real:
    """Return the bound of a model.

    Parameters
    ----------
    bound : Bound
        Of a region that holds the model.
    model : int
        Bits over units.

    Returns
    -------
    Real
        The sum of the constant and the table entries.
    """

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        total = _total([Decimal(bound.const), *map(Decimal, bound.entries(model))], context)
        return widened(total, total, context, digits)

    value = bound.value(model)
    return Real(value, bound.error + ROUNDING * abs(value), enclose)


def log_rate(bound: Bound, tables: Floats) -> Real | None:
    """Return the log of the sum of exp(-bound) over some models.

    Parameters
    ----------
    bound : Bound
        Of a region that holds them.
    tables : ndarray of float, shape (n_blocks, n_subsets)
        The bound's, of the models.

    Returns
    -------
    Real or None
        None when there is no model.
    """
    value = bound.log_weight(tables)
    if value == -math.inf:
        return None
    least = tables.min(axis=1)

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        weights = _exact_weights(tables, digits)
        if bound.limit < 0:
            factors = [_total(block, context) for block in weights]
        else:
            factors = [_total(_tails(weights, bound.limit, digits)[0], context)]
        # Weights are over the largest of their block, so each block's -least comes back, and the constant.
        logs = [*map(context.ln, factors), *(Decimal(-entry) for entry in least.tolist()), Decimal(-bound.const)]
        total = _total(logs, context)
        return widened(total, total, context, digits)

    return Real(value, bound.error + ROUNDING * float(np.abs(least).sum()), enclose)


def draw_model(bound: Bound, tables: Floats, words: Words) -> int:
    """Draw a model with probability proportional to exp(-bound).

    Parameters
    ----------
    bound : Bound
        Of a region that holds the models of the tables.
    tables : ndarray of float, shape (n_blocks, n_subsets)
        The bound's, of the models.
    words : Words
        Where the random bits come from.

    Returns
    -------
    int
        Bits over units.
    """
    first = words.take(len(tables))
    picked = bound.draw(tables, (first.astype(np.float64) + 0.5) * 2.0**-64)
    # A uniform number lies within the floats' error of an edge: the same 64 bits, and more, decide.
    if picked is None:
        uniforms = [Uniform(words, word) for word in first.tolist()]
        picked = np.array(draw_exactly(tables, bound.limit, uniforms), dtype=np.int64)
    return bound.inside | bound.layout.model(picked)


def draw_exactly(tables: Floats, limit: int, uniforms: Sequence[Uniform]) -> list[int]:
    """Draw as `Bound.draw`, with as many digits as it takes.

    Parameters
    ----------
    tables : ndarray of float, shape (n_blocks, n_subsets)
        Value of each subset; infinite for those that may not be drawn.
    limit : int
        The most units in a model; negative for no limit.
    uniforms : sequence of Uniform
        One for each block.

    Returns
    -------
    list of int
        Bits over each block's units.
    """
    digits = 40
    while True:  # until no uniform number lies at an edge; beyond MOST_DIGITS its bits end the run as broken
        context = context_for(digits)
        weights = _exact_weights(tables, digits)
        tails = _tails(weights, limit, digits) if limit >= 0 else [[Decimal(1)]] * (len(weights) + 1)
        picked: list[int] = []
        remaining = limit
        for uniform, block, tail in zip(uniforms, weights, tails[1:], strict=True):
            # A subset counts its weight times that of all ways in which later blocks fill at most the room that it
            # leaves.
            room = [_total(tail[: k + 1], context) for k in range(len(tail))]
            fits = [limit < 0 or m.bit_count() <= remaining for m in range(len(block))]
            weight_of_subset = [
                context.multiply(weight, room[remaining - m.bit_count() if limit >= 0 else 0]) if fit_ else Decimal(0)
                for m, (weight, fit_) in enumerate(zip(block, fits, strict=True))
            ]
            subset = _cell(weight_of_subset, uniform.enclose(digits), digits)
            if subset is None:
                break
            picked.append(subset)
            remaining -= subset.bit_count()
        else:
            return picked
        digits *= 2


def _total(parts: Iterable[Decimal], context: Context) -> Decimal:
    # The operator + would round to the precision of the thread's own context.
    return functools.reduce(context.add, parts, Decimal(0))


def _exact_weights(tables: Floats, digits: int) -> list[list[Decimal]]:
    """Return exp(-entry) of each subset, over the largest of its block."""
    context = context_for(digits)
    return [
        [
            context.exp(context.subtract(Decimal(least), Decimal(entry))) if entry < math.inf else Decimal(0)
            for entry in table.tolist()
        ]
        for table, least in zip(tables, tables.min(axis=1).tolist(), strict=True)
    ]


def _tails(weights: list[list[Decimal]], limit: int, digits: int) -> list[list[Decimal]]:
    """Return the weight of the blocks from each on, by the number of units in them."""
    context = context_for(digits)
    tails = [[Decimal(1)] + [Decimal(0)] * limit]
    for block in reversed(weights):
        new = [Decimal(0)] * (limit + 1)
        for m, weight in enumerate(block):
            # Convolution over sizes: m units here and k in the blocks behind.
            for k in range(limit + 1 - m.bit_count()):
                new[k + m.bit_count()] = context.add(new[k + m.bit_count()], context.multiply(weight, tails[-1][k]))
        tails.append(new)
    return tails[::-1]


def _cell(weights: list[Decimal], uniform: Interval, digits: int) -> int | None:
    """Return the cell of the cumulated weights that holds the uniform number; None when an edge is too close."""
    context = context_for(digits)
    total, run = _total(weights, context), Decimal(0)
    error = context.multiply(total, context.power(Decimal(10), 6 - digits))
    low, high = context.multiply(uniform[0], total), context.multiply(uniform[1], total)
    for m, weight in enumerate(weights):
        run = context.add(run, weight)
        if weight and high < context.subtract(run, error):
            return m
        if weight and low < context.add(run, error):
            return None
    return None
