"""The map of the house from the rooms' own docstrings; ``python tests/house/derived.py`` writes it into CONTRIBUTING.md."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "npkl_models"
FLOORS = {
    "_version": 0, "errors": 0, "_first": 0, "checker": 0, "interrupts": 0.5, "workers": 1, "files": 1, "linalg": 1, "proof": 2,
    "model": 3, "kernel": 3.2, "feasibility": 3.5, "data": 4, "certificates": 4, "answer": 5, "presolve": 5.5, "solve": 6, "conic": 7,
    "interior": 7, "lowrank": 7, "spectral": 7, "printed": 7.2, "routes": 7.5, "show": 8, "cvx": 8, "problem": 9,
    "formulations": 10, "task_cache": 10, "cover": 10.5, "crosscheck": 11, "path": 11, "applications": 12, "recipe": 12.5,
    "extend": 13, "__init__": 13, "explore": 13, "cli": 14, "__main__": 15,
}  # fmt: skip
"""Imports may only point to a lower floor, or stay in the same room."""

BEGIN, END = "<!-- the map: python tests/house/derived.py -->", "<!-- its end -->"
DOCUMENT = "CONTRIBUTING.md"


def summary(path: Path) -> str:
    """The first sentence of a module's docstring, without its full stop."""
    words = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(words.split("\n\n")[0].split()).rstrip(".")


def house() -> str:
    """A line for each room and each file at the top, the lowest floor first."""
    lines = ["| room | what is in it |", "|---|---|"]
    for name in sorted(FLOORS, key=lambda name: FLOORS[name]):
        room = PACKAGE / name
        if room.is_dir():
            lines.append(f"| **`{name}/`** | **{summary(room / '__init__.py')}** |")
        elif not name.startswith("_"):
            lines.append(f"| **`{name}.py`** | **{summary(room.with_suffix('.py'))}** |")
    return "\n".join(line.replace("``", "`") for line in lines)


def with_map(text: str) -> str:
    """A document with the map as it is now."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{house()}\n\n{END}{tail}"
