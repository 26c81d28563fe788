"""Each code block of a page is run when the site is built, and its output or picture follows it.

The blocks of a page run in order, in one namespace, in an empty folder. Their outputs are kept by content
in ``docs/_cells``: a page runs again when its blocks or the library have changed. The tests run some
of the pages afresh and leave the outputs there, so a build after the tests does not run these again. A
Jupyter kernel for each of 40 pages would take minutes, most of them for starting and importing.
"""

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
KEPT = HERE / "_cells"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
UNRUN = "# not run here: "
INSTALLS = "python3 -m venv "  # what the project's own check does
RESULT = "<!-- result -->"  # where a page shows its first output, before the code that makes it
DOTS = 110  # of a picture, an inch


@dataclass(frozen=True)
class Cell:
    """A fenced block: its line on the page, its language, its text and where it ends."""

    line: int
    kind: str
    text: str
    end: int

    @property
    def runs(self) -> bool:
        """Whether it is code that is run."""
        return self.kind in ("python", "sh") and not self.text.startswith(UNRUN)


@dataclass
class Output:
    """What a block printed, and the names of its pictures in ``docs/_cells`` with what they show."""

    text: str = ""
    pictures: dict[str, str] = field(default_factory=dict)


def setup(app: Any) -> dict[str, Any]:
    """Put the outputs into the pages as Sphinx reads them."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def cells(text: str) -> list[Cell]:
    """The fenced blocks of a page, those that Sphinx fills left out."""
    found = FENCE.finditer(text)
    return [Cell(text[: one.start()].count("\n") + 1, one[1], one[2], one.end()) for one in found]


def run(page: Path) -> list[Output]:
    """Run the blocks of a page, and keep what they gave; every block of the user's book shows something."""
    import matplotlib

    matplotlib.use("Agg")
    KEPT.mkdir(exist_ok=True)
    space: dict[str, Any] = {"__name__": "__main__"}  # as in a script
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _bundled_sets():
        outputs = [_run(cell, page, space) for cell in cells(page.read_text()) if cell.runs]
    if "lab" not in page.parts and page.name != "README.md":
        assert all(one.text or one.pictures for one in outputs), f"{page}: a block shows nothing"
    kept = {"key": _key(page), "outputs": [asdict(one) for one in outputs]}
    _file(page).write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return outputs


def outputs(page: Path) -> list[Output]:
    """What the blocks of a page give, run again if they or the library have changed."""
    if _file(page).is_file():
        kept = json.loads(_file(page).read_text(encoding="utf-8"))
        if kept["key"] == _key(page):
            return [Output(**one) for one in kept["outputs"]]
    return run(page)


def filled(page: Path, text: str) -> str:
    """The page with the output of each block after it, and the first output at the mark of the result."""
    ran = [cell for cell in cells(text) if cell.runs]
    given = outputs(page) if ran else []
    first = next((one for one in given if one.text or one.pictures), None) if RESULT in text else None
    parts, begin = [], 0
    for cell, output in zip(ran, given, strict=True):
        parts += [text[begin : cell.end], "\n", *([] if output is first else _shown(output))]
        begin = cell.end
    whole = "".join([*parts, text[begin:]])
    return whole.replace(RESULT, "".join(_shown(first))) if first is not None else whole


def _read(app: Any, name: str, source: list[str]) -> None:
    page = Path(app.srcdir) / f"{name}.md"
    if page.is_file():
        source[0] = filled(page, source[0])


def _shown(output: Output) -> Iterator[str]:
    if output.text:
        yield f"\n:::{{code-block}} text\n:class: output\n\n{output.text}\n:::\n"
    for name, alternative in output.pictures.items():
        yield f"\n![{alternative}](/{KEPT.name}/{name})\n"


def _run(cell: Cell, page: Path, space: dict[str, Any]) -> Output:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if cell.kind == "python":
            lines = "\n" * cell.line + cell.text  # so that a traceback has the page's line numbers
            exec(compile(lines, str(page), "exec"), space)
        else:
            _commands(cell.text)
    text = "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())
    return Output(text, dict(_pictures(f"{_name(page)}_{cell.line}")))


def _commands(text: str) -> None:
    from npkl_models.cli.main import main

    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words and not line.startswith(INSTALLS):
            assert words[0] == "npkl", f"not a command of ours: {line}"
            assert main(words[1:]) == 0, line


def _pictures(name: str) -> Iterator[tuple[str, str]]:
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        figure = plt.figure(number)
        title = figure.get_suptitle() or next((ax.get_title() for ax in figure.axes if ax.get_title()), "")
        figure.savefig(KEPT / f"{name}_{number}.png", dpi=DOTS, bbox_inches="tight")
        yield f"{name}_{number}.png", title or "What the block above draws"
    plt.close("all")


@contextlib.contextmanager
def _bundled_sets() -> Iterator[None]:
    """Pages show the sets that every reader has."""
    folder = os.environ.pop("NPKL_DATA_HOME", None)
    try:
        yield
    finally:
        if folder is not None:
            os.environ["NPKL_DATA_HOME"] = folder


def _key(page: Path) -> str:
    text = [cell.text for cell in cells(page.read_text()) if cell.runs]
    sources = sorted((HERE.parent / "npkl_models").rglob("*.py"))
    about = [platform.python_version(), *map(version, ("numpy", "scipy", "matplotlib", "rich"))]
    found = hashlib.sha256(json.dumps([text, about]).encode())
    for source in [Path(__file__), *sources]:
        found.update(source.read_bytes())
    return found.hexdigest()


def _name(page: Path) -> str:
    return "-".join(page.resolve().relative_to(HERE.parent).with_suffix("").parts)


def _file(page: Path) -> Path:
    return KEPT / f"{_name(page)}.json"
