"""Tests that need a program say so."""

import pytest

from tests import programs


@pytest.mark.parametrize("program", programs.PACKAGES)
def test_a_missing_program_is_named_with_what_installs_it(program, monkeypatch):
    """And the test is skipped, not failed."""
    monkeypatch.setattr(programs, "path_of", lambda _: None)
    with pytest.raises(pytest.skip.Exception, match=f"{program} .* `make programs`, .* {programs.PACKAGES[program]}`"):
        programs.need(program)


def test_what_needs_a_program_has_its_mark(request):
    """By a fixture, by the value of a parameter, or by its name; control: the tests of this file have none."""
    marks = {mark.name for item in request.session.items if item.path == request.path for mark in item.iter_markers()}
    assert not marks & {"browser", "database", "spark"}
