"""The page of the API names every route, and who may call it, as the code has it."""

import re
from pathlib import Path

from discreet_service.access.guard import guard_of, routes_of
from discreet_service.access.roles import Role
from discreet_service.app import create_app
from discreet_service.client.problems import KINDS
from discreet_service.codes import MEANING
from discreet_service.problems import STATUS
from tests.office import settings_of

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
ROW = re.compile(r"^\| `(/[^`]*)` \| ([A-Z, ]+) \| ([^|]+) \|", re.MULTILINE)


def told() -> dict[tuple[str, str], frozenset[Role]]:
    """Roles by path and method, as the page has them."""
    found = {}
    for path, methods, who in ROW.findall(PAGE):
        roles = frozenset(Role) if who.strip() == "all" else frozenset(role for role in Role if role.value in who)
        found |= {(f"/v1{path}", method): roles for method in methods.split(", ")}
    return found


def test_routes_and_roles(tmp_path):
    """No route is missing on the page, none is invented, and each row names exactly who may."""
    app = create_app(settings_of(tmp_path))
    found = {}
    for route in routes_of(app):
        guard = guard_of(route)
        roles = frozenset() if guard is None else guard.roles
        found |= {(route.path, method): roles for method in route.methods if route.path.startswith("/v1/")}
    assert told() == found


def test_kinds_of_problems():
    """Every kind stands on the page with its status, and the client knows it."""
    stands = dict(re.findall(r"\| `([a-z-]+)` \| (\d{3})(?= \|)", PAGE))
    assert {name: int(status) for name, status in stands.items()} == {
        **{name: status for _, status, name in STATUS if status != 500},
        "invalid-request": 422,
        "too-large": 413,
    }
    assert stands.keys() == KINDS.keys()


def test_codes_of_failures():
    """Every code of a failed request stands on the page."""
    assert set(re.findall(r"^\| `([a-z_]+)` \| .* \| (?:yes|no) \|$", PAGE, re.MULTILINE)) == set(MEANING)
