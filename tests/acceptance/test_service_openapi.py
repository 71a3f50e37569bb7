"""The API's description is true: calls made from it are answered as it says, whatever they hold."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import checks

from discreet_service.access.guard import guard_of, routes_of
from discreet_service.app import create_app
from discreet_service.worker import job
from tests.effort import either
from tests.office import PEOPLE, open_office, settings_of

SLOW = ("/v1/expectations",)  # simulates for seconds: one test of its own elsewhere

DEEP = ("/v1/datasets", "/v1/datasets/{name}/versions", "/v1/plans", "/v1/requests", "/v1/requests/{id}")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """An office with a released request, so that some calls find something."""
    with open_office(tmp_path_factory.mktemp("office"), slot_s=60) as found:
        asked = found.ask()
        found.approve(asked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job, "time", SimpleNamespace(sleep=lambda _: None))  # nothing here is about slots
            found.answer()
        found.ask("key-of-waiting", parameters={"epsilon": 0.25})
        yield found


@pytest.fixture(scope="module")
def described(office):
    """The description as the server gives it."""
    return schemathesis.openapi.from_asgi("/v1/openapi.json", office.client.app)


def operations():
    """Methods and paths of the description, without those that take seconds each."""
    described = create_app(settings_of(Path())).openapi()["paths"]
    return [(method, path) for path, methods in described.items() for method in methods if path not in SLOW]


@pytest.mark.parametrize(("method", "path"), operations())
def test_calls_are_answered_as_described(office, described, method, path):
    """No call ends in a server error; status, type and body are those described; what is malformed is refused."""
    headers = {"Authorization": f"Bearer {_key(office, method, path)}"}
    # A schema cannot say all that metadata and parameters must hold: some that fit it are refused, as described.
    left_out = [checks.positive_data_acceptance] if path in DEEP else []

    @settings(max_examples=either(8, 25), suppress_health_check=list(HealthCheck))
    @given(case=described[path][method.upper()].as_strategy())
    def calls(case):
        case.call_and_validate(headers=headers, excluded_checks=left_out)

    calls()


def _key(office, method, path):
    """The key of somebody who may make the call."""
    routes = routes_of(office.client.app)
    guard = guard_of(next(one for one in routes if one.path == path and method.upper() in one.methods))
    roles = guard.roles if guard else set(PEOPLE.values())
    return next(office.keys[name] for name in ("cora", "ann", "ada", "otto") if PEOPLE[name] in roles)
