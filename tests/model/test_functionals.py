"""The faces of functionals agree."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.model.functionals import FUNCTIONALS


@pytest.mark.parametrize("kind", FUNCTIONALS)
def test_faces_of_a_functional_agree(kind):
    rng = np.random.default_rng(0)
    n, m = 7, 11
    cls = FUNCTIONALS[kind]
    f = cls(n, tuple(rng.integers(0, n, m) for _ in range(cls.arity)))
    m = f.size
    V = rng.normal(size=(n, 3))
    K = V @ V.T
    z = f.value(K)
    np.testing.assert_allclose(f.value_of_factor(V), z, atol=1e-12)
    np.testing.assert_allclose(f.operator() @ K.ravel(), z, atol=1e-12)
    y = rng.normal(size=m)
    A = f.adjoint(y).toarray()
    np.testing.assert_allclose(A, A.T)
    assert np.sum(A * K) == pytest.approx(float(y @ z))
    Q = np.linalg.qr(rng.normal(size=(n, 4)))[0]
    U = Q.T @ K @ Q
    np.testing.assert_allclose(f.operator(Q) @ U.ravel(), f.value(Q @ U @ Q.T), atol=1e-12)


def test_distances_mean_what_they_say():
    V = np.random.default_rng(1).normal(size=(5, 2))
    D = np.sum((V[:, None] - V[None]) ** 2, axis=2)
    i, j, k = np.array([0, 1]), np.array([2, 3]), np.array([4, 0])
    np.testing.assert_allclose(nm.SquaredDistances(5, (i, j)).value_of_factor(V), D[i, j])
    difference = nm.DistanceDifferences(5, (i, j, k)).value_of_factor(V)
    np.testing.assert_allclose(difference, D[i, j] - D[i, k])
