"""A release in words and pictures; knows no method and no data."""

from discreet.report.pdf import render_pdf
from discreet.report.render import FORMATS, render
from discreet.report.request_facts import n_candidates
from discreet.report.standalone import Picture, pictures_of
from discreet.report.table import coefficient_table

__all__ = ["FORMATS", "Picture", "coefficient_table", "n_candidates", "pictures_of", "render", "render_pdf"]
