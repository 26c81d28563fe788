"""The notebooks run from top to bottom, solutions included, and are kept without their output."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore")  # of the kernel's own machinery
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures go into the notebook
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in book.cells if cell.cell_type == "code" for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_small(path):
    book = nbformat.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert path.stat().st_size < 40_000
    text = "".join(cell.source for cell in book.cells)
    assert text.count("**Exercise") >= 4
    assert "# Solutions" in text


def test_there_are_two():
    assert {path.stem for path in NOTEBOOKS} == {"pairs_to_kernel", "low_rank"}
