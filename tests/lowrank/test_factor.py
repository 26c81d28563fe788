"""Solvers of factors: ranks, starts, descent."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.lowrank.factor.minimisers import Newton
from npkl_models.routes import backends

REGISTRY = backends()

LOWRANK = [name for name, backend in REGISTRY.items() if backend.family == "lowrank"]


@pytest.mark.parametrize("backend", LOWRANK)
def test_rotating_the_start_changes_nothing(small, backend):
    problem = small("pcp")
    rng = np.random.default_rng(0)
    V = rng.normal(size=(problem.n, 5))
    R = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    first = problem.solve(backend, start=V, max_iter=5)
    second = problem.solve(backend, start=V @ R, max_iter=5)
    np.testing.assert_allclose(first.K, second.K, atol=1e-8)


@pytest.mark.parametrize("backend", LOWRANK)
@pytest.mark.parametrize("rank", ["auto", "pataki", 6])
def test_ranks(small, backend, rank):
    problem = small("npkl:squared_hinge")
    solution = problem.solve(backend, rank=rank)
    assert solution.status is nm.Status.OPTIMAL
    if rank == 6:
        assert solution.V.shape[1] == 6
    if rank == "pataki":
        r, m = solution.V.shape[1], problem.n_pairs
        assert r * (r + 1) // 2 <= m < (r + 1) * (r + 2) // 2


@pytest.mark.parametrize("backend", LOWRANK)
def test_a_rank_too_small_is_shown_and_left(small, exact, backend):
    """At rank 1 the point is stationary, not optimal: the certificate says so, "auto" goes on from it."""
    problem = small("pcp")
    stuck = problem.solve(backend, rank=1, max_iter=3000)
    assert stuck.status is not nm.Status.OPTIMAL
    assert stuck.certificate.min_eigenvalue < -1e-3
    assert not stuck.is_optimal(1e-4)
    assert stuck.objective > exact("pcp").objective + 1e-3
    left = problem.solve(backend, start=stuck, rank="auto")
    assert left.status is nm.Status.OPTIMAL
    assert left.rank > 1


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("loss", ["hinge", "square"])
@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro"])
def test_a_run_ends_where_no_step_and_no_column_may_help(backend, loss, rank):
    """The residual may stay above any threshold, and another step take as long as a hundred useful ones."""
    L, pairs = side_information("iris", 60)
    found = nm.npkl(L, pairs, loss=loss, gamma=100.0).solve(backend, rank=rank, time_limit=60)
    assert found.status is nm.Status.LOCALLY_SOLVED
    assert found.certificate.relative_gap > 1e-3
    assert found.iterations < 600  # 789 to 1,200, or the time limit, where only patience ended it


def test_small_columns_of_a_full_factor_may_grow(small):
    """No column may come, but the start has columns that leave a stationary point of rank one."""
    problem = small("pcp")
    low = problem.solve("burer_monteiro", rank=1, tol=1e-9).V
    rest = 1e-12 * np.random.default_rng(0).normal(size=(problem.n, problem.n - 1))
    found = problem.solve("burer_monteiro", start=np.hstack([low, rest]))
    assert found.status is nm.Status.OPTIMAL


def test_bcd_never_goes_up(small):
    for kind in ("pcp", "npkl:square", "npkl:squared_hinge", "row:linear", "row:squared_hinge"):
        history = small(kind).solve("bcd", tol=1e-9, rank=6).history
        rise = np.diff(history.objective)
        assert np.all(rise <= 1e-11 * np.abs(history.objective[0]))


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "G2:squared_hinge", "B2:hinge", "B2:linear"])
def test_other_solvers_add_digits_to_an_answer_of_admm(small, exact, kind):
    plain = small(kind).solve("admm", relaxation=1.0)
    finer = small(kind).solve("burer_monteiro", start=plain, tol=1e-8)
    assert plain.status is finer.status is nm.Status.OPTIMAL
    assert finer.objective == pytest.approx(exact(kind).objective, rel=1e-6)


def test_mixed_losses_in_one_problem():
    L, pairs = side_information("iris", 30)
    must, cannot = pairs.must_link.T, pairs.cannot_link.T
    n = np.arange(30)
    terms = (
        nm.LossTerm(nm.Entries(30, tuple(must)), "hinge", 1.0, 2.0, "must"),
        nm.LossTerm(nm.Entries(30, tuple(cannot)), "squared_hinge", -1.0, 0.5, "cannot"),
        nm.LossTerm(nm.Entries(30, (n, n)), "square", 1.0, 0.3, "diagonal"),
    )
    problem = nm.Problem(L, terms)
    reference = problem.solve("sdp", eps=1e-9)
    for backend in LOWRANK:
        solution = problem.solve(backend)
        assert solution.status is nm.Status.OPTIMAL
        assert solution.objective == pytest.approx(reference.objective, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro"])
@pytest.mark.parametrize("seed", [0, 7])
def test_large_weights_are_certified(loss, backend, seed):
    """gamma = 100, where eight columns and sweeps alone were trapped or crept."""
    data = nm.datasets.load("iris")
    pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
    problem = nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss=loss, gamma=100.0)
    solution = problem.solve(backend)
    assert solution.status is nm.Status.OPTIMAL
    exact = problem.solve("interior", tol=1e-8)
    assert abs(solution.objective - exact.objective) <= solution.certificate.gap + exact.certificate.gap


@pytest.mark.parametrize("seed", range(3))
def test_hard_constraints_are_certified_from_few_columns(seed):
    data = nm.datasets.load("iris")
    problem = nm.hard_pcp(nm.laplacian(data.X, 5), nm.Pairs.from_labels(data.y, 90, 90, seed))
    solution, exact = problem.solve("burer_monteiro"), problem.solve("interior", tol=1e-8)
    assert solution.status is nm.Status.OPTIMAL
    moved = np.abs(np.concatenate(exact.multipliers.terms)).sum() * solution.certificate.violation
    gaps = solution.certificate.gap + exact.certificate.gap + moved  # the optimum moves with the targets
    assert abs(solution.objective - exact.objective) <= gaps


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_leaves_over_relaxation_where_it_swings(seed):
    """At these weights V and U changed places for ever under over-relaxation."""
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.1)
    problem = nm.pcp(L, nm.Pairs.from_labels(data.y, 90, 90, seed), gamma=100.0)
    found = problem.solve("admm", time_limit=60)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.relative_gap <= 1e-6


def test_a_step_that_failed_is_cut_to_the_radius():
    """One step of conjugate gradients may go far beyond the radius, and the same step would fail again."""

    class Near(Newton):
        def _search(self, f, point, D, HD):
            np.testing.assert_allclose(HD, 1e-6 * D)
            return (None, 1.0) if np.linalg.norm(D) <= 1.0 else (point, 0.0)

    f = SimpleNamespace(preconditioner=lambda point: np.copy, hessian=lambda point: lambda D: 1e-6 * D)
    point = SimpleNamespace(gradient=np.ones((3, 2)), W=np.ones((3, 2)), value=1.0)
    assert Near().step(f, point) is None
