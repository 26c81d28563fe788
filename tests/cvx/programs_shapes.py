"""Programs of money, geometry and means: linear, quadratic and second-order ones, ellipsoids."""

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvx.programs_matrices import root_of_determinant
from cvx.written import Group, least, most

written = Group()
SQUARE = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])


@written(
    "Markowitz 1952; Lobo, Vandenberghe, Boyd, Lebret 1998, section 3; Lobo, Fazel, Boyd 2007",
    "quadratic; norm; least variance; robust; factors; trades",
)
def portfolio(form):
    rng = np.random.default_rng(50)
    F, mu, w = rng.normal(size=(20, 4)), 0.05 + 0.1 * rng.random(20), cp.Variable(20, nonneg=True)
    S = F @ F.T / 20 + np.diag(0.1 + rng.random(20)) / 5
    if form == "quadratic":
        return most(mu @ w - 2 * cp.quad_form(w, S), [cp.sum(w) == 1])
    if form == "norm":
        return most(mu @ w, [cp.sum(w) == 1, cp.norm(np.linalg.cholesky(S).T @ w) <= 0.2])
    if form == "least variance":  # short positions: 1 / 1' S^-1 1
        x, ones = cp.Variable(20), np.ones(20)
        return least(cp.quad_form(x, cp.psd_wrap(S)), [cp.sum(x) == 1], 1 / (ones @ np.linalg.solve(S, ones)))
    if form == "robust":
        unsure = cp.norm(cp.multiply(np.sqrt(np.diag(S)), w))
        return most(mu @ w - 0.4 * unsure, [cp.sum(w) == 1, w <= 0.3])
    if form == "factors":
        f = cp.Variable(4)
        risk = cp.sum_squares(f) / 20 + cp.quad_form(w, sp.diags_array(0.1 + rng.random(20)))
        return most(mu @ w - risk, [cp.sum(w) == 1, f == F.T @ w, cp.norm_inf(f) <= 1])
    x, held = cp.Variable(20), np.full(20, 0.05)
    cost = 0.01 * cp.norm1(x) + 0.1 * cp.sum(cp.power(cp.abs(x), 1.5))
    return most(mu @ (held + x) - cost, [cp.sum(x) == 0, held + x >= 0, cp.quad_form(held + x, S) <= 0.05])


@written("Rockafellar, Uryasev 2000", "atom; linear program")
def value_at_risk(form):
    R, w = np.random.default_rng(51).normal(0.05, 0.2, size=(60, 6)), cp.Variable(6, nonneg=True)
    if form == "atom":
        return least(cp.cvar(-R @ w, 0.9), [cp.sum(w) == 1])
    t = cp.Variable()
    return least(t + cp.sum(cp.pos(-R @ w - t)) / 6, [cp.sum(w) == 1])


@written("Fermat; Weber 1909; Kuhn 1973", "triangle; at random; largest distance")
def point_between_points(form):
    points, x = np.random.default_rng(52).normal(size=(15, 3)), cp.Variable(3)
    if form == "triangle":  # of side 1: root 3
        points, x = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]]), cp.Variable(2)
    far = cp.norm(points - cp.reshape(x, (1, x.size), order="F"), 2, axis=1)
    return (
        least(cp.sum(far), (), np.sqrt(3) if form == "triangle" else None)
        if form[0] != "l"
        else least(cp.max(far))
    )


@written(
    "Sylvester 1857; Gilbert, Johnson, Keerthi 1988; Maxwell 1854",
    "ball; two boxes; Steiner tree; chain",
)
def distances(form):
    x, y, r = cp.Variable(2), cp.Variable(2), cp.Variable()
    if form == "ball":
        return least(r, [cp.norm(p - x) <= r for p in SQUARE], np.sqrt(2))
    if form == "two boxes":  # corners at (1, 1) and (2, 3)
        return least(cp.norm(x - y), [cp.abs(x) <= 1, y >= [2, 3], y <= 5], np.sqrt(5))
    if form == "Steiner tree":  # of a square of side 2
        edges = [x - SQUARE[0], x - SQUARE[1], y - SQUARE[2], y - SQUARE[3], x - y]
        return least(sum(cp.norm(e) for e in edges), (), 2 * (1 + np.sqrt(3)))
    P = cp.Variable((12, 2))  # a chain that hangs
    short = cp.norm(cp.diff(P, axis=0), axis=1) <= 0.2
    return least(cp.sum(P[:, 1]), [P[0] == [0, 0], P[-1] == [1, 0.5], short, P[:, 1] >= -0.4])


@written("Boyd, Vandenberghe 2004, section 8.5.1", "triangle; at random")
def chebyshev_centre(form):
    A, b = np.random.default_rng(53).normal(size=(20, 5)), np.ones(20)
    if form == "triangle":  # 3, 4, 5: the radius is 1
        A, b = np.array([[-1, 0], [0, -1], [4, 3.0]]), np.array([0, 0, 12.0])
    x, r = cp.Variable(A.shape[1]), cp.Variable()
    return most(r, [A @ x + r * np.linalg.norm(A, axis=1) <= b], 1.0 if form == "triangle" else None)


