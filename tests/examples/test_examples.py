"""Every example runs and shows what it says; what README and docs print is what the commands print."""

import json
import re
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from npkl_models.files.saved import CHECKSUM, checksum
from npkl_models.task_cache import TASK

EXAMPLES = Path(__file__).parents[2] / "examples"
ARGUMENTS = {"hinge_stall.py": ["20"]}
PICTURE = 5_000  # bytes that an empty figure has not


STALLING = ("hinge_stall.py", "admm_penalty.py")
PLAIN, GALLERY = (
    [path for path in sorted(EXAMPLES.glob("*.py")) if path.name.startswith("plot_") == drawn]
    for drawn in (False, True)
)
"""The gallery is run by the build of the documentation, where an error is one of the build, and here with ``-m slow``.
So are the two that take half a minute on a busy machine."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (path in GALLERY or path.name in STALLING))
        for path in [*PLAIN, *GALLERY]
    ],
    ids=lambda p: p.name,
)
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
    "memory.py": ["60"],
    "thesis_tables.py": ["digits", "6"],
    "interior.py": ["draws", "1"],
    "matrix.py": ["iris", "--gammas", "1", "--shifts", "0.1"],
    "peers.py": ["iris", "--forms", "hard_pcp", "--cap", "20"],
    "comparison.py": ["iris", "--draws", "1", "--methods", "NPKLClustering", "KMeans (no pairs)"],
    "versions.py": ["--before", "HEAD", "--turns", "1", "iris"],
}
LONG = {"memory.py", "versions.py", "peers.py", "interior.py"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in BENCHMARKS]
)
def test_benchmark_prints_json(name, monkeypatch, capsys):
    """They run and print what they should; what they measure is not a test."""
    script = EXAMPLES / "benchmarks" / name
    monkeypatch.setattr(sys, "argv", [str(script), *BENCHMARKS[name]])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    assert all(line["benchmark"] == script.stem for line in lines)


def test_every_benchmark_is_named_by_a_page_or_used_by_another():
    """And a page of the laboratory names no script that is gone."""
    folder = EXAMPLES / "benchmarks"
    pages = "".join(path.read_text() for path in (EXAMPLES.parent / "docs" / "lab").glob("*.md"))
    others = {path.stem: path.read_text() for path in folder.glob("*.py")}
    assert "bcd" in pages
    for name in others:
        used = any(f"from {name} import" in text or f"{name}.py" in text for text in others.values())
        assert f"{name}.py" in pages or used, name
    for text in others.values():  # what they import is a script beside them, or installed
        for name in re.findall(r"^from (\w+) import", text, re.M):
            assert name in others or find_spec(name), name
    gone = set(re.findall(r"examples/benchmarks/(\w+)\.py|`python (\w+)\.py", pages))
    assert {name for pair in gone for name in pair if name} <= set(others)


def test_tables_of_wrong_pairs_have_a_help():
    script = str(EXAMPLES / "benchmarks" / "wrong_pairs_tables.py")
    assert subprocess.run([sys.executable, script, "--help"], capture_output=True, check=True).stdout


PAPERS = EXAMPLES / "papers" / "run.py"


def papers(*arguments):
    command = [sys.executable, str(PAPERS), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_table_and_figure_of_the_papers_is_named():
    """Those that cannot be re-run say why."""
    lines = papers("--list").splitlines()
    names = {line.split()[0] for line in lines}
    wanted = {
        "kl_admm": ["table1", "table2", *(f"figure{k}" for k in (1, 2, 3, 4))],
        "simple_npkl": [
            *(f"table{k}" for k in (1, 2, 3, 4, 5, 7, 8, 9)),
            *(f"figure{k}" for k in range(1, 8)),
        ],
        "thesis": ["table3_1", "table3_2", "figure3_1"],
        "bcdkl": [*(f"table{k}" for k in range(1, 7)), *(f"figure{k}" for k in range(1, 6))],
        "kml": [*(f"table{k}" for k in range(1, 5)), *(f"figure{k}" for k in range(1, 5))],
    }
    assert names >= {f"{paper}.{item}" for paper, items in wanted.items() for item in items}
    left = [line for line in lines if " - not re-run: " in line]
    assert all(len(line.split(" - not re-run: ")[1]) > 20 for line in left)


@pytest.mark.slow
def test_runs_of_the_papers_are_kept_and_shown(tmp_path):
    """A run that is there is not begun again: its number is what the file says."""
    folder = ["--folder", str(tmp_path), "--quick"]
    assert "| iris, % |" in papers("simple_npkl.table4", *folder)
    kept = sorted(tmp_path.glob("*/simple_npkl.table4/iris*.json"))
    assert len(kept) == 14
    for path in kept:
        found = json.loads(path.read_text())
        run = found["result"]
        own = {"result": run | {"result": run["result"] | {"accuracy": 12.5}}, TASK: found[TASK]}
        path.write_text(json.dumps(own | {CHECKSUM: checksum(own, {})}))  # else it would be done again
    assert "| iris, % | 12.5 ± 0.0 (2) |" in papers("simple_npkl.table4", *folder)
    assert "bcdkl.figure1.svg" in papers("bcdkl.figure1", *folder)
    assert (tmp_path / "bcdkl.figure1.svg").stat().st_size > 1000


def test_the_module_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "npkl_models", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip()
