"""Fixtures that the tests share; what they are made of is in `problems`."""

from __future__ import annotations

import os
import re
import signal

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # begun with & in a script; what is begun here would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes share two cores
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that wait spin

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from problems import build, digits, side_information

import npkl_models as nm

os.environ.setdefault("MPLBACKEND", "Agg")


THINNED = {
    "applications/test_estimators.py": 3,
    "applications/test_exact_unfolding.py": 3,
    "applications/test_unfolding.py": 4,
    "certify/test_certificate.py": 3,
    "certify/test_claims.py": 3,
    "certify/test_slater.py": 3,
    "conic/test_conic.py": 2,
    "conic/test_reduced.py": 3,
    "explore/test_browser_lecture.py": 4,
    "explore/test_failures.py": 3,
    "examples/test_notebooks.py": 3,
    "explore/test_refusals.py": 4,
    "formulations/test_conformal_eigenmaps.py": 3,
    "formulations/test_locally_rigid.py": 3,
    "formulations/test_psde.py": 3,
    "house/test_imports.py": 2,
    "interior/test_interior.py": 3,
    "lowrank/test_factor.py": 3,
    "lowrank/test_rows.py": 4,
    "lowrank/test_rows_of_distances.py": 4,
    "model/test_cliques.py": 3,
    "model/test_losses.py": 2,
    "papers/test_papers.py": 3,
    "presolve/test_presolve_steps.py": 3,
    "presolve/test_units.py": 3,
    "printed/test_bcdkl.py": 3,
    "printed/test_simple_npkl.py": 3,
    "show/test_html.py": 4,
    "solve/test_backends.py": 4,
    "spectral/test_dual.py": 4,
}
"""Of the cases of one test in these files the quick suite runs the first and every so many-th after it; ``-m slow`` runs
the others. No test is left out whole."""


@pytest.hookimpl(tryfirst=True)  # before the marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that wait for the long run."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        every = next(
            (k for name, k in THINNED.items() if test.startswith((f"tests/{name}::", f"{name}::"))), 1
        )
        if seen[test] % every:
            item.add_marker(pytest.mark.slow)
        seen[test] += 1


@pytest.fixture(scope="session")
def small() -> Callable[[str], nm.Problem]:
    """Problems on 24 points of iris, by short name, each built once; general powers, whose SDPs are large, on 14."""
    built: dict[str, nm.Problem] = {}

    def get(kind: str) -> nm.Problem:
        if kind not in built:
            general = re.search(r"[BG](?![12]:)[\d.]+:", kind)
            built[kind] = build(kind, *side_information("iris", 14 if general else 24))
        return built[kind]

    return get


@pytest.fixture(scope="session")
def exact(small) -> Callable[[str], nm.Solution]:
    """The exact SDP's answer to the same problems, each solved once."""
    solved: dict[str, nm.Solution] = {}

    def get(kind: str) -> nm.Solution:
        if kind not in solved:
            solved[kind] = small(kind).solve("sdp", solver="CLARABEL", eps=1e-9)
        return solved[kind]

    return get


@pytest.fixture(scope="session")
def small_reg_pcp() -> nm.Problem:
    """Pcp on 120 digits in the span of 8 eigenvectors."""
    X, y = digits(12)
    return nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 10), 8), nm.Pairs.per_class(y, 4, 2, random_state=0))


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the papers' sets, from NPKL_DATA_HOME; skips where there is none."""
    value = os.environ.get(nm.datasets.FOLDER_VARIABLE)
    if not value or not Path(value).is_dir():
        pytest.skip(f"the papers' sets are not here: set {nm.datasets.FOLDER_VARIABLE}")
    return Path(value)
