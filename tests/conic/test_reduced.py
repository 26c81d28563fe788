"""The three programs over a basis: they agree, show what they are made of, refuse what is too large."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import digits

import npkl_models as nm
from npkl_models.conic.quadratic import ReducedQuadratic, rank_revealing_factor
from npkl_models.model.functional import smat, svec


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 20, 30])
@pytest.mark.parametrize("name", ["reg_pcp", "reg_mvu"])
def test_the_thesis_problems_agree(name, size):
    """Wu 2011, section 3.4, at full n: every route to 1e-6, the projected exact SDP included."""
    if name == "reg_pcp":
        X, y = digits()
        problem = nm.reg_pcp(
            nm.eigenbasis(nm.laplacian(X, 20), size), nm.Pairs.per_class(y, 20, 20, random_state=0)
        )
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
    "equalities": {"equalities": (nm.Constraint(nm.Entries(120, ([0, 60], [0, 60])), equal=0.8),)},
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_reduced_programs_take_regularisers_and_equalities(small_reg_pcp, extra):
    from dataclasses import replace

    more = EXTRAS[extra]
    hard = (*small_reg_pcp.terms, *more["equalities"]) if extra == "equalities" else None
    problem = replace(small_reg_pcp, **({"terms": hard} if hard else more))
    Q, reference = problem.basis.Q, problem.solve("sdp", eps=1e-9)
    assert reference.status is nm.Status.OPTIMAL
    assert reference.objective > small_reg_pcp.solve().objective * (1 + 1e-4)  # it binds
    for backend in ("sqlp", "qsdp", "scsdp", "mfpc", "burer_monteiro"):
        if problem.compatible_backends()[backend] is not None:
            assert backend == "mfpc"
            continue
        found = problem.solve(backend)
        assert found.status is nm.Status.OPTIMAL, backend
        assert found.objective == pytest.approx(reference.objective, rel=1e-6)
        np.testing.assert_allclose(Q @ (Q.T @ found.V), found.V, atol=1e-8 * np.abs(found.V).max())


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


@pytest.mark.parametrize("rank", [6, 3, 0])
def test_factors_reveal_the_rank(rank):
    G = np.random.default_rng(0).normal(size=(rank, 6))
    B = rank_revealing_factor(G.T @ G)
    assert len(B) == rank
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
    problem = nm.reg_pcp(
        nm.eigenbasis(nm.laplacian(X, 20), 60), nm.Pairs.per_class(y, 20, 20, random_state=0)
    )
    with pytest.raises(nm.UnsupportedError, match=r"order 1831 that needs about \d+ GB"):
        problem.compile("scsdp", solver="CLARABEL")
