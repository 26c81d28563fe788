"""Newton steps beside heavy pairs: the incomplete factorisation, compiled products, and when they begin."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.linalg.compile import available
from npkl_models.lowrank.descent import PATIENCE
from npkl_models.lowrank.factor import objective as of_objective
from npkl_models.lowrank.factor.incomplete import IncompleteHessian
from npkl_models.lowrank.factor.objective import FactorObjective
from npkl_models.lowrank.factor.rank import drop_faint_columns
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.rows.engine import BCDEngine
from npkl_models.lowrank.rows.handover import CHECK, CLOSE, Handover
from npkl_models.lowrank.structure import structure

N, R = 40, 3


def stated(must, cannot, gamma=100.0, loss=None):
    X = np.random.default_rng(0).normal(size=(N, 4))
    pairs = nm.Pairs(N, must_link=must, cannot_link=cannot)
    L = nm.laplacian(X, 5, shift=0.1)
    return nm.pcp(L, pairs, gamma=gamma) if loss is None else nm.npkl(L, pairs, loss=loss, gamma=gamma)


def forest():
    chain = [(i, i + 1) for i in range(12)]
    star = [(20, j) for j in range(21, 27)]
    return stated(chain, star)


def loops(loss=None):
    ends = np.random.default_rng(3).integers(0, N, (60, 2))
    pairs = [tuple(sorted(e)) for e in ends.tolist() if e[0] != e[1]]
    pairs = sorted(set(pairs))
    return stated(pairs[::2], pairs[1::2], loss=loss)


def at(P, seed=1):
    f = FactorObjective(P, beta=5.0)
    return f, f.at(np.random.default_rng(seed).normal(size=(N, R)))


def whole_matrix(f, point):
    """The blocks of the rows, and the couplings of all pairs, as a dense matrix."""
    own = 2 * f._blocks.raised(f.S(point.slope).diagonal())
    H = np.kron(np.diag(own), np.eye(R))
    for e in range(point.z.size):
        i, j = f.incidence.row[e], f.incidence.column[e]
        g = np.zeros((N, R))
        g[i] += point.V[j]
        g[j] += point.V[i]
        H += point.bend[e] * np.outer(g.ravel(), g.ravel())
    return H


def inverse_of(f, point):
    return IncompleteHessian(f._blocks).at(point.V, f.S(point.slope).diagonal(), point.bend)


def test_a_forest_of_pairs_is_factorised_exactly():
    f, point = at(forest())
    G = np.random.default_rng(2).normal(size=(N, R))
    right = np.linalg.solve(whole_matrix(f, point), G.ravel()).reshape(N, R)
    np.testing.assert_allclose(inverse_of(f, point)(G), right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", [None, "hinge", "logistic"])
def test_with_cycles_the_factorisation_is_symmetric_positive_definite_and_near(loss):
    f, point = at(loops(loss))
    inverse, blocks = inverse_of(f, point), f._blocks.at(point.V, f.S(point.slope).diagonal(), point.bend)
    eye = np.eye(N * R).reshape(N * R, N, R)
    M = np.array([inverse(E).ravel() for E in eye])
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    assert np.linalg.eigvalsh(M)[0] > 0
    H = whole_matrix(f, point)
    B = np.array([blocks(E).ravel() for E in eye])

    def spread(A):
        values = np.linalg.eigvals(A @ H).real
        return values.max() / values.min()

    assert spread(M) <= spread(B)
    if loss is None:
        assert spread(M) < 0.5 * spread(B)


@pytest.mark.skipif(not available(), reason="numba is not installed: there is only one way")
@pytest.mark.parametrize("loss", [None, "hinge"])
def test_compiled_products_are_those_in_numpy(loss, monkeypatch):
    f, point = at(loops(loss))
    D = np.random.default_rng(5).normal(size=(N, R))
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(of_objective, "worth", lambda *given, yes=compiled: yes)
        found.append(f.hessian(point)(D))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-10)


def test_columns_that_few_rows_need_are_kept():
    rng = np.random.default_rng(0)
    V = np.ones((2_000, 3)) * [1.0, 0.0, 0.025]
    V[0] = [0.0, 1.0, 0.0]  # one outlying row with a direction of its own
    V[:, 2] *= rng.uniform(-1, 1, 2_000)  # faint in every row, with about the same eigenvalue
    kept = drop_faint_columns(V @ np.linalg.qr(rng.normal(size=(3, 3)))[0])
    assert kept.shape[1] == 2
    assert np.sum(kept[0] ** 2) == pytest.approx(1.0, abs=1e-2)
    assert drop_faint_columns(np.zeros((3, 2))).shape == (3, 1)


@pytest.mark.parametrize(("residual", "begun"), [(2 * CLOSE, PATIENCE), (CLOSE / 2, 3 * CHECK)])
def test_newton_steps_begin_near_or_when_patience_ends(residual, begun):
    def due(objective, seconds=1e-4):
        handover, counts = Handover(loops(), structure(loops()), 1e-6), range(1, PATIENCE + 1)
        return [handover.shorter(count, residual, objective(count), 8, seconds) for count in counts]

    assert due(lambda count: 100.0 - 0.5 * count).index(True) + 1 == begun  # it falls as fast as before
    assert not any(due(lambda count: 1.0 + 0.1**count))  # the rest is below the tolerance
    assert any(due(lambda count: 1.0 + 0.1**count, 0.1))  # and sweeps do not end


@pytest.mark.parametrize("rank", ["auto", 6])
def test_newton_steps_begin_without_faint_columns_but_keep_a_rank_that_was_told(rank, monkeypatch):
    engine = BCDPlan(loops("squared_hinge"), BCDOptions(rank=rank, random_state=0)).engine()
    monkeypatch.setattr(BCDEngine, "_narrow", lambda self: None)
    for sweep in range(30):
        monkeypatch.setattr(Handover, "shorter", lambda self, *given, last=sweep == 29: last)
        engine.iterate()
    every, strong = engine.V.shape[1], drop_faint_columns(engine.V).shape[1]
    assert strong < every
    assert engine.finisher.V.shape[1] == (strong if rank == "auto" else every)
