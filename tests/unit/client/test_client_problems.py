"""What a service refuses is the same error on the other side."""

import json
from fractions import Fraction

import pytest

from discreet.errors import BudgetExceededError, DiscreetError, InvalidParameterError, ServiceError
from discreet_service import problems
from discreet_service.client.problems import error_of


@pytest.mark.parametrize(("kind", "status", "name"), problems.STATUS, ids=lambda value: str(value))
def test_every_kind_of_the_service_is_known(kind, status, name):
    """Type and text survive the way; what is internal is the service's fault."""
    body = json.loads(bytes(problems.problem(status, name, "It must be so.", requested=2.0, remaining=0.5).body))
    found = error_of(body, status)
    assert type(found) is (ServiceError if kind is DiscreetError else kind)
    assert str(found) == "It must be so."


def test_amounts_survive():
    """What was asked for and what is left can be computed with."""
    body = {"type": "urn:discreet:problem:budget-exceeded", "detail": "No.", "requested": 0.5, "remaining": 0.1}
    found = error_of(body, 409)
    assert isinstance(found, BudgetExceededError)
    assert (found.requested, found.remaining) == (Fraction(1, 2), Fraction(1, 10))


def test_where_a_body_was_wrong():
    """The places are told, a few of them."""
    errors = [{"place": f"body.{i}", "problem": "Field required"} for i in range(50)]
    found = error_of({"type": "urn:discreet:problem:invalid-request", "detail": "See errors.", "errors": errors}, 422)
    assert isinstance(found, InvalidParameterError)
    assert "body.0: Field required" in str(found)
    assert len(str(found)) < 300


@pytest.mark.parametrize("value", [None, 3, [], "x", {}, {"detail": 3}, {"detail": None}])
def test_an_answer_without_words(value):
    """A problem that says nothing is a clear error all the same."""
    with pytest.raises(ServiceError, match="must say what is wrong, but it answered 418"):
        raise error_of(value, 418)


def test_a_kind_that_is_not_known():
    """A newer service's words are kept."""
    assert str(error_of({"type": "urn:discreet:problem:new", "detail": "Something new."}, 400)) == "Something new."
