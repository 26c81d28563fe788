"""Programs over symmetric matrices: graphs, correlations, designs, norms of matrices."""

import cvxpy as cp
import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from cvx.written import Group, least, most

written = Group()
PENTAGON = [(i, (i + 1) % 5) for i in range(5)]
PETERSEN = [*PENTAGON, *((i, i + 5) for i in range(5)), *((5 + i, 5 + (i + 2) % 5) for i in range(5))]


def laplacian(n, edges, weights=None):
    L = np.zeros((n, n))
    for (i, j), w in zip(edges, np.ones(len(edges)) if weights is None else weights, strict=True):
        L[[i, j], [i, j]] += w
        L[i, j], L[j, i] = L[i, j] - w, L[j, i] - w
    return L


def root_of_determinant(A):
    """The root of the determinant by an LMI and a geometric mean, and the constraints."""
    n = A.shape[0]
    Z = cp.Variable((n, n))
    lower = [Z[i, j] == 0 for i in range(n) for j in range(i + 1, n)]
    block = cp.bmat([[A, Z], [Z.T, cp.diag(cp.diag(Z))]])
    return cp.geo_mean(cp.diag(Z)), [block >> 0, *lower]


@written("Goemans, Williamson 1995, section 2", "primal; dual")
def max_cut_of_a_pentagon(form):
    L, optimum = laplacian(5, PENTAGON) / 4, (25 + 5 * np.sqrt(5)) / 8  # their section 4: 0.88445 of the cut
    if form == "dual":
        y = cp.Variable(5)
        return least(cp.sum(y), [cp.diag(y) - L >> 0], optimum)
    X = cp.Variable((5, 5), symmetric=True)
    return most(cp.trace(L @ X), [X >> 0, cp.diag(X) == 1], optimum)


@written("Goemans, Williamson 1995; weights at random")
def max_cut_of_forty_points():
    W = np.triu(np.random.default_rng(1).random((40, 40)) < 0.3, 1) * 1.0
    W = W + W.T
    X = cp.Variable((40, 40), PSD=True)
    return most(cp.trace((np.diag(W.sum(0)) - W) @ X) / 4, [cp.diag(X) == 1])


@written("Lovasz 1979, theorems 3 and 4", "trace; eigenvalue")
def theta_of_a_pentagon(form):
    if form == "trace":
        X = cp.Variable((5, 5), PSD=True)
        return most(cp.sum(X), [cp.trace(X) == 1, *(X[e] == 0 for e in PENTAGON)], np.sqrt(5))
    Y = cp.Variable((5, 5), symmetric=True)
    free = [
        Y[i, j] == 1
        for i in range(5)
        for j in range(i, 5)
        if (i, j) not in PENTAGON and (j, i) not in PENTAGON
    ]
    return least(cp.lambda_max(Y), free, np.sqrt(5))


@written("Lovasz 1979, section 3: Kneser graphs")
def theta_of_the_petersen_graph():
    t, Z = cp.Variable(), cp.Variable((10, 10), symmetric=True)  # t I + Z - J >= 0, Z on the edges alone
    held = [Z[i, j] == 0 for i in range(10) for j in range(i, 10) if not {(i, j), (j, i)} & set(PETERSEN)]
    return least(t, [t * np.eye(10) + Z - 1 >> 0, *held], 4.0)  # the independence number is met


@written("Schrijver 1979: theta with signs", "of a wheel; at random")
def theta_prime(form):
    n, edges = 8, [(0, i) for i in range(1, 8)] + [(i, i % 7 + 1) for i in range(1, 8)]
    if form == "at random":
        n, drawn = 20, np.random.default_rng(2).random((20, 20)) < 0.4
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if drawn[i, j]]
    X = cp.Variable((n, n), symmetric=True)
    return most(cp.sum(X), [X >> 0, X >= 0, cp.trace(X) == 1, *(X[e] == 0 for e in edges)])


@written("Higham 2002, section 1", "squares; norm; bounded below")
def nearest_correlation(form):
    rng = np.random.default_rng(3)
    G = np.corrcoef(rng.normal(size=(15, 15))) + 0.3 * rng.normal(size=(15, 15))
    G = (G + G.T) / 2
    X = cp.Variable((15, 15), PSD=True)
    if form == "bounded below":  # Qi, Sun 2006: the spectrum of X is at least 1/10
        return least(cp.sum_squares(X - G), [cp.diag(X) == 1, X >> 0.1 * np.eye(15)])
    distance = cp.sum_squares(X - G) if form == "squares" else cp.norm(X - G, "fro")
    return least(distance, [cp.diag(X) == 1])


