"""Newton steps beside heavy pairs: the incomplete factorisation, compiled products, and curved steps."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.linalg.compile import available
from npkl_models.lowrank.factor import objective as of_objective
from npkl_models.lowrank.factor.incomplete import IncompleteHessian
from npkl_models.lowrank.factor.objective import FactorObjective

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
