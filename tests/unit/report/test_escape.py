"""What a release says stays text."""

import pytest
from markdown_it import MarkdownIt

from discreet.report.escape import WIDTH, field, fill, flow, line, to_cell, to_html, to_markdown, to_text
from discreet.report.widths import cells

NASTY = [
    "a|b",
    "`x`",
    "[x](javascript:alert(1))",
    "![x](http://evil.example)",
    "<script>alert(1)</script>",
    "&lt;",
    "**b** _i_ ~~s~~",
    "back\\slash\\",
    "http://evil.example www.evil.example a@evil.example",
    "# heading",
    "- item",
    "1. item",
    "12) item",
    "+ item",
    "===",
    "$x$",
    "<https://evil.example>",
    "[^1]",
    "    code",
]
TAGS = {"", "ul", "li", "p", "table", "thead", "tbody", "tr", "th", "td"}


def inline(tokens):
    """Return the kinds of all inline parts, and their text."""
    parts = [child for token in tokens for child in token.children or []]
    return {part.type for part in parts}, "".join(part.content for part in parts)


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("frame", ["- {}\n", "| a |\n|---|\n| {} |\n", "see {} there\n"])
def test_a_nasty_name_is_plain_text_in_markdown(name, frame):
    """In a list, a table and a sentence a name makes nothing but text, and reads as it was."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(frame.format(to_markdown(name)))
    kinds, text = inline(tokens)
    assert kinds <= {"text", "text_special"}
    assert {token.tag for token in tokens} <= TAGS
    assert sum(token.type in ("td_open", "list_item_open") for token in tokens) <= 1
    assert name.strip() in text


def test_html_marks_are_escaped():
    """Neither an element nor the end of an attribute gets through, nor a control character."""
    assert to_html("<b>\"'&\n") == "&lt;b&gt;&#34;&#39;&amp;\\n"


def test_a_terminal_gets_no_control_character():
    """Escape sequences are shown, not obeyed."""
    assert to_text("\x1b[2J\nname") == "\\x1b[2J\\nname"


@pytest.mark.parametrize("text", ["word " * 60, "x" * 500, "列" * 200, "e\u0301" * 200, "", "a" * 80 + " b"])
def test_lines_fit_a_terminal(text):
    """Long words are broken, and wide characters count twice."""
    for lines in (fill(to_text(text)), field("Label", text), fill(to_text(text), "", "      ")):
        assert all(cells(row) <= WIDTH for row in lines.split("\n"))


def test_wrapping_loses_nothing():
    """Every character of the text is there, in order."""
    text = "one two " + "x" * 200 + " three"
    assert fill(to_text(text)).replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_flow_and_line_are_one_line():
    """White space becomes single spaces, and a table's cells stand at the right."""
    assert flow(to_text("a   b ")) == "a b"
    assert line("label", "1%", "2%").endswith("      1%      2%")


@pytest.mark.parametrize(
    "text", ["=1", "+a", "-a", "@a", "\t1", "\r1", "\n1", " =1", "\xa0=1", "\uff1d1", "-1\n", "--"]
)
def test_a_formula_gets_a_quote(text):
    """Also behind spaces, in full width, and where it only starts like a number."""
    assert to_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a", "a=b", "a-b", "-1", "+1.5e-3", "2.", "1", "'=1", "a;b", "; a", "a b\nc"])
def test_other_cells_are_left_alone(text):
    """Numbers, and marks inside of a text."""
    assert to_cell(text) == text


def test_a_formula_behind_another_separator_gets_a_quote():
    """A table may be split at semicolons or tabs: each part is a cell then."""
    assert to_cell("a;=1\t@b; -c") == "a;'=1\t'@b;' -c"


def test_control_characters_of_a_cell_are_written_out():
    """And what no encoding can hold."""
    assert to_cell("a\x00\x1b[2J\x85\ud800\u200d") == "a\\x00\\x1b[2J\\x85\\ud800\u200d"
