"""Each code block of README and docs runs: page by page, in order, in one namespace, in an empty folder.

A block in ``python`` is executed, a line ``npkl ...`` of a block in ``sh`` goes through the command
(``docs/extensions/cells.py``). The quick suite runs README and the how-tos; the build of the site runs all other pages,
where an error is one of the build. What is not run says so in its first line, where the reader sees it: ``# not run here:
reason``.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cells import UNRUN, cells, run

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "_cells", "generated", "auto_examples"} & set(page.parts)]


LONG = {
    ROOT / "docs" / "how_to" / f"{name}.md" for name in ("wrong_pairs", "follow", "machines")
}  # pages of many seconds


def with_blocks():
    return [page for page in PAGES if any(cell.kind in ("python", "sh") for cell in cells(page.read_text()))]


def first_pages():
    """All pages with blocks; those that only the build of the site runs at once are marked."""
    at_once = {page for page in PAGES if page.name == "README.md" or page.parent.name == "how_to"} - LONG
    return [pytest.param(page, marks=[pytest.mark.slow] * (page not in at_once)) for page in with_blocks()]


def code(page):
    """The blocks of a page that a reader would paste."""
    return [cell for cell in cells(page.read_text()) if cell.kind in ("python", "sh")]


@pytest.mark.parametrize("page", first_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page):
    """What came of it is kept, and drawn by a build of the site after the tests."""
    run(page)
    for cell in code(page):
        assert cell.runs or len(cell.text.splitlines()[0]) > len(UNRUN) + 5, (page.name, cell.line)


@pytest.mark.slow
def test_a_cluster_of_processes_is_started_by_a_script(tmp_path):
    (tmp_path / "script.py").write_text(code(ROOT / "docs" / "how_to" / "machines.md")[0].text)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.count("OPTIMAL") == 6, done.stderr


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
        kinds = {cell.kind for cell in cells(page.read_text())}
        assert kinds <= known, (page.name, kinds - known)
        assert not re.search(r"^    (npkl|import|>>>) ", page.read_text(), re.M), page.name
