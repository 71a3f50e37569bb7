"""The style: readable in light and in the dark, and whole without any other server."""

import re
from importlib.resources import files

import pytest

STYLE = files("discreet_service.pages").joinpath("static", "style.css").read_text()
TEMPLATES = {one.name: one.read_text() for one in files("discreet_service.pages").joinpath("templates").iterdir()}  # type: ignore[var-annotated]

TEXT = [
    *(("ink", paper) for paper in ("paper", "wash", "warn-wash", "good-wash", "accent-wash")),
    *(("muted", paper) for paper in ("paper", "wash")),
    *(("accent", paper) for paper in ("paper", "wash", "accent-wash")),
    ("on-accent", "accent"),
    *((name, f"{name}-wash") for name in ("warn", "good", "wait")),
    *(("warn", paper) for paper in ("paper", "wash")),
]
"""Text and what it stands on: at least 4.5 to 1 (WCAG 2.2, 1.4.3)."""

PARTS = [("edge", "paper"), ("edge", "wash"), ("accent", "rest"), ("accent", "pale"), ("warn", "paper")]
"""What is not text but must be seen: at least 3 to 1 (WCAG 2.2, 1.4.11), but the accent beside the pale 2 to 1."""


def palettes():
    """The colors by their names, in light and in the dark."""
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in re.findall(r":root \{.*?\}", STYLE, re.S)
    )
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    """Black on white is 21 to 1, and a color on itself 1 to 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#0b5c7a", "#0b5c7a") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_parts_can_be_seen(scheme):
    """Every color of text on what it stands on, and every edge, is far enough from it in lightness."""
    colors = palettes()[scheme]
    for name, paper in TEXT:
        assert contrast(colors[name], colors[paper]) >= 4.5, (name, paper)
    for name, paper in PARTS:
        assert contrast(colors[name], colors[paper]) >= (2 if paper == "pale" else 3), (name, paper)


def test_nothing_comes_from_elsewhere():
    """No style, script or template names another server; no template has a script, a style or a handler in it."""
    assert "http" not in STYLE
    assert "@import" not in STYLE
    for name, text in TEMPLATES.items():
        assert not re.search(r"https?://", text), name
        assert not re.search(r"<script(?! src)|<style|\sstyle=|\son[a-z]+=|hx-on|javascript:", text), name
        assert not re.search(r"\|\s*safe|autoescape|Markup", text), name


def test_every_form_that_is_sent_brings_its_token():
    """No form is written without the field that protects it."""
    for name, text in TEMPLATES.items():
        forms = re.findall(r'<form method="post".*?</form>', text, re.S)
        assert all("m.token(visit)" in form or 'name="form_token"' in form for form in forms), name
