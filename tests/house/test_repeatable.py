"""The default is a function of the problem: no clock, no thread, no process and no number of workers has a say."""

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.solve import cost, portfolio, registry
from npkl_models.task_cache import sweep

ROOT = Path(__file__).parents[2]
CODE = """
import hashlib, sys
sys.path.insert(0, {tests!r} + "/house")
from test_repeatable import NAMES, digest, solved
for name in NAMES:
    print(digest(solved(name)))
"""
NAMES = ("easy", "handed", "hard", "stiff", "loose", "apart")


def problem(name):
    """One that the first backend solves, ones that it hands over, one with points that nothing holds, and parts."""
    if name == "stiff":
        return nm.mvu(nm.datasets.load("swiss_roll", n=40, random_state=0).X, 6, weight=100.0)
    if name == "handed":  # an order at which a sure backend would take more than a second
        y = np.arange(700) % 2
        X = np.random.default_rng(0).normal(size=(700, 3)) + 3 * y[:, None]
        return nm.pcp(nm.laplacian(X, 5, shift=0.1), nm.Pairs.from_labels(y, 200, 200, 0))
    if name == "apart":  # the whole is judged by a randomised proof
        part, y = np.arange(600) // 300, np.arange(600) % 2
        X = np.random.default_rng(0).normal(size=(600, 3)) + (50 * part + 2 * y)[:, None]
        own = [nm.Pairs.from_labels(np.where(part == k, y, -1), 40, 40, k) for k in (0, 1)]
        must, cannot = (
            np.vstack([getattr(one, kind) for one in own]) for kind in ("must_link", "cannot_link")
        )
        return nm.pcp(nm.laplacian(X, 5, shift=0.1), nm.Pairs(600, must, cannot))
    data = nm.datasets.load("iris")
    pairs = nm.Pairs.from_labels(data.y, 90, 90, 0)
    if name == "easy":
        return nm.pcp(nm.laplacian(data.X, 5, shift=0.1), pairs)
    if name == "loose":
        return nm.npkl(nm.laplacian(data.X, 5), pairs, loss="squared_hinge", gamma=1.0)
    return nm.npkl(nm.laplacian(data.X, 5, shift=0.001), pairs, loss="squared_hinge", gamma=100.0)


def solved(name):
    """By the default; one by a portfolio that hands over soon."""
    if name == "handed":
        return problem("handed").solve(nm.Portfolio(share=0.0, shortest=5e-3))
    return problem(name).solve()


def digest(solution):
    """Who answered, after which attempts, in how many iterations, the bound, and every bit of the factor."""
    tried = [(attempt.backend, attempt.status.name) for attempt in solution.attempts]
    bound = solution.certificate.bound
    said = repr((solution.backend, solution.status.name, solution.iterations, tried, solution.rank, bound))
    V = np.ascontiguousarray(solution.V)
    return f"{said} {hashlib.sha256(V.tobytes()).hexdigest()}"


@pytest.fixture(scope="module")
def answers():
    return {name: digest(solved(name)) for name in NAMES}


def test_one_of_them_is_handed_over(answers):
    """Else the tests below would show nothing of the portfolio."""
    assert any(found.count("ITERATION_LIMIT") for found in answers.values())


@pytest.mark.slow  # its busy processes take the cores of all other tests
def test_the_same_in_a_new_process_beside_busy_ones(answers):
    """With one thread for BLAS there, whatever it has here."""
    spin = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
    busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(3)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        found = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CODE.format(tests=str(ROOT / "tests"))],
            capture_output=True, text=True, env=environment,
        )  # fmt: skip
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [answers[name] for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_with_a_clock_that_runs_wild(name, answers, monkeypatch):
    """Seconds that pass a thousand times as quickly: only a time limit asks for them."""
    real = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 1e3 * real())
    assert digest(solved(name)) == answers[name]


def test_the_same_in_threads(answers):
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(NAMES, pool.map(lambda name: digest(solved(name)), NAMES), strict=True))
    assert found == answers


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_for_any_number_of_workers(n_jobs, answers):
    tasks = {name: partial(solved, name) for name in NAMES}
    assert {name: digest(found) for name, found in sweep(tasks, n_jobs=n_jobs).items()} == answers


def test_who_decides_has_no_clock():
    """What chooses and hands over does not import one; the portfolio asks it for the user's limit alone."""
    for module in (registry, cost):
        assert "time" not in vars(module)
    source = Path(portfolio.__file__).read_text()
    lines = [line for line in source.splitlines() if "perf_counter" in line]
    assert all("started" in line for line in lines)
