"""A release in words and pictures; knows no method and no data."""

from discreet.report.render import FORMATS, render

__all__ = ["FORMATS", "render"]
