"""Every example runs and shows what it says; what README and docs print is what the commands print."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ARGUMENTS = {"hinge_stall.py": ["20"]}
PICTURE = 5_000  # bytes that an empty figure has not


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.name)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), *ARGUMENTS.get(path.name, [])])
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    if path.name.startswith("plot_"):
        assert len(plt.get_fignums()) == 1
        plt.savefig("picture.png")
        assert (tmp_path / "picture.png").stat().st_size > PICTURE
    plt.close("all")
    assert "What to see" in path.read_text()


def test_the_gallery_is_network_free_and_titled():
    """Its sets come with scikit-learn or are drawn; a title on top, as sphinx-gallery wants it."""
    scripts = sorted(EXAMPLES.glob("plot_*.py"))
    assert len(scripts) >= 12
    for path in scripts:
        text = path.read_text()
        lines = text.splitlines()
        assert set(lines[2]) == {"="}, path.name
        assert len(lines[2]) == len(lines[1]), path.name
        assert set(re.findall(r'datasets\.load\("(\w+)"\)', text)) <= {"iris", "wine", "digits"}, path.name


BENCHMARKS = {
    "sweep.py": ["600", "4"],
    "certified.py": ["xor", "80"],
    "against_scs.py": [],
    "thesis_tables.py": ["digits", "6"],
    "spectral.py": ["iris"],
    "against_generic.py": ["iris", "8"],
    "default.py": ["300"],
    "interior.py": ["draws", "1"],
    "matrix.py": ["iris", "--gammas", "1", "--shifts", "0.1"],
    "weights.py": ["iris"],
    "preconditioners.py": ["iris", "hinge", "100", "0.1", "60"],
    "peers.py": ["iris", "--forms", "hard_pcp", "--cap", "20"],
    "soundness.py": ["--before", "HEAD", "iris"],
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_prints_json(name, tmp_path):
    """They run and print what they should; what they measure is not a test."""
    script = EXAMPLES / "benchmarks" / name
    found = subprocess.run(
        [sys.executable, str(script), *BENCHMARKS[name]], capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert lines
    assert all(line["benchmark"] == script.stem for line in lines)
    if name == "certified.py":
        assert all(line["status"] == "OPTIMAL" and line["relative_gap"] <= 1e-6 for line in lines)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("simple_npkl_tables.py", ["1", "iris"]), ("active_selection.py", ["iris", "1"])],
)
def test_scripts_on_the_papers_run(name, arguments):
    script = EXAMPLES / "papers" / name
    found = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=True
    )
    assert "iris" in found.stdout
    assert "What to see" in script.read_text()


def test_the_module_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "npkl_models", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip()
