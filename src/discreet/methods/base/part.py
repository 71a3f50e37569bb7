"""One private estimate or choice of a request, before and after it is drawn."""

from dataclasses import dataclass

from discreet.accounting.events import Event, event_record
from discreet.release import NoiseRecord, StepRecord


@dataclass(frozen=True)
class Part:
    """A part of a request: its privacy cost, and its noise or the largest that it can have.

    Parameters
    ----------
    name : str
        Such as "y_bound".
    event : Event
        What is done to the data.
    noise : NoiseRecord
        The noise box.
    """

    name: str
    event: Event
    noise: NoiseRecord

    def record(self, value: float | None = None, noise: NoiseRecord | None = None) -> StepRecord:
        """Return the part as it stands in a release, with its privacy cost."""
        return StepRecord(name=self.name, event=event_record(self.event), noise=noise or self.noise, value=value)
