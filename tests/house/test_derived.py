"""What is written out of the code is as it would be written now; what is added is one file, or one and its page."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house.derived import ROOT, written

TOYS = Path(__file__).parent / "toys"


def test_what_is_written_out_is_up_to_date():
    """If not: ``python tests/house/derived.py``."""
    assert [str(path.relative_to(ROOT)) for path, text in written().items() if path.read_text() != text] == []


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the project to which a loss, a formulation, a backend and a field were added, each in its own file."""
    copy = tmp_path_factory.mktemp("copy")
    for folder in ("npkl_models", "docs", "tests/house"):
        unneeded = shutil.ignore_patterns("*.nb?", "_build", "auto_examples", "images", "*.png")
        shutil.copytree(ROOT / folder, copy / folder, ignore=unneeded)
    for name in ("pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, copy)
    losses = copy / "npkl_models" / "model" / "losses.py"
    own = (
        (TOYS / "absolute_loss.py")
        .read_text()
        .replace("import npkl_models as nm\n", "")
        .replace("nm.Loss", "Loss")
    )
    losses.write_text(losses.read_text() + own.split('"""', 2)[2] + '\n\nLOSSES["absolute"] = Absolute()\n')
    shutil.copy(TOYS / "nearest.py", copy / "npkl_models" / "formulations" / "nearest.py")
    (copy / "docs" / "formulations" / "nearest.md").write_text("# nearest\n")
    backend = (TOYS / "projected_gradient.py").read_text()
    (copy / "npkl_models" / "spectral" / "projected_gradient.py").write_text(
        backend.replace("import npkl_models as nm\n", OWN_IMPORTS).replace("nm.", "")
    )
    fields = copy / "npkl_models" / "recipe" / "fields.py"
    field = '    strength: float = _asked(1.0, "of nearest", "problem", label="Strength", low=0, of=("strength",))\n'
    text = fields.read_text()
    fields.write_text(
        text.replace("    n_basis: int | None = _asked(", field + "    n_basis: int | None = _asked(", 1)
    )
    run(copy, "tests/house/derived.py")
    return copy


OWN_IMPORTS = """
from npkl_models.answer.solution import Status
from npkl_models.model.statement import Statement as Problem
from npkl_models.solve.backend import Backend
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import Options
from npkl_models.solve.takes import Takes
"""


def run(copy, *arguments):
    environment = os.environ | {"PYTHONPATH": f"{copy}:{copy / 'tests'}", "COLUMNS": "200"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        capture_output=True,
        text=True,
        cwd=copy,
        env=environment,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


CHECKED = """
import npkl_models as nm
from npkl_models.cli.main import main

small = ["crosscheck", "--n", "12"]
assert main([*small, "--formulation", "npkl", "--loss", "absolute", "--backends", "burer_monteiro,sdp"]) == 0
assert main([*small, "--formulation", "nearest", "--strength", "2", "--backends", "admm,sdp"]) == 0
assert main([*small, "--backends", "projected_gradient,sdp", "--tol", "1e-5"]) == 0
print(nm.nearest.__module__, "nearest" in nm.__all__)
"""


def test_command_and_names_have_what_was_added(extended):
    """A loss, a backend: one file; a formulation: one and its page, with a field of its own one line more."""
    said = run(extended, "-c", CHECKED)
    assert said.count("all agree") == 3
    assert "absolute" in said
    assert "projected_gradient" in said
    assert said.endswith("npkl_models.formulations.nearest True\n")


def test_types_and_documents_have_what_was_added(extended):
    assert "look_every: int" in (extended / "npkl_models" / "solve" / "keywords.py").read_text()
    assert "   nearest\n" in (extended / "docs" / "api" / "builders.md").read_text()
