"""Problems over a fixed basis, and hard constraints: formulations, reduced programs, agreement."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import side_information
from hypothesis import given, settings
from hypothesis import strategies as st

import npkl_models as nm
from npkl_models.conic.quadratic import ReducedQuadratic, rank_revealing_factor, smat
from npkl_models.model.functionals import svec

BASIS_BACKENDS = ("burer_monteiro", "hybrid", "mfpc", "sqlp", "qsdp", "scsdp", "sdp", "sdp_dual")


def digits(per_class=200, seed=0):
    data = nm.datasets.load("digits")
    chosen = np.concatenate([np.flatnonzero(data.y == c)[:per_class] for c in range(10)])
    return data.X[chosen], data.y[chosen]


def class_pairs(y, per_class=20, per_couple=20, seed=0):
    """So many must-links in each class and cannot-links between every two (thesis, section 3.4)."""
    rng = np.random.default_rng(seed)
    must, cannot = [], []
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    for a, own in enumerate(members):
        couples = np.stack(np.triu_indices(own.size, 1), axis=1)
        must.append(own[couples[rng.choice(len(couples), per_class, replace=False)]])
        for other in members[a + 1 :]:
            codes = rng.choice(own.size * other.size, per_couple, replace=False)
            cannot.append(np.stack([own[codes // other.size], other[codes % other.size]], axis=1))
    return nm.Pairs(y.size, np.concatenate(must), np.concatenate(cannot))


@pytest.fixture(scope="module")
def small_reg_pcp():
    X, y = digits(12)
    return nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 10), 8), class_pairs(y, 4, 2))


@pytest.fixture(scope="module")
def small_reg_mvu():
    X = nm.datasets.load("swiss_roll", n=300, random_state=2).X
    return nm.reg_mvu(X, 6, 8, 100.0)


@pytest.mark.parametrize("backend", BASIS_BACKENDS)
@pytest.mark.parametrize("name", ["small_reg_pcp", "small_reg_mvu"])
def test_backends_agree_in_a_basis(request, backend, name):
    problem = request.getfixturevalue(name)
    reference = problem.solve("qsdp", tol=1e-8)
    assert reference.certificate.certifies(1e-8)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    gap = found.certificate.gap + reference.certificate.gap
    assert abs(found.objective - reference.objective) <= gap + 1e-12
    Q = problem.basis.Q
    np.testing.assert_allclose(Q @ (Q.T @ found.V), found.V, atol=1e-8 * np.abs(found.V).max())


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 20, 30])
@pytest.mark.parametrize("name", ["reg_pcp", "reg_mvu"])
def test_the_thesis_problems_agree(name, size):
    """Wu 2011, section 3.4, at full n: every route to 1e-6, the projected exact SDP included."""
    if name == "reg_pcp":
        X, y = digits()
        problem = nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 20), size), class_pairs(y))
    else:
        problem = nm.reg_mvu(nm.datasets.load("swiss_roll", n=2000, random_state=2).X, 4, size, 100.0)
    backends = ["burer_monteiro", "mfpc", "sqlp", "qsdp", "sdp", *(["scsdp"] if size <= 15 else [])]
    table = nm.crosscheck(problem, backends, agreement=1e-6)
    assert table.agrees, str(table)


EXTRAS = {
    "trace penalty": {"regularizer": nm.TracePower(1, penalty=0.02)},
    "trace bound": {"regularizer": nm.TracePower(1, bound=80.0)},
    "square penalty": {"regularizer": nm.TracePower(2, penalty=1e-3)},
    "square bound": {"regularizer": nm.TracePower(2, bound=700.0)},
    "equalities": {"equalities": (nm.Equality(nm.Entries(120, ([0, 60], [0, 60])), 0.8),)},
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_reduced_programs_take_regularisers_and_equalities(small_reg_pcp, extra):
    from dataclasses import replace

    problem = replace(small_reg_pcp, **EXTRAS[extra])
    reference = problem.solve("sdp", eps=1e-9)
    assert reference.status is nm.Status.OPTIMAL
    assert reference.objective > small_reg_pcp.solve().objective * (1 + 1e-4)  # it binds
    for backend in ("sqlp", "qsdp", "scsdp", "mfpc", "burer_monteiro"):
        if problem.compatible_backends()[backend] is not None:
            assert backend == "mfpc"
            continue
        found = problem.solve(backend)
        assert found.status is nm.Status.OPTIMAL, backend
        assert found.objective == pytest.approx(reference.objective, rel=1e-6)


@given(s=st.integers(1, 6), n=st.integers(6, 12), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_svec_is_an_isometry_and_the_quadratic_is_the_objective(s, n, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, s)))[0]
    U = rng.normal(size=(s, s))
    U, W = U + U.T, U @ U.T
    assert svec(U) @ svec(W) == pytest.approx(np.sum(U * W))
    np.testing.assert_allclose(smat(svec(U), s), U)
    for functional in (
        nm.Entries(n, ([0, 1, 2], [3, 1, 5])),
        nm.SquaredDistances(n, ([0, 1], [3, 2])),
        nm.DistanceDifferences(n, ([0, 1], [3, 2], [5, 4])),
        nm.TotalSum(n),
    ):
        np.testing.assert_allclose(functional.svec_operator(Q) @ svec(U), functional.value(Q @ U @ Q.T))
    terms = (
        nm.LossTerm(nm.Entries(n, ([0, 1, 2], [3, 1, 5])), "square", [1.0, 0.0, 0.5], [1.0, 2.0, 3.0]),
        nm.LossTerm(nm.SquaredDistances(n, ([0, 1], [3, 2])), "linear", 1.0, 0.3),
    )
    cost = sp.diags_array(rng.normal(size=n)).tocsr()
    problem = nm.Problem(cost, terms, basis=nm.Basis(Q))
    quadratic = ReducedQuadratic.of(problem)
    y = svec(W)
    assert y @ quadratic.A @ y + quadratic.b @ y + quadratic.c == pytest.approx(
        problem.objective(Q @ W @ Q.T)
    )
    np.testing.assert_allclose(quadratic.B.T @ quadratic.B, quadratic.A, atol=1e-9)
    assert quadratic.rank == np.linalg.matrix_rank(quadratic.A)


@pytest.mark.parametrize(("rank", "method"), [(6, "Cholesky"), (3, "pivoted Cholesky"), (0, "eigenvalues")])
def test_factors_reveal_the_rank(rank, method):
    G = np.random.default_rng(0).normal(size=(rank, 6))
    B, how = rank_revealing_factor(G.T @ G)
    assert (len(B), how) == (rank, method)
    np.testing.assert_allclose(B.T @ B, G.T @ G, atol=1e-12)


def test_programs_show_their_cones_and_arrays(small_reg_pcp):
    sqlp = small_reg_pcp.compile("sqlp")
    text = sqlp.describe()
    rank = sqlp.plan.quadratic.rank
    assert f"a second-order cone of {rank + 2}, {rank + 1} equations" in text
    assert "a PSD cone of order 8 (36 unknowns)" in text
    assert f"A has rank {rank} of 36" in text
    assert sqlp.plan.quadratic.A.shape == (36, 36)
    assert "a second PSD cone of order 37" in small_reg_pcp.compile("scsdp").describe()
    assert "a quadratic objective" in small_reg_pcp.compile("qsdp").describe()
    assert "U is 8 x 8 over 120 points" in small_reg_pcp.compile("mfpc").describe()


def test_other_solvers_go_by_name(small_reg_pcp):
    for backend in ("sqlp", "scsdp", "qsdp"):
        found = small_reg_pcp.solve(backend, solver="CLARABEL")
        assert found.status is nm.Status.OPTIMAL
        assert found.message.startswith("CLARABEL")


def test_too_large_a_schur_complement_is_refused_with_its_bytes():
    X, y = digits(60)
    problem = nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 20), 60), class_pairs(y))
    with pytest.raises(nm.UnsupportedError, match=r"order 1831 that needs about \d+ GB"):
        problem.compile("scsdp", solver="CLARABEL")


def test_what_a_backend_cannot_take_is_said(small):
    entries = small("npkl:hinge").with_basis(nm.eigenbasis(small("pcp").cost, 5))
    reasons = entries.compatible_backends()
    assert reasons["sqlp"] == "needs square or linear losses, got hinge"
    assert reasons["mfpc"] == "needs smooth losses, got hinge"
    assert "needs a basis" in small("pcp").compatible_backends()["qsdp"]
    assert "needs a basis" in small("pcp").compatible_backends()["mfpc"]
    rows = small("row:square").with_basis(nm.eigenbasis(small("pcp").cost, 5))
    assert "takes no regulariser, tr K or tr K^2, got row_norm" in rows.compatible_backends()["sqlp"]
    assert "takes no regulariser or tr K, got row_norm" in rows.compatible_backends()["mfpc"]


def test_the_cost_of_the_basis_is_reported(small):
    L = small("pcp").cost
    errors = []
    for size in (6, 12, 24):
        problem = small("pcp").with_basis(nm.eigenbasis(L, size))
        table = nm.crosscheck(problem, ["burer_monteiro", "sqlp"], without_basis=True)
        assert "the basis costs at most" in str(table)
        errors.append(table.restriction_error)
    assert errors[0] > errors[1] > errors[2] >= -1e-6
    assert errors[2] == pytest.approx(0, abs=1e-4)
    free = small("pcp").solve()
    again = nm.crosscheck(problem, ["sqlp"], without_basis=free)
    assert again.restriction_error == pytest.approx(errors[2], abs=1e-4)
    with pytest.raises(nm.ProblemError, match="got one without"):
        nm.crosscheck(small("pcp"), ["bcd"], without_basis=True)
    with pytest.raises(nm.ProblemError, match="must be a solution of the same problem"):
        nm.crosscheck(problem, ["sqlp"], without_basis=problem.solve())


def test_mfpc_stages_and_starts(small_reg_pcp):
    plain = small_reg_pcp.solve("mfpc", continuation=False)
    staged = small_reg_pcp.solve("mfpc")
    assert plain.objective == pytest.approx(staged.objective, rel=1e-6)
    warm = small_reg_pcp.solve("mfpc", start=staged)
    assert warm.iterations < staged.iterations


# ------------------------------------------------------------------ eigenbasis


def test_multiple_eigenvalues_get_a_basis_that_depends_on_the_space_alone():
    ring = sp.diags_array([np.ones(39), np.ones(39), [1.0], [1.0]], offsets=[1, -1, 39, -39])
    L = nm.laplacian(ring.tocsr(), normalized=False)
    basis = nm.eigenbasis(L, 5)  # on a ring all eigenvalues but the first are double
    np.testing.assert_allclose(basis.eigenvalues[[1, 3]], basis.eigenvalues[[2, 4]], atol=1e-12)
    vectors = np.linalg.eigh(L.toarray())[1]
    from npkl_models.model.eigenbasis import _canonical

    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0]
    np.testing.assert_allclose(_canonical(vectors[:, 1:3] @ turn), basis.Q[:, 1:3], atol=1e-10)
    cut = nm.eigenbasis(L, 2)  # through a double eigenvalue: still the same first columns
    np.testing.assert_allclose(cut.Q, basis.Q[:, :2], atol=1e-10)


def test_a_disconnected_graph_is_explained():
    two = sp.block_diag([np.ones((4, 4)), np.ones((3, 3))]).tocsr()
    L = nm.laplacian(two, normalized=False)
    with pytest.raises(nm.ProblemError, match=r"got 2 components .*\[4, 3\] points.* raise n_neighbors"):
        nm.eigenbasis(L, 2, skip=1)
    assert nm.eigenbasis(L, 2, skip=2).size == 2
    assert nm.eigenbasis(L, 2).size == 2
    X = np.concatenate([np.zeros((5, 2)), 100 + np.zeros((5, 2))]) + np.arange(10)[:, None] % 5 * 0.01
    for build in (nm.mvu, nm.reg_mvu):
        with pytest.raises(nm.ProblemError, match="must be connected, got 2 components"):
            build(X, 2)


def test_shift_invert_agrees_with_all_eigenvalues(monkeypatch):
    from npkl_models.model import eigenbasis

    L = nm.laplacian(np.random.default_rng(0).normal(size=(300, 2)), 5)
    full = nm.eigenbasis(L, 6)
    monkeypatch.setattr(eigenbasis, "DENSE_SPECTRUM", 10)
    sparse = nm.eigenbasis(L, 6)
    np.testing.assert_allclose(sparse.eigenvalues, full.eigenvalues, atol=1e-10)
    np.testing.assert_allclose(sparse.Q, full.Q, atol=1e-7)


def test_bad_bases():
    with pytest.raises(nm.ProblemError, match="orthonormal"):
        nm.Basis(np.ones((4, 2)))
    L = nm.laplacian(np.random.default_rng(0).normal(size=(20, 2)), 4)
    with pytest.raises(nm.ProblemError, match="at most n = 20"):
        nm.eigenbasis(L, 21)
    basis = nm.eigenbasis(L, 3)
    with pytest.raises(nm.ProblemError, match="over the same points, got 20 and 10"):
        nm.reg_pcp(basis, nm.Pairs(10, [(0, 1)], []))
    with pytest.raises(nm.ProblemError, match="nu must be positive"):
        nm.reg_mvu(np.random.default_rng(0).normal(size=(20, 2)), 5, nu=0)


# -------------------------------------------------------------- hard constraints


@pytest.mark.parametrize("backend", ["sdp", "sdp_dual", "burer_monteiro", "hybrid"])
def test_hard_pcp_is_solved_exactly(backend):
    L, pairs = side_information("iris", 40)
    problem = nm.hard_pcp(L, pairs)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.certifies(1e-6)
    assert found.objective == pytest.approx(problem.solve("sdp", eps=1e-10).objective, rel=2e-6)
    K = found.K
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.must_link.T)], 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.cannot_link.T)], 0, atol=2e-6)
    printed = nm.hard_pcp(L, pairs, reduce=False)  # the same problem, as it stands in the thesis
    assert printed.basis is None
    assert printed.violation(found.V) <= 2e-6
    assert printed.objective_of_factor(found.V) == pytest.approx(found.objective)


def test_contradictions_are_named_by_their_chain():
    L = sp.eye_array(6).tocsr()
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (2, 5)], [(0, 5), (3, 4)])
    assert pairs.contradictions() == [[0, 1, 2, 5]]
    with pytest.raises(nm.ProblemError, match="got 1 cannot-links whose points .* joins: 0 - 1 - 2 - 5"):
        nm.hard_pcp(L, pairs)
    assert nm.Pairs(6, [(0, 1)], [(2, 3)]).contradictions() == []


@pytest.mark.parametrize("backend", ["sdp", "burer_monteiro", "hybrid"])
@pytest.mark.parametrize("reduce", [True, False])
def test_mvu_unrolls_an_arc_to_a_straight_line(backend, reduce):
    """Neighbours along a curve: almost the variance of a straight line, and what the other form finds."""
    n = 12
    angle = np.linspace(0, 1.5 * np.pi, n)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2
    pairs = [(i, i + 1) for i in range(n - 1)]
    problem = nm.mvu(X, 2, reduce=reduce)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    edges = problem.equalities[0].functional.indices
    extra = {tuple(e) for e in np.stack(edges, axis=1).tolist()} - set(pairs)
    assert extra == {(0, 2), (n - 3, n - 1)}  # the ends reach two points inwards, and stay bent
    step = np.linalg.norm(X[1] - X[0])
    line = np.arange(n) * step
    straight = float(np.sum((line - line.mean()) ** 2))
    assert 0.97 * straight < -found.objective < straight
    other = nm.mvu(X, 2, reduce=not reduce).solve("sdp", eps=1e-9)
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(found.V.sum(axis=0), 0, atol=1e-3)


def test_an_infeasible_problem_is_reported_as_such():
    """Three points, two of them too far apart for the third: the conic solver's certificate decides."""
    n = 5
    tight = nm.Equality(nm.SquaredDistances(n, ([0, 1, 0], [1, 2, 2])), [1.0, 1.0, 9.0])
    diagonal = nm.Equality(nm.Entries(n, (range(n), range(n))), 1.0)
    problem = nm.Problem(sp.eye_array(n).tocsr(), (), (tight, diagonal))
    for backend in ("sdp", "sdp_dual"):
        assert problem.solve(backend).status is nm.Status.INFEASIBLE
    low = problem.solve("burer_monteiro", max_iter=300)
    assert low.status is not nm.Status.OPTIMAL


def test_a_point_below_the_bound_is_not_called_optimal():
    """Equalities that are met only roughly push the objective below the optimum: that proves nothing."""
    problem = nm.hard_pcp(*side_information("iris", 20))
    good = problem.solve("sdp", eps=1e-9)
    cheat = nm.certify(problem, good.V * (1 - 4e-7), good.multipliers)
    assert 1e-7 < cheat.violation <= 1e-6
    assert cheat.feasible  # as it was judged: its constraints restored
    assert cheat.moved > 1e-7
    assert cheat.bound <= cheat.objective
    assert problem.violation(cheat.point) < 1e-12
