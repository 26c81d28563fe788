"""Compiled rows against brute force: entries, squared distances and both, with all losses; sweeps of bcd."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import SEPARABLE
from scipy.optimize import minimize

import npkl_models as nm
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.rows.compiled_hard import hard_row
from npkl_models.lowrank.structure import structure
from npkl_models.printed.rows import RowPrograms, minimise_rows_by_dual

N = 14


def drawn(values, loss, diagonal=True, row_norm=None, seed=0, rank=4):
    """The engine of bcd on random pairs, with random multipliers for kinks."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(N, 1)
    some = rng.permutation(i.size)[:30]
    i, j, sign = i[some], j[some], np.where(rng.random(30) < 0.5, -1.0, 1.0)
    far = {"entries": 0, "distances": 30, "both": 15}[values]
    kinds = [(nm.SquaredDistances, slice(0, far)), (nm.Entries, slice(far, 30))]
    terms = [
        nm.LossTerm(kind(N, (i[part], j[part])), loss, sign[part], rng.uniform(0.5, 2.0, len(sign[part])))
        for kind, part in kinds
        if len(sign[part])
    ]
    if diagonal and values != "distances":
        terms.append(nm.LossTerm(nm.Entries(N, (range(N), range(N))), "square", 1.0, 0.5))
    L = nm.laplacian(rng.normal(size=(N, 2)), 3, shift=20.0 if loss == "linear" else 4.0)
    told = {} if row_norm is None else {"regularizer": nm.RowNormBound(row_norm)}
    options = BCDOptions(start=rng.normal(size=(N, rank)), rank=rank)
    engine = BCDPlan(nm.Problem(L, tuple(terms), **told), options).engine()
    if not engine.model.smooth:
        engine.model.beta = 3.0
        engine.model.y = engine.model.derivative(rng.normal(size=engine.pairs.size))
    return engine


def merit(engine, V):
    """The smooth model that sweeps decrease."""
    z = engine.pairs.pair_values(V)
    cost = float(np.sum(V * (engine.problem.cost @ V)))
    return cost + engine.pairs.diagonal_value(V) + engine.model.value(z)


def of_row(engine, V, i):
    """The smooth model as a function of row i."""

    def value(x):
        U = V.copy()
        U[i] = x
        return merit(engine, U)

    return value


def update(engine, i):
    """Update row i alone; the fall and the norm of the gradient that the sweep tells."""
    engine.sweeper.order = np.array([i])
    return engine.sweeper.run(engine.V)


def least(value, start, radius, tries=6):
    rng = np.random.default_rng(1)
    limit = [] if radius is None else [{"type": "ineq", "fun": lambda x: radius**2 - x @ x}]
    starts = [start, *rng.normal(size=(tries, start.size))]
    return min(
        minimize(value, x, constraints=limit, method="SLSQP", options={"ftol": 1e-14}).fun for x in starts
    )


@pytest.mark.parametrize("loss", SEPARABLE)
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("row_norm", [None, 0.5])
@pytest.mark.parametrize("rank", [2, 9])
def test_rows_of_entries_are_minimised_exactly(loss, diagonal, row_norm, rank):
    engine = drawn("entries", loss, diagonal, row_norm, rank=rank)
    for i in (0, 5):
        value = of_row(engine, engine.V.copy(), i)
        before = value(engine.V[i])
        fall = update(engine, i)[0]
        mine = value(engine.V[i])
        assert before - mine == pytest.approx(fall, rel=1e-8, abs=1e-10)
        assert mine <= least(value, engine.V[i], engine.radius) + 1e-7 * (1 + abs(mine))
        if row_norm is not None:
            assert engine.V[i] @ engine.V[i] <= row_norm * (1 + 1e-9)


def test_a_row_that_was_nearly_zero_is_minimised_by_one_update():
    for seed in range(12):
        engine = drawn("entries", "square", seed=seed)
        engine.V[0] *= 10.0 ** (-seed)
        (first, _), (second, _) = update(engine, 0), update(engine, 0)
        assert abs(second) <= 1e-12 * (1 + first)


@pytest.mark.parametrize("values", ["distances", "both"])
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("rank", [2, 9])
def test_rows_of_square_losses_on_distances_are_minimised_exactly(values, diagonal, rank):
    engine = drawn(values, "square", diagonal, rank=rank)
    for i in range(4):
        value = of_row(engine, engine.V.copy(), i)
        update(engine, i)
        mine = value(engine.V[i])
        assert mine <= least(value, engine.V[i], None, 12) + 1e-7 * (1 + abs(mine))