@written("Boyd, Vandenberghe 2004, exercise on covariance bounds", "largest; smallest")
def third_correlation(form):
    X = cp.Variable((3, 3), PSD=True)
    held, reach = [cp.diag(X) == 1, X[0, 1] == 0.6, X[1, 2] == 0.8], 0.6 * 0.8  # a b +- root (1-a2)(1-b2)
    return most(X[0, 2], held, 2 * reach) if form == "largest" else least(X[0, 2], held, 0.0)


@written("Pukelsheim 1993, chapters 6 and 9; Boyd, Vandenberghe 2004, section 7.5", "A; D; E; c")
def optimal_design(form):
    V = np.random.default_rng(4).normal(size=(4, 20))
    w = cp.Variable(20, nonneg=True)
    M = V @ cp.diag(w) @ V.T
    if form == "A":
        return least(cp.tr_inv(M), [cp.sum(w) == 1])
    if form == "D":
        root, held = root_of_determinant(M)
        return most(root, [*held, cp.sum(w) == 1])
    if form == "E":
        return most(cp.lambda_min(M), [cp.sum(w) == 1])
    return least(cp.matrix_frac(np.ones(4), M), [cp.sum(w) == 1])


@written("Elfving 1952: a line on [-1, 1]", "slope; prediction")
def elfving_design(form):
    x, w = np.linspace(-1, 1, 9), cp.Variable(9, nonneg=True)
    M = cp.bmat([[cp.sum(w), x @ w], [x @ w, x**2 @ w]])
    c = np.array([0.0, 1.0] if form == "slope" else [1.0, 2.0])  # |c| in Elfving's hull: 1, and 2
    return least(cp.matrix_frac(c, M), [cp.sum(w) == 1], 1.0 if form == "slope" else 4.0)


@written("Fazel 2002; Candes, Recht 2009", "two by two; of rank two")
def completion_by_the_nuclear_norm(form):
    if form == "two by two":
        X = cp.Variable((2, 2))  # the missing entry is 1, and the rank 1
        return least(cp.norm(X, "nuc"), [X[0, :] == 1, X[1, 0] == 1], 2.0)
    rng = np.random.default_rng(5)
    M, seen = rng.normal(size=(9, 2)) @ rng.normal(size=(2, 8)), rng.random((9, 8)) < 0.7
    X = cp.Variable((9, 8))
    return least(cp.normNuc(X), [cp.multiply(seen, X) == seen * M])


@written("Candes, Li, Ma, Wright 2011, equation 1.1")
def robust_principal_components():
    rng = np.random.default_rng(6)
    M = np.outer(rng.normal(size=8), rng.normal(size=8)) + (rng.random((8, 8)) < 0.1) * 5
    L, S = cp.Variable((8, 8)), cp.Variable((8, 8))
    return least(cp.normNuc(L) + cp.sum(cp.abs(S)) / np.sqrt(8), [L + S == M])


@written("d'Aspremont, El Ghaoui, Jordan, Lanckriet 2007, equation 7")
def sparse_principal_component():
    B = np.random.default_rng(7).normal(size=(12, 8))
    X = cp.Variable((8, 8), PSD=True)
    return most(cp.trace(B.T @ B @ X) - 2 * cp.sum(cp.abs(X)), [cp.trace(X) == 1])


@written("Horn, Johnson 1985, section 7.4: duality of the norms", "spectral; nuclear")
def largest_inner_product(form):
    C, X = np.random.default_rng(8).normal(size=(5, 4)), cp.Variable((5, 4))
    sizes = np.linalg.svd(C)[1]
    if form == "spectral":
        return most(cp.trace(C.T @ X), [cp.sigma_max(X) <= 1], sizes.sum())
    return most(cp.trace(C.T @ X), [cp.normNuc(X) <= 1], sizes[0])


@written("Fan 1949: sums of eigenvalues", "largest; smallest; of a line of matrices")
def sums_of_eigenvalues(form):
    B = np.random.default_rng(9).normal(size=(6, 6))
    B, values = B + B.T, np.linalg.eigvalsh(B + B.T)
    X, x = cp.Variable((6, 6), symmetric=True), cp.Variable()
    if form == "of a line of matrices":
        return least(cp.lambda_sum_largest(B + x * np.diag([1, -1, 2, -2, 0, 0]), 2))
    if form == "largest":  # a shift that is paid for: the two largest of B
        return least(cp.lambda_sum_largest(X, 2), [X >> B], values[-2:].sum())
    return most(cp.lambda_sum_smallest(X, 3), [X << B], values[:3].sum())


