"""MathJax beside the pages: its fonts and the one script, so that no page asks the network."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"  # holds MathJax 3
FILES = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def setup(app: Any) -> dict[str, Any]:
    """Point Sphinx to the copy, and make it when the pages are written."""
    app.setup_extension("sphinx.ext.mathjax")
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.config.mathjax3_config = {"options": {"enableMenu": False}}  # the menu loads more scripts
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copy(app: Any, error: Exception | None) -> None:
    spec = importlib.util.find_spec(PACKAGE)
    if error is not None or app.builder.format != "html":
        return
    if spec is None or spec.origin is None:
        raise ExtensionError(f"formulas need the package {PACKAGE}; install the extra docs")
    source, target = Path(spec.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for name in FILES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            shutil.copy(source / name, target / name)
