"""Sphinx's settings. `make docs` builds with warnings as errors."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "gangpool"
copyright = "the gangpool authors"
release = version_of("gangpool")
version = release

extensions = ["myst_parser", "sphinx.ext.doctest"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
root_doc = "index"
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"gangpool {release}"
html_show_sourcelink = False
html_copy_source = False
