"""What is wrong in print, each by a counter-example written out from the paper alone, and what is true beside it."""

import numpy as np
import pytest

RNG = np.random.default_rng(5)
N, R, GAMMA, RHO = 7, 3, 1.7, 10.0
PAIRS = {(0, 1): 1.0, (2, 5): 1.0, (3, 4): 0.0}
T = np.full((N, N), np.nan)  # of Hu & Kwok 2013: either order of a pair, and the diagonal
T[np.diag_indices(N)] = 1.0
for (one, two), target in PAIRS.items():
    T[one, two] = T[two, one] = target
GIVEN = ~np.isnan(T)
S = np.exp(-RNG.random((N, N)))
S = np.triu(S, 1) + np.triu(S, 1).T
DEGREES = S.sum(axis=1)
L = np.eye(N) - S / np.sqrt(np.outer(DEGREES, DEGREES))


def lagrangian(V, U, multiplier):
    """Hu & Kwok 2013, (6); the columns of V and U are the points."""
    missed = np.where(GIVEN, V.T @ U - T, 0.0)
    apart = V - U
    return (
        np.trace(V @ L @ U.T)
        + GAMMA / 2 * np.sum(missed**2)
        + np.sum(multiplier * apart)
        + RHO / 2 * np.sum(apart**2)
    )


def moved(A, i, step):
    """A with its column i moved by a step."""
    return A + np.outer(step, np.arange(N) == i)


def slope(value, A, i):
    """Differences in column i, exact for a quadratic."""
    return np.array([(value(moved(A, i, e)) - value(moved(A, i, -e))) / 2 for e in np.eye(R)])


def curvature(value, steps):
    return [[(value(a + b) - value(a - b) - value(b - a) + value(-a - b)) / 4 for a in steps] for b in steps]


def test_d_of_equation_13_of_kl_admm_has_v_j():
    V, U, multiplier = RNG.normal(size=(3, R, N))
    for i in range(N):
        near = np.flatnonzero(GIVEN[i])
        B = RHO * np.eye(R) + GAMMA * V[:, near] @ V[:, near].T
        rest = -V @ L[i] + RHO * V[:, i] + multiplier[:, i]
        printed, true = GAMMA * T[i, near].sum() * V[:, i], GAMMA * V[:, near] @ T[i, near]
        for pulled, stationary in ((true, True), (printed, np.allclose(printed, true))):
            after = moved(U, i, np.linalg.solve(B, rest + pulled) - U[:, i])
            at = slope(lambda A: lagrangian(V, A, multiplier), after, i)
            assert (np.abs(at).max() < 1e-9) == stationary
    assert not np.allclose(T[0, [0, 1]].sum() * V[:, 0], V[:, [0, 1]] @ T[0, [0, 1]])  # where they differ


def test_the_modulus_rho_of_equation_17_of_kl_admm_gives_half_of_rho():
    """So do (19) and (20), which are (17) at a minimiser, and the inequality in the proof of Lemma 1."""
    V, U, multiplier = RNG.normal(size=(3, R, N))
    short = 0
    for i in range(N):
        at = slope(lambda A: lagrangian(A, U, multiplier), V, i)
        across = np.linalg.svd(U[:, np.flatnonzero(GIVEN[i])].T)[2][-1]  # no pair of i sees this direction
        for step in (across, *RNG.normal(size=(20, R))):
            rise = lagrangian(moved(V, i, step), U, multiplier) - lagrangian(V, U, multiplier) - at @ step
            assert rise >= RHO / 2 * step @ step - 1e-9
            short += rise < RHO * step @ step
    assert short >= N
    H = curvature(lambda s: lagrangian(moved(V, 0, s), U, multiplier), np.eye(R))  # again, by its curvature
    assert np.linalg.eigvalsh(H)[0] == pytest.approx(RHO)  # of which a quadratic rises by half


class Counted(float):
    products = 0

    def __mul__(self, other):
        Counted.products += 1
        return self


def test_the_count_of_equation_26_of_kl_admm_leaves_out_the_product_of_25():
    """P'P takes r t^2 products, which is no fixed multiple of t^3 + r t where r = t^2, above t as the paper has it."""
    ratios = []
    for t, r in ((2, 4), (4, 16), (8, 64)):
        P = np.array([[Counted(1)] * t] * r, dtype=object)
        Counted.products = 0
        P.T @ P
        ratios.append(Counted.products / (t**3 + r * t))
        count = np.einsum_path("ra,rb->ab", np.ones((r, t)), np.ones((r, t)))[1].split("FLOP count:")[1]
        assert float(count.split()[0]) == pytest.approx(2 * Counted.products, rel=1e-3)  # again, by numpy
    np.testing.assert_allclose(ratios, [1, 2, 4])


def test_the_dual_in_equation_6_of_simple_npkl_has_its_sign_turned():
    """Max tr CK with K_ee = b_e: sum y_e T_e - C >= 0 has the same optimum; in print C - sum, and no lower end."""
    C, b = np.array([[1.0, 0.3], [0.3, -0.5]]), np.array([2.0, 1.0])
    best = C[0, 0] * b[0] + C[1, 1] * b[1] + 2 * C[0, 1] * np.sqrt(b.prod())  # |K_01| is at most the root
    y = np.diag(C) + C[0, 1] * np.sqrt(b[::-1] / b)
    assert np.linalg.eigvalsh(np.diag(y) - C)[0] >= -1e-12
    assert b @ y == pytest.approx(best)
    for far in (1.0, 100.0):
        assert np.linalg.eigvalsh(C + far * np.eye(2))[0] > 0  # y = -far is feasible in print
        assert b @ [-far, -far] < best


