"""Programs over Hermitian matrices and complex numbers, and sums of squares of polynomials."""

from itertools import product

import cvxpy as cp
import numpy as np

from cvx.written import Group, least, most

written = Group()
PAULI = [np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])]


def pure(*amplitudes):
    """The density matrix of a state."""
    v = np.array(amplitudes) / np.linalg.norm(amplitudes)
    return np.outer(v, v.conj())


def complex_normal(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@written("Watrous 2018, section 3.1: Holevo, Helstrom; Eldar 2003", "two states; three states; dual")
def discrimination_of_states(form):
    if form == "three states":  # the trine, (1, w^k): 2/3 are found
        states, best = [pure(1, np.exp(2j * np.pi * k / 3)) / 3 for k in range(3)], 2 / 3
    else:
        one, two = pure(1, 0.5), pure(1, 1j)
        states, best = [0.5 * one, 0.5 * two], (1 + np.abs(np.linalg.eigvalsh(one - two)).sum() / 2) / 2
    if form == "dual":
        Y = cp.Variable((2, 2), hermitian=True)
        return least(cp.real(cp.trace(Y)), [Y >> rho for rho in states], best)
    M = [cp.Variable((2, 2), hermitian=True) for _ in states]
    found = sum(cp.real(cp.trace(rho @ m)) for rho, m in zip(states, M, strict=True))
    return most(found, [*(m >> 0 for m in M), sum(M) == np.eye(2)], best)


@written("Gross, Liu, Flammia, Becker, Eisert 2010; Hradil 1997", "norm; squares; trace")
def tomography_of_a_state(form):
    rng = np.random.default_rng(20)
    G = complex_normal(rng, 4, 2)
    rho = G @ G.conj().T / np.trace(G @ G.conj().T).real
    taken = [np.kron(a, b) for a, b in product(PAULI, PAULI)][1 : 13 if form == "trace" else 16]
    seen = np.array([np.trace(P @ rho).real for P in taken])
    X = cp.Variable((4, 4), hermitian=True)
    read = cp.hstack([cp.real(cp.trace(P @ X)) for P in taken])
    if form == "trace":
        return least(cp.real(cp.trace(X)), [X >> 0, read == seen])
    noisy = seen + 0.5 * rng.normal(size=15)
    size = cp.norm(read - noisy) if form == "norm" else cp.sum_squares(read - noisy)
    return least(size, [X >> 0, cp.real(cp.trace(X)) == 1])


@written("Rains 2001: states whose partial transpose is positive")
def overlap_with_an_entangled_state():
    bell, rho = pure(1, 0, 0, 1), cp.Variable((4, 4), hermitian=True)
    held = [rho >> 0, cp.partial_transpose(rho, [2, 2], 1) >> 0, cp.real(cp.trace(rho)) == 1]
    return most(cp.real(cp.trace(bell @ rho)), held, 0.5)


@written("Tsirelson 1980; Navascues, Pironio, Acin 2007, level 1")
def bell_inequality():
    G = cp.Variable((4, 4), PSD=True)  # of two observables here and two there
    return most(G[0, 2] + G[0, 3] + G[1, 2] - G[1, 3], [cp.diag(G) == 1], 2 * np.sqrt(2))


@written("Watrous 2018, theorem 3.17: fidelity of two states")
def fidelity():
    one, two, X = pure(1, 1j) * 0.5 + np.eye(2) / 4, pure(1, 0.5), cp.Variable((2, 2), complex=True)
    inner = np.trace(one @ two).real  # with a pure state, the root of <v, rho v>
    return most(cp.real(cp.trace(X)), [cp.bmat([[one, X], [X.H, two]]) >> 0], np.sqrt(inner))


@written("Boyd, Vandenberghe 2004, section 4.6.3, in complex numbers")
def largest_eigenvalue_of_a_hermitian_pencil():
    A, x = [complex_normal(np.random.default_rng(k), 4, 4) for k in (21, 22, 23)], cp.Variable(2)
    A = [B + B.conj().T for B in A]
    return least(cp.lambda_max(A[0] + x[0] * A[1] + x[1] * A[2]))


@written("Candes, Eldar, Strohmer, Voroninski 2013, equation 2.3")
def phase_lift():
    rng = np.random.default_rng(24)
    x, F = complex_normal(rng, 3), complex_normal(rng, 12, 3)
    X = cp.Variable((3, 3), hermitian=True)
    seen = [cp.real(f.conj() @ X @ f) == abs(np.vdot(f, x)) ** 2 for f in F]
    return least(cp.real(cp.trace(X)), [X >> 0, *seen], np.vdot(x, x).real)  # recovered


@written("Lebret, Boyd 1997: weights of antennas")
def beam_of_an_array():
    angles, w = np.linspace(-90, 90, 61), cp.Variable(8, complex=True)
    response = np.exp(1j * np.pi * np.outer(np.sin(np.deg2rad(angles)), np.arange(8)))
    return least(cp.max(cp.abs(response[np.abs(angles) >= 20] @ w)), [response[30] @ w == 1])


@written("CVXPY: complex-valued expressions, and an imaginary variable")
def complex_least_squares():
    rng = np.random.default_rng(25)
    A, b = complex_normal(rng, 6, 3), complex_normal(rng, 6)
    x, y = cp.Variable(3, complex=True), cp.Variable(imag=True)
    return least(cp.norm(A @ x - b) + cp.abs(y - 2 - 1j), [cp.real(x) >= 0, cp.imag(x[0]) == 0.5])


def gram(coefficients, basis, level=0):
    """Rows that say: polynomial - level = v' Q v in the monomials v; and Q."""
    Q = cp.Variable((len(basis), len(basis)), PSD=True)
    rows: dict = {}
    for i, a in enumerate(basis):
        for j, b in enumerate(basis):
            rows.setdefault(tuple(np.add(a, b).tolist()), []).append(Q[i, j])
    constant = (0,) * len(basis[0])
    missing = set(coefficients) - set(rows)
    assert not missing, missing
    return [sum(q) == coefficients.get(m, 0) - (level if m == constant else 0) for m, q in rows.items()]


@written("Parrilo 2003; Lasserre 2001: bounds of polynomials", "quartic; six-hump camel; trigonometric")
def sum_of_squares(form):
    level = cp.Variable()
    if form == "quartic":  # t^4 - 3 t^2 + t^0 at t^2 = 3/2
        return most(level, gram({(4,): 1, (2,): -3, (0,): 1}, [(0,), (1,), (2,)], level), 1 - 9 / 4)
    if form == "six-hump camel":
        camel = {(2, 0): 4, (4, 0): -2.1, (6, 0): 1 / 3, (1, 1): 1, (0, 2): -4, (0, 4): 4}
        basis = [m for m in product(range(4), range(4)) if sum(m) <= 3]
        return most(level, gram(camel, basis, level), -1.031628453489877)  # the known minimum
    Q = cp.Variable((4, 4), hermitian=True)  # 2 cos 3t - cos t: the Gram matrix of Fejer and Riesz
    sums = [cp.trace(Q) == -level, *(cp.sum(cp.diag(Q, k)) == c for k, c in ((1, -0.5), (2, 0), (3, 1)))]
    return most(level, [Q >> 0, *sums], polynomial_in_cosines())


def polynomial_in_cosines():
    """The least 2 (4 c^3 - 3 c) - c on [-1, 1], at a zero of 24 c^2 - 7 or an end."""
    c = np.array([-1, 1, np.sqrt(7 / 24), -np.sqrt(7 / 24)])
    return (8 * c**3 - 7 * c).min()


@written("Motzkin 1967; Parrilo 2003, section 3.2", "alone; with a multiplier")
def motzkin_as_a_sum_of_squares(form):
    basis = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 2)]
    motzkin = {(4, 2): 1, (2, 4): 1, (2, 2): -3, (0, 0): 1}
    if form == "alone":
        return least(0, gram(motzkin, basis), "infeasible")
    raised: dict = {}
    for (i, j), c in motzkin.items():  # times 1 + x^2 + y^2
        for a, b in ((0, 0), (2, 0), (0, 2)):
            raised[i + a, j + b] = raised.get((i + a, j + b), 0) + c
    basis = [m for m in product(range(5), range(5)) if sum(m) <= 4]
    return least(0, gram(raised, basis), 0.0)
