"""A release: the outcome of one private computation, the only thing that leaves.

Every field is a public fact, or comes out of a mechanism whose event is recorded beside it.
"""

import hashlib
import importlib
import json
import math
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from discreet.errors import VerificationError
from discreet.files import read_text, write_whole
from discreet.release.chances import ChanceRecord, PosteriorRecord
from discreet.release.fits import CoefficientRecord, FitRecord
from discreet.release.guarantee import ClaimRecord, GuaranteeRecord, NoiseRecord, PublicColumn, StepRecord
from discreet.release.hybrids import HybridRecord
from discreet.release.moments import MomentsRecord, SizeRecord
from discreet.release.parts import PooledRecord
from discreet.release.provenance import UNSTATED, Provenance
from discreet.release.record import Record, is_absent
from discreet.release.views import ReleaseViews

SCHEMA: Literal["discreet/release@1"] = "discreet/release@1"


class Release(ReleaseViews, Record):
    """The outcome of one private computation.

    Parameters
    ----------
    private : bool
        False when the algorithm is run for study and gives no guarantee.
    selected : tuple of str
        Names of the selected columns; a category stands for all its levels.
    guarantee : GuaranteeRecord or None
        What is promised; None when `private` is False.
    noise : NoiseRecord
        The noise of the last step.
    steps : tuple of StepRecord
        The parts with their privacy costs, in order, when there is more than one.
    fit : FitRecord or None
        Coefficients with intervals.
    moments : MomentsRecord or None
        Noisy moments, from which more can be computed for free.
    by_size : tuple of SizeRecord
        The best model of each size by the noisy moments, as far as a search within bounds found it.
    hybrid : HybridRecord or None
        Weighted public points.
    chance : ChanceRecord or None
        What chance gives in the place of the selection.
    model_posterior : PosteriorRecord or None
        How sure columns and models are, where it was asked.
    pooled : PooledRecord or None
        What was spent part by part, where the moments are of several releases.
    claims : tuple of ClaimRecord
        The proofs that the guarantee rests on, all the way down, as they shipped with the version that made it.

    Notes
    -----
    Frozen. `save` and `read` keep it in JSON of the schema ``discreet/release@1``.
    """

    schema_: Literal["discreet/release@1"] = Field(default=SCHEMA, alias="schema")
    private: bool
    method: str
    selected: tuple[str, ...]
    guarantee: GuaranteeRecord | None
    event: dict[str, Any] | None
    request: dict[str, Any]
    noise: NoiseRecord
    steps: tuple[StepRecord, ...] = ()
    fit: FitRecord | None = None
    moments: MomentsRecord | None = None
    by_size: tuple[SizeRecord, ...] = ()
    hybrid: HybridRecord | None = None
    chance: ChanceRecord | None = Field(default=None, exclude_if=is_absent)
    model_posterior: PosteriorRecord | None = Field(default=None, exclude_if=is_absent)
    pooled: PooledRecord | None = Field(default=None, exclude_if=is_absent)
    claims: tuple[ClaimRecord, ...] = ()
    public: tuple[PublicColumn, ...]
    not_protected: tuple[str, ...]
    provenance: Provenance

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _private_means_promised(self) -> "Release":
        promised = self.guarantee is not None and self.event is not None
        origin = self.provenance
        if self.private != (promised and origin.randomness == "system entropy" and origin.rows_origin != UNSTATED):
            raise ValueError("private must mean a guarantee, an event, the system's entropy, and rows that are stated")
        return self

    @property
    def intervals_tell_nothing(self) -> bool:
        """Whether there are intervals, and that of every slope holds zero and all that the columns' bounds allow."""
        has_own = self.fit is not None and self.fit.has_intervals and self.hybrid is None
        slopes = self.fit.coefficients if self.fit is not None and has_own else []
        slopes = [slope for slope in slopes if slope.column is not None]
        return bool(slopes) and all(self._tells_nothing(slope) for slope in slopes)

    @property
    def is_bought_in_parts(self) -> bool:
        """Whether this is what parts were pooled to, and nothing that was computed from it."""
        return self.pooled is not None and self.fit is None and self.model_posterior is None

    def _tells_nothing(self, slope: CoefficientRecord) -> bool:
        if slope.uninformative or self.fit is None or self.fit.family != "linear":
            return slope.uninformative
        # The target changes by its range at most, over the range of a column or from one level to another.
        ranges = {each.name: (each.lower, each.upper) for each in self.public if each.role in ("target", "candidate")}
        lower, upper = ranges.get(slope.column or "", (None, None))
        target = next((each for each in self.public if each.role == "target"), None)
        if target is None or target.lower is None or target.upper is None:
            return False
        width = 1.0 if slope.level is not None else math.inf if lower is None or upper is None else upper - lower
        most = (target.upper - target.lower) / width if width > 0.0 else math.inf
        low, high = slope.interval
        return low <= -most and high >= most

    def posterior(self, confidence: float = 0.95) -> PosteriorRecord:
        """Return how sure columns and models are, from this release alone; nothing is spent.

        Parameters
        ----------
        confidence : float
            Probability of the coefficients' intervals.

        Returns
        -------
        PosteriorRecord
            Under two priors: the chance of each column, the likeliest models, averaged coefficients.

        Raises
        ------
        InvalidParameterError
            When the release has neither noisy moments nor a logistic or Poisson fit with intervals.
        """
        # Methods stand above a release, and this is a shorthand for theirs: it is looked up when it is asked for.
        home = importlib.import_module("discreet.methods.answers.posterior")
        posterior: PosteriorRecord = home.posterior_of(self, confidence)
        return posterior

    def to_json(self) -> str:
        """Return the release as JSON text, keys in a fixed order.

        Returns
        -------
        str
            Indented JSON with a final newline.
        """
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Return the release that a JSON text holds.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        Release
            The same release.

        Raises
        ------
        VerificationError
            When the text is no release of this schema.
        """
        return cls._parsed(text, "The file")

    @classmethod
    def _parsed(cls, text: str, name: str) -> "Release":
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            # A rule between fields has no place, but says what is wrong.
            is_told = bool(place) or first["type"] == "value_error"
            why = f"At {place or 'the file'}: {first['msg'].lower()}" if is_told else "It is not a JSON object"
            why = "Its field schema says something else" if place == "schema" else why
            raise VerificationError(
                f"{name} is not a release of schema {SCHEMA}. {why}. Give a file that `--out` of a command wrote."
            ) from None

    @classmethod
    def read(cls, path: str | Path) -> "Release":
        """Read a release from its file.

        Parameters
        ----------
        path : str or Path
            A file that `save` wrote.

        Returns
        -------
        Release
            The release.
        """
        return cls._parsed(read_text(path, "release"), str(path)[:300])

    def save(self, path: str | Path) -> Path:
        """Write the release whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.

        Returns
        -------
        Path
            The file written.
        """
        return write_whole(path, self.to_json())


def canonical_sha256(value: Any) -> str:
    """Return the digest of a JSON value, the same for the same value whatever the order of its keys.

    Parameters
    ----------
    value : Any
        Anything that JSON can hold.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> canonical_sha256({"a": 1, "b": 2}) == canonical_sha256({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