@pytest.mark.parametrize("loss", SEPARABLE)
@pytest.mark.parametrize("values", ["entries", "distances", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_never_goes_up_ends_where_the_row_rests_and_measures_itself(values, loss, seed):
    engine = drawn(values, loss, seed=seed)
    for i in range(N):
        value, old = of_row(engine, engine.V.copy(), i), engine.V[i].copy()
        fall, steep = update(engine, i)
        assert fall >= -1e-12
        assert value(old) - value(engine.V[i]) == pytest.approx(fall, rel=1e-8, abs=1e-10)
        off = 1e-6 * np.eye(old.size)
        slopes = [(value(old + e) - value(old - e)) / 2e-6 for e in off]
        assert steep == pytest.approx(np.linalg.norm(slopes), rel=1e-4, abs=1e-6)
        now = engine.V[i]
        slopes = [(value(now + e) - value(now - e)) / 2e-6 for e in off]
        assert np.linalg.norm(slopes) <= 1e-5 * (1 + steep)


def test_the_hard_case_fills_the_norm_along_the_old_row():
    """Nothing pulls, or the pull lies in the span of the pairs: then mu = 0, and the old direction stays."""
    rng = np.random.default_rng(0)
    W, old, out = rng.normal(size=(3, 5)), rng.normal(size=5), np.empty(5)
    hard_row((-1.0, 1.0, 0.0), W, np.zeros(5), old, out)
    assert out @ out == pytest.approx(0.25)
    np.testing.assert_allclose(W @ out, 0.0, atol=1e-8)
    asked = 0.05 * rng.normal(size=3)
    hard_row((-180.0, 45.0, 0.0), 10 * W, 100 * W.T @ asked, old, out)
    assert out @ out == pytest.approx(1.0)  # 180 / (4 * 45)
    np.testing.assert_allclose(W @ out, asked, atol=1e-7)
    again = np.empty(5)
    hard_row((-180.0, 45.0, 0.0), 10 * W, 100 * W.T @ asked, out, again)
    np.testing.assert_allclose(again, out, atol=1e-7)
    hard_row((-2.0, 0.0, 0.5), np.zeros((0, 5)), np.zeros(5), old, out)
    np.testing.assert_allclose(out, 0.5 * old / np.linalg.norm(old), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_points_that_only_pairs_hold_are_certified(seed):
    """Four points have no edge, one of them no pair: their rows are hard cases of the secular equation."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 2)), 1e3 * rng.normal(size=(4, 2))])
    A = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    np.fill_diagonal(A, 0)
    must = [(30, 0), (31, 1), (31, 2), (32, 3), (5, 6), (7, 8)]
    cannot = [(30, 9), (31, 10), (31, 11), (12, 13), (14, 15)]
    pairs = nm.Pairs(34, must_link=must, cannot_link=cannot)
    problem = nm.pcp(nm.laplacian(sp.csr_array(A)), pairs, gamma=80.0)
    found = problem.solve("bcd", tol=1e-7, random_state=seed)
    assert found.status.name == "OPTIMAL"
    assert found.certificate.relative_gap <= 1e-7
    assert found.objective == pytest.approx(problem.solve("interior", tol=1e-8).objective, rel=3e-7)


def test_row_program_of_the_source_by_its_dual():
    """The kinked row problem, exactly, against nearby rows."""
    rng, b, k, r = np.random.default_rng(3), 4, 3, 5
    problem = nm.npkl(
        sp.eye_array(24).tocsr(), nm.Pairs(24, [(2 * e, 2 * e + 1) for e in range(12)], []), loss="hinge"
    )
    model = EdgeModel(structure(problem))
    rows = RowPrograms(
        rng.uniform(0.5, 3, b), rng.normal(size=(b, r)), rng.normal(size=(b, k, r)),
        np.arange(b * k).reshape(b, k), rng.random((b, k)) < 0.8,
    )  # fmt: skip
    v = minimise_rows_by_dual(rows, model)
    t, w = model.pairs.target[rows.pairs], model.pairs.weight[rows.pairs]

    def true_value(x):
        losses = w * np.maximum(0, 1 - t * np.einsum("bkr,br->bk", rows.P, x)) * rows.valid
        return 0.5 * rows.mu0 * np.sum(x**2, axis=1) + np.sum(rows.g * x, axis=1) + losses.sum(axis=1)

    for _ in range(300):
        nearby = v + rng.normal(size=v.shape) * 10 ** rng.uniform(-5, 0)
        assert np.all(true_value(v) <= true_value(nearby) + 1e-9)


@pytest.mark.parametrize(
    "kind", ["pcp", "npkl:square", "row:linear", "row:square", "npkl:squared_hinge", "npkl:logistic"]
)
def test_a_sweep_measures_itself(small, kind):
    engine = BCDPlan(small(kind), BCDOptions(rank=5, extrapolation=False)).engine()
    for _ in range(30):
        engine.iterate()
        followed, residual = engine.objective, engine.residual
        engine.merit = engine._evaluate()
        assert engine.objective == pytest.approx(followed, rel=1e-12)
    assert residual <= 20 * max(engine.residual, 1e-12)
    assert engine.objective == pytest.approx(small(kind).objective_of_factor(engine.V), rel=1e-12)


def test_rows_without_pairs_are_swept():
    terms = [nm.LossTerm(nm.Entries(9, (range(9), range(9))), "square", 1.0, 2.0)]
    found = nm.Problem(np.diag(np.arange(9.0)), terms).solve("bcd")
    assert found.is_optimal()
    assert np.allclose(np.diag(found.K), np.maximum(1 - np.arange(9) / 4, 0), atol=1e-3)
