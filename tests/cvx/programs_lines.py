"""Linear programs of the textbooks, attributes of variables, corners of the language, no optimum."""

import cvxpy as cp
import numpy as np
from scipy.optimize import linear_sum_assignment

from cvx.written import Group, least, most

written = Group()


@written(
    "Dantzig 1963; Hitchcock 1941; Kuhn 1955; Stigler 1945; Ford, Fulkerson 1956",
    "transport; assignment; diet; flow; cut; shortest path",
)
def textbook(form):
    if form == "transport":
        X = cp.Variable((2, 3), nonneg=True)  # Dantzig's own canning plants
        cost = 0.09 * np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])
        held = [cp.sum(X, axis=1) <= [350, 600], cp.sum(X, axis=0) >= [325, 300, 275]]
        return least(cp.sum(cp.multiply(cost, X)), held, 153.675)
    if form == "assignment":
        C, X = np.random.default_rng(60).integers(1, 20, (6, 6)), cp.Variable((6, 6), nonneg=True)
        best = C[linear_sum_assignment(C)].sum()
        return least(cp.trace(C.T @ X), [cp.sum(X, axis=0) == 1, cp.sum(X, axis=1) == 1], float(best))
    if form == "diet":
        N, x = np.array([[2, 1, 0.5], [1, 3, 1], [0.2, 0.4, 2]]), cp.Variable(3, bounds=[0, 10])
        return least([0.6, 0.9, 0.5] @ x, [N @ x >= [10, 12, 6]])
    arcs = [(0, 1, 3), (0, 2, 2), (1, 2, 1), (1, 3, 2), (2, 3, 3), (1, 4, 1), (3, 4, 4), (2, 4, 1)]
    A = np.zeros((5, len(arcs)))
    for k, (i, j, _) in enumerate(arcs):
        A[i, k], A[j, k] = 1, -1
    c, f = np.array([arc[2] for arc in arcs]), cp.Variable(len(arcs))
    if form == "flow":  # all that leaves the source, 3 + 2
        return most(A[0] @ f, [A[1:4] @ f == 0, f >= 0, f <= c], 5.0)
    if form == "cut":
        u, p = cp.Variable(len(arcs), nonneg=True), cp.Variable(5)
        return least(c @ u, [u >= A.T @ p, p[0] == 1, p[4] == 0], 5.0)
    return least(c @ f, [A @ f == [1, 0, 0, 0, -1], f >= 0], 3.0)  # 0, 2, 4


@written(
    "von Neumann 1928; Klee, Minty 1972; Charnes, Cooper 1962",
    "stone and paper; two by two; cube; fraction",
)
def games_and_cubes(form):
    if form == "cube":  # 5^5 after 2^5 corners for Dantzig's rule
        x = cp.Variable(5)
        L = np.array([[2.0 ** (i - j + 1) if j < i else float(i == j) for j in range(5)] for i in range(5)])
        return most(2.0 ** np.arange(4, -1, -1) @ x, [L @ x <= 5.0 ** np.arange(1, 6), x >= 0], 5.0**5)
    if form == "fraction":  # (2 x + y) / (x + y + 1) on x + y <= 3: 6/4 at (3, 0)
        y, t = cp.Variable(2, nonneg=True), cp.Variable(nonneg=True)
        return most(2 * y[0] + y[1], [cp.sum(y) <= 3 * t, cp.sum(y) + t == 1], 1.5)
    A = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]) if form[0] == "s" else np.array([[3, -1], [-2, 4]])
    x = cp.Variable(A.shape[0])  # (3 * 4 - 2) / (3 + 4 + 1 + 2)
    return most(cp.min(A.T @ x), [x >= 0, cp.sum(x) == 1], 0.0 if form[0] == "s" else 1.0)


