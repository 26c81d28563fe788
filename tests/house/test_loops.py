"""Compiled loops: one signature each, called where they are worth their compilation, which is not solving."""

import os
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.linalg import compile as of_compile
from npkl_models.linalg.compile import Loop, available, clock, worth
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.engine import BCDEngine
from npkl_models.lowrank.structure import structure
from npkl_models.solve.watch import RunMonitor

compiled_here = pytest.mark.skipif(not available(), reason="numba is not installed")
COLD = """
import npkl_models as nm
from npkl_models.linalg.compile import Loop
data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
print(problem.solve().status.name, any(l._function for l in Loop.every))
"""


class Slow(Loop):
    """A loop whose compilation takes 0.3 s, and which has no module."""

    def __init__(self, seconds=5.0):
        self.seconds, self._function, self.module, self.name = seconds, None, "json", "dumps"

    def folder(self):
        return ""

    def _dispatcher(self):
        time.sleep(0.3)
        return lambda x: x + 1


def problem(loss, n=60, seed=0, **more):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    L = nm.laplacian(rng.standard_normal((n, 3)) + 2 * y[:, None], 4, shift=0.05)
    pairs = nm.Pairs.from_labels(y, n // 2, n // 2, seed)
    return nm.pcp(L, pairs) if loss == "pcp" else nm.npkl(L, pairs, loss=loss, **more)


def sweeps(of, count):
    options = BCDOptions(random_state=0)
    engine = BCDEngine(of, structure(of), options, starting_factor(of, options))
    for _ in range(count):
        engine.iterate()
    return engine


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "pcp"])
def test_what_a_sweep_measures_is_what_an_evaluation_finds(loss):
    engine = sweeps(problem(loss), 7)
    for _ in range(10):  # a sweep after which multipliers move is evaluated
        if engine.evaluated:
            engine.iterate()
    assert not engine.evaluated
    merit, objective, primal = engine.merit, engine.objective, engine.misfit
    assert engine._evaluate() == pytest.approx(merit, rel=1e-9)
    assert engine.objective == pytest.approx(objective, rel=1e-9)
    assert engine.misfit == pytest.approx(primal, rel=1e-6, abs=1e-14)


@compiled_here
def test_every_loop_has_one_signature_whatever_the_indices_are():
    for index in (np.int32, np.int64):
        for loss in ("pcp", "hinge"):
            of = problem(loss)
            L = of.cost.copy()
            L.indptr, L.indices = L.indptr.astype(index), L.indices.astype(index)
            pairs = nm.Pairs.from_labels(np.arange(60) % 3, 30, 30, 0)
            nm.npkl(L, pairs, loss=loss if loss == "hinge" else "square").solve(backend="bcd")
    nm.hard_pcp(problem("pcp").cost, nm.Pairs.from_labels(np.arange(60) % 3, 20, 20, 0)).solve(
        backend="interior"
    )
    nm.reg_mvu(np.random.default_rng(0).standard_normal((30, 2)), 5).solve(backend="interior")
    used = [loop for loop in Loop.every if loop._function is not None]
    assert {"sweep"} <= {loop.name for loop in used}
    for loop in Loop.every:
        function = getattr(import_module(loop.module), loop.name)
        assert loop.name in import_module(loop.module).SIGNATURES
        assert loop not in used or len(function.signatures) == 1


@compiled_here
def test_the_work_alone_decides_and_not_what_was_compiled():
    assert [worth(seconds) for seconds in (0.5, 2.0, 0.5, 2.0)] == [False, True, False, True]


def test_without_numba_nothing_is_worth_a_loop(monkeypatch):
    """An installation that was broken later: the loops would run in Python, many times slower than numpy."""
    monkeypatch.setattr(of_compile, "installed", lambda: True)
    monkeypatch.setattr(of_compile, "available", lambda: False)
    assert not worth(100.0)


@pytest.mark.parametrize("listened", [True, False])
def test_compilation_is_said_and_is_no_part_of_the_clock_but_of_the_limit(listened, caplog):
    if listened:
        caplog.set_level("INFO", logger="npkl_models")
    loop, began, before = Slow(), time.perf_counter(), clock()
    watch = RunMonitor(nm.extend.IterativeOptions(time_limit=10.0), "mine")
    assert loop(1) == 2
    assert loop(2) == 3
    assert time.perf_counter() - began >= 0.3
    assert clock() - before < 0.25
    assert watch.seconds < 0.25
    assert watch.left < 9.71
    said = [record.message for record in caplog.records if "compiling" in record.message]
    assert said == (["compiling dumps, once: about 5 s"] if listened and available() else [])


@compiled_here
def test_a_stranger_s_first_problem_compiles_nothing(tmp_path):
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COLD], env=cold, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OPTIMAL", "False"]
    assert not list(tmp_path.rglob("*.nb?"))


def test_warm_up_says_where_the_machine_code_is(capsys, monkeypatch):
    assert main(["warm-up"]) == 0
    out = capsys.readouterr().out
    assert "numba is not installed" in out or all(loop.name in out for loop in Loop.every)
    monkeypatch.setattr(Loop, "folder", lambda self: "")
    monkeypatch.setattr("npkl_models.cli.lists.available", lambda: True)
    monkeypatch.setattr(Loop, "prepare", lambda self: None)
    assert main(["warm-up"]) == 0
    assert "each process compiles for itself" in capsys.readouterr().out


BYTES = """
import hashlib, sys, numpy as np, npkl_models as nm
from npkl_models.linalg.compile import Loop
n, loss = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
y = np.arange(n) % 2
L = nm.laplacian(rng.standard_normal((n, 3)) + 3 * y[:, None], 5, shift=0.1)
pairs = nm.Pairs.from_labels(y, int(0.6 * n), int(0.6 * n), 0)
problem = nm.npkl(L, pairs, loss=loss)
for _ in range(int(sys.argv[3])):
    V = np.ascontiguousarray(problem.solve(random_state=0).V)
    print(hashlib.sha256(V.tobytes()).hexdigest()[:16], len({id(loop) for loop in Loop.every if loop._function}))
"""


@compiled_here
@pytest.mark.parametrize(
    ("n", "loss"),
    [
        (1_500, "squared_hinge"),
        *(pytest.param(n, "hinge", marks=pytest.mark.slow) for n in (150, 2_500, 6_000)),
    ],
)
def test_equal_calls_have_equal_bytes(n, loss, tmp_path):
    """Cold and warm, in the first and the third call, with a folder for machine code and without."""
    told = set()
    nowhere = tmp_path / "file"
    nowhere.write_text("")  # no folder: numba keeps nothing
    for folder in (tmp_path / "cache", tmp_path / "cache", nowhere):
        cold = os.environ | {
            "NUMBA_CACHE_DIR": str(folder),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        run = [sys.executable, "-c", BYTES, str(n), loss, "3" if not told else "1"]
        done = subprocess.run(run, env=cold, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        told |= {line.split()[0] for line in done.stdout.splitlines()}
    assert len(told) == 1
