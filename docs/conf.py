project = "npkl_models"
author = "the npkl_models developers"
copyright = "2026, " + author
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
myst_enable_extensions = ["dollarmath", "amsmath"]
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"
exclude_patterns = ["_build", "generated"]
html_theme = "alabaster"
html_theme_options = {"description": "One problem, exact and fast solvers, one certificate"}


def _generate() -> None:
    """Write the tables that are made from the registry, for the pages to include."""
    from pathlib import Path

    from npkl_models import backends
    from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, markdown, option_rows, support_rows

    folder = Path(__file__).parent / "generated"
    folder.mkdir(exist_ok=True)
    linked = [(f"[{row[0]}](../backends/{row[0]}.md)", *row[1:]) for row in support_rows()]
    (folder / "support.md").write_text(markdown((*SUPPORT_COLUMNS, "what it is"), [
        (*row, backend.summary) for row, backend in zip(linked, backends().values(), strict=True)
    ]) + "\n", encoding="utf-8")  # fmt: skip
    for name, backend in backends().items():
        rows = [(f"`{option}`", *rest) for option, *rest in option_rows(backend)]
        (folder / f"options_{name}.md").write_text(markdown(OPTION_COLUMNS, rows) + "\n", encoding="utf-8")


_generate()
