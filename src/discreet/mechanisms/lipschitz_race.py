"""The exact race of the canonical Lipschitz mechanism's classes: blocks of k-sets, opened while they can still win.

A set's noise is a decreasing function of its energy, an exponential number of rate one. A block's smallest energy is
exponential of rate its number of sets; when a block is split, the part that holds it keeps it, and the other part's
exceeds it by an exponential number of its own rate. Counts are whole numbers, so every chance is exact.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

from discreet.mechanisms.reals import (
    ROUNDING,
    Interval,
    Real,
    Uniform,
    Words,
    context_for,
    difference,
    image,
    log_sum,
)

MAX_FLOAT = 1.7e308


@dataclass(frozen=True)
class Contest:
    """The scores and parameters of one draw.

    Parameters
    ----------
    ranked : callable
        The score of a rank, from 1 for the largest, exactly.
    n : int
        Number of scores.
    k : int
        Size of the sets, less than n.
    slope : Fraction
        Of the loss.
    gamma : Fraction
        Weight of the worst score inside.
    gumbel : bool
        Else the noise is exponential.
    """

    ranked: Callable[[int], Fraction]
    n: int
    k: int
    slope: Fraction
    gamma: Fraction
    gumbel: bool

    def loss(self, head: int, tail: int) -> Fraction:
        """Return the loss of a class less that of the k best.

        Parameters
        ----------
        head : int
            The set holds the best `head`, and not the next one; negative for the k best themselves.
        tail : int
            Rank of its last one.

        Returns
        -------
        Fraction
            Not negative.
        """
        if head < 0:
            return Fraction(0)
        least = self.ranked(self.k)  # only differences of scores count: the k-th is taken as 0
        # The best score outside is that of rank head + 1, above the worst inside, of rank tail: max(a, b) = a. For the
        # k best a < b = 0, so their loss is 0.
        return (1 - self.gamma) * (self.ranked(head + 1) - least) - self.gamma * (self.ranked(tail) - least)

    def noise(self, log_energy: Real) -> Real:
        """Return the noise of the smallest energy of a block, which is the largest of the block.

        Parameters
        ----------
        log_energy : Real
            The smallest of the block.

        Returns
        -------
        Real
            The largest of the block.
        """
        return noise_of(log_energy, self.gumbel)


def noise_of(log_energy: Real, gumbel: bool) -> Real:
    """Return the noise whose energy this is: -log(energy), or -log(1 - exp(-energy)).

    Parameters
    ----------
    log_energy : Real
        Of an exponential number of rate one, or of the smallest of many.
    gumbel : bool
        Else the noise is exponential.

    Returns
    -------
    Real
        The noise, or the largest of many.
    """

    def enclose(digits: int) -> Interval:
        return image(_gumbel if gumbel else _exponential, log_energy, digits)

    x = log_energy.value
    # For energies below e^-40, -log(1 - exp(-e)) is -log(e) to a float; above e^6.6 it is 0.
    value = -x if gumbel or x < -40.0 else 0.0 if x > 6.6 else -math.log(-math.expm1(-math.exp(x)))
    return Real(value, 1.01 * log_energy.error + ROUNDING * (1.0 + abs(value)), enclose)


@dataclass(frozen=True)
class Block:
    """Classes of one head, with tails of ranks start .. stop - 1, and the smallest energy among their sets.

    Parameters
    ----------
    contest : Contest
        What the draw is about.
    head, start, stop : int
        Which classes.
    log_energy : Real
        Log of the energy.
    """

    contest: Contest
    head: int
    start: int
    stop: int
    log_energy: Real

    @property
    def is_class(self) -> bool:
        """Tell whether there is one tail only."""
        return self.stop - self.start == 1

    @cached_property
    def bound(self) -> Real:
        """The largest value of a set in the block; with one tail only, the value of its best set."""
        loss = self.contest.slope * self.contest.loss(self.head, self.start)
        return difference(self.contest.noise(self.log_energy), rational(loss))

    def split(self, cut: int, choice: Uniform, energy: Uniform) -> list["Block"]:
        """Split the block by its tails.

        Parameters
        ----------
        cut : int
            First rank of the second part.
        choice : Uniform
            Decides which part holds the smallest energy: the second when less than its share.
        energy : Uniform
            Gives the other part's.

        Returns
        -------
        list of Block
            Both.
        """
        sizes = [count(self.contest.k, self.head, *ends) for ends in ((self.start, cut), (cut, self.stop))]
        # The smallest of independent exponentials lies in a part with probability its rate over the total; given that,
        # the other part's exceeds it by an exponential number of the other part's rate.
        second = Real(choice.value, 2.0**-52, choice.enclose) < rational(Fraction(sizes[1], sum(sizes)))
        other_energy = log_sum(self.log_energy, [energy], log_of(sizes[0 if second else 1]))
        energies = [other_energy, self.log_energy] if second else [self.log_energy, other_energy]
        ends = [(self.start, cut), (cut, self.stop)]
        return [Block(self.contest, self.head, *end, energy) for end, energy in zip(ends, energies, strict=True)]


def start_blocks(contest: Contest, words: Words) -> list[Block]:
    """Return all classes as blocks, one for each head.

    Parameters
    ----------
    contest : Contest
        What the draw is about.
    words : Words
        Random words.

    Returns
    -------
    list of Block
        The k best first.
    """
    k, stop = contest.k, contest.n + 1
    # The k best are one set of their own: head -1 marks them, and their tail says nothing.
    blocks = [Block(contest, -1, k + 1, k + 2, log_sum(None, [Uniform(words)], log_of(1)))]
    for head in range(k):
        rate = log_of(count(k, head, k + 1, stop))
        blocks.append(Block(contest, head, k + 1, stop, log_sum(None, [Uniform(words)], rate)))
    return blocks


def race(blocks: Sequence[Block], words: Words, cut: Callable[[int, int, int], int]) -> Block:
    """Return the winning class as a block of one tail.

    Parameters
    ----------
    blocks : sequence of Block
        Disjoint; whatever is in none of them cannot win.
    words : Words
        Random words.
    cut : callable
        Where to split, from start, stop and k; changes the time, not the law.

    Returns
    -------
    Block
        With one tail.
    """
    heap = [(-block.bound.value, place, block) for place, block in enumerate(blocks)]
    heapq.heapify(heap)
    n_entries = len(heap)
    while True:  # ends: a block that is opened makes smaller ones, of which a class cannot be opened
        _, _, best = heapq.heappop(heap)
        if best.is_class:
            # The heap is in the order of floats: whoever lies within the errors of the first may be ahead of it, and
            # digits decide.
            floor = best.bound.value - best.bound.error
            near = [entry for entry in heap if entry[2].bound.value + entry[2].bound.error >= floor]
            ahead = [entry for entry in near if best.bound < entry[2].bound]
            if not ahead:
                return best
            rival = ahead[0]
            for entry in ahead[1:]:
                rival = entry if rival[2].bound < entry[2].bound else rival
            if rival[2].is_class:
                return rival[2]
            heap.remove(rival)
            heap.append((-best.bound.value, n_entries, best))
            heapq.heapify(heap)
            best, n_entries = rival[2], n_entries + 1
        for part in best.split(cut(best.start, best.stop, best.contest.k), Uniform(words), Uniform(words)):
            heapq.heappush(heap, (-part.bound.value, n_entries, part))
            n_entries += 1


def count(k: int, head: int, start: int, stop: int) -> int:
    """Count the k-sets of some classes: the body lies between head + 2 and the tail (hockey stick identity).

    Parameters
    ----------
    k : int
        Size of the sets.
    head : int
        The set holds the best `head`, and not the next one.
    start, stop : int
        The tail's rank is start .. stop - 1; start is more than k.

    Returns
    -------
    int
        The sum of C(t - head - 2, k - head - 1) over the tails t.

    References
    ----------
    Privacy specification 4.3.

    Examples
    --------
    >>> 1 + sum(count(4, head, 5, 9) for head in range(4)) == math.comb(8, 4)
    True
    """
    return math.comb(stop - head - 2, k - head) - math.comb(start - head - 2, k - head)


def log_of(number: int) -> Real:
    """Return the log of a whole number.

    Parameters
    ----------
    number : int
        Positive.

    Returns
    -------
    Real
        The log.
    """

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        value = context.ln(Decimal(number))
        error = context.multiply(context.power(Decimal(10), 6 - digits), context.add(1, context.abs(value)))
        return context.subtract(value, error), context.add(value, error)

    value = math.log(number)
    return Real(value, ROUNDING * (1.0 + value), enclose)


def rational(number: Fraction) -> Real:
    """Return a fraction as a real number.

    Parameters
    ----------
    number : Fraction
        Any.

    Returns
    -------
    Real
        The same.
    """

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        value = context.divide(Decimal(number.numerator), Decimal(number.denominator))
        error = context.multiply(context.power(Decimal(10), 6 - digits), context.abs(value))
        return context.subtract(value, error), context.add(value, error)

    try:
        value = float(number)
    except OverflowError:
        return Real(MAX_FLOAT if number > 0 else -MAX_FLOAT, math.inf, enclose)
    return Real(value, 2.0**-52 * abs(value), enclose)


def _gumbel(log_energy: Decimal, context: Context) -> Decimal:
    return context.minus(log_energy)


def _exponential(log_energy: Decimal, context: Context) -> Decimal:
    if not log_energy.is_finite():
        return Decimal("Infinity")
    energy = context.exp(log_energy)
    if log_energy > -3:
        return context.minus(context.ln(context.subtract(Decimal(1), context.exp(context.minus(energy)))))
    below = term = energy  # 1 - exp(-energy) as a series: its leading digits would cancel
    for n in range(2, context.prec):
        term = context.divide(context.multiply(term, context.minus(energy)), Decimal(n))
        below = context.add(below, term)
        # Energy is below e^-3, so terms alternate and shrink: what is left out is less than the last one.
        if abs(term.adjusted()) > abs(below.adjusted()) + context.prec:
            break
    return context.minus(context.ln(below))
