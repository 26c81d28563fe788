"""Steps to the boundary by Lanczos, and what a factor of a kernel keeps, against eigenvalues."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.interior import interior, steps


def product_of(A):
    seen = []
    return seen, lambda v: seen.append(v) or A @ v


def tridiagonal(A, k):
    """Coefficients of that many exact steps from the same start."""
    q = np.random.default_rng(0).standard_normal(len(A))
    basis, alpha, beta = [q / np.linalg.norm(q)], [], []
    for _ in range(k):
        w = A @ basis[-1]
        alpha.append(basis[-1] @ w)
        B = np.array(basis)
        for _ in range(3):
            w = w - B.T @ (B @ w)
        beta.append(np.linalg.norm(w))
        basis.append(w / beta[-1])
    return alpha, beta


def lowest(alpha, beta):
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    values, vectors = np.linalg.eigh(T)
    return values[0], beta[-1] * abs(vectors[-1, 0])


@pytest.mark.parametrize("low", [-50.0, -1.5])
def test_the_smallest_eigenvalue_is_told_less_its_residual_every_fourth_step(low):
    """It ends at a look where the residual is three thousandths of it, or after 25 steps."""
    n = 80
    A = np.diag(np.concatenate([[low], np.linspace(-1, 1, n - 1)]))
    seen, product = product_of(A)
    found = steps._smallest(product, steps.first_vector(n))
    for k in (*range(4, 25, 4), 25):
        value, residual = lowest(*tridiagonal(A, k))
        if residual <= 0.003 * abs(value):
            break
    assert len(seen) == k
    assert found == pytest.approx(value - residual, rel=1e-6)
    assert found <= low + 1e-9
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 1.0)
    np.testing.assert_allclose(np.array(seen) @ np.array(seen).T, np.eye(k), atol=1e-10)


def test_a_spectrum_without_a_gap_takes_all_steps():
    n = 400
    A = np.diag(np.linspace(-1, 1, n) ** 3)
    seen, product = product_of(A)
    value, residual = lowest(*tridiagonal(A, 25))
    assert steps._smallest(product, steps.first_vector(n)) == pytest.approx(value - residual, rel=1e-6)
    assert len(seen) == 25


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
def test_an_invariant_subspace_ends_the_steps(scale):
    """One eigenvalue takes one step, two take two; what is left is small against the last of them."""
    for values in ([3.0], [3.0, -2.0]):
        A = scale * np.diag(np.resize(values, 70))
        seen, product = product_of(A)
        assert steps._smallest(product, steps.first_vector(70)) == pytest.approx(
            scale * min(values), rel=1e-9
        )
        assert len(seen) == len(values)
    assert steps._ritz([2.0], [3.0]) == (2.0, 3.0)
    assert steps._ritz([2.0, 5.0], [1.0, 3.0]) == pytest.approx(lowest([2.0, 5.0], [1.0, 3.0]))


@pytest.mark.parametrize("n", [5, steps.EXACT, steps.EXACT + 1])
def test_a_step_goes_a_share_of_the_way(n):
    rng = np.random.default_rng(n)
    L = np.tril(0.1 * rng.normal(size=(n, n)), -1) + np.diag(rng.uniform(1, 2, n))
    D = np.diag(np.concatenate([[-9.0], 0.01 * rng.normal(size=n - 1)]))
    low = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, D).T))[0]
    assert steps.longest(L, D, 0.9) == pytest.approx(0.9 / -low, rel=1e-9 if n <= steps.EXACT else 4e-3)
    assert steps.longest(L, D * 0.89 / -low, 0.9) == 1.0
    assert steps.longest(L, -0.1 * D, 0.9) == 1.0


def test_a_ratio_is_that_of_the_first_to_vanish():
    x, dx = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 1.0, -4.0])
    assert steps.ratio(x, dx, 0.9) == pytest.approx(0.45)
    assert steps.ratio(x, 0.1 * dx, 0.9) == 1.0
    assert steps.ratio(x, np.abs(dx), 0.9) == 1.0
    assert steps.ratio(x, np.array([0.0, 0, 0]), 0.9) == 1.0


def kernel(values):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    return (Q * values) @ Q.T


def test_a_rank_ends_at_a_jump_and_is_the_smallest_that_is_worth_it(monkeypatch):
    """Eigenvalues 9, 2, 1.9, 0.1: a rank may be one, three or four; a twentieth of the tolerance is its worth."""
    problem = nm.Problem(np.eye(6), nm.LossTerm(nm.Entries(6, ([0], [0])), "square", 1.0))
    y = nm.Multipliers((np.zeros(1),))
    K = kernel([9.0, 2.0, 1.9, 0.1, 0.0, 0.0])
    merits = {1: 5.0, 3: 1.0, 4: 1.0 + 1e-9}
    seen = []
    monkeypatch.setattr(interior, "_merit", lambda p, V, y: seen.append(V.shape[1]) or merits[V.shape[1]])
    V = interior.factor_of(problem, K, y, 1e-12)
    assert seen == [1, 3, 4]
    assert V.shape == (6, 3)
    np.testing.assert_allclose(np.linalg.svd(V, compute_uv=False) ** 2, [9.0, 2.0, 1.9], rtol=1e-6)
    size = problem.size(2.0)
    for asked, wanted in ((0.999 * 4 / 0.05 / size, 3), (1.001 * 4 / 0.05 / size, 1)):
        assert interior.factor_of(problem, K, y, asked).shape[1] == wanted
    monkeypatch.setattr(interior, "_merit", lambda p, V, y: np.nan)
    assert interior.factor_of(problem, K, y, 1e-6).shape[1] == 4
    merits.update({1: np.inf, 3: 2.0, 4: 1.0})
    monkeypatch.setattr(interior, "_merit", lambda p, V, y: merits[V.shape[1]])
    assert interior.factor_of(problem, K, y, 1e-12).shape[1] == 4


def test_pivots_below_the_noise_of_the_largest_entry_are_rounding():
    problem = nm.Problem(np.eye(6), nm.LossTerm(nm.Entries(6, ([0], [0])), "square", 1.0))
    y = nm.Multipliers((np.zeros(1),))
    for scale in (1.0, 1e6):
        K = scale * np.diag([1.0, 1, 1, 1, 2e-13, 0.5e-13])
        assert interior.factor_of(problem, K, y).shape[1] in (4, 5)
        held = nm.Problem(np.diag([1.0, 1, 1, 1, -1e20, -1e20]), problem.terms)
        assert interior.factor_of(held, K, y).shape[1] == 5


def test_a_merit_prices_what_equalities_miss_twice():
    equal = nm.Constraint(nm.Entries(6, ([0, 1], [0, 1])), equal=[2.0, 3.0])
    problem = nm.Problem(np.eye(6), (nm.LossTerm(nm.Entries(6, ([0], [0])), "square", 1.0), equal))
    V, y = np.eye(6)[:, :1], nm.Multipliers((np.zeros(1),), (np.array([-5.0, 7.0]),))
    assert interior._merit(problem, V, y) == pytest.approx(problem.objective_of_factor(V) + 2 * (5 + 21))
