"""Each code block of README and docs runs: page by page, in order, in one namespace, in an empty folder.

A block in ``python`` is executed, a line ``npkl ...`` of a block in ``sh`` goes through the command. What is not run
says so in its first line, where the reader sees it: ``# not run here: reason``.
"""

import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import npkl_models as nm
from npkl_models.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "generated", "auto_examples"} & set(page.parts)]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
UNRUN = "# not run here: "
INSTALLS = "python3 -m venv "  # what .ci/run does


def blocks(page):
    """(line, language, text) of the fenced blocks, those that Sphinx fills left out."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        yield text[: found.start()].count("\n") + 1, found[1], found[2]


def run_python(page, line, text, space):
    code = compile("\n" * line + text, str(page), "exec")  # so that a traceback has the page's line numbers
    exec(code, space)


def run_shell(text):
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words and not line.startswith(INSTALLS):
            assert words[0] == "npkl", f"not a command of ours: {line}"
            assert main(words[1:]) == 0, line


def with_blocks():
    return [page for page in PAGES if any(kind in ("python", "sh") for _, kind, _ in blocks(page))]


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg")
@pytest.mark.parametrize("page", with_blocks(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(nm.datasets.FOLDER_VARIABLE, raising=False)
    space = {"__name__": "page"}
    for line, kind, text in blocks(page):
        if text.startswith(UNRUN):
            assert len(text.splitlines()[0]) > len(UNRUN) + 5
        elif kind == "python":
            run_python(page, line, text, space)
        elif kind == "sh":
            run_shell(text)
    plt.close("all")


def test_no_formula_is_cut_by_the_cells_of_a_table():
    """A | inside a formula ends the cell: write \\lvert."""
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.startswith("| "):
                cells = re.sub(r"`[^`]*`", "", line).split("|")
                assert all(cell.count("$") % 2 == 0 for cell in cells), (page.name, number)


def test_no_code_hides_in_an_indented_block_or_an_unknown_fence():
    known = {"python", "sh", "text", "math"}
    for page in PAGES:
        kinds = {kind for _, kind, _ in blocks(page)}
        assert kinds <= known, (page.name, kinds - known)
        assert not re.search(r"^    (npkl|import|>>>) ", page.read_text(), re.M), page.name
