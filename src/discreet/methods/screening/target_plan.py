"""How a screening brings its target to [-1, 1]: what is sought of it with noise, and where it saturates."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.metadata import NumericColumn
from discreet.data.score_design import ScoreDesign
from discreet.methods.screening.order_scores import KENDALL_COMPARED, KENDALL_MOVED, MOVED
from discreet.methods.screening.target_bound import Bound
from discreet.methods.screening.target_center import Center, Median, has_two_values
from discreet.methods.subset_selection.target_scale import target_shares
from discreet.parameters.screening import Association, IndependenceParameters

CENTER_SHARE = 0.1
"""Of epsilon, for the target's mean.

With m the mean of a column on its scaled range, an error of the mean moves its score by m times 2.8 / epsilon_y, and
the choice asks for scores of about 4 log C(d, k) / epsilon_k. What both cost together is least at a share of .13 to .05
for m = 1/2 and from a hundred to a million columns, and within 3% of the least at .1.
"""

SHARES_BY_RULE, ROWS_BY_RULE, SHARE_OF_MEDIAN = (0.12, 0.25), 60, Fraction(2, 5)
"""Of epsilon, for the center of a target that saturates by rule, and for the mean of what is left of it: `ROWS_BY_RULE`
over the information, within both; and of that share, what the center has."""

ENOUGH_FOR_BOUND = 300.0
"""Information from which on the target's distance from its center is sought, too: its bounds may be far too wide."""

SATURATIONS = ((0.05, 1.0, 0.1), (0.08, 0.5, 0.05), (math.inf, 0.3, 0.02))
"""By rule, of columns and of the target, by the largest part of all rows that a score must reach. A target seldom fills
its bounds. Few rows need signs, many can do without; skewed columns lose by them."""

SATURATIONS_OF_UNKNOWN = (0.5, 0.1)
"""Where nobody says how many rows there are."""


MOST_PAIRED = 2 * 10**7
"""Cells of a table up to which pairs of rows are compared by default: it takes about ten seconds."""


def association_of(method: IndependenceParameters, whole: ScoreDesign) -> Association:
    """Return how a column's association with the target is measured: as asked, or by public facts."""
    if method.association != "auto":
        return method.association
    states = (method.saturation, method.y_bound, method.shares)
    plan = TargetPlan(method, whole)
    is_usual = method.y_center == "private" and not any(states) and whole.metadata.layout is None
    n_rows = plan.n_rows
    is_small = n_rows is not None and n_rows * len(whole.features) <= MOST_PAIRED
    return "kendall" if is_usual and is_small and not plan.has_two_values else "products"


