"""Each public name and method works in a process that has imported npkl_models and nothing else of it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import npkl_models as nm

ROOT = Path(__file__).parents[2]
SETUP = """
X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
L = nm.laplacian(X, n_neighbors=2, shift=0.1)
pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
problem = nm.pcp(L, pairs)
place = tempfile.mkdtemp()
"""
CALLS = {
    "to_sdpa": "problem.to_sdpa(place + '/p.dat-s')",
    "to_cvxpy": "problem.to_cvxpy().solve(solver='CLARABEL')",
    "explain": "problem.explain()",
    "dual": "str(problem.dual())",
    "diagnose": "problem.diagnose()",
    "handout": "problem.handout(place + '/page.html')",
    "save and load": "nm.Problem.load(problem.save(place + '/p'))",
    "latex": "problem._repr_latex_()",
    "html": "problem._repr_html_()",
    "compatible_backends": "problem.compatible_backends()",
    "compile": "problem.compile('interior').solve()",
    "solve": "problem.solve('burer_monteiro')",
    "certificate in html": "nm.certify(problem, problem.solve('interior').V)._repr_html_()",
    "solution in html": "problem.solve('interior')._repr_html_()",
    "answer saved": "nm.Solution.load(problem.solve('interior').save(place + '/s'))",
    "crosscheck": "nm.crosscheck(problem, ['interior']).to_markdown()",
    "report": "nm.crosscheck(problem, ['interior']).report(place + '/report.html')",
    "plot": "nm.crosscheck(problem, ['interior']).plot()",
    "path": "nm.regularization_path(problem, 'weight', [1.0, 2.0])",
    "choose": "nm.choose_backend(problem)",
    "clustering": "nm.applications.clustering.kernel_kmeans(problem.solve('interior'), 2)",
    "datasets": "nm.datasets.load('iris')",
}


def named_together():
    """The public names, those of one module in one string: the first of them imports it."""
    stub = (ROOT / "npkl_models" / "__init__.pyi").read_text()
    groups = [
        [entry.name for entry in node.names]
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.ImportFrom)
    ]
    assert {name for group in groups for name in group} >= set(nm.__all__) - {"__version__"}
    return [", ".join(group) for group in groups]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, which this system cannot")
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_each_in_a_process_of_its_own(every):
    """One process imports the package; each call is made in a fork of it, which no other call has touched.

    Packages of others are imported before, once for all of them. The quick suite makes every eighth call.
    """
    calls = {name: SETUP + call for name, call in CALLS.items()}
    calls |= {names: "\n".join(f"nm.{name}" for name in names.split(", ")) for names in named_together()}
    script = f"""
import cvxpy, latex2mathml.converter, matplotlib.pyplot, numba, pandas, rich.console, scipy.optimize
import sklearn.cluster, sklearn.datasets, sklearn.linear_model, sklearn.manifold, sklearn.neighbors, sklearn.svm
import npkl_models as nm
import os, signal, sys, tempfile
bad = []
for name, call in {dict(list(calls.items())[::every])!r}.items():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        try:
            exec(call)
        except BaseException as error:
            print(name, type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        bad.append(name)
print("bad:", bad)
"""
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, env=environment
    )
    assert "bad: []" in found.stdout, found.stdout + found.stderr


NEW = {
    "a problem that is loaded": "nm.Problem.load({folder!r} + '/p.npz').solve('interior')",
    "an answer that is loaded": "nm.Solution.load({folder!r} + '/s.npz').problem.solve('interior')",
    "deep": "__import__('npkl_models.answer.solution').answer.solution.Solution.load({folder!r} + '/s.npz').problem.explain()",
    "a problem in SDPA's format": "nm.Problem.from_sdpa({folder!r} + '/p.dat-s').explain()",
    "the table of backends": "assert 'bcd' in nm.backends()",
    "its rows": "assert len(__import__('npkl_models.show.tables').show.tables.support_rows()) > 10",
    "the command's table": "import npkl_models.cli.main as m; assert m.main(['backends']) == 0",
}


@pytest.mark.parametrize("name", NEW)
def test_each_is_whole_in_a_process_that_has_done_nothing_else(name, tmp_path, small):
    """Files and tables do not hang on what was imported before: no problem has been made in that process."""
    problem = small("pcp")
    problem.save(tmp_path / "p"), problem.to_sdpa(tmp_path / "p.dat-s")
    problem.solve("interior").save(tmp_path / "s")
    code = "import npkl_models as nm\n" + NEW[name].format(folder=str(tmp_path))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=environment
    )
    assert found.returncode == 0, found.stderr
    assert name != "the command's table" or "burer_monteiro" in found.stdout


def test_no_writable_place_for_compiled_code(monkeypatch):
    """Where neither the package's folder nor HOME can be written to, kernels are compiled in each process."""
    numba = pytest.importorskip("numba")
    from npkl_models.linalg import compile as room

    asked = []

    def njit(cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    assert room.compiled(len) is len
    assert asked == [True, False]
