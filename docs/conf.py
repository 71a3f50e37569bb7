"""Settings of the documentation: Sphinx, MyST, furo."""

from importlib.metadata import version as installed

project = "Discreet"
author = "The Discreet developers"
project_copyright = author
version = release = installed("discreet")

extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = f"Discreet {version}"
html_show_sphinx = False
