"""Programs that fit: regression, classification, signals, filters, control."""

import cvxpy as cp
import numpy as np
from scipy.optimize import nnls

from cvx.written import Group, least, most

written = Group()


def data(seed, m=30, n=8):
    """A matrix, and targets with noise of which a sparse vector explains the most."""
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(m, n)), rng.normal(size=n) * (rng.random(n) < 0.5)
    return A, A @ x + 0.3 * rng.normal(size=m)


@written("Tibshirani 1996", "penalty; bound; orthonormal; square root")
def lasso(form):
    A, b = data(30, 40, 20)
    x = cp.Variable(20)
    if form == "orthonormal":  # shrunk towards zero by 1/2
        y = np.linspace(-1, 2, 7)
        x = cp.Variable(7)
        shrunk = np.sign(y) * np.maximum(np.abs(y) - 0.5, 0)
        return least(
            cp.sum_squares(x - y) / 2 + cp.norm1(x) / 2, (), np.sum((shrunk - y) ** 2 + np.abs(shrunk)) / 2
        )
    if form == "bound":
        return least(cp.sum_squares(A @ x - b), [cp.norm(x, 1) <= 1])
    if form == "square root":  # Belloni, Chernozhukov, Wang 2011
        return least(cp.norm(A @ x - b) + 0.5 * cp.norm1(x))
    weight = cp.Parameter(nonneg=True, value=2.0)
    return least(cp.sum_squares(A @ x - b) + weight * cp.norm1(x))


@written("Hoerl, Kennard 1970; Gauss 1809", "ridge; least squares; with equations; of least norm")
def normal_equations(form):
    A, b = data(31)
    x = cp.Variable(8)
    if form == "ridge":
        exact = np.linalg.solve(A.T @ A + 2 * np.eye(8), A.T @ b)
        return least(cp.sum_squares(A @ x - b) + 2 * cp.sum_squares(x), (), b @ (b - A @ exact))
    if form == "least squares":
        return least(cp.sum_squares(A @ x - b), (), np.linalg.lstsq(A, b)[1][0])
    if form == "of least norm":
        C, d = A[:3], b[:3]
        return least(cp.norm(x), [C @ x == d], np.linalg.norm(np.linalg.pinv(C) @ d))
    A = A - A.mean(1, keepdims=True)  # A 1 = 0: the sum of x costs nothing
    return least(cp.sum_squares(A @ x - b), [cp.sum(x) == 1], np.sum((A @ np.linalg.pinv(A) @ b - b) ** 2))


@written(
    "Zou, Hastie 2005; Yuan, Lin 2006; Hastie, Tibshirani, Wainwright 2015",
    "elastic net; groups; several",
)
def penalised_regression(form):
    A, b = data(32, 30, 12)
    x = cp.Variable(12)
    if form == "elastic net":
        return least(cp.sum_squares(A @ x - b) / 60 + 0.1 * cp.norm1(x) + 0.05 * cp.sum_squares(x))
    if form == "groups":
        return least(cp.sum_squares(A @ x - b) / 2 + 3 * sum(cp.norm(x[k : k + 3]) for k in range(0, 12, 3)))
    X, B = cp.Variable((12, 2)), np.stack([b, b[::-1]], axis=1)
    return least(cp.sum_squares(A @ X - B) + 2 * cp.mixed_norm(X, 2, 1))


@written("Lawson, Hanson 1974, chapter 23", "nonneg=True; norm")
def nonnegative_least_squares(form):
    A, b = data(33, 20, 6)
    x, size = cp.Variable(6, nonneg=True), nnls(A, b)[1]
    return (
        least(cp.sum_squares(A @ x - b), (), size**2)
        if form != "norm"
        else least(cp.norm(A @ x - b), (), size)
    )


@written(
    "Huber 1964; Koenker, Bassett 1978; Boyd, Vandenberghe 2004, section 6.1",
    "Huber; quantile; L1; Linf; mixed",
)
def robust_regression(form):
    A, b = data(34, 25, 5)
    b[::7] += 4
    x = cp.Variable(5)
    r = A @ x - b
    if form == "Huber":
        return least(cp.sum(cp.huber(r, 0.5)))
    if form == "quantile":
        return least(cp.sum(cp.maximum(0.8 * r, -0.2 * r)))
    if form == "mixed":  # the mean of the five largest misfits, and a dead zone
        return least(cp.sum_largest(cp.abs(r), 5) / 5 + cp.sum(cp.pos(cp.abs(r) - 0.5)))
    return least(cp.norm(r, 1 if form == "L1" else "inf"))


@written("Cortes, Vapnik 1995; Boser, Guyon, Vapnik 1992", "soft margin; hard margin; dual; norm 1")
def support_vectors(form):
    rng = np.random.default_rng(35)
    X, y = rng.normal(size=(40, 4)), np.repeat([1.0, -1.0], 20)
    X += y[:, None]
    w, b = cp.Variable(4), cp.Variable()
    if form == "hard margin":  # four points of a square: the margin is 1
        square = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])
        v = cp.Variable(2)
        return least(cp.norm(v), [cp.multiply([1, 1, -1, -1], square @ v + b) >= 1], 1.0)
    if form == "dual":
        a = cp.Variable(40, bounds=[0, 1])
        return most(cp.sum(a) - cp.sum_squares(X.T @ cp.multiply(y, a)) / 2, [y @ a == 0])
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    return least(loss + (cp.norm1(w) if form == "norm 1" else cp.sum_squares(w) / 2))


