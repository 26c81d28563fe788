"""The thesis' graph, its reference optimum, and the rank of its quadratic in vec(U) and svec(U)."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from problems import KINDS, digits

import npkl_models as nm
from npkl_models.printed.sqlp import quadratic_ranks


def brute_force(problem, rows):
    """Ranks of the rows as they are, and made symmetric."""
    s = problem.order
    flat = np.array([row.ravel() for row in rows])
    even = np.array([(0.5 * (row + row.T)).ravel() for row in rows])
    return np.linalg.matrix_rank(even), np.linalg.matrix_rank(flat), s


@pytest.mark.parametrize(("s", "m"), [(3, 40), (4, 13), (6, 30), (5, 6), (5, 12)])
def test_ranks_of_entries(s, m):
    rng = np.random.default_rng(s)
    n = 30
    Q = np.linalg.qr(rng.normal(size=(n, s)))[0]
    i, j = rng.integers(0, n, (2, m))
    term = nm.LossTerm(nm.Entries(n, (i, j)), "square", rng.normal(size=m), rng.uniform(0.5, 2, m))
    problem = nm.Problem(sp.csr_array((n, n)), term).with_basis(nm.Basis(Q))
    found = quadratic_ranks(problem)
    # an entry is the same value in either order; the functional keeps it with i <= j
    i, j = problem.terms[0].functional.indices
    even, flat, _ = brute_force(problem, [np.outer(Q[a], Q[b]) for a, b in zip(i, j, strict=True)])
    assert (found.svec, found.vec) == (even, flat)
    assert found.unknowns == s * (s + 1) // 2
    assert found.printed_unknowns == s * s


@pytest.mark.parametrize(("s", "neighbors"), [(4, 6), (10, 3)])
def test_ranks_of_squared_distances(s, neighbors):
    X = np.random.default_rng(0).normal(size=(40, 3))
    problem = nm.reg_mvu(X, neighbors, s, 10.0)
    i, j = problem.terms[0].functional.indices
    assert (s * s <= i.size) == (s == 4)  # both ways of counting
    Q = problem.Q
    rows = [
        np.outer(Q[a], Q[a]) - 2 * np.outer(Q[a], Q[b]) + np.outer(Q[b], Q[b])
        for a, b in zip(i, j, strict=True)
    ]
    found = quadratic_ranks(problem)
    assert (found.svec, found.vec) == brute_force(problem, rows)[:2]
    assert found.svec < found.vec


def test_what_has_no_printed_rank():
    L = nm.laplacian(np.random.default_rng(0).normal(size=(12, 2)), 3, shift=0.1)
    plain = nm.npkl(L, nm.Pairs(12, [(0, 1)], [(0, 2)]), loss="square")
    with pytest.raises(nm.UnsupportedError, match="needs a basis and no penalty"):
        quadratic_ranks(plain)
    term = nm.LossTerm(nm.DistanceDifferences(12, ([0], [1], [2])), "square", 1.0)
    with pytest.raises(nm.UnsupportedError, match="needs entries or squared distances, got distance diff"):
        quadratic_ranks(nm.Problem(L, term).with_basis(nm.eigenbasis(L, 4)))


@pytest.mark.parametrize(("sigma", "optimum"), [("last", 413.208), ("auto", 791.135)])
def test_the_reference_optimum_on_usps(paper_data, sigma, optimum):
    """Wu, thesis 2011, section 3.4, s = 10: its width, and ours."""
    data = nm.datasets.load("usps", data_home=paper_data)
    first = np.concatenate([np.flatnonzero(data.y == c)[:200] for c in range(10)])
    L = nm.laplacian(data.X[first], 20, sigma=sigma)
    pairs = nm.Pairs.per_class(data.y[first], 20, 20, random_state=0)
    problem = nm.reg_pcp(nm.eigenbasis(L, 10), pairs)
    found = problem.solve("burer_monteiro")
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, abs=2e-3)
    assert quadratic_ranks(problem)[:2] == (55, 100)  # the thesis: 100


@pytest.mark.parametrize("kind", ["basis:pcp", "reg_mvu"])
def test_the_program_in_vec_has_the_same_optimum(small, kind):
    swiss_roll = nm.datasets.load("swiss_roll", n=120, random_state=2).X
    problem = small(kind) if kind in KINDS else nm.reg_mvu(swiss_roll, 4, 6, 100.0)
    found, own = (problem.solve(name, solver="CLARABEL") for name in ("printed_sqlp", "sqlp"))
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(own.objective, rel=2e-6)


def test_it_counts_the_unknowns_of_vec():
    X, y = digits(20)
    problem = nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 20), 8), nm.Pairs.per_class(y, 5, 3, random_state=0))
    rank = quadratic_ranks(problem).vec
    cones = f"a PSD cone of order 8 (64 unknowns), a second-order cone of {rank + 2}, {rank + 1} equations"
    assert problem.compile("printed_sqlp").describe() == f"printed_sqlp: {cones}"
    with pytest.raises(nm.UnsupportedError, match="takes no regulariser, got"):
        replace(problem, regularizer=nm.TracePower(2, bound=9.0)).solve("printed_sqlp")
