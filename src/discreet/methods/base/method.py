"""What a private method is: public parameters, a cost known without data, one run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from inspect import get_annotations
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.accounting.events import Event
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.parameters.by_method import parameters_of
from discreet.parameters.shared import Parameters
from discreet.parameters.words import allowed
from discreet.release import FitRecord, HybridRecord, MomentsRecord, NoiseRecord, PublicColumn, SizeRecord, StepRecord

Progress = Callable[[str, int, int | None], None]
"""Called with what is done, how much more of it is done, and the total where that is public."""


@dataclass(frozen=True)
class Outcome:
    """What leaves a method: drawn by its mechanism, nothing else.

    Parameters
    ----------
    selected : tuple of str
        Names of the selected columns, in the order of the candidates.
    noise : NoiseRecord
        The noise box of the last step; the preparation's unless an earlier step's release decides it.
    steps : tuple of StepRecord
        All parts with a privacy cost, when there is more than one.
    fit : FitRecord, optional
        Coefficients.
    moments : MomentsRecord, optional
        Noisy moments.
    by_size : tuple of SizeRecord
        The best models by size, from the noisy moments.
    hybrid : HybridRecord, optional
        Weighted public points.
    chances : mapping of str to float
        By selected column, how often one without an effect stands out as far; empty where that is not known.
    hidden : tuple of str
        Columns that vary too little within their bounds to stand out of noise, by what was released.
    """

    selected: tuple[str, ...]
    noise: NoiseRecord
    steps: tuple[StepRecord, ...] = ()
    fit: FitRecord | None = None
    moments: MomentsRecord | None = None
    by_size: tuple[SizeRecord, ...] = ()
    hybrid: HybridRecord | None = None
    chances: Mapping[str, float] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


class Preparation(ABC):
    """A request checked against the metadata: everything about it is public.

    Notes
    -----
    `event` is what will be done to the data, `delta` the one to convert it with. `noise` and `steps` are as they will
    be, or at most: where an earlier step's release sets a later one's noise, the largest that it can set.
    """

    columns: Sequence[str]
    is_proved: ClassVar[bool] = True
    event: Event | None
    delta: Fraction = Fraction(0)
    noise: NoiseRecord
    steps: tuple[StepRecord, ...] = ()
    parameters: dict[str, Any]
    public: tuple[PublicColumn, ...]
    not_protected: tuple[str, ...]
    target: str
    candidates: Sequence[str]

    def check_table(self, table: Table, charged: bool) -> None:
        """Refuse a table for what is public about it, before anything is charged or read."""
        del table, charged

    def expected_noise(self, variance: float) -> NoiseRecord:
        """Return the noise of the choice where the target has a variance, in squared bounds; by default `noise`."""
        del variance
        return self.noise

    @abstractmethod
    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Open the rows and draw the outcome."""


class Method(BaseModel, ABC):
    """A private method: its constructor stores public parameters and checks their ranges."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: ClassVar[str]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Take each parameter from the class that says most of it: left alone, a model keeps its parent's.

        One that a method declares itself is the method's.
        """
        super().__pydantic_init_subclass__(**options)
        if issubclass(cls, Parameters):
            own = {name for base in cls.__mro__ if issubclass(base, BaseModel) for name in get_annotations(base)}
            inherited = {name: field for name, field in parameters_of(cls).items() if name not in own}
            cls.__pydantic_fields__.update(inherited)
            cls.model_rebuild(force=True)

    @property
    def takes_features(self) -> bool:
        """Whether the candidates may be the features of a wide table, named by its header."""
        return False

    @abstractmethod
    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check a request against the metadata and fix its noise and privacy cost, without any data."""

    @classmethod
    def of(cls, **parameters: Any) -> "Method":
        """Build the method, with a one-line error for a parameter out of range."""
        try:
            return cls(**parameters)
        except ValidationError as error:
            raise InvalidParameterError(cls._refusal(error.errors())) from None

    @classmethod
    def _refusal(cls, errors: Sequence[Any]) -> str:
        """What a parameter must be, and what it is; the first one alone."""
        name = str(errors[0]["loc"][0]) if errors[0]["loc"] else ""
        if errors[0]["type"] == "extra_forbidden":
            parameters = ", ".join(sorted(cls.model_fields))
            unknown = f"Method {cls.name} has no parameter {name[:60]}. Leave it out."
            return f"{unknown} Parameters of {cls.name}: {parameters}."
        for error in errors:
            if error["type"] == "value_error" and error["loc"][:1] == errors[0]["loc"][:1]:
                return str(error["msg"]).removeprefix("Value error, ")
        if errors[0]["type"] == "missing":
            return f"{name} must be given: method {cls.name} needs it."
        value = repr(errors[0]["input"])[:60]
        is_inside = any(isinstance(place, int) for place in errors[0]["loc"])
        held = f"it holds {value}" if is_inside else f"{name}={value}"
        words = allowed(cls.model_fields[name])
        remedy = " Give one of these." if " or " in words and not is_inside else ""
        return f"{name} must be {words}, but {held}.{remedy}"


class Fitter(Method):
    """A method that releases coefficients of a model whose columns are given."""

    @abstractmethod
    def size(self, metadata: Metadata, target: str, columns: Sequence[str] | None = None) -> tuple[int, int]:
        """Return the most numbers that a fit releases, and a lower bound of their scales in whole steps, for
        `NoiseBudget.of`.
        """

    @abstractmethod
    def check_columns(self, metadata: Metadata, target: str, columns: Sequence[str]) -> None:
        """Refuse columns of which one could not be in a model, before it is known which of them will be."""

    @abstractmethod
    def prepare_within(
        self, metadata: Metadata, target: str, columns: Sequence[str] | None, budget: NoiseBudget
    ) -> Preparation:
        """Check a request and fix its noise so that it spends a given budget."""
