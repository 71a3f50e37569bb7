"""What is supposed of a table: one scenario, or several where a number is not known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import InvalidParameterError, MetadataError
from discreet.simulation.scenario import R_SQUARED, Scenario
from discreet.simulation.stated import distinct, named, number, sizes, whole

MOST_SCENARIOS = 24

_DECLARE = (
    "The metadata must say which file is public, so that no private one is taken for it, and that file must be given, "
    "but {found}. Declare `public: {{sha256: ..., source: ...}}`, the sha256 as `sha256sum FILE` prints it."
)


@dataclass(frozen=True)
class Supposition:
    """What is supposed of a table, from public knowledge alone; what is None or empty keeps its default.

    Parameters
    ----------
    effects : dict of str to float, optional
        As `Scenario.of` takes them.
    n_true : int, optional
        Columns that matter, where no effects are stated.
    noise_sd : float, optional
        In the target's unit.
    like : path or PublicRecords, optional
        A public file, that which the metadata declare under `public`: see `Scenario.like`.
    r_squared : tuple of float
        A scenario each.
    correlation : tuple of float
        A scenario each.
    times : tuple of float
        What effects are multiplied by, a scenario each.

    Raises
    ------
    InvalidParameterError
        When two of them contradict each other, or there are too many scenarios.
    """

    effects: Mapping[str, float] | None = None
    n_true: int | None = None
    noise_sd: float | None = None
    like: Any = None
    r_squared: tuple[float, ...] = ()
    correlation: tuple[float, ...] = ()
    times: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.effects is not None and self.n_true is not None:
            raise InvalidParameterError("Effects say which columns matter. Leave out n_true.")
        stated = self.effects is not None or self.like is not None
        if stated and self.noise_sd is not None and self.r_squared:
            raise InvalidParameterError("Effects and noise_sd decide what is explained. Leave out r_squared.")
        if self.like is not None and (self.correlation or self.n_true is not None):
            raise InvalidParameterError(
                "A public table says how columns are correlated and which of them matter. Leave out correlation and "
                "n_true."
            )
        if self.n_scenarios > MOST_SCENARIOS:
            raise InvalidParameterError(
                f"At most {MOST_SCENARIOS} scenarios can be compared, but there are {self.n_scenarios}. Give fewer "
                "numbers of times, correlation and r_squared."
            )

    @classmethod
    def of(cls, stated: "Mapping[str, Any] | Supposition | None") -> "Supposition":
        """Return a checked supposition from values by name; a number stands for a list of one."""
        if isinstance(stated, cls):
            return stated
        fields = {name: value for name, value in named(stated).items() if value is not None}
        unknown = [name for name in fields if name not in cls.__dataclass_fields__]
        if unknown:
            raise InvalidParameterError(
                f"What is supposed must be some of {', '.join(cls.__dataclass_fields__)}, but found {unknown[0]!r:.60}."
            )
        for name in ("r_squared", "correlation", "times"):
            if name in fields:
                fields[name] = distinct(name, fields[name])
        if "effects" in fields:
            fields["effects"] = sizes(fields["effects"])
        if "n_true" in fields:
            fields["n_true"] = whole("n_true", fields["n_true"])
        if "noise_sd" in fields:
            fields["noise_sd"] = number("noise_sd", fields["noise_sd"])
        return cls(**fields)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is supposed."""
        listed = self.r_squared + self.correlation + self.times
        return self.leaves_columns_open and self.noise_sd is None and not listed

    @property
    def n_scenarios(self) -> int:
        """How many scenarios it is."""
        return max(len(self.r_squared), 1) * max(len(self.correlation), 1) * max(len(self.times), 1)

    @property
    def leaves_columns_open(self) -> bool:
        """Whether neither the columns that matter nor their number are stated."""
        return self.effects is None and self.n_true is None and self.like is None

    def scenarios(
        self,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None = None,
        n_rows: int | None = None,
        n_true: int | None = None,
    ) -> list[Scenario]:
        """Return all scenarios, at least one: effects multiplied last, the correlation first."""
        stated: dict[str, Any] = {"effects": self.effects, "noise_sd": self.noise_sd, "n_rows": n_rows}
        scenarios = list[Scenario]()
        public = self._public(metadata)
        for correlation, r_squared in product(self.correlation or (0.0,), self.r_squared or (None,)):
            if public is not None:
                scenario = Scenario.like(metadata, target, public, candidates, r_squared=r_squared, **stated)
            else:
                share = R_SQUARED if r_squared is None else r_squared
                n_effects = n_true if self.leaves_columns_open else self.n_true
                options: dict[str, Any] = {"n_true": n_effects, "r_squared": share, "correlation": correlation}
                scenario = Scenario.of(metadata, target, candidates, **stated, **options)
            scenarios += [scenario.multiplied(times) for times in self.times or (1.0,)]
        return scenarios

    def _public(self, metadata: Metadata) -> PublicRecords | None:
        """The public table, opened once: the file that the metadata declare public, and no other."""
        if self.like is None:
            return None
        if metadata.public is None:  # else the private table could be given, and its effects would be shown
            raise MetadataError(_DECLARE.format(found="they declare none"))
        if not isinstance(self.like, str | Path | PublicRecords):
            raise MetadataError(_DECLARE.format(found=f"a {type(self.like).__name__} in memory has no sha256"))
        records = self.like if isinstance(self.like, PublicRecords) else PublicRecords(self.like, metadata)
        if records.file_sha256 != metadata.public.sha256:  # opened with other metadata, or from memory
            raise MetadataError(_DECLARE.format(found="the sha256 of the table given is not their public.sha256"))
        return records

    def record(self, scenarios: Sequence[Scenario]) -> dict[str, Any]:
        """Return what was stated as JSON values; empty where nothing was."""
        facts: dict[str, Any] = {}
        for name in ("effects", "n_true", "noise_sd", "r_squared", "correlation", "times"):
            value = getattr(self, name)
            if value is not None and value != ():
                facts[name] = dict(value) if isinstance(value, Mapping) else value
        if scenarios and scenarios[0].pattern is not None:
            facts["like"] = pattern_record(scenarios[0])
        return {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}


def pattern_record(scenario: Scenario) -> dict[str, Any] | None:
    """Return name, digest and number of complete records of the public table that a scenario is drawn from."""
    pattern = scenario.pattern
    if pattern is None:
        return None
    return {
        "name": pattern.name,
        "sha256": pattern.sha256,
        "n_records": pattern.n_records,
        "n_dropped": pattern.n_dropped,
    }