@written(
    "CVXPY: attributes of variables",
    "nonpos; diag; NSD; symmetric; bounds; bounds of a matrix; sparsity; stack; PSD and nonneg; nonneg and bounds",
)
def attributes(form):
    G = np.random.default_rng(61).normal(size=(4, 4))
    S, values = G + G.T, np.linalg.eigvalsh(G + G.T)
    if form == "nonpos":
        x = cp.Variable(4, nonpos=True)
        return least(cp.norm(x - G[0]), (), np.linalg.norm(np.maximum(G[0], 0)))
    if form == "diag":  # the least diagonal matrix above J
        D = cp.Variable((4, 4), diag=True)
        return least(cp.trace(D), [D >> np.ones((4, 4))], 16.0)
    if form == "NSD":
        X = cp.Variable((4, 4), NSD=True)
        return least(cp.norm(X - S, "fro"), (), np.linalg.norm(np.maximum(values, 0)))
    if form == "symmetric":
        X = cp.Variable((4, 4), symmetric=True)
        return least(cp.sum_squares(X - G), (), np.sum((G - G.T) ** 2) / 4)
    if form == "bounds":
        x = cp.Variable(3, bounds=[np.array([-1, 0, 2.0]), np.array([1, 5, 2.0])])
        return most(cp.sum(x), [x[0] + x[1] <= 4], 6.0)
    if form == "bounds of a matrix":
        X = cp.Variable((3, 3), bounds=[-1, np.inf])
        return least(cp.sum(X) + cp.norm(X, 2), [X[0, 0] >= 3])
    if form == "sparsity":
        X = cp.Variable((4, 4), sparsity=[(0, 1, 2, 3), (1, 2, 3, 3)])
        return least(cp.sum(X), [X[0, 1] >= 1, X[1, 2] + X[2, 3] >= 2, X[3, 3] == 4], 7.0)
    if form == "stack":
        X = cp.Variable((3, 3, 3), PSD=True)  # three matrices: each takes its own direction
        coupled = [X[0] + X[1] + X[2] == np.eye(3), *(cp.trace(X[k]) == 1 for k in range(3))]
        return most(sum(cp.trace(np.diag(np.roll([3, 2, 1], k)) @ X[k]) for k in range(3)), coupled, 9.0)
    if form == "PSD and nonneg":
        X = cp.Variable((3, 3), PSD=True, nonneg=True)
        return least(cp.trace(X) + cp.sum(cp.abs(X - S[:3, :3])))
    x = cp.Variable(3, nonneg=True, bounds=[-1, 2])
    return least(cp.sum_squares(x - [-3, 1, 4]), (), 9.0 + 4.0)


@written(
    "CVXPY: corners of the language",
    "parameters; constant; objective 0; rows fixed to zero; empty constraint; scalars; equations alone; free of constraints; a variable apart; constant maximised; cones of size one and two; redundant equations; PSD of order one; zero diagonal; not attained; gap of duality",
)
def corners(form):
    x, y = cp.Variable(3), cp.Variable()
    if form == "parameters":
        A, b, t = cp.Parameter((2, 3)), cp.Parameter(2), cp.Parameter(nonneg=True)
        A.value, b.value, t.value = np.array([[1, 2, 0], [0, 1, -1]]), np.array([3, 1]), 0.5
        return least(cp.norm(A @ x - b) + t * cp.norm1(x))
    if form == "constant":
        return least(cp.sum(x) + 41.5, [x >= [0, 1, -0.5]], 42.0)
    if form == "objective 0":
        return least(0, [cp.norm(x) <= 1, cp.sum(x) >= 1], 0.0)
    if form == "rows fixed to zero":
        return least(cp.norm(x - [1, 2, 3]), [x >= 0, x[0] == 0, x[1] + x[0] <= 0], np.sqrt(14 - 9))
    if form == "empty constraint":
        return least(cp.sum(x), [x >= 1, x[:0] >= 1, np.zeros((0, 3)) @ x == np.zeros(0)], 3.0)
    if form == "scalars":
        return most(2 * y - x[0], [y <= 3, x[0] >= y, x[1] == 1, x[0] <= 10, cp.abs(x[2]) <= 1], 3.0)
    if form == "equations alone":
        return least(x[0] + x[2], [x[0] + x[1] == 1, x[1] - x[2] == 4, x[0] + 2 * x[2] == -3], -3.0)
    if form == "free of constraints":
        return least(cp.sum_squares(x - [1, 2, 3]) + cp.sum(x), (), 6 - 3 / 4)
    if form == "a variable apart":
        return least(cp.sum(x), [x >= 1, cp.square(y) <= 4, cp.norm(y - 1) <= 5], 3.0)
    if form == "constant maximised":
        return most(cp.min(x) - 7, [cp.sum(x) == 3, cp.norm_inf(x) <= 2], -6.0)
    if form == "cones of size one and two":
        return least(y, [cp.SOC(y - 1, x[:1]), cp.SOC(y, x[:0]), x[0] == 2], 3.0)
    if form == "redundant equations":
        return least(x[0], [cp.sum(x) == 1, 2 * cp.sum(x) == 2, x >= 0, x[1] <= 0.25, x[2] <= 0.25], 0.5)
    if form == "PSD of order one":
        return least(cp.sum(x), [cp.diag(x[:2]) >> 0, cp.reshape(x[2] - 1, (1, 1), order="F") >> 0], 1.0)
    if form == "not attained":  # 1 / x_1, as x_1 grows
        return least(x[0], [cp.bmat([[x[0], 1], [1, x[1]]]) >> 0], 0.0)
    if form == "gap of duality":  # Vandenberghe, Boyd 1996, section 3.1: the dual ends at -1
        return least(x[0], [cp.bmat([[0, x[0], 0], [x[0], x[1], 0], [0, 0, x[0] + 1]]) >> 0], 0.0)
    X = cp.Variable((3, 3), PSD=True)  # X_00 = 0: no interior, and the optimum is attained
    return least(cp.trace(X) - 2 * X[1, 2] + X[0, 1], [X[0, 0] == 0, X[1, 1] == 1], 0.0)


