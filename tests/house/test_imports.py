"""What is imported when: the package and its parser load next to nothing, and a name what it needs."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import npkl_models as nm

ROOT = Path(__file__).parents[2]
LIGHT = {"lazy_loader", "npkl_models"}
PARSER = LIGHT | {"shtab"}
HEAVY = {
    "cvxpy", "sklearn", "numba", "llvmlite", "pandas", "matplotlib", "rich", "pooch", "joblib", "clarabel", "scs", "starlette",
    "cvxopt",
}  # fmt: skip
PROBLEM = """
import numpy as np
import npkl_models as nm
L = np.diag([1.0, 2.0, 2.0, 1.0]) - np.diag(np.ones(3), 1) - np.diag(np.ones(3), -1) + 0.1 * np.eye(4)
problem = nm.pcp(L, nm.Pairs(4, [(0, 1)], [(1, 2)]))
"""
REPORT = """
import json, sys
before = set(sys.modules)
try:
    {}
finally:
    loaded = set(sys.modules) - before - {{"__mp_main__"}}
    print("\\n" + json.dumps(sorted({{name.split(".")[0] for name in loaded}} - set(sys.stdlib_module_names))))
"""


def run(code, *arguments, **variables):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | variables
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def loaded(code, *arguments):
    """Packages beside Python's own that the lines load in a process of its own."""
    found = run(REPORT.format(code.strip().replace("\n", "\n    ")), *arguments)
    assert found.stdout, found.stderr
    return set(json.loads(found.stdout.splitlines()[-1]))


def test_the_package_alone():
    assert loaded("import npkl_models") == LIGHT


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["sovle"], ["solve", "--help"], ["solve", "--loss", "hinges"], ["--print-completion", "bash"]],
    ids=" ".join,
)  # fmt: skip
def test_what_the_parser_answers_itself(words):
    assert loaded("from npkl_models.cli.main import main; main()", *words) == PARSER


@pytest.mark.parametrize(
    "code",
    [
        "import npkl_models; npkl_models.Problem",
        "import npkl_models; npkl_models.pcp",
        "from npkl_models import solve, certify, crosscheck",
        "import npkl_models; npkl_models.backends()",
        "import npkl_models; npkl_models.datasets.names()",
        "import npkl_models; npkl_models.applications.clustering",
        PROBLEM + "problem.explain(), problem.dual(), problem.diagnose(), problem._repr_html_()",
        PROBLEM + "problem.compatible_backends()",
        PROBLEM + "nm.choose_backend(problem)",
        PROBLEM + "nm.certify(problem, np.eye(4)[:, :2])",
        PROBLEM + "problem.solve('burer_monteiro')",
        "import npkl_models as nm; nm.laplacian(nm.datasets.load('iris').X, n_neighbors=5)",
    ],
    ids=lambda code: code.splitlines()[-1],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code):
    assert not loaded(code) & HEAVY


def test_a_solver_loads_what_it_is_about():
    assert loaded(PROBLEM + "problem.solve('interior')") & HEAVY == set()
    assert loaded(PROBLEM + "problem.to_cvxpy()") & HEAVY >= {"cvxpy"}


def test_all_is_loaded_at_once_where_that_is_asked():
    """As lazy_loader says, for those who look for an import that fails."""
    code = "import sys, npkl_models; print('npkl_models.solve.choice' in sys.modules, npkl_models.solve.__name__)"
    assert run(code, EAGER_IMPORT="1").stdout == "True solve\n"
    assert run(code).stdout == "False solve\n"


# ------------------------------------------------------------------------------------------- names


def stubs():
    return sorted((ROOT / "npkl_models").rglob("*.pyi"))


@pytest.mark.parametrize("path", stubs(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_stub_says_what_it_imports(path):
    """Its ``__all__``, read by editors, is what it imports, read by lazy_loader."""
    tree = ast.parse(path.read_text())
    imported = [
        a.asname or a.name for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names
    ]
    said = next(
        ast.literal_eval(n.value)
        for n in tree.body
        if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"
    )
    assert sorted(imported) == sorted(set(said) - {"__version__"})
    name = ".".join(path.relative_to(ROOT).parent.parts)
    module = __import__(name, fromlist=["__all__"])
    assert sorted(module.__all__) == sorted(said) == dir(module)
    assert all(getattr(module, one) is not None for one in said)


def test_functions_keep_their_names_beside_rooms_of_the_same_name():
    """Whichever was imported first: the room `solve`, or the function `solve` in it."""
    code = """
import npkl_models.solve.cost, npkl_models.certificates.bounds, npkl_models.crosscheck.table
import npkl_models as nm
before = [nm.solve, nm.certify, nm.crosscheck]
import npkl_models.solve.choice, npkl_models.certificates.prove, npkl_models.crosscheck.run
from npkl_models import *
assert before == [nm.solve, nm.certify, nm.crosscheck] == [solve, certify, crosscheck]
assert all(map(callable, before))
"""
    assert run(code).returncode == 0, run(code).stderr


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="sovle"):
        nm.sovle  # noqa: B018
    with pytest.raises(ImportError, match="sovle"):
        from npkl_models import sovle  # noqa: F401


def test_a_function_of_a_script_can_be_sent_to_other_processes(tmp_path):
    """joblib and dask pickle such a function with the modules that it uses, the package among them."""
    path = tmp_path / "script.py"
    path.write_text(
        "import joblib, npkl_models as nm\n"
        "def rows(seed):\n"
        "    return nm.datasets.load('iris', n=30).n + seed\n"
        "if __name__ == '__main__':\n"
        "    print(joblib.Parallel(2)(joblib.delayed(rows)(seed) for seed in range(3)))\n"
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[30, 31, 32]", done.stderr