@written("El Ghaoui, Lebret 1997, theorem 3.1", "SOC; LMI")
def robust_least_squares(form):
    A, b = data(36, 12, 4)
    x, t = cp.Variable(4), cp.Variable(2)
    if form == "SOC":
        return least(cp.norm(A @ x - b) + 0.7 * cp.norm(cp.hstack([x, 1])))
    arrow = []
    for k, v in enumerate([A @ x - b, cp.hstack([0.7 * x, 0.7])]):
        arrow.append(cp.bmat([[t[k] * np.eye(v.size), v[:, None]], [v[None], t[k][None, None]]]))
    return least(cp.sum(t), [M >> 0 for M in arrow])


@written("Rudin, Osher, Fatemi 1992; CVXPY: total variation in-painting", "line; picture; norm")
def total_variation(form):
    rng = np.random.default_rng(37)
    if form == "picture":
        Y = np.kron(np.array([[1, 0], [0, 2.0]]), np.ones((4, 4))) + 0.2 * rng.normal(size=(8, 8))
        X = cp.Variable((8, 8))
        return least(cp.tv(X), [cp.norm(X - Y, "fro") <= 1.5])
    y = np.repeat([0.0, 1, -1], 12) + 0.2 * rng.normal(size=36)
    x = cp.Variable(36)
    if form == "norm":
        return least(cp.norm(x - y) + 0.3 * cp.norm1(cp.diff(x)))
    return least(cp.sum_squares(x - y) / 2 + cp.tv(x))


@written("Kim, Koh, Boyd, Gorinevsky 2009; Brunk 1955; Hildreth 1954", "trend; isotonic; convex")
def shapes_of_a_line(form):
    t = np.linspace(-1, 1, 40)
    y = np.abs(t) + 0.1 * np.random.default_rng(38).normal(size=40)
    x = cp.Variable(40)
    if form == "trend":
        return least(cp.sum_squares(x - y) / 2 + 2 * cp.norm1(cp.diff(x, 2)))
    if form == "isotonic":  # 3 and 2 are pooled
        z = cp.Variable(4)
        return least(cp.sum_squares(z - np.array([1, 3, 2, 4.0])), [cp.diff(z) >= 0], 0.5)
    return least(cp.norm(x - y), [cp.diff(x, 2) >= 0])


@written("Chebyshev 1854", "extremal points; grid")
def best_polynomial(form):
    t = np.cos(np.pi * np.arange(5) / 4) if form == "extremal points" else np.linspace(-1, 1, 41)
    c, powers = cp.Variable(4), np.vander(t, 4)
    if form == "grid":
        return least(cp.norm_inf(powers @ c - np.exp(t)))
    return least(cp.max(cp.abs(powers @ c - t**4)), (), 1 / 8)  # 2^(1 - 4), by the alternation


@written("Candes, Tao 2007; Cai, Liu, Luo 2011; Donoho 2006", "Dantzig selector; precision; basis pursuit")
def sparse_recovery(form):
    A, b = data(39, 12, 20)
    x = cp.Variable(20)
    if form == "Dantzig selector":
        return least(cp.norm1(x), [cp.norm_inf(A.T @ (b - A @ x)) <= 2])
    if form == "basis pursuit":
        return least(cp.norm1(x), [A @ x == b])
    S, X = np.cov(A[:, :5].T), cp.Variable((5, 5))
    return least(cp.sum(cp.abs(X)), [cp.max(cp.abs(S @ X - np.eye(5))) <= 0.3])


@written("Wu, Boyd, Vandenberghe 1996; CVXPY: deconvolution with conv", "low pass; deconvolution")
def filters(form):
    if form == "low pass":
        w, h = np.linspace(0, np.pi, 60), cp.Variable(8)
        H = 2 * np.cos(np.outer(w, np.arange(8))) @ h
        return least(cp.norm_inf(H[w <= 1] - 1), [cp.abs(H[w >= 1.5]) <= 0.05])
    rng, kernel = np.random.default_rng(40), np.array([1, 2, 1.0])
    x = cp.Variable(15, nonneg=True)
    seen = np.convolve(kernel, rng.random(15) * (rng.random(15) < 0.4)) + 0.05 * rng.normal(size=17)
    return least(cp.norm(cp.convolve(kernel, x) - seen) + 0.1 * cp.sum(x))


@written("Boyd, Vandenberghe 2004, section 4.7; CVXPY: optimal control", "quadratic; least fuel; thrust")
def control(form):
    A, B, T = np.array([[1, 0.2], [0, 1]]), np.array([0.02, 0.2]), 20
    X, u = cp.Variable((2, T + 1)), cp.Variable(T)
    moves = [X[:, k + 1] == A @ X[:, k] + B * u[k] for k in range(T)] + [X[:, 0] == [1, 0]]
    if form == "quadratic":
        return least(cp.sum_squares(X) + 0.1 * cp.sum_squares(u), [*moves, cp.norm_inf(u) <= 2])
    if form == "least fuel":
        return least(cp.norm1(u), [*moves, X[:, T] == 0, cp.abs(u) <= 1])
    F = cp.Variable((2, T))  # a landing in the plane, thrust within a cone
    V = cp.cumsum(F, axis=1) * 0.2 - np.outer([0, 1], np.arange(1, T + 1)) * 0.2
    P = np.array([[2.0], [5.0]]) + cp.cumsum(V, axis=1) * 0.2
    return least(cp.sum(cp.norm(F, axis=0)), [P[1] >= 0, P[:, -1] == 0, V[:, -1] == 0, F[1] >= cp.abs(F[0])])
