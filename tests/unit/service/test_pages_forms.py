"""What forms bring and pages show: texts that are checked, and escaped."""

import pytest
from markupsafe import Markup

from discreet.errors import InvalidParameterError
from discreet_service.pages.forms import validated
from discreet_service.pages.views import html, visible_text
from discreet_service.schemas import CapIn, DecisionIn, KeyIn, Place, UserIn


def test_empty_fields_are_left_out():
    """An empty field keeps its default, as in a call that does not name it."""
    assert validated(CapIn, epsilon="0.5", delta="", accounting=None) == CapIn(epsilon=0.5)
    assert validated(KeyIn, label="a", days="").days == 90


@pytest.mark.parametrize(
    ("model", "values", "told"),
    [
        (CapIn, {"epsilon": "x"}, "epsilon: it must be a number"),
        (CapIn, {}, "epsilon: it is needed"),
        (CapIn, {"epsilon": "-1"}, "epsilon: it must be at least 0"),
        (UserIn, {"name": "a b", "role": "analyst"}, "name: letters, digits and . _ @ - alone"),
        (DecisionIn, {"sha256": "0" * 64, "comment": "a\x00b"}, "comment: it must hold no control characters"),
        (Place, {"root": "tables", "path": "x" * 301}, "path: it must have at most 300 characters"),
    ],
)
def test_what_is_wrong_is_named(model, values, told):
    """The field and its mistake are told in words, and what was typed is not repeated."""
    with pytest.raises(InvalidParameterError) as found:
        validated(model, **values)
    assert told in str(found.value)
    assert "x" * 50 not in str(found.value)


def test_what_cannot_be_seen_is_written_out():
    """Marks that turn a text's direction or cannot be seen are told; lines stay, and our markup is not touched."""
    assert visible_text("a\u202eb\x00c\nd") == "a\\u202eb\\x00c\nd"
    assert visible_text(Markup("<b>")) == Markup("<b>")
    assert visible_text(1.5) == 1.5


def test_texts_are_escaped():
    """Whatever is put into a page is text, also between quotes."""
    text = "<script>alert(1)</script>\"'&"
    page = html("problem", 404, visit=None, problem=text, title=text, message=text)
    body = bytes(page.body).decode()
    assert "<script>" not in body
    assert body.count("&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;") == 5
    assert page.status_code == 404
