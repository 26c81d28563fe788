"""The faces of functionals agree."""

from fractions import Fraction

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.linalg import gamma
from npkl_models.model.functional import svec
from npkl_models.model.functionals import FUNCTIONALS


@pytest.mark.parametrize("kind", FUNCTIONALS)
def test_faces_of_a_functional_agree(kind):
    rng = np.random.default_rng(0)
    n, m = 7, 11
    cls = FUNCTIONALS[kind]
    indices = tuple(rng.integers(0, n, m) for _ in range(2 if cls is nm.DistanceCombinations else cls.arity))
    more = (rng.normal(size=(5, m)),) if cls is nm.DistanceCombinations else ()
    f = cls(n, indices, *more)
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
    np.testing.assert_allclose(f.svec_operator(Q) @ svec(U), f.value(Q @ U @ Q.T), atol=1e-12)
    np.testing.assert_allclose(f.value_of_product(V, V), z, atol=1e-12)
    assert (np.abs(z) <= f.size_of_factor(V) * (1 + 1e-12)).all()
    assert (f.size_of_factor(V) <= f.scale_of_factor(V) * (1 + 1e-12)).all()
    kept, place = np.arange(m) % 2 == 0, rng.permutation(n + 2)[:n]
    moved = np.zeros((n + 2, 3))
    moved[place] = V
    if f.size > 1:
        np.testing.assert_allclose(
            f.kept(kept).over(n + 2, place).value_of_factor(moved), z[kept], atol=1e-12
        )
    again = cls.made(n, f.indices, f.numbers)
    np.testing.assert_array_equal(again.value_of_factor(V), f.value_of_factor(V))


def test_distances_mean_what_they_say():
    V = np.random.default_rng(1).normal(size=(5, 2))
    D = np.sum((V[:, None] - V[None]) ** 2, axis=2)
    i, j, k = np.array([0, 1]), np.array([2, 3]), np.array([4, 0])
    np.testing.assert_allclose(nm.SquaredDistances(5, (i, j)).value_of_factor(V), D[i, j])
    difference = nm.DistanceDifferences(5, (i, j, k)).value_of_factor(V)
    np.testing.assert_allclose(difference, D[i, j] - D[i, k])


def test_combinations_and_trace_pay_for_the_rounding_of_their_sums():
    """What rounding does to a value is below what the sizes and the number of terms allow; in fractions."""
    rng = np.random.default_rng(2)
    n, p = 30, 200
    V = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-8, 8, size=(n, 1))
    i, j = rng.integers(0, n, (2, p))
    A = rng.normal(size=(4, p)) * 10.0 ** rng.uniform(-6, 6, size=(4, p))
    f = nm.DistanceCombinations(n, (i, j), A)
    exact = [[Fraction(x) for x in row] for row in V.tolist()]
    D = [
        sum((a - b) ** 2 for a, b in zip(exact[s], exact[t], strict=True)) for s, t in zip(i, j, strict=True)
    ]
    true = [sum(Fraction(a) * d for a, d in zip(row, D, strict=True)) for row in A.tolist()]
    off = [abs(float(Fraction(z) - t)) for z, t in zip(f.value_of_factor(V).tolist(), true, strict=True)]
    assert f.additions == p
    assert (np.array(off) <= gamma(f.additions + 3 + 8) * f.size_of_factor(V)).all()
    trace = sum(x * x for row in exact for x in row)
    error = abs(float(Fraction(float(nm.Trace(n).value_of_factor(V)[0])) - trace))
    assert error <= gamma(nm.Trace(n).additions + 3) * float(trace)


def test_a_combination_is_what_it_says():
    with pytest.raises(nm.ProblemError, match=r"a column for each of the 2 distances, got shape \(1, 3\)"):
        nm.DistanceCombinations(3, ([0, 0], [1, 2]), np.ones((1, 3)))
    for bad in (np.nan, np.inf, 1e308):  # the last one has no double
        with pytest.raises(
            nm.ProblemError, match=f"must be finite, also times two, got {bad}".replace("+", ".")
        ):
            nm.DistanceCombinations(3, ([0], [1]), [[bad]])


def test_combinations_and_trace_are_saved_and_read(tmp_path):
    z = nm.DistanceCombinations(4, ([0, 0, 1], [1, 2, 3]), [[1.0, -2.0, 0.0], [0.0, 0.5, 1.0]])
    problem = nm.Problem(np.eye(4), (nm.LossTerm(z, "square", 1.0), nm.Constraint(nm.Trace(4), equal=2.0)))
    again = nm.Problem.load(problem.save(tmp_path / "p.npz"))
    V = np.random.default_rng(0).normal(size=(4, 2))
    assert again.objective_of_factor(V) == problem.objective_of_factor(V)
    assert again.violation(V) == problem.violation(V)


@pytest.mark.parametrize("basis", [False, True])
def test_a_trace_that_is_given_is_certified(basis):
    """Min <C, K> with tr K = 2 is twice the smallest eigenvalue of C."""
    rng = np.random.default_rng(0)
    C = rng.normal(size=(9, 9))
    C = C + C.T
    Q = np.linalg.qr(rng.normal(size=(9, 4)))[0]
    problem = nm.Problem(C, nm.Constraint(nm.Trace(9), equal=2.0), basis=nm.Basis(Q) if basis else None)
    wanted = 2 * np.linalg.eigvalsh(Q.T @ C @ Q if basis else C)[0]
    for backend in ("sdp", "interior", "burer_monteiro"):
        found = problem.solve(backend)
        assert found.is_optimal(1e-6), backend
        assert found.objective == pytest.approx(wanted, rel=1e-6), backend
        assert found.certificate.feasible, backend
