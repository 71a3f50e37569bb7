"""Settings of the documentation: Sphinx, MyST, furo."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Discreet"
author = "The Discreet developers"
project_copyright = author
version = release = installed("discreet")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "glossary_links", "page_descriptions", "menu_levels"]
autodoc_default_options = {"undoc-members": False}
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_heading_anchors = 3
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

html_theme = "furo"
html_title = f"Discreet {version}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["discreet.css"]
html_favicon = "../packages/discreet-service/src/discreet_service/pages/static/icon.svg"