@written("Boyd, Diaconis, Xiao 2004, section 1.4: a path", "norm of a matrix; LMI")
def fastest_mixing_chain(form):
    P, even = cp.Variable((5, 5), symmetric=True), np.full((5, 5), 0.2)
    far = [P[i, j] == 0 for i in range(5) for j in range(i + 2, 5)]
    held = [P >= 0, cp.sum(P, axis=1) == 1, *far]
    if form == "LMI":
        s = cp.Variable()
        return least(s, [*held, P - even >> -s * np.eye(5), s * np.eye(5) >> P - even], np.cos(np.pi / 5))
    return least(cp.sigma_max(P - even), held, np.cos(np.pi / 5))


@written("Fiedler 1989: absolute algebraic connectivity of a star")
def connectivity():
    w = cp.Variable(4, nonneg=True)
    L = sum(w[i] * laplacian(5, [(0, i + 1)]) for i in range(4))
    return most(cp.lambda_sum_smallest(L, 2), [cp.sum(w) == 4], 1.0)


@written("Weinberger, Saul 2004: a chain unfolds to a line")
def unfolding_of_a_chain():
    K, n = cp.Variable((6, 6), PSD=True), 6
    held = [K[i, i] + K[i + 1, i + 1] - 2 * K[i, i + 1] == 1 for i in range(n - 1)]
    return most(cp.trace(K), [cp.sum(K) == 0, *held], n * (n**2 - 1) / 12)


@written("Biswas, Ye 2004, section 2", "objective 0; noise")
def sensor_network(form):
    rng = np.random.default_rng(10)
    anchors, points = np.array([[0, 0], [1, 0], [0, 1.0], [1, 1]]), rng.random((5, 2))
    Z = cp.Variable((7, 7), PSD=True)
    place = lambda i: np.concatenate([np.zeros(2), np.eye(5)[i]])  # noqa: E731
    rows = [np.concatenate([a, -np.eye(5)[i]]) for a in anchors for i in range(5)]
    rows += [place(i) - place(j) for i in range(5) for j in range(i)]
    squares = [np.sum((a - p) ** 2) for a in anchors for p in points]
    squares += [np.sum((points[i] - points[j]) ** 2) for i in range(5) for j in range(i)]
    found = cp.hstack([r @ Z @ r for r in rows])
    if form == "objective 0":
        return least(0, [Z[:2, :2] == np.eye(2), found == np.array(squares)], 0.0)
    noisy = np.array(squares) * (1 + 0.1 * rng.normal(size=len(squares)))
    return least(cp.norm1(found - noisy), [Z[:2, :2] == np.eye(2)])


@written("Fletcher 1981: the educational testing problem")
def educational_testing():
    B = np.random.default_rng(11).normal(size=(10, 7))
    d = cp.Variable(7, nonneg=True)
    return most(cp.sum(d), [np.cov(B.T) - cp.diag(d) >> 0])


@written(
    "Boyd, El Ghaoui, Feron, Balakrishnan 1994, section 5.1",
    "trace; objective 0; unstable; two systems",
)
def lyapunov(form):
    A, P = np.array([[-1.0, 2, 0], [0, -2, 1], [0.5, 0, -3]]), cp.Variable((3, 3), symmetric=True)
    if form == "trace":  # the solution of the equation is below all others
        exact = np.trace(solve_continuous_lyapunov(A.T, -np.eye(3)))
        return least(cp.trace(P), [P >> 0, A.T @ P + P @ A << -np.eye(3)], exact)
    if form == "unstable":
        A = A + 2 * np.eye(3)
    held = [P >> np.eye(3), A.T @ P + P @ A << -np.eye(3)]
    if form == "two systems":
        B = np.array([[-1.0, -2, 0], [0, -2, -1], [0.5, 0, -3]])
        return least(cp.lambda_max(P), [*held, B.T @ P + P @ B << -np.eye(3)])
    return least(0, held, "infeasible" if form == "unstable" else 0.0)


@written("Boyd, El Ghaoui, Feron, Balakrishnan 1994, section 6.3: 1 / (s + 1)")
def bounded_real_lemma():
    P, gamma = cp.Variable((1, 1), PSD=True), cp.Variable()
    block = cp.bmat([[-2 * P + 1, P], [P, -cp.reshape(gamma, (1, 1), order="F")]])
    return least(gamma, [block << 0], 1.0)  # the squared gain, at frequency 0
