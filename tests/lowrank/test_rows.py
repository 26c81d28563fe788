"""Colouring, tables, and the exact minimisation over rows against brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import SEPARABLE
from scipy.optimize import minimize

import npkl_models as nm
from npkl_models.linalg import compile
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows import bcd, sweeps
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.rows.layout import color_classes, color_graph
from npkl_models.lowrank.rows.minimise import RowProblem, minimise_rows, solve_quadratic
from npkl_models.lowrank.structure import structure
from npkl_models.printed.rows import minimise_rows_by_dual


@given(n=st.integers(1, 60), density=st.floats(0, 1), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_colouring_is_proper_and_frugal(n, density, seed):
    rng = np.random.default_rng(seed)
    A = sp.csr_array(np.triu(rng.random((n, n)) < density, 1).astype(float))
    A = (A + A.T).tocsr()
    color = color_graph(A, seed)
    coo = A.tocoo()
    assert np.all(color[coo.row] != color[coo.col])
    degree = np.diff(A.indptr)
    assert color.max(initial=0) <= degree.max(initial=0)  # as any greedy colouring
    classes = color_classes(color)
    assert sorted(np.concatenate(classes).tolist()) == list(range(n))


def batch(seed, b=4, k=3, r=5, loss="square", quartic=True, radius=None):
    rng = np.random.default_rng(seed)
    pairs = nm.Pairs(2 * b * k, [(2 * e, 2 * e + 1) for e in range(b * k)], [])
    problem = nm.npkl(sp.eye_array(2 * b * k).tocsr(), pairs, loss=loss, row_norm=1.0)
    model = EdgeModel(structure(problem))
    model.y = 0.3 * rng.normal(size=b * k)
    rows = RowProblem(
        rng.uniform(0.5, 3, b) - (2 if quartic else 0),
        rng.uniform(0.2, 1, b) if quartic else np.zeros(b),
        rng.normal(size=(b, r)),
        rng.normal(size=(b, k, r)),
        np.arange(b * k).reshape(b, k),
        rng.random((b, k)) < 0.8,
        radius,
    )
    return rows, model, rng


def row_value(rows, model, v):
    z = np.einsum("bkr,br->bk", rows.P, v)
    f = model.evaluate(z, rows.pairs)[0] if z.size else z
    return rows.value(v, f)


@pytest.mark.parametrize("loss", SEPARABLE)
@pytest.mark.parametrize("quartic", [True, False])
@pytest.mark.parametrize("radius", [None, 0.6])
@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_rows_are_minimised_exactly(loss, quartic, radius, k):
    """The batched secular equation against a general minimiser from many starts."""
    rows, model, rng = batch(k, k=k or 1, loss=loss, quartic=quartic, radius=radius)
    if k == 0:
        rows = RowProblem(
            rows.mu0, rows.quartic, rows.g, rows.P[:, :0], rows.pairs[:, :0], rows.valid[:, :0], radius
        )
    start = rng.normal(size=rows.g.shape) * 0.3
    v = minimise_rows(rows, model, start)
    for _ in range(4):
        v, before = minimise_rows(rows, model, v), row_value(rows, model, v)
        assert np.all(row_value(rows, model, v) <= before + 1e-12)  # a step never goes up
    if radius is not None:
        assert np.all(np.linalg.norm(v, axis=1) <= radius + 1e-9)
    mine = row_value(rows, model, v)
    for b in range(len(mine)):
        one = rows.take(np.array([b]))

        def objective(x, one=one):
            return float(row_value(one, model, x[None])[0])

        limit = [] if radius is None else [{"type": "ineq", "fun": lambda x: radius**2 - x @ x}]
        best = min(
            minimize(
                objective, 0.5 * rng.normal(size=start.shape[1]), constraints=limit,
                method="SLSQP", options={"ftol": 1e-13, "maxiter": 500},
            ).fun
            for _ in range(6)
        )  # fmt: skip
        assert mine[b] <= best + 1e-6 * (1 + abs(best))


def test_hard_case_of_the_secular_equation():
    """Nothing pulls (c = 0): the minimiser still has the norm that the quartic asks for."""
    rows, _model, rng = batch(0, quartic=True)
    rows = RowProblem(-np.ones(4), np.ones(4), 0 * rows.g, rows.P, rows.pairs, rows.valid)
    old = rng.normal(size=(4, 5))
    v = solve_quadratic(rows, np.ones((4, 3)) * rows.valid, 0 * rows.g, old)
    np.testing.assert_allclose(np.sum(v**2, axis=1), 0.25, rtol=1e-6)
    np.testing.assert_allclose(np.einsum("bkr,br->bk", rows.P, v) * rows.valid, 0, atol=1e-8)


@pytest.mark.parametrize("rows_at_once", [1, 6])
@pytest.mark.parametrize("k", [1, 3])
def test_a_pull_in_the_span_of_the_pairs_leaves_the_rest_of_the_norm_to_the_old_direction(k, rows_at_once):
    """Then mu = 0: rounding must not pass for a root, and among equal directions the old one stays."""
    rng, r, b = np.random.default_rng(k), 9, rows_at_once
    P = rng.normal(size=(b, k, r)) / 3
    h = rng.uniform(60, 300, size=(b, k))
    asked = 0.05 * rng.normal(size=(b, k))
    c = np.einsum("bkr,bk->br", P, h * asked)
    rows = RowProblem(
        np.full(b, -180.0), np.full(b, 45.0), -c, P, np.zeros((b, k), dtype=int), np.ones((b, k), dtype=bool)
    )  # fmt: skip
    old = rng.normal(size=(b, r))
    v = solve_quadratic(rows, h, c, old)
    np.testing.assert_allclose(np.sum(v**2, axis=1), 1.0, rtol=1e-9)  # 180 / (4 * 45)
    np.testing.assert_allclose(np.einsum("bkr,br->bk", P, v), asked, atol=1e-7)
    np.testing.assert_allclose(solve_quadratic(rows, h, c, v), v, atol=1e-7)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(4))
def test_points_that_only_pairs_hold_are_certified(kernel, seed):
    """Four points have no edge, one of them no pair: their rows are hard cases of the secular equation."""
    if kernel == "numba":
        pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 2)), 1e3 * rng.normal(size=(4, 2))])
    A = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    np.fill_diagonal(A, 0)
    must = [(30, 0), (31, 1), (31, 2), (32, 3), (5, 6), (7, 8)]
    cannot = [(30, 9), (31, 10), (31, 11), (12, 13), (14, 15)]
    pairs = nm.Pairs(34, must_link=must, cannot_link=cannot)
    problem = nm.pcp(nm.laplacian(sp.csr_array(A)), pairs, gamma=80.0)
    found = problem.solve("bcd", tol=1e-7, kernel=kernel, random_state=seed)
    assert found.status.name == "OPTIMAL"
    assert found.certificate.relative_gap <= 1e-7
    assert found.objective == pytest.approx(problem.solve("interior", tol=1e-8).objective, rel=3e-7)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_rows_are_exact_where_the_neighbours_are_almost_dependent(k):
    """Near a low-rank optimum the rows P lie in a few directions; the gradient must still vanish."""
    rng = np.random.default_rng(k)
    P = rng.normal(size=(20, k, 2)) @ rng.normal(size=(20, 2, 8)) + 1e-7 * rng.normal(size=(20, k, 8))
    rows = RowProblem(
        rng.uniform(-0.5, 1, 20), np.ones(20), rng.normal(size=(20, 8)), P,
        np.zeros((20, k), dtype=int), np.ones((20, k), dtype=bool),
    )  # fmt: skip
    v = solve_quadratic(rows, np.ones((20, k)), -rows.g, rng.normal(size=(20, 8)))
    level = rows.mu0 + 4 * rows.quartic * np.einsum("br,br->b", v, v)
    gradient = level[:, None] * v + np.einsum("bkr,bk->br", P, np.einsum("bkr,br->bk", P, v)) + rows.g
    assert np.abs(gradient).max() <= 1e-7  # the root's own tolerance, squared


def test_row_program_of_the_source_by_its_dual():
    """The kinked row problem, exactly, against a general minimiser of its smooth form."""
    rows, model, rng = batch(3, loss="hinge", quartic=False)
    model.y[:] = 0
    v = minimise_rows_by_dual(rows, model)
    t, w = model.pairs.target[rows.pairs], model.pairs.weight[rows.pairs]

    def true_value(x):
        z = np.einsum("bkr,br->bk", rows.P, x)
        return rows.value(x, w * np.maximum(0, 1 - t * z))

    for _ in range(300):
        nearby = v + rng.normal(size=v.shape) * 10 ** rng.uniform(-5, 0)
        assert np.all(true_value(v) <= true_value(nearby) + 1e-9)


@pytest.mark.parametrize(("kind", "r"), [("pcp", 8), ("pcp", 3), ("npkl:square", 5), ("row:linear", 4)])
def test_compiled_and_numpy_kernels_make_the_same_sweep(small, kind, r):
    start = np.random.default_rng(0).normal(size=(24, r))
    engines = [
        BCDPlan(small(kind), BCDOptions(start=start, rank=r, kernel=kernel)).engine()
        for kernel in ("numpy", "numba")
    ]
    engines[1].sweeper.order = engines[0].sweeper.order
    for sweep in range(5):
        for engine in engines:
            engine.sweeper.run(engine.V)
        np.testing.assert_allclose(engines[1].V, engines[0].V, rtol=1e-9, atol=1e-11, err_msg=str(sweep))


@pytest.mark.parametrize("kind", ["npkl:squared_hinge", "npkl:hinge", "row:squared_hinge", "row:hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_kinks_are_minimised_as_in_numpy(small, kind, seed):
    """Every row ends at the minimum of its model, whatever pieces led there."""
    rng = np.random.default_rng(seed)
    start = 1.5 * rng.normal(size=(24, 5))
    engines = [
        BCDPlan(small(kind), BCDOptions(start=start, rank=5, kernel=kernel)).engine()
        for kernel in ("numpy", "numba")
    ]
    engines[1].sweeper.order = engines[0].sweeper.order
    y = np.clip(engines[0].model.derivative(rng.normal(size=engines[0].pairs.size)), -1, 1)
    for engine in engines:
        engine.model.y, engine.model.beta = 0.5 * y * (not engine.model.smooth), 7.0
    for sweep in range(4):
        for engine in engines:
            engine.sweeper.run(engine.V)
        np.testing.assert_allclose(engines[1].V, engines[0].V, rtol=1e-6, atol=1e-8, err_msg=str(sweep))


@pytest.mark.parametrize("kind", ["pcp", "npkl:square", "row:linear", "row:square", "npkl:squared_hinge"])
def test_a_compiled_sweep_measures_itself(small, kind):
    engine = BCDPlan(small(kind), BCDOptions(rank=5, kernel="numba", extrapolation=False)).engine()
    for _ in range(30):
        engine.iterate()
        followed, residual = engine.objective, engine.residual
        engine.merit = engine._evaluate()
        assert engine.objective == pytest.approx(followed, rel=1e-12)
    assert residual <= 20 * max(engine.residual, 1e-12)
    assert engine.objective == pytest.approx(small(kind).objective_of_factor(engine.V), rel=1e-12)


@pytest.mark.parametrize("kind", ["pcp", "npkl:square", "row:linear", "npkl:squared_hinge"])
def test_solving_without_numba(small, monkeypatch, kind):
    fast = small(kind).solve("bcd", kernel="numba" if compile.available() else "auto")
    monkeypatch.setattr(sweeps, "available", lambda: False)
    monkeypatch.setattr(compile, "installed", lambda: False)
    monkeypatch.setattr(bcd, "installed", lambda: False)
    slow = small(kind).solve("bcd")
    assert slow.status is fast.status is nm.Status.OPTIMAL
    assert abs(slow.objective - fast.objective) <= slow.certificate.gap + fast.certificate.gap
    if kind == "pcp":
        with pytest.raises(nm.MissingDependencyError, match=r"pip install numba"):
            small(kind).solve("bcd", kernel="numba")


@pytest.mark.parametrize("kernel", ["numpy", "auto" if not compile.available() else "numba"])
def test_rows_without_pairs_are_swept(kernel):
    terms = [nm.LossTerm(nm.Entries(9, (range(9), range(9))), "square", 1.0, 2.0)]
    found = nm.Problem(np.diag(np.arange(9.0)), terms).solve("bcd", kernel=kernel)
    assert found.is_optimal()
    assert np.allclose(np.diag(found.K), np.maximum(1 - np.arange(9) / 4, 0), atol=1e-3)