@written(
    "Farkas 1902; Ben-Tal, Nemirovski 2001, section 2.3: certificates of infeasibility",
    "LP; equations; QP; SOCP; SDP; attributes; constants; complex; without a proof",
)
def infeasible(form):
    x, X = cp.Variable(3), cp.Variable((3, 3), PSD=True)
    if form == "LP":
        return least(x[0], [x >= 0, cp.sum(x) <= 1, x[0] + 2 * x[1] >= 3], "infeasible")
    if form == "equations":
        return most(x[0], [cp.sum(x) == 1, x[0] + x[1] == 0, x[2] == 2], "infeasible")
    if form == "QP":
        return least(cp.sum_squares(x - 1), [x[0] + x[1] >= 2, x[:2] <= 0.5], "infeasible")
    if form == "SOCP":
        return least(cp.sum(x), [cp.norm(x) <= 1, x[0] + x[1] >= 2], "infeasible")
    if form == "SDP":
        return least(
            cp.trace(X), [cp.diag(X) == 1, X[0, 1] == 0.9, X[1, 2] == 0.9, X[0, 2] == -0.9], "infeasible"
        )
    if form == "attributes":
        y = cp.Variable(2, bounds=[0, 1])
        return most(cp.sum(y) - x[0], [y[0] + y[1] >= 2 + cp.abs(x[0]) + 0.5], "infeasible")
    if form == "constants":
        return least(cp.sum_squares(x), [x >= 1, cp.Constant(1) >= 2], "infeasible")
    if form == "without a proof":  # a point is as near as one likes
        return least(x[0], [cp.bmat([[x[0], 1], [1, 0]]) >> 0], "infeasible")
    rho = cp.Variable((2, 2), hermitian=True)
    return most(cp.real(rho[0, 1]), [rho >> 0, cp.trace(rho) == 1, cp.imag(rho[0, 1]) == 0.6], "infeasible")


@written(
    "Ben-Tal, Nemirovski 2001, section 2.3: rays",
    "LP; LP maximised; QP; SOCP; SDP; complex; without a ray",
)
def unbounded(form):
    x, X = cp.Variable(3), cp.Variable((3, 3), PSD=True)
    if form == "LP":
        return least(x[0] - x[1], [x >= 0, x[1] <= 2 * x[0] + 1], "unbounded")
    if form == "LP maximised":
        return most(cp.min(x) + x[0], [x[1] == x[2]], "unbounded")
    if form == "QP":
        return least(cp.sum_squares(x[:2]) - x[2], [x[0] + x[2] >= 1], "unbounded")
    if form == "SOCP":
        return least(x[0] - 2 * x[1], [cp.norm(x[1:]) <= x[0]], "unbounded")
    if form == "SDP":
        return least(X[0, 0] + X[2, 2] - 4 * X[0, 2], [X[1, 1] == 1], "unbounded")
    Z = cp.Variable((2, 2), hermitian=True)
    size = cp.real(Z[0, 0])
    return most(
        cp.imag(Z[0, 1]), [Z >> 0, size == (cp.real(Z[1, 1]) if form == "complex" else 1)], "unbounded"
    )
