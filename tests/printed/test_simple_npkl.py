"""SimpleNPKL as its source prints it: p = 1, Lanczos for the rank of Prop. 4."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.spectral.concave import printed_rank

NAME = "printed_simple_npkl"


def simple(loss="squared_hinge", n=40, p=2.0, m=24, **how):
    L, _ = side_information("iris", n)
    y = np.random.default_rng(0).integers(0, 3, n)
    return nm.simple_npkl(
        L, nm.Pairs.from_labels(y, m, m, 0), loss=loss, p=p, **(how or {"trace_bound": 1.0})
    )


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "hinge"])
def test_the_printed_steps_at_p_1_are_bracketed_and_not_called_optimal(loss):
    problem = simple(loss, p=1, trace_bound=40.0)
    best = problem.solve("interior", tol=1e-8)
    found = problem.solve(NAME, eigenpairs="all")
    assert found.iterations == 51
    assert found.status is nm.Status.ITERATION_LIMIT
    assert found.objective > best.objective * (1 + 1e-3)
    assert np.all(found.history.bound <= best.objective + 1e-8)
    assert np.all(found.history.objective >= best.objective - 1e-8)
    assert found.rank <= 1  # B times the projector of one eigenvector, or nothing


@pytest.mark.parametrize("how", [{"bound": 4.0}, {"penalty": 1.0}])
def test_equalities_without_any_loss_are_taken(how):
    term = nm.Constraint(nm.Entries(40, ([0, 1], [0, 1])), equal=[1.0, 1.0])
    problem = nm.Problem(simple().cost, (term,), nm.TracePower(2, **how))
    found = problem.solve(NAME)
    assert found.certificate.bound <= problem.solve("sdp").objective + 1e-9
    assert found.iterations > 1


@pytest.mark.parametrize(("m", "rank"), [(1, 1), (3, 3), (24, 9)])
def test_the_rank_of_prop_4(m, rank):
    problem = simple(m=m)
    r = printed_rank(problem)
    assert r == rank == max(k for k in range(1, 41) if k * (k + 1) // 2 <= 2 * m)


@pytest.mark.parametrize("how", [{"trace_bound": 1.0}, {"trace_bound": 40.0}, {"penalty": 1.0}])
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_truncated_kernels_are_feasible_and_bounded_from_below(p, how):
    problem = simple(p=p, **how)
    best = problem.solve("simple_npkl", tol=1e-8)
    found = problem.solve(NAME)
    assert found.rank <= printed_rank(problem)
    assert "pairs at most (Prop. 4)" in found.message
    scale = 1 + abs(best.objective)
    assert found.objective >= best.certificate.bound - 1e-9 * scale
    assert found.certificate.bound <= best.objective + 1e-9 * scale
    if found.status is nm.Status.OPTIMAL:
        assert found.objective == pytest.approx(best.objective, abs=2e-6 * scale)


def test_a_rank_that_is_too_small_leaves_the_gap_open():
    """One must-link chain of equal pull: A has more positive eigenvalues than Prop. 4 allows."""
    L = 0.01 * np.eye(12)
    pairs = nm.Pairs(12, [(2 * k, 2 * k + 1) for k in range(6)], [])
    problem = nm.simple_npkl(L, pairs, loss="squared_hinge", p=2, trace_bound=6.0)
    best = problem.solve("simple_npkl", tol=1e-8)
    assert best.rank == 6 > printed_rank(problem) == 3
    found = problem.solve(NAME, max_iter=200)
    assert found.status is not nm.Status.OPTIMAL
    assert found.objective > best.objective + 0.1
    assert found.certificate.bound <= best.objective + 1e-9


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_the_steps_of_prop_6_lead_to_the_optimum_and_never_down(loss):
    problem = simple(loss, n=30, m=16, penalty=2.0)
    best = problem.solve("simple_npkl", tol=1e-8 if loss != "hinge" else 1e-6)
    found = problem.solve(NAME, eigenpairs="all", tol=1e-4, max_iter=600)
    assert found.status is nm.Status.OPTIMAL
    assert np.all(found.history.bound <= best.objective + 1e-9)
    if loss != "hinge":  # which is not smooth in the primal, and has no 1 / C
        assert np.all(np.diff(found.history.bound) >= -1e-10)


def test_what_does_not_fit_is_refused():
    with pytest.raises(nm.UnsupportedError, match="unknown eigenpairs 'some'"):
        simple().solve(NAME, eigenpairs="some")
    with pytest.raises(nm.UnsupportedError, match="starts from a Solution with multipliers, got an array"):
        simple().solve(NAME, start=np.ones((40, 2)))
