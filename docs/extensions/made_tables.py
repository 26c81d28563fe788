"""Tables that are made from the registry and from compiled problems, for the pages to include."""

from pathlib import Path
from typing import Any

from npkl_models import backends
from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, markdown, option_rows, support_rows

FOLDER = Path(__file__).parents[1] / "generated"


def setup(app: Any) -> dict[str, Any]:
    """Write them before the pages are read."""
    app.connect("builder-inited", lambda app: write())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write() -> None:
    """All of them, into ``docs/generated``."""
    FOLDER.mkdir(exist_ok=True)
    linked = [(f"[{row[0]}](../backends/{row[0]}.md)", *row[1:]) for row in support_rows()]
    summaries = [backend.summary for backend in backends().values()]
    rows = [(*row, summary) for row, summary in zip(linked, summaries, strict=True)]
    _write("support.md", markdown((*SUPPORT_COLUMNS, "what it is"), rows))
    for name, backend in backends().items():
        rows = [(f"`{option}`", *rest) for option, *rest in option_rows(backend)]
        _write(f"options_{name}.md", markdown(OPTION_COLUMNS, rows))


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")