@written(
    "John 1948; Boyd, Vandenberghe 2004, section 8.4",
    "around a square; in a square; around points; sum of axes",
)
def ellipsoid(form):
    B, d = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    root, held = root_of_determinant(B)
    if form == "in a square":
        return most(
            root, [*held, *(cp.norm(B @ a) + a @ d <= 1 for a in np.vstack([np.eye(2), -np.eye(2)]))], 1.0
        )
    points = SQUARE if form == "around a square" else np.random.default_rng(54).normal(size=(10, 2))
    inside = [cp.norm(B @ p + d) <= 1 for p in points]
    if form == "sum of axes":
        return most(cp.trace(B), inside)
    return most(root, [*held, *inside], 1 / np.sqrt(2) if form == "around a square" else None)


@written("Vandenberghe, Boyd 1996, section 2: ellipsoids in a ball, by the S-procedure")
def ball_around_ellipses():
    r2, x, t = cp.Variable(), cp.Variable(2), cp.Variable(2, nonneg=True)
    shapes = [(np.diag([1.0, 1 / 4]), np.array([0.0, 0])), (np.diag([4.0, 1]), np.array([3.0, 0]))]
    held = []  # the ellipse (u - c)' A (u - c) <= 1 is in the ball |u - x|^2 <= r2 + |x|^2
    for k, (A, c) in enumerate(shapes):
        edge = (x - t[k] * (A @ c))[:, None]
        corner = (r2 - t[k] * (1 - c @ A @ c))[None, None]
        held.append(cp.bmat([[t[k] * A - np.eye(2), edge], [edge.T, corner]]) >> 0)
    return least(r2 + cp.quad_over_lin(x, 1), held)


@written(
    "Lobo, Vandenberghe, Boyd, Lebret 1998, section 2; CVXPY: atomic functions",
    "geometric mean; weights; harmonic mean; reciprocals; quad_over_lin; powers; roots",
)
def means(form):
    x, a = cp.Variable(4), np.array([1, 2, 4, 8.0])
    if form == "geometric mean":  # every a_i x_i is 1/4 of the budget
        return most(cp.geo_mean(x), [a @ x <= 4], 1 / np.prod(a) ** 0.25)
    if form == "weights":  # x_i in the ratio of the weights
        return most(cp.geo_mean(x[:2], [1, 3]), [x[:2] >= 0, x[0] + x[1] <= 4], 3**0.75)
    if form == "harmonic mean":
        return most(cp.harmonic_mean(x), [cp.sum(x) <= 4, x <= 1.5], 1.0)
    if form == "reciprocals":  # Cauchy, Schwarz: the square of the sum of the roots
        return least(a @ cp.inv_pos(x), [cp.sum(x) == 1], np.sqrt(a).sum() ** 2)
    if form == "quad_over_lin":  # |x|^2 / t with 1' x = 4 and t = 2
        t = cp.Variable()
        return least(cp.quad_over_lin(x, t), [cp.sum(x) == 4, t <= 2], 2.0)
    if form == "powers":  # Hoelder: 4 equal parts
        return least(cp.pnorm(x, 3) + cp.sum(cp.power(x, 4)), [cp.sum(x) == 4], 4 ** (1 / 3) + 4)
    return most(cp.sum(cp.sqrt(x)) + cp.min(x), [a @ x <= 15], None)


@written(
    "Boyd, Vandenberghe 2004, section 4.4; Lobo et al. 1998, section 2.1: QCQP and trust regions",
    "ball; trust region; multiple kernels; sum of norms",
)
def quadratic_constraints(form):
    rng = np.random.default_rng(55)
    G, c, x = rng.normal(size=(5, 5)), rng.normal(size=5), cp.Variable(5)
    if form == "ball":  # -|c|
        return least(c @ x, [cp.sum_squares(x) <= 1], -np.linalg.norm(c))
    if form == "trust region":
        return least(cp.quad_form(x, G @ G.T) / 2 + c @ x, [cp.norm(x) <= 0.1])
    if form == "sum of norms":
        return least(cp.norm(G @ x - c) + cp.norm(x - 1) + cp.norm1(x + 1) + cp.norm_inf(x))
    K, t = [rng.normal(size=(8, 3)) for _ in range(3)], cp.Variable()  # Lanckriet et al. 2004
    y, a = np.repeat([1.0, -1], 4), cp.Variable(8, nonneg=True)
    bounds = [cp.sum_squares(B.T @ cp.multiply(y, a)) <= np.sum(B**2) * t for B in K]
    return most(2 * cp.sum(a) - 10 * t, [*bounds, y @ a == 0, a <= 1])


@written("Lobo, Vandenberghe, Boyd, Lebret 1998, section 3.4: a grasp; Michell 1904: bars")
def grasp_of_an_object():
    corners, F = np.array([[1, 0.0], [-1, 0.2], [0, -1]]), cp.Variable((3, 2))
    turn = cp.sum(cp.multiply(corners[:, 0], F[:, 1]) - cp.multiply(corners[:, 1], F[:, 0]))
    inner = -cp.sum(cp.multiply(corners, F), axis=1)
    side = cp.norm(F + cp.multiply(inner[:, None], corners), axis=1)
    return least(cp.max(cp.norm(F, axis=1)), [cp.sum(F, axis=0) == [0, 1], turn == 0, side <= 0.8 * inner])
