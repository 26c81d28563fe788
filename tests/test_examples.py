"""Every example runs and shows what it says; what README and docs print is what the commands print."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ARGUMENTS = {"plot_crosscheck.py": ["picture.png"], "hinge_stall.py": ["20"]}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.name)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), *ARGUMENTS.get(path.name, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    if path.name.startswith("plot_"):
        assert (tmp_path / "picture.png").stat().st_size > 5_000
    assert path.read_text().splitlines()[2].startswith("What to see") or "What to see" in path.read_text()


def test_the_module_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "npkl_models", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip()
