"""Of the documentation: what Sphinx is told, and the tables that are made from the registry."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "npkl_models"
author = "the npkl_models developers"
copyright = "2026, " + author
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
    "local_mathjax",
    "made_tables",
    "cells",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autosummary_generate = True
templates_path = ["templates"]
default_role = "py:obj"  # single backticks of docstrings are links
autodoc_typehints = "none"
exclude_patterns = ["_build", "_cells", "generated", "extensions", "templates", "**/*.ipynb"]
html_theme = "furo"
html_title = "npkl_models"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"  # of a package that the theme brings
pygments_dark_style = "a11y-high-contrast-dark"
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "matplotlib_animations": False,
    "parallel": 2,
    "reset_modules": ("matplotlib",),
}
