"""The file of a plan (``discreet/run@1``): several steps as one priced, reviewable unit."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.data.metadata_problems import problems
from discreet.data.yaml_text import parse_text
from discreet.errors import InvalidParameterError, MetadataError
from discreet.files import read_text
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.parameters.public_moments import PublicMoments

SCHEMA: Literal["discreet/run@1"] = "discreet/run@1"

PLACES = ("data", "targets", "metadata", "public_table")
"""Fields that name a file beside the plan."""


class RunFile(BaseModel):
    """What a plan says: the table, the response, the whole budget, and the steps.

    Parameters
    ----------
    target : str
        The response.
    epsilon : float
        Of all steps together, in nats.
    delta : float
        Of all steps together.
    data : str or None
        The private table; relative to the plan.
    targets : str or None
        Of a table with a value a row: the file with a row for each person and the target; relative to the plan.
    table : str or None
        Which table of a database file.
    metadata : str or None
        What is public about it; relative to the plan.
    public_table : str or None
        Public records with the same columns, that the metadata declare: means and covariances of the columns are
        theirs, for a selection by moments or decorrelated; relative to the plan.
    candidates : tuple of str or None
        Columns that may be selected; default all declared ones but the target.
    screen : dict or None
        ``method`` (sis or two-stage) and its parameters: leaves a few of many columns to the other steps.
    select : dict or None
        ``method`` and its parameters, with an ``epsilon`` of its own if it should not get an equal part. May be left
        out after a screening.
    fit : dict
        ``family`` and its parameters.
    selective_inference : str or None
        ``split``: half of the units select, the others give the coefficients; ``fission``: half of what noisy moments
        tell selects, the other gives them; ``none``: all rows do both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["discreet/run@1"] = Field(alias="schema")
    target: str = Field(min_length=1)
    epsilon: float
    delta: float = 0.0
    data: str | None = None
    targets: str | None = None
    table: str | None = None
    metadata: str | None = None
    public_table: str | None = None
    candidates: tuple[str, ...] | None = None
    screen: dict[str, Any] | None = None
    select: dict[str, Any] | None = None
    fit: dict[str, Any]
    selective_inference: str | None = None

    def method(self) -> Method:
        """Return the steps as one method.

        Its parameters are checked.
        """
        steps = {"screen": self.screen, "select": self.select, "fit": self.fit}
        inference = self.selective_inference
        return method_of("run", epsilon=self.epsilon, delta=self.delta, selective_inference=inference, **steps)

    @property
    def selection_method(self) -> str:
        """The method of the selection; empty where a screening alone chooses."""
        return "" if self.select is None else str(self.select.get("method", "pcls"))

    def knowing(self, known: PublicMoments) -> Self:
        """Return the plan with public means and covariances of the columns in its selection."""
        if self.select is None or "public_moments" in self.select:
            raise InvalidParameterError(
                "A plan with a public table must select, and its selection must not have public_moments of its own. "
                "Leave out one of the two."
            )
        select = {**self.select, "public_moments": known.model_dump(mode="json")}
        return self.model_copy(update={"select": select, "public_table": None})

    @model_validator(mode="after")
    def _chooses(self) -> Self:
        if self.screen is None and self.select is None:
            raise ValueError("a plan must screen or select")
        return self

    def metadata_file(self) -> Path:
        """Return where the metadata stand.

        The file.
        """
        if self.metadata is None:
            raise InvalidParameterError("A plan must name its metadata: add `metadata: FILE`, or give --metadata FILE.")
        return Path(self.metadata)


def read_run(path: str | Path) -> RunFile:
    """Read a plan.

    With its paths made relative to where the command runs.
    """
    try:
        run_file = RunFile.model_validate(parse_text(read_text(path, "plan"), str(path), "A plan"))
    except ValidationError as error:
        first = problems(error, [field.alias or name for name, field in RunFile.model_fields.items()])[0]
        place = f"{first.place}: " if first.path else ""
        end = "" if first.message.endswith("?") else "."
        raise InvalidParameterError(
            f"{str(path)[:300]} is not a plan of schema {SCHEMA}. {place}{first.message}{end} "
            "See the example of `discreet run --help`."
        ) from None
    except MetadataError as error:  # no YAML at all
        raise InvalidParameterError(str(error)) from None
    folder = Path(path).parent
    placed = {
        name: None if value is None else _beside(folder, value)
        for name, value in ((name, getattr(run_file, name)) for name in PLACES)
    }
    return run_file.model_copy(update=placed)


def _beside(folder: Path, place: str) -> str:
    return place if "://" in place or place.startswith("spark:") else str(folder / place)
