"""Absolute losses of distances: steps of an indefinite matrix would end at a saddle of too small a rank."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.formulations.known_distances import radio_network
from npkl_models.linalg import cholesky
from npkl_models.lowrank.factor.centred_system import CentredSystem


def network(seed, n=60, radius=0.4):
    """Noisy distances of n points without anchors, and lower and upper bounds on some others."""
    (i, j, d), X = radio_network(n, 0, radius, noise=0.01, random_state=seed)
    seen = np.zeros((n, n), dtype=bool)
    seen[i, j] = seen[j, i] = True
    a, b = np.nonzero(np.triu(~seen, 1))
    some = np.random.default_rng(seed).permutation(a.size)[: 2 * n]
    high = 1.1 * np.linalg.norm(X[a[some]] - X[b[some]], axis=1)
    return (i, j, d), (a[some], b[some], np.minimum(radius, high), high)


@pytest.mark.parametrize("penalty", [0.0, -1e-2])  # a negative one spreads the points
@pytest.mark.parametrize("seed", [1])
def test_absolute_losses_without_anchors_are_certified(seed, penalty):
    known, bounds = network(seed)
    problem = nm.distances(known, 60, loss="absolute", bounds=bounds, penalty=penalty)
    found = problem.solve("burer_monteiro", tol=1e-6, max_iter=400)
    assert found.status.name == "OPTIMAL"
    other = problem.solve("interior", tol=1e-6).certificate
    assert found.certificate.bound <= other.upper
    assert other.bound <= found.certificate.upper


@pytest.mark.parametrize("library", ["cholmod", "superlu"])
def test_a_matrix_is_refused_exactly_where_it_is_not_definite_over_centred_directions(library, monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0 if library == "cholmod" else np.inf)
    rng, n, r, seen = np.random.default_rng(0), 12, 2, set()
    every = np.stack(np.triu_indices(n, 1))
    Q = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, n - 1))]))[0][:, 1:]
    Q = np.kron(Q, np.eye(r))
    for _ in range(300):
        i, j = every[:, rng.permutation(every.shape[1])[:30]]
        c, tau = rng.choice([-1.0, -0.1, 0.0, 0.5]), rng.choice([0.05, 0.5, 1.0, 3.0])
        system = CentredSystem(sp.csr_array(c * np.eye(n)), c, i, j)
        V = rng.standard_normal((n, r))
        y = 0.3 * rng.standard_normal(30) + rng.choice([0.0, 0.3, 1.0])
        bend, E = rng.uniform(size=30), np.eye(n)[i] - np.eye(n)[j]
        outer = np.einsum("en,er->enr", E, V[i] - V[j]).reshape(30, n * r)
        H = np.kron((c + tau) * np.eye(n) + (E.T * y) @ E, np.eye(r)) + 2 * (outer.T * bend) @ outer
        definite = np.linalg.eigvalsh(Q.T @ H @ Q)[0] > 0
        seen.add((bool(definite), bool(c + tau < 0)))
        if not definite:
            with pytest.raises(RuntimeError):
                system.at(system.differences(V), y, bend, tau, definite=True)
            continue
        solve = system.at(system.differences(V), y, bend, tau, definite=True)[0]
        right = (Q @ rng.standard_normal(Q.shape[1])).reshape(n, r)
        D = solve(right)
        np.testing.assert_allclose(Q.T @ (H @ D.ravel()), Q.T @ right.ravel(), atol=1e-9 * np.abs(H).max())
    assert len(seen) == 4  # both answers on both sides


def test_the_pivots_of_a_matrix_whose_diagonal_was_left_tell_nothing():
    A = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))

    class Swapped:
        perm_r, perm_c, shape = np.array([1, 0]), np.array([0, 1]), A.shape

    assert cholesky.negative_pivots(Swapped()) == 2
