"""The ends of what a number can be, in each parameter of each method: refused or priced, never a server error."""

import importlib
from contextlib import nullcontext
from typing import get_args

import pytest

from discreet.methods.registry import _HOMES
from discreet_service.fields import MethodName
from discreet_service.use_cases import plans, priced_requests
from tests.office import QUESTION, open_office

EXTREMES = (5e-324, 1e200, 1e308)
CALL = {"dataset": "toy", "target": "y"}


def parameters_of(method):
    """Names of a method's parameters."""
    module, name = _HOMES[method]
    return getattr(importlib.import_module(module), name).model_fields


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """An office with a table."""
    with open_office(tmp_path_factory.mktemp("office"), slot_s=1) as opened:
        yield opened


def statuses(office, method):
    """What each extreme of each parameter is answered with."""
    cases = [(name, value) for name in parameters_of(method) for value in EXTREMES]
    bodies = [CALL | {"method": method, "parameters": {"epsilon": 0.5, name: value}} for name, value in cases]
    answers = [office.call("ann", "POST", "/plans", json=body).status_code for body in bodies]
    return dict(zip(cases, answers, strict=True))


@pytest.mark.parametrize("method", get_args(MethodName))
def test_no_extreme_is_a_fault_of_the_service(office, method):
    """Each is priced or refused with a reason."""
    codes = statuses(office, method)
    assert len(codes) >= len(EXTREMES)
    assert set(codes.values()) <= {200, 403, 422}, codes


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-9, 1e200, 1e308, 10**400, True, "1e999", [1.0], None])
def test_a_request_with_an_extreme_is_made_whole_or_not_at_all(office, epsilon):
    """What is accepted can be approved, or the approval is refused with a reason; nothing is half-done."""
    body = QUESTION | {"parameters": {"epsilon": epsilon}}
    made = office.call("ann", "POST", "/requests", json=body, headers={"Idempotency-Key": f"key-{epsilon}"[:60]})
    assert made.status_code in (201, 400, 409, 422), made.text
    if made.status_code == 201:
        assert office.approve(made.json()).status_code in (200, 409)


def overflowing(*_, **__):
    """A method that forgot a range."""
    return float(10**400)


def test_without_the_last_line_an_overflow_is_a_fault(office, monkeypatch):
    """Control: a method that overflows is refused; where nothing stands behind it, the same call is a fault."""
    monkeypatch.setattr(priced_requests.workflow, "method_of", overflowing)
    call = CALL | {"method": "pcls", "parameters": {"epsilon": 0.5}}
    refused = office.call("ann", "POST", "/plans", json=call)
    assert (refused.status_code, refused.json()["detail"].startswith("Parameters must be")) == (422, True)
    for module in (priced_requests, plans):
        monkeypatch.setattr(module, "computable", nullcontext)
    assert office.call("ann", "POST", "/plans", json=call).status_code == 500
