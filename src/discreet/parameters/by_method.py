"""The parameters of each method by its name, and what is said of them: in help pages, docstrings, reports, schemas."""

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from discreet.parameters.public_records import HistogramParameters, HybridParameters, PublicSubsetParameters
from discreet.parameters.ranges import Between, SharesOf
from discreet.parameters.regression import LinearParameters, LogisticParameters, PoissonParameters
from discreet.parameters.screening import (
    DecorrelatedParameters,
    IndependenceParameters,
    OwnScoreParameters,
    VotesParameters,
)
from discreet.parameters.shared import Parameters
from discreet.parameters.steps import StepsParameters
from discreet.parameters.subset_selection import LeastSquaresParameters, LikelihoodParameters, MomentsParameters
from discreet.parameters.words import alternatives

PARAMETERS: dict[str, type[Parameters]] = {
    "pcls": LeastSquaresParameters,
    "pcpl": LikelihoodParameters,
    "moments": MomentsParameters,
    "sis": IndependenceParameters,
    "two-stage": VotesParameters,
    "decorrelated": DecorrelatedParameters,
    "linear": LinearParameters,
    "logistic": LogisticParameters,
    "poisson": PoissonParameters,
    "hybrid": HybridParameters,
    "public-subset": PublicSubsetParameters,
    "histogram": HistogramParameters,
    "run": StepsParameters,
    "own-score": OwnScoreParameters,
}


def parameters_of(kind: type[Any]) -> Mapping[str, FieldInfo]:
    """Return the parameters of a class, its own last, each with type, range, default and description."""
    annotations: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Parameters) and not issubclass(base, BaseModel):
            annotations |= inspect.get_annotations(base, eval_str=True)
    hints = {name: hint for name, hint in annotations.items() if get_origin(hint) is not ClassVar}
    return {
        name: FieldInfo.from_annotated_attribute(hint, getattr(kind, name))
        if hasattr(kind, name)
        else FieldInfo.from_annotation(hint)
        for name, hint in hints.items()
    }


def fields_by_method(methods: Iterable[str]) -> dict[str, dict[str, FieldInfo]]:
    """Return, by parameter, its field in each of these methods that has it."""
    fields: dict[str, dict[str, FieldInfo]] = {}
    for method in methods:
        for name, field in parameters_of(PARAMETERS[method]).items():
            fields.setdefault(name, {})[method] = field
    return fields


@cache
def meanings() -> Mapping[str, str]:
    """Return what each parameter means, in one sentence without its end."""
    fields = fields_by_method(PARAMETERS)
    return {name: _sentence(next(iter(field.values())).description or "") for name, field in fields.items()}


def _sentence(description: str) -> str:
    sentence = description.split(". ")[0].removesuffix(".")
    return sentence if sentence[1:2] == ":" else sentence[:1].lower() + sentence[1:]


@cache
def titles() -> Mapping[str, str]:
    """Return what a dry run calls the parameters that it shows."""
    fields = fields_by_method(PARAMETERS)
    return {
        name: field.title for name, (field, *_) in ((n, list(f.values())) for n, f in fields.items()) if field.title
    }


def between_of(hint: Any) -> Between | SharesOf | None:
    """Return the range of the numbers in a type."""
    if get_origin(hint) is Annotated:
        ranges = [item for item in hint.__metadata__ if isinstance(item, Between | SharesOf)]
        return ranges[0] if ranges else between_of(get_args(hint)[0])
    inner = [] if get_origin(hint) is Literal else [between_of(part) for part in get_args(hint)]
    return next((between for between in inner if between is not None), None)


def schema_of(field: FieldInfo) -> dict[str, Any]:
    """Return the range of a parameter's numbers as JSON Schema; that of a mapping or a list is of its members."""
    between = between_of(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
    if between is None:
        return {}
    kinds = [get_origin(each.kind) for each in alternatives(field.annotation)]
    if isinstance(between, SharesOf):
        return between.json_schema()
    wrapper = "items" if tuple in kinds else "additionalProperties" if Mapping in kinds else None
    return {wrapper: between.json_schema()} if wrapper else between.json_schema()


def ranges_as_schema() -> dict[str, Any]:
    """Return the ranges of numbers as JSON Schema, by parameter."""
    fields = fields_by_method(PARAMETERS)
    schemas = {name: schema_of(next(iter(field.values()))) for name, field in fields.items()}
    return {name: schema for name, schema in schemas.items() if schema}