@dataclass(frozen=True)
class TargetPlan:
    """What is done with the target of a screening, from public facts alone.

    Parameters
    ----------
    method : IndependenceParameters
        The parameters.
    whole : ScoreDesign
        The row map around the middle of the target's bounds or codes, with half their width as its bound.
    """

    method: IndependenceParameters
    whole: ScoreDesign

    @property
    def n_rows(self) -> int | None:
        """The public number of rows, else the guess of it."""
        public = self.whole.metadata.n_rows
        return self.method.n0 if public is None else public

    @property
    def moved(self) -> Fraction:
        """The most that one unit changes a score by, in rows; where scores are compared alone, beside all others."""
        metadata = self.whole.metadata
        replaces = metadata.neighboring is NeighboringRelation.REPLACE_ONE
        if self.method.association == "kendall":
            return (KENDALL_COMPARED if self.compares else KENDALL_MOVED[replaces]) * metadata.rows_per_unit
        n_rows_changed = 2 if replaces else 1
        return Fraction(n_rows_changed * metadata.rows_per_unit * (MOVED if self.whole.by_order else 1))

    @property
    def compares(self) -> bool:
        """Whether the choice rests on the scores' differences, which move by less than twice what a score does."""
        is_added = self.whole.metadata.neighboring is not NeighboringRelation.REPLACE_ONE
        return is_added and self.method.association == "kendall" and self.method.n_features_to_select != "auto"

    @property
    def information(self) -> float:
        """Rows times epsilon over what a unit moves; 0 where nobody says how many rows there are."""
        return (self.n_rows or 0) * self.method.epsilon / float(self.moved)

    @property
    def has_two_values(self) -> bool:
        """Whether the target is known to have two values: nothing of it is clipped."""
        return has_two_values(self.whole)

    @property
    def is_by_rule(self) -> bool:
        """Whether a rule says how near to its center the target saturates: by default, where that center is sought."""
        method = self.method
        if method.association == "kendall":
            return False
        if method.n_features_to_select == "auto":
            return True
        states_nothing = method.saturation is None and method.y_bound is None and "y_bound" not in (method.shares or {})
        is_wide = self.whole.metadata.layout is None
        return states_nothing and is_wide and method.y_center == "private" and not self.has_two_values

    @property
    def is_bounded(self) -> bool:
        """Whether a score is of a target within its bounds: usual ones are far from the most that they could be."""
        return not self.is_by_rule and self.method.association != "kendall"

    @property
    def buys_center(self) -> bool:
        """Whether the target's center is sought, and with it the number of rows where that is private.

        Halves are equally large, so that what is taken off the target changes no score of a median split: there the
        center only says where a target of many values saturates. Pairs of rows need none.
        """
        is_idle = self.whole.by_order and (self.has_two_values or self.method.association == "kendall")
        return self.method.y_center == "private" and (self._buys_count or not is_idle)

    @property
    def clips_near(self) -> bool:
        """Whether the target saturates nearer than at its bounds."""
        saturates = self.method.saturation is not None or self.is_by_rule
        if self.method.association == "kendall":
            return False
        return (bool(self._share_of_bound) or saturates) and not self.has_two_values

    def center(self, epsilon: Fraction) -> Center | Median | None:
        """Return how the target's center is sought: a mean, or where that of what is left comes after, a median."""
        share, _ = self._shares_of_center
        if not share:
            return None
        # A count is mostly at its median: with enough rows to know it, the mean has as much on either side.
        column = self.whole.metadata.columns.get(self.whole.target)
        is_count = isinstance(column, NumericColumn) and column.type == "integer"
        has_mean = is_count and self.information >= ENOUGH_FOR_BOUND
        kind = Median if self.is_by_rule and self.clips_near and not has_mean else Center
        return kind(self.whole, epsilon * share)

    def bound(self, epsilon: Fraction) -> Bound | None:
        """Return how the target's distance from its center is sought, if it is."""
        share = self._share_of_bound
        return Bound(self.whole, epsilon * share) if share else None

    def shift(self, epsilon: Fraction) -> Center | None:
        """Return how the mean of the target is sought as it is clipped, if it is."""
        _, share = self._shares_of_center
        return Center(self.whole, epsilon * share) if share else None

    @property
    def share(self) -> Fraction:
        """Of epsilon, for all of these."""
        return sum(self._shares_of_center, self._share_of_bound)

    def saturations(self, part: float | None) -> tuple[float, float]:
        """Return at which part of their half ranges columns and target count as at their ends.

        `part` is that of all rows which a score must reach; None where nobody says how many there are.
        """
        stated = self.method.saturation
        if stated is not None or not self.is_by_rule:
            columns, target = stated or 1.0, stated or 1.0
        elif part is None:
            columns, target = SATURATIONS_OF_UNKNOWN
        else:
            columns, target = next(near for most, *near in SATURATIONS if part < most)
        # Where a number of columns is fixed they are compared: one near an end of its bounds would lose beside others.
        is_free = stated is None and self.method.n_features_to_select != "auto"
        return 1.0 if self.whole.by_order or is_free else columns, target

    @property
    def _buys_count(self) -> bool:
        return self.method.n_features_to_select == "auto" and self.n_rows is None

    @property
    def _shares_of_center(self) -> tuple[Fraction, Fraction]:
        """Of epsilon, for the center of the target, and for the mean of what is clipped around it within its bounds."""
        if not self.buys_center:
            return Fraction(0), Fraction(0)
        least, most = SHARES_BY_RULE
        by_rule = min(max(ROWS_BY_RULE / self.information, least), most) if self.information else most
        usual = by_rule if self.is_by_rule else CENTER_SHARE
        share = exact((self.method.shares or {}).get("y_center", usual), "shares['y_center']")
        if not self.clips_near:
            return share, Fraction(0)
        of_center = share * (SHARE_OF_MEDIAN if self.is_by_rule else Fraction(1, 2))
        # What is taken off a target changes no score of halves, but the number of rows may come with it.
        return of_center, share - of_center if self._buys_count or not self.whole.by_order else Fraction(0)

    @property
    def _share_of_bound(self) -> Fraction:
        """Of epsilon, for how far the target lies from its center: as asked, or where rows are known to suffice."""
        method, metadata, target = self.method, self.whole.metadata, self.whole.target
        if self.has_two_values or isinstance(method.y_bound, float) or method.association == "kendall":
            return Fraction(0)
        stated = (method.shares or {}).get("y_bound")
        suffices = self.is_by_rule and method.saturation is None and self.information >= ENOUGH_FOR_BOUND
        by_rule = "private" if suffices and method.y_center == "private" else "furthest"
        y_bound = "private" if stated is not None else method.y_bound or by_rule
        share = target_shares({"y_bound": y_bound}, metadata, target, self.n_rows, method.epsilon).get("y_bound")
        if share is None:
            return Fraction(0)
        return share if stated is None else exact(stated, "shares['y_bound']")
