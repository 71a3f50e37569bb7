"""The form of a plan: what its fields mean, and that a request leads back to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.office import open_office

from discreet.errors import InvalidParameterError
from discreet_service.fields import MethodName
from discreet_service.pages.forms import Form
from discreet_service.pages.method_choices import APPLIES, METHODS
from discreet_service.pages.plan_form import form_of, plan_in, request_in
from discreet_service.schemas import RequestIn


def form(**fields):
    """A form; a list is a field that comes several times."""
    usual = {"dataset": "toy", "project": "alpha", "method": "pcls", "target": "y", "epsilon": "0.5"}
    values = {name: value if isinstance(value, list) else [value] for name, value in (usual | fields).items()}
    return Form({name: tuple(value) for name, value in values.items()})


def names():
    return [one.name for _, choices in METHODS for one in choices]


def test_every_method_of_the_api_is_offered():
    """No method is forgotten, none is made up, and fields belong to methods that exist."""
    assert sorted(names()) == sorted(MethodName.__args__)
    assert all(set(of) <= set(names()) for of in APPLIES.values())


def test_fields_of_other_methods_are_not_sent():
    """What the form hides for a method is left out of its parameters, whatever stands in it."""
    fields = {"delta": "1e-6", "l1_radius": "2", "max_size": "3", "n_features_to_select": "4", "family": "linear"}
    assert plan_in(form(**fields)).parameters == {"epsilon": 0.5, "delta": 1e-6, "l1_radius": 2, "max_size": 3}
    assert plan_in(form(method="sis", **fields)).parameters == {
        "epsilon": 0.5,
        "delta": 1e-6,
        "n_features_to_select": 4,
    }
    assert plan_in(form(method="histogram", **fields)).parameters == {"epsilon": 0.5}


def test_select_then_fit_has_its_steps():
    """Settings of the selection are its own, and further ones of a step are added to it."""
    more = '{"fit": {"y_center": 5}}'
    found = plan_in(form(method="run", selection="pcpl", family="linear", max_size="2", delta="1e-6", more=more))
    assert found.parameters == {
        "epsilon": 0.5,
        "delta": 1e-6,
        "select": {"method": "pcpl", "max_size": 2},
        "fit": {"family": "linear", "y_center": 5},
    }


def test_candidates_are_ticked_or_typed():
    """The target is never a candidate; nothing typed leaves the names to the metadata."""
    assert plan_in(form(candidates=["a", "y", "b"])).candidates == ["a", "b"]
    assert plan_in(form(typed="a\n b \n\na\n")).candidates == ["a", "b"]
    assert plan_in(form(typed=" \n")).candidates is None


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": "much"},
        {"epsilon": "nan"},
        {"epsilon": ""},
        {"epsilon": "1e999"},
        {"max_size": "inf"},
        {"more": "[]"},
        {"more": "{"},
        {"more": '{"a": NaN}'},
        {"more": "[" * 100_000},
        {"method": "other"},
        {"dataset": "<b>"},
        {"target": "x" * 300},
    ],
)
def test_what_is_no_plan_is_refused_in_words(fields):
    """Every mistake is one clear error, without what could be of any size."""
    with pytest.raises(InvalidParameterError) as found:
        plan_in(form(**fields))
    assert len(str(found.value)) < 300


@given(
    method=st.sampled_from(names()),
    epsilon=st.floats(1e-6, 1000),
    delta=st.one_of(st.just(""), st.floats(1e-12, 0.1).map(repr)),
    l1_radius=st.sampled_from(["", "2", "0.25", "private"]),
    max_size=st.sampled_from(["", "3"]),
    selection=st.sampled_from(["pcls", "pcpl", "moments"]),
    candidates=st.lists(
        st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=20).filter(lambda name: name != "y"),
        min_size=1,
        unique=True,
    ),
    purpose=st.text(st.characters(exclude_categories=("C",)), max_size=50).map(str.strip).filter(bool),
    more=st.sampled_from(["", '{"n0": 3}', '{"select": {"y_center": 1.5}}']),
)
def test_a_request_leads_back_to_its_form(**fields):
    """The form made from a request describes the same request, so that a change of it changes nothing else."""
    filled = form(**(fields | {"epsilon": repr(fields["epsilon"])}))
    asked = request_in(filled)
    again = request_in(form_of(asked.model_dump(mode="json")))
    assert isinstance(again, RequestIn)
    assert again == asked


@pytest.mark.slow
def test_pages_and_api_ask_the_same_question(tmp_path):
    """What the form asks for has the digest of the same request made over the API."""
    with open_office(tmp_path) as office:
        by_form = request_in(form(candidates=["a", "b", "c"], purpose="to learn"))
        first = office.ask("key-00000001", **by_form.model_dump(mode="json"))
        second = office.ask("key-00000002", candidates=["a", "b", "c"])
        assert first["sha256"] == second["sha256"]