def test_proposition_1_of_simple_npkl_at_p_equal_1_needs_a_positive_eigenvalue():
    sigma, B = np.array([-0.5, -0.5, -2.0]), 3.0
    printed = B * (sigma == sigma.max()) / np.sum(sigma == sigma.max())
    assert sigma @ printed < 0 == sigma @ np.zeros(3)


def closed(A, B=3.0):
    """(14) of SimpleNPKL and (8) of BCDKL at p = 2."""
    values, vectors = np.linalg.eigh(A)
    plus = np.maximum(values, 0)
    return np.sqrt(B / np.sum(plus**2)) * (vectors * plus) @ vectors.T


def test_the_rank_of_proposition_4_of_simple_npkl_is_not_that_of_a_bounded_trace_of_squares():
    """Six must-links: rank six, where r (r + 1) / 2 <= 7 gives three; what holds is one for each pair."""
    A = np.kron(np.eye(6), [[0.0, 1.0], [1.0, 0.0]]) - 0.01 * np.eye(12)
    assert np.linalg.matrix_rank(closed(A), tol=1e-9) == 6


def test_the_kernel_itself_is_no_direction_of_minimum_volume_embedding():
    """(32) of SimpleNPKL: K0 is to shrink the last eigenvalues; with K0 = K, as in print, they grow, too."""
    values, vectors = np.linalg.eigh(np.diag([3.0, 1.0, 0.5]) + 0.1)
    K, first = (vectors * values) @ vectors.T, np.arange(3) == 2  # one dimension is kept
    K0 = (vectors * np.where(first, 1, -1)) @ vectors.T
    gains = [np.einsum("ir,ij,jr->r", vectors, one, vectors) > 0 for one in (K0, K)]
    assert gains[0].tolist() == first.tolist()
    assert gains[1].all()


def test_the_closed_form_in_equation_8_of_bcdkl_takes_the_other_sign_of_7():
    A = L.copy()
    for (i, j), target in PAIRS.items():
        A[i, j] -= GAMMA * (target - 0.5)
        A[j, i] -= GAMMA * (target - 0.5)
    assert np.sum(A * closed(-A)) < 0 < np.sum(A * closed(A))  # (6) is a minimum, and K = 0 gives 0


def test_of_34_of_bcdkl_the_ends_hold_and_the_middle_does_not():
    """The bound is twice as far as need be; the middle lacks the squared norm, and fails at V = 0."""
    signs, b, gamma = {pair: 2 * target - 1 for pair, target in PAIRS.items()}, 0.7, 0.01
    shifted = L + 0.1 * np.eye(N)

    def objective(V):
        return np.trace(V @ shifted @ V.T) - gamma * sum(t * V[:, i] @ V[:, j] for (i, j), t in signs.items())

    for V in RNG.normal(size=(20, R, N)):
        V *= b / np.linalg.norm(V, axis=0).max()
        assert objective(V) >= -gamma * len(signs) * b**2 >= -2 * gamma * len(signs) * b**2
    assert objective(np.zeros((R, N))) < np.linalg.eigvalsh(shifted)[0] - 2 * gamma * len(signs) * b**2
    assert objective(V / 1000) == pytest.approx(1e-6 * objective(V))  # again, by degrees: two, and its middle
    assert objective(V / 1000) < np.linalg.eigvalsh(shifted)[0] - 2 * gamma * len(signs) * (b / 1000) ** 2


def test_limit_points_of_proposition_2_and_theorem_1_of_bcdkl_need_be_no_local_minima():
    """With the hinge two points of a must-link stop at any (a, 1 / a); with squares all stop at zero, by (28)."""
    grid, a, gamma = np.linspace(0, 4, 4001), 2.0, 10.0

    def hinge(v, w):
        return v**2 + w**2 + gamma * np.maximum(0, 1 - v * w)

    assert grid[np.argmin(hinge(grid, 1 / a))] == pytest.approx(a)
    assert grid[np.argmin(hinge(a, grid))] == pytest.approx(1 / a)
    assert (np.diff([hinge(a - e, 1 / (a - e)) for e in (0.0, 0.001, 0.01, 1.0)]) < 0).all()
    assert 2 * 0.01**2 + gamma * (1 - 0.01**2) ** 2 < gamma  # the squares' objective goes down from zero
    near = np.linspace(-1, 1, 201)  # Proposition 2 of x^2 + y^2 - 3 x y: no row moves from zero, a saddle
    assert near[np.argmin(near**2)] == pytest.approx(0, abs=1e-12)
    assert 2 * 0.1**2 - 3 * 0.1**2 < 0
    assert 0 < 2 / (gamma * a**2) < 2 * a**2 / gamma < 1  # again: subgradients of w and v, and none of both
    assert np.linalg.det(curvature(lambda s: s @ s - 3 * s[0] * s[1], np.eye(2))) < 0
