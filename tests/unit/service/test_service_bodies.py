"""What a call may bring: fields that its description names, and no others."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from discreet_service import schemas

BODIES = [
    kind for name, kind in vars(schemas).items() if name.endswith(("In", "Change")) or name in ("Place", "Source")
]
FIELDS = {"by": "ada", "state": "approved", "is_free": True, "entry": 1, "seed": 7}
"""Columns of the service's own, and what somebody may hope that there is."""


def refused(body: type[BaseModel]) -> set[str]:
    """Fields that a body refuses as unknown."""
    with pytest.raises(ValidationError) as error:
        body.model_validate({"": None, **FIELDS})
    return {str(problem["loc"][0]) for problem in error.value.errors() if problem["type"] == "extra_forbidden"}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_field_that_is_not_described_is_refused(body):
    """Nobody can set what a call does not name, nor believe that it was heard."""
    assert refused(body) == {"", *FIELDS}


def test_a_body_that_takes_anything_is_seen():
    """Control."""

    class Open(schemas.DecisionIn):
        model_config = ConfigDict(extra="ignore")

    assert refused(Open) == set()
