"""Screening above a threshold on simulated tables: the threshold comes from a grid, as noisy numbers of rows differ."""

import copy
import math

from typing_extensions import override

from discreet.methods.base.method import Preparation
from discreet.methods.screening.decorrelated_scores import PreparedScores
from discreet.methods.screening.first_screening import ScreenedScores
from discreet.methods.screening.sis import PreparedScreening
from discreet.methods.screening.threshold_choice import LARGEST, AboveThreshold, threshold_of

RATIO = 1.25
"""Of neighboring standard deviations of the grid; between them a threshold is nearly linear."""


class GridThreshold(AboveThreshold):
    """The choice of `AboveThreshold`, whose threshold is interpolated: at most half a percent higher, and quick."""

    @override
    def thresholds(self, variance: float) -> tuple[int, ...]:
        sd = math.sqrt(variance)
        place = math.floor(math.log(sd) / math.log(RATIO))
        part = (sd / RATIO**place - 1.0) / (RATIO - 1.0)
        rows = (1.0 - part) * self._at(place) + part * self._at(place + 1)
        return (math.ceil(min(rows, LARGEST) * self.step),)

    def _at(self, place: int) -> float:
        scale = float(self.scale) / self.step
        return threshold_of(self.units.n_columns, scale, RATIO**place, self.absent_weight, self.max_false)


def cached_scores(prepared: Preparation) -> Preparation:
    """Return decorrelated scores that select the same and do not tell the columns' chances, which take ten times as
    long; any other request itself.
    """
    if isinstance(prepared, PreparedScores):
        untold = copy.copy(prepared)
        untold.tells_chances = False
        return cached_threshold(untold)
    if not isinstance(prepared, ScreenedScores):
        return prepared
    screened, then = copy.copy(prepared), prepared.then
    screened.then = lambda names, center, rows: cached_scores(then(names, center, rows))
    return screened


def cached_threshold(prepared: PreparedScreening | PreparedScores) -> Preparation:
    """Return a request above a threshold that takes less time, any other itself."""
    choice = prepared.choice
    is_once = isinstance(prepared, PreparedScreening) and prepared.whole.metadata.n_rows is not None
    if not isinstance(choice, AboveThreshold) or is_once:
        return prepared
    quick = copy.copy(prepared)
    facts = {name: getattr(choice, name) for name in AboveThreshold.__dataclass_fields__}
    quick.choice = GridThreshold(**facts)
    return quick
