"""Words of pages: titles of refusals, and names of an audit entry's facts."""

import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from starlette.requests import Request

from discreet_service.fields import Id
from discreet_service.pages.errors import problem_for
from discreet_service.pages.views import _environment
from discreet_service.problems import INTERNAL, NO_ID, NOT_READY, handle


@pytest.mark.parametrize(
    ("status", "phrase", "detail", "title"),
    [
        (500, "Internal Server Error", INTERNAL, "The service failed"),
        (503, "Service Unavailable", NOT_READY, "The service is not ready"),
        (409, "Conflict", "The cap must cover what is spent.", "Not possible now"),
        (404, "Not Found", "Not Found", "Page not found"),
        (404, "Not Found", "There is no data set of this name.", "Not found"),
    ],
)
def test_a_problem_has_a_title_in_words(status, phrase, detail, title):
    """Not the protocol's phrase; the API keeps that."""
    scope = {"type": "http", "method": "GET", "path": "/datasets", "headers": [], "query_string": b"", "state": {}}
    body = JSONResponse({"title": phrase, "detail": detail}, status)
    page = bytes(problem_for(Request(scope), body).body).decode()
    assert f"<h1>{title}</h1>" in page
    assert detail == phrase or detail in page
    of_api = problem_for(Request(scope | {"path": "/v1/datasets"}), body)
    assert of_api is body


def test_facts_of_the_audit_have_words():
    """A stored name with an underscore is a program's."""
    entry = {"seq": 1, "time": "2026-01-01T00:00:00.000Z", "actor": "curator", "action": "register", "object": "clinic"}
    detail = {"metadata_sha256": "a" * 64, "dataset": "clinic", "version": 1}
    page = str(_environment().get_template("macros.html.j2").module.audit_rows([entry | {"detail": detail}]))
    assert "data set clinic; version 1" in page
    assert "metadata_sha256" not in page


def test_an_id_that_cannot_be_one_is_refused_in_words():
    """A caller has typed or cut it: they need the list, not the pattern."""
    app = FastAPI()
    handle(app)

    @app.get("/v1/requests/{id}")
    def _one(id: Id) -> str:
        return id

    answer = TestClient(app).get("/v1/requests/xyz")
    assert answer.status_code == 422
    assert answer.json()["detail"] == NO_ID
    assert "errors" not in answer.json()
