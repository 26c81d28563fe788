"""The problem as data: values, duality, texts, diagnosis, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import KINDS, side_information

import npkl_models as nm
from npkl_models.feasibility.restoration import rescaled


@pytest.mark.parametrize("kind", KINDS)
def test_objective_of_kernel_and_factor_agree(small, kind):
    problem = small(kind)
    V = np.random.default_rng(0).normal(size=(problem.n, 3))
    assert problem.objective_of_factor(V) == pytest.approx(problem.objective(V @ V.T), rel=1e-10)


def test_confidences_multiply_the_weights():
    L, pairs = side_information("iris", 20)
    sure = nm.Pairs(20, pairs.must_link, pairs.cannot_link, weights=np.full(len(pairs), 0.5))
    assert np.all(nm.npkl(L, sure, loss="hinge", gamma=3.0).terms[0].weight == 1.5)


def random_multipliers(problem, rng, size):
    y = []
    for term in problem.terms:
        y.append(term.project(size * rng.normal(size=term.functional.size)))
    return problem.split_multipliers(y)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000), rank=st.integers(1, 24), size=st.floats(0.01, 10))
@settings(max_examples=15)
def test_weak_duality(small, kind, seed, rank, size):
    """bound(y) <= objective(K) for any feasible K and any y in the domain; repaired or not."""
    problem = small(kind)
    rng = np.random.default_rng(seed)
    V = rescaled(problem, problem.lift(problem.drop(rng.normal(size=(problem.n, rank)) * size)))
    objective = problem.objective_of_factor(V)
    y = random_multipliers(problem, rng, size)
    scale = 1 + abs(objective)
    assert problem.dual_bound(y) <= objective + 1e-9 * scale
    certificate = nm.certify(problem, V, y, kind="factor")
    assert certificate.bound <= objective + 1e-9 * scale
    assert certificate.objective == pytest.approx(objective)


@pytest.mark.parametrize("kind", KINDS)
def test_repaired_multipliers_give_the_bound_again(small, kind):
    """A certificate can be checked: its multipliers, as they stand, give its bound."""
    problem = small(kind)
    V = np.random.default_rng(0).normal(size=(problem.n, 4))
    certificate = nm.certify(problem, V)
    if certificate.repair == "trace bound":
        return  # that bound charges the trace, not the multipliers
    nudged = certificate.multipliers
    assert problem.dual_bound(nudged) == pytest.approx(certificate.bound, rel=1e-6, abs=1e-6)


def test_basis_restricts_the_problem():
    L, pairs = side_information("iris", 24)
    problem = nm.pcp(L, pairs).with_basis(nm.eigenbasis(L, 5))
    solution = problem.solve("sdp", eps=1e-9)
    Q = problem.basis.Q
    np.testing.assert_allclose(Q @ solution.U @ Q.T, solution.K, atol=1e-8)
    full = nm.pcp(L, pairs).solve("bcd")
    assert solution.objective >= full.certificate.bound
    assert (
        problem.compatible_backends()["bcd"]
        == "works on the rows of V, and supports no basis except that of all centred vectors"
    )


def good():
    return side_information("iris", 12)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda L: L[:, :5], "must be square"),
        (lambda L: L + sp.coo_array(([1.0], ([0], [7])), shape=(12, 12)), r"symmetric.*\(0, 7\)|\(7, 0\)"),
        (lambda L: L.toarray() * np.where(np.eye(12) > 0, np.nan, 1), r"finite.*\(0, 0\)"),
        (lambda L: L.toarray() * np.inf, "finite"),
        (lambda L: L[:11, :11], "same points, got 11 and 12"),
        (lambda L: np.zeros((1, 1)), "same points"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_bad_laplacians(spoil, message):
    L, pairs = good()
    with pytest.raises(nm.ProblemError, match=message):
        nm.pcp(spoil(L), pairs)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda L, P: nm.pcp(L, P, gamma=0), nm.ProblemError, "gamma must be positive"),
        (lambda L, P: nm.npkl(L, P, gamma=-1), nm.ProblemError, "gamma must be positive.*got -1"),
        (lambda L, P: nm.simple_npkl(L, P, C=0, trace_bound=1), nm.ProblemError, "C must be positive"),
        (lambda L, P: nm.simple_npkl(L, P), nm.ProblemError, "exactly one of bound and penalty"),
        (lambda L, P: nm.npkl(L, P, loss="linear"), nm.ProblemError, "needs a bound on K.*row_norm=b"),
        (lambda L, P: nm.npkl(L, P, loss="exponential"), nm.UnsupportedError, "unknown loss 'exponential'; known are: absolute"),
        (lambda L, P: nm.pcp(L, P).solve("sdpp"), nm.UnsupportedError, "unknown backend 'sdpp'.*bcd"),
        (lambda L, P: nm.pcp(L, P).solve(tool=1), nm.UnsupportedError, "unknown option 'tool'.*tol"),
        (lambda L, P: nm.pcp(L, P).solve(rank=0), nm.UnsupportedError, "rank must be.*got 0"),
        (lambda L, P: nm.pcp(L, P).solve(rank="big"), nm.UnsupportedError, "rank must be.*'big'"),
        (lambda L, P: nm.pcp(L, P).solve(tol=0), nm.UnsupportedError, "tol must be between 0 and 1"),
        (lambda L, P: nm.pcp(L, P).solve(max_iter=0), nm.UnsupportedError, "max_iter must be >= 1"),
        (lambda L, P: nm.pcp(L, P).solve(time_limit=0), nm.UnsupportedError, "time_limit must be > 0"),
        (lambda L, P: nm.pcp(L, P).solve(callback=3), nm.UnsupportedError, "callback must be callable"),
        (lambda L, P: nm.pcp(L, P).solve("admm", rho=0), nm.UnsupportedError, "rho must be > 0"),
        (lambda L, P: nm.pcp(L, P).solve("admm", rho="1"), nm.UnsupportedError, "rho must be > 0 and finite, got '1'"),
        (lambda L, P: nm.pcp(L, P).solve("admm", rho=None), nm.UnsupportedError, "rho must be > 0 and finite, got None"),
        (lambda L, P: nm.pcp(L, P).solve("admm", sigma=np.inf), nm.UnsupportedError, "sigma must be > 0 and finite"),
        (lambda L, P: nm.pcp(L, P).solve("admm", relaxation="1"), nm.UnsupportedError, "relaxation must be at least 1"),
        (lambda L, P: nm.pcp(L, P).solve("sdp", solver=1), nm.UnsupportedError, "unknown conic solver 1; known are"),
        (lambda L, P: nm.pcp(L, P).solve("sdp", eps="1"), nm.UnsupportedError, "eps must be between 0 and 1, got '1'"),
        (lambda L, P: nm.Problem(L, np.array(2.0)), nm.ProblemError, "must be a list of LossTerms"),
        (lambda L, P: nm.pcp(L, P).dual_bound([np.zeros((len(P), 1)), np.zeros(L.shape[0])]), nm.ProblemError, "multipliers must have sizes"),
        (lambda L, P: nm.pcp(L, P).solve("sdp", solver="X"), nm.UnsupportedError, "unknown conic solver 'X'.*SCS"),
        (lambda L, P: nm.pcp(L, P).solve("sdp", eps=2), nm.UnsupportedError, "eps must be between"),
        (
            lambda L, P: nm.simple_npkl(L, P, trace_bound=1).solve("bcd"),
            nm.UnsupportedError,
            "bcd cannot take this problem.*tr K.2; these can: burer_monteiro, hybrid, admm, simple_npkl, sdp, sdp_dual",
        ),
        (lambda L, P: nm.pcp(L, P).solve(start=np.ones((3, 2))), nm.ProblemError, "finite factor"),
        (lambda L, P: nm.certify(nm.pcp(L, P), np.ones(3)), nm.ProblemError, "finite factor"),
        (lambda L, P: nm.certify(nm.pcp(L, P), np.ones((12, 2)), kind="x"), nm.UnsupportedError, "kind of point"),
        (lambda L, P: nm.Problem(L, ()), nm.ProblemError, "at least one loss term"),
        (lambda L, P: nm.pcp(L, P).dual_bound([np.zeros(3)]), nm.ProblemError, "multipliers must have sizes"),
        (lambda L, P: nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 0.5), nm.ProblemError, r"\+1 or -1, got \[0.5\]"),
        (lambda L, P: nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1, 0.0), nm.ProblemError, "weights of pairs must be positive"),
        (lambda L, P: nm.Entries(3, ([0], [3])), nm.ProblemError, "must lie in 0..2"),
        (lambda L, P: nm.Entries(3, ([0, 1], [2])), nm.ProblemError, "of one length"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call(*good())
