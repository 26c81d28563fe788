"""Equations of the papers, written out literally, against what the library has in their place."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner, local_weights
from npkl_models.lowrank.admm import shifted_solve
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.structure import structure
from npkl_models.printed.kl_admm import KLADMMOptions, KLADMMPlan, Lagrangian
from npkl_models.printed.rows import FreeRows, RowPrograms, minimise_rows_by_dual
from npkl_models.spectral.concave import Dual

N, GAMMA = 14, 1.7
MUST, CANNOT = [(0, 1), (2, 5), (1, 8)], [(0, 9), (3, 4)]
PAIRS = nm.Pairs(N, MUST, CANNOT)
SIGNED = [(i, j, 1.0) for i, j in MUST] + [(i, j, -1.0) for i, j in CANNOT]
X = np.random.default_rng(3).normal(size=(N, 3))
L = nm.laplacian(X, 4, shift=0.1)
LOSS = {
    "square": lambda z: (1 - z) ** 2,
    "hinge": lambda z: max(0.0, 1 - z),
    "squared_hinge": lambda z: max(0.0, 1 - z) ** 2,
    "linear": lambda z: -z,
}


@pytest.fixture
def kernel():
    V = np.random.default_rng(0).normal(size=(N, 4))
    return V @ V.T


def distance(K, i, j):
    return K[i, i] + K[j, j] - 2 * K[i, j]


# ------------------------------------------------------------------------------------ the problems


def test_pcp_is_equation_1_of_kl_admm_with_the_targets_of_2(kernel):
    T = [(i, i, 1.0) for i in range(N)]
    for i, j, t in SIGNED:
        T += [(i, j, max(t, 0.0)), (j, i, max(t, 0.0))]
    printed = np.trace(kernel @ L) + GAMMA / 2 * sum((kernel[i, j] - t) ** 2 for i, j, t in T)
    assert nm.pcp(L, PAIRS, gamma=GAMMA).objective(kernel) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("loss", LOSS)
def test_npkl_is_equation_3_of_bcdkl_with_the_losses_of_figure_1(kernel, loss):
    printed = np.trace(L @ kernel) + GAMMA * sum(LOSS[loss](t * kernel[i, j]) for i, j, t in SIGNED)
    bound = {"row_norm": 100.0} if loss == "linear" else {}
    problem = nm.npkl(L, PAIRS, loss=loss, gamma=GAMMA, **bound)
    assert problem.objective(kernel) == pytest.approx(printed, rel=1e-12)
    V = np.random.default_rng(0).normal(size=(N, 4))  # the kernel's factor: (10)
    assert problem.objective_of_factor(V) == pytest.approx(printed, rel=1e-9)


@pytest.mark.parametrize("loss", LOSS)
@pytest.mark.parametrize("p", [2.0, 3.0])
def test_simple_npkl_is_equations_12_21_and_26(kernel, loss, p):
    weight = GAMMA / 2 if loss in ("square", "squared_hinge") else GAMMA
    printed = np.trace(L @ kernel) + weight * sum(LOSS[loss](t * kernel[i, j]) for i, j, t in SIGNED)
    power = np.sum(np.linalg.eigvalsh(kernel) ** p)
    bounded = nm.simple_npkl(L, PAIRS, loss=loss, C=GAMMA, p=p, trace_bound=2 * power)
    assert bounded.objective(kernel) == pytest.approx(printed, rel=1e-10)
    penalised = nm.simple_npkl(L, PAIRS, loss=loss, C=GAMMA, p=p, penalty=0.3)
    assert penalised.objective(kernel) == pytest.approx(printed + 0.3 / p * power, rel=1e-10)


def test_regularised_problems_are_equations_3_11_and_3_12_of_the_thesis():
    basis = nm.eigenbasis(L, 5)
    U = np.random.default_rng(1).normal(size=(5, 5))
    K = basis.Q @ U @ U.T @ basis.Q.T
    triples = [(i, j, max(t, 0.0)) for i, j, t in SIGNED] + [(i, i, 1.0) for i in range(N)]
    printed = sum((K[i, j] - t) ** 2 for i, j, t in triples)
    assert nm.reg_pcp(basis, PAIRS).objective(K) == pytest.approx(printed, rel=1e-10)
    problem = nm.reg_mvu(X, 3, 5, 7.0)
    K = problem.Q @ U @ U.T @ problem.Q.T
    ends = np.stack(problem.terms[0].functional.indices, axis=1)
    missed = sum((distance(K, i, j) - np.sum((X[i] - X[j]) ** 2)) ** 2 for i, j in ends)
    assert problem.objective(K) == pytest.approx(-np.trace(U @ U.T) + 7.0 * missed, rel=1e-9)
    np.testing.assert_allclose(problem.Q.sum(axis=0), 0, atol=1e-10)  # (3.2) holds for every U


def test_embeddings_are_the_problems_of_section_6_of_simple_npkl(kernel):
    H = np.eye(N) - 1 / N
    K = H @ kernel @ H
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    colored = nm.colored_mvu(X, np.outer(y, y), n_neighbors=3, C=GAMMA, trace_bound=1e9)
    ends = np.stack(colored.terms[0].functional.indices, axis=1)
    slack = sum((distance(K, i, j) - np.sum((X[i] - X[j]) ** 2)) ** 2 for i, j in ends)
    printed = -np.trace(H @ K @ H @ np.outer(y, y)) + GAMMA / 2 * slack
    assert colored.objective(K) == pytest.approx(printed, rel=1e-9)
    vectors = np.linalg.eigh(K)[1][:, ::-1]
    vectors = np.column_stack([vectors[:, :2], np.linalg.svd(vectors[:, :2])[0][:, 2:]])
    K0 = vectors[:, :2] @ vectors[:, :2].T - vectors[:, 2:] @ vectors[:, 2:].T
    step = nm.mve(X, 2, directions=vectors[:, :2], n_neighbors=3, C=GAMMA, trace_bound=1e9)
    np.testing.assert_allclose(-step.cost.toarray(), K0, atol=1e-10)
    W = (nm.knn_affinity(X, 3, sigma="binary") > 0).astype(float)
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    triplets = [
        (i, k, j) for i in range(N) for k in range(N) for j in range(N) if W[i, k] and not W[i, j] and i != j
    ]
    xi = max(0.0, max(D[i, k] - D[i, j] for i, k, j in triplets))
    spe = nm.spe(W, np.array(triplets), C=GAMMA)
    assert spe.objective(K) == pytest.approx(-np.sum(K * W.toarray()) + GAMMA * xi, rel=1e-9)


# ----------------------------------------------------------------------------------------- graphs


def test_smoothness_is_the_trace_with_either_laplacian(kernel):
    """SimpleNPKL (8), thesis (2.11), (2.12) and (3.10); (2.13) and (2.14) on eigenvectors."""
    S = nm.knn_affinity(X, 4)
    d = np.asarray(S.sum(axis=1)).ravel()
    w, V = S.toarray(), np.linalg.cholesky(kernel + 1e-9 * np.eye(N))
    for normalized, rows in ((True, V / np.sqrt(d)[:, None]), (False, V)):
        cost = nm.laplacian(S, normalized=normalized)
        printed = 0.5 * sum(w[i, j] * np.sum((rows[i] - rows[j]) ** 2) for i in range(N) for j in range(N))
        assert np.sum(cost.toarray() * (V @ V.T)) == pytest.approx(printed, rel=1e-10)
        values = np.linalg.eigvalsh(cost.toarray())
        Q = nm.eigenbasis(cost, 4).Q
        np.testing.assert_allclose(np.einsum("is,is->s", Q, cost @ Q), values[:4], atol=1e-10)


def test_spectral_radius_of_proposition_1_of_bcdkl():
    """And one step of (17) with the blocks of (14) to (16)."""
    P = nm.npkl(L, PAIRS)
    held = FreeRows(P, structure(P))
    dense = L.toarray()
    D = np.diag(np.diag(dense))
    bar = dense - D
    G_U, G_L = -bar[np.ix_(held.free, held.free)], -bar[np.ix_(held.held, held.free)]
    inverse = np.linalg.inv(D[np.ix_(held.free, held.free)])
    assert np.abs(np.linalg.eigvals(G_U @ inverse)).max() <= 1 / 1.1 + 1e-12
    V = np.random.default_rng(0).normal(size=(N, 3))
    columns = (V[held.held].T @ G_L + V[held.free].T @ G_U) @ inverse
    held.step(V)
    np.testing.assert_allclose(V[held.free], columns.T, atol=1e-12)


# ---------------------------------------------------------------------------------------- KL-ADMM


def test_rows_of_kl_admm_are_equations_7_to_13():
    """A_i, B_i, c_i and d_i row by row; the derivatives (9) and (10) vanish; with ``misprint`` the d_i in print."""
    T = np.full((N, N), np.nan)
    np.fill_diagonal(T, 1.0)
    for i, j, t in SIGNED:
        T[i, j] = T[j, i] = max(t, 0.0)
    near = [np.flatnonzero(~np.isnan(T[i])) for i in range(N)]
    dense = L.toarray()
    problem = nm.pcp(L, PAIRS, gamma=GAMMA)
    for misprint in (False, True):
        engine = KLADMMPlan(problem, KLADMMOptions(rank=3, misprint=misprint)).engine()
        engine.iterate()
        U, lam, rho = engine.U, engine.Lambda, engine.rho
        engine.iterate()
        V = np.empty_like(U)
        for i in range(N):
            A = rho * np.eye(3) + GAMMA * U[near[i]].T @ U[near[i]]
            c = GAMMA * T[i, near[i]] @ U[near[i]] - dense[i] @ U + rho * U[i] - lam[i]
            V[i] = np.linalg.solve(A, c)
        np.testing.assert_allclose(engine.V, V, rtol=1e-9, atol=1e-11)
        after = np.empty_like(U)
        for i in range(N):
            B = rho * np.eye(3) + GAMMA * V[near[i]].T @ V[near[i]]
            # in print v_i for all pairs; of the diagonal entry v_j is v_i
            pulled = T[i, near[i]].sum() * V[i] if misprint else T[i, near[i]] @ V[near[i]]
            after[i] = np.linalg.solve(B, GAMMA * pulled - dense[i] @ V + rho * V[i] + lam[i])
        np.testing.assert_allclose(engine.U, after, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(engine.Lambda, lam + rho * (V - after), rtol=1e-9, atol=1e-11)
        pairs = structure(problem)
        held = Lagrangian(problem, pairs, EdgeModel(pairs))
        of_V = held.slopes(V, U)[0] + lam + rho * (V - U)
        of_U = held.slopes(V, after)[1] - lam - rho * (V - after)
        np.testing.assert_allclose(of_V, 0, atol=1e-9 * rho)
        assert (np.abs(of_U).max() > 1e-3) == misprint


def test_the_penalty_moves_as_equation_15_says():
    engine = KLADMMPlan(nm.pcp(L, PAIRS), KLADMMOptions(rank=3)).engine()
    for rho, primal, dual, new in [
        (100, 11, 1, 200), (100, 9, 1, 100), (100, 1, 11, 50), (100, 1, 9, 100), (15, 1, 11, 10),
    ]:  # fmt: skip
        engine.rho = rho
        engine.balance(primal, dual)
        assert engine.rho == new


def test_the_inverse_by_equation_25_of_kl_admm_and_by_27_of_bcdkl():
    rng, level = np.random.default_rng(0), 3.1
    for k in (2, 9):  # more columns than pairs, and fewer
        P, c = rng.normal(size=(5, k)), rng.normal(size=5)
        A = level * np.eye(5) + GAMMA * P @ P.T
        inner = np.linalg.inv(level / GAMMA * np.eye(k) + P.T @ P)
        np.testing.assert_allclose((np.eye(5) - P @ inner @ P.T) / level, np.linalg.inv(A), atol=1e-12)
        found = shifted_solve(np.array([level]), np.sqrt(GAMMA) * P.T[None], c[None])
        np.testing.assert_allclose(found[0], np.linalg.solve(A, c), atol=1e-12)


# ------------------------------------------------------------------------------------- SimpleNPKL


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_closed_forms_are_equations_14_and_20(p):
    s = np.array([2.0, 0.7, 0.1, -0.4, -3.0])
    plus = np.maximum(s, 0)
    B, G, q = 5.0, 0.6, p / (p - 1)
    bounded = (B / np.sum(plus**q)) ** (1 / p) * plus ** (1 / (p - 1))
    np.testing.assert_allclose(nm.TracePower(p, bound=B).maximiser(s), bounded, rtol=1e-12)
    penalised = (plus / G) ** (1 / (p - 1))
    np.testing.assert_allclose(nm.TracePower(p, penalty=G).maximiser(s), penalised, rtol=1e-12)
    same = (np.sum(plus**q) / B) ** ((p - 1) / p)  # the G whose kernel is that of B
    np.testing.assert_allclose(nm.TracePower(p, penalty=same).maximiser(s), bounded, rtol=1e-12)


def printed_dual(alpha, loss, K, C):
    """J of (24) and of the two unnumbered problems in sections 4.4 and 4.5, with the K of (14) given."""
    A = -L.toarray()
    for (i, j, t), a in zip(SIGNED, alpha, strict=True):
        A[i, j] += 0.5 * a * t
        A[j, i] += 0.5 * a * t
    return -np.sum(A * K(A)) + alpha.sum() - (0 if loss == "hinge" else np.sum(alpha**2) / (2 * C))


def closed(A, B=3.0):
    values, vectors = np.linalg.eigh(A)
    plus = np.maximum(values, 0)
    return np.sqrt(B / np.sum(plus**2)) * (vectors * plus) @ vectors.T


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_the_dual_is_equation_24_and_its_gradient_25(loss):
    problem = nm.simple_npkl(L, PAIRS, loss=loss, C=GAMMA, trace_bound=3.0)
    pairs = problem.terms[0].functional.indices
    t = problem.terms[0].target
    order = [list(zip(*pairs, strict=True)).index((i, j)) for i, j, _ in SIGNED]
    dual = Dual(problem)
    alpha = np.array([0.9, 0.2, 1.1, 0.5, 1.6])
    y = np.empty(5)
    y[order] = -alpha * [sign for *_, sign in SIGNED]  # y = -t alpha
    point = dual.at(y)
    assert point.bound == pytest.approx(printed_dual(alpha, loss, closed, GAMMA), rel=1e-9)
    K = point.V @ point.V.T
    slope = [
        1 - sign * K[i, j] - (0 if loss == "hinge" else a / GAMMA)
        for (i, j, sign), a in zip(SIGNED, alpha, strict=True)
    ]
    np.testing.assert_allclose((-t * point.gradient)[order], slope, atol=1e-9)


def test_lemma_5_and_proposition_6_along_the_printed_steps():
    """And inequality (27), which leads from the one to the other."""
    C, G, m = 1.3, 0.8, len(SIGNED)
    problem = nm.simple_npkl(L, PAIRS, loss="square", C=C, penalty=G)
    dual, eta, rng = Dual(problem), m / G + 1 / C, np.random.default_rng(0)
    for _ in range(50):
        one, other = (dual.at(dual.project(3 * rng.normal(size=m))) for _ in range(2))
        reach = np.linalg.norm(one.x - other.x)
        assert np.linalg.norm(one.gradient - other.gradient) <= eta * reach * (1 + 1e-12)
    best = problem.solve("simple_npkl", tol=1e-10).certificate
    start = point = dual.at(np.zeros(m))
    far = np.linalg.norm(best.multipliers.terms[0] - start.x) ** 2
    for t in range(1, 40):
        new = dual.at(dual.project(point.x + point.gradient / eta))
        square = eta / 2 * np.sum((new.x - point.x) ** 2)
        assert new.bound >= point.bound + square - 1e-10
        assert best.bound - new.bound <= eta / (2 * t) * far + 1e-9
        linear = point.bound + point.gradient @ (new.x - point.x)
        assert -linear >= -new.bound - square - 1e-10  # (27)
        if t == 1:
            assert linear > new.bound + 1e-6  # so that the last term of (27) is needed
        point = new


# ----------------------------------------------------------------------------------------- thesis


def test_theorem_5_of_the_thesis_on_points_inside_and_outside():
    rng = np.random.default_rng(0)
    for _ in range(200):
        z, mu = rng.normal(size=4), rng.uniform(0, 8)
        u = np.array([(1 + mu) / 2, (1 - mu) / 2, *z])
        assert (z @ z <= mu) == (u[0] >= np.linalg.norm(u[1:]))
        assert (u[0] - u[1], u[0] + u[1]) == pytest.approx((mu, 1.0))


def test_schur_complements_of_theorems_3_and_4():
    rng = np.random.default_rng(0)
    for _ in range(60):
        F = rng.normal(size=(5, 5))
        M = F @ F.T + rng.uniform(-3, 0.5) * np.eye(5)
        A, B, C = M[:3, :3], M[:3, 3:], M[3:, 3:]
        S = C - B.T @ np.linalg.inv(A) @ B
        low = [np.linalg.eigvalsh(block)[0] for block in (M, A, S)]
        assert (low[0] >= 0) == (low[1] >= 0 and low[2] >= 0)


# ------------------------------------------------------------------------------------------ BCDKL


def row_of(point, loss, V, **how):
    """The row problem of a point by the literal sums of (18), and its numbers."""
    problem = nm.npkl(L, PAIRS, loss=loss, gamma=GAMMA, **how)
    held = structure(problem)
    sign = {frozenset((i, j)): t for i, j, t in SIGNED}
    own = np.flatnonzero((held.i == point) | (held.j == point))
    other = np.where(held.i[own] == point, held.j[own], held.i[own])
    t = np.array([sign[frozenset((point, int(j)))] for j in other])
    dense = L.toarray()
    pull = np.delete(dense[point], point) @ np.delete(V, point, axis=0)
    own_cost = dense[point, point]
    rows = RowPrograms(
        np.array([2 * own_cost]), 2 * pull[None], V[other][None], own[None], np.ones((1, own.size), bool)
    )
    model = EdgeModel(held)
    if hasattr(model, "y"):
        model.y = np.zeros(held.size)
    engine = BCDPlan(problem, BCDOptions(start=V, rank=V.shape[1])).engine()
    engine.sweeper.order = np.array([point])
    return SimpleNamespace(rows=rows, model=model, engine=engine, L=own_cost, pull=pull, v=V[other], t=t)


@pytest.fixture
def factor():
    return np.random.default_rng(2).normal(size=(N, 4))


def minimised(row, V):
    V = V.copy()
    for _ in range(20):
        row.engine.sweeper.run(V)
    return V[row.engine.sweeper.order[0]]


@pytest.mark.parametrize("point", [0, 1, 9])
def test_square_rows_are_equations_27_and_28(factor, point):
    row = row_of(point, "square", factor)
    M = row.L * np.eye(4) + GAMMA * row.v.T @ row.v
    printed = np.linalg.solve(M, GAMMA * row.t @ row.v - row.pull)
    np.testing.assert_allclose(minimised(row, factor), printed, rtol=1e-9)


@pytest.mark.parametrize("b", [0.4, 50.0])
def test_linear_rows_are_equation_31(factor, b):
    row = row_of(0, "linear", factor, row_norm=b)
    free = (GAMMA / 2 * row.t @ row.v - row.pull) / row.L
    size = np.linalg.norm(free)
    printed = free if size <= b else b * free / size
    np.testing.assert_allclose(minimised(row, factor), printed, rtol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("point", [0, 9])
def test_hinge_rows_are_equations_21_to_25(factor, loss, point):
    """The minimiser v has multipliers alpha by (21) that are stationary in (22), or (25), on the box."""
    row = row_of(point, loss, factor)
    v = minimise_rows_by_dual(row.rows, row.model)[0] if loss == "hinge" else minimised(row, factor)
    P = np.outer(row.t, row.t) * (row.v @ row.v.T)
    q = row.t * (row.v @ row.pull) + row.L
    H = P if loss == "hinge" else P + row.L / GAMMA * np.eye(row.t.size)
    top = GAMMA / 2 if loss == "hinge" else np.inf
    alpha = np.linalg.lstsq((row.t[:, None] * row.v).T, row.L * v + row.pull, rcond=None)[0]
    np.testing.assert_allclose((row.t * alpha) @ row.v - row.pull, row.L * v, atol=1e-7)  # (21)
    assert np.all((alpha >= -1e-7) & (alpha <= top + 1e-7))
    np.testing.assert_allclose(np.clip(alpha - (H @ alpha - q), 0, top), alpha, atol=1e-6)  # (22), (25)
    if row.t.size == 1:
        assert alpha[0] == pytest.approx(min(max(q[0] / H[0, 0], 0), top), abs=1e-7)


def test_the_objective_is_bounded_below_as_33_says(factor):
    lowest = np.linalg.eigvalsh(L.toarray())[0]
    assert lowest > 0
    for loss in ("square", "hinge", "squared_hinge"):
        problem = nm.npkl(L, PAIRS, loss=loss, gamma=GAMMA)
        assert problem.objective_of_factor(factor) >= lowest * np.sum(factor**2)


# -------------------------------------------------------------------------------------------- KML


def test_the_landmark_form_is_equations_7_to_12_and_22_to_27():
    wine = nm.datasets.load("wine")
    Z = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    similar = nm.Pairs.from_labels(wine.y, 20, 0, random_state=0).must_link
    model = KernelMetricLearner(60, gamma=0.05, blend=False, prior=0.0, dissimilar=False).fit(
        Z, must_link=similar
    )
    marks = model.landmarks_
    raw, own = rbf_kernel(Z, Z[marks], gamma=0.05), rbf_kernel(Z[marks], gamma=0.05)
    W = local_weights(raw, own, 20).toarray()
    np.testing.assert_allclose(W[marks], np.eye(60), atol=1e-9)  # (12)
    H = np.eye(60) - 1 / 60
    mu, alpha = np.linalg.eigh(H @ own @ H)
    kept = mu > 1e-9 * mu[-1]
    mu, alpha = mu[kept], alpha[:, kept]
    K = W @ (alpha * mu) @ alpha.T @ W.T
    np.testing.assert_allclose(
        K, sum(m * np.outer(W @ a, W @ a) for m, a in zip(mu, alpha.T, strict=True))
    )  # (9)
    Wa = W @ alpha
    D = np.mean((Wa[similar[:, 0]] - Wa[similar[:, 1]]) ** 2, axis=0)  # (11)
    D += 1e-8 * D.mean()
    beta = np.sqrt(mu).sum() / D / np.sum(1 / D)  # (6)
    np.testing.assert_allclose(model.weights_, beta[::-1], rtol=1e-5)
    learnt = (Wa * beta**2) @ Wa.T  # (10)
    np.testing.assert_allclose(
        model.embedding_ @ model.embedding_.T, learnt, atol=1e-6 * np.abs(learnt).max()
    )
    new = Z[:3] + 0.2
    w = local_weights(rbf_kernel(new, Z[marks], gamma=0.05), own, 20).toarray()
    printed = np.array(
        [[(W[i] - one) @ (alpha * beta**2) @ alpha.T @ (W[i] - one) for one in w] for i in range(5)]
    )  # (27)
    found = model.transform(new)
    squared = ((model.embedding_[:5, None] - found[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, printed, rtol=1e-4, atol=1e-8)
    plain = replace_weights(model)
    before = plain.transform(new)
    own_distance = np.array(
        [[(W[i] - one) @ H @ own @ H @ (W[i] - one) for one in w] for i in range(5)]
    )  # (26)
    squared = ((plain.embedding_[:5, None] - before[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, own_distance, rtol=1e-6, atol=1e-9)
    landmarks = plain.embedding_[marks]
    np.testing.assert_allclose(landmarks @ landmarks.T, H @ own @ H, atol=1e-8)  # (23)


def replace_weights(model):
    """The same landmarks and kernel without side information: beta is the root of mu."""
    wine = nm.datasets.load("wine")
    Z = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    plain = KernelMetricLearner(60, gamma=0.05, blend=False)
    plain._landmarks = lambda n, similar: model.landmarks_
    return plain.fit(Z)


def test_with_basis_is_section_5_4_of_simple_npkl():
    problem = nm.simple_npkl(L, PAIRS, loss="squared_hinge", trace_bound=3.0)
    small = replace(problem, basis=nm.eigenbasis(L, 6))
    dual, y = Dual(small), np.full(5, -0.3) * problem.terms[0].target
    Q = small.Q
    whole = Dual(problem).slack(y)
    np.testing.assert_allclose(dual.slack(y), Q.T @ (whole @ Q), atol=1e-12)
