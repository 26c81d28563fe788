"""What conic solvers say, and what becomes of it."""

import re

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.conic.runner import ConicRun

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose


@pytest.mark.parametrize("p", [2.5])
@pytest.mark.parametrize("loss", nm.LOSSES)
@pytest.mark.parametrize("how", ["trace_bound", "penalty"])
def test_general_powers_go_through_majorisation(p, loss, how):
    L, pairs = side_information("iris", 9)
    problem = nm.simple_npkl(L, pairs, loss=loss, p=p, **{how: 4.0 if how == "trace_bound" else 0.5})
    primal, dual = (problem.solve(b, eps=1e-9) for b in ("sdp", "sdp_dual"))
    assert primal.certificate.certifies(1e-6)
    assert dual.objective == pytest.approx(primal.objective, rel=1e-6)
    assert dual.certificate.bound <= primal.objective + 1e-9
    L, pairs = side_information("iris", 60)
    large = nm.simple_npkl(L, pairs, loss=loss, p=p, trace_bound=4.0)
    assert "majorisation, which is limited to order 40 (got 60)" in large.compatible_backends()["sdp"]


def test_conic_statuses():
    L, pairs = side_information("iris", 12)
    n = np.arange(12)
    wall = [
        nm.Constraint(nm.Entries(12, (n, n)), equal=1.0),
        nm.Constraint(nm.Entries(12, (n[:1], n[1:2])), equal=2.0),
    ]
    impossible = nm.Problem(L, (*nm.pcp(L, pairs).terms, *wall))
    bottomless = nm.Problem(L, nm.LossTerm(nm.Entries(12, (pairs.i, pairs.j)), "linear", pairs.sign, 9.0))
    for backend in ("sdp", "sdp_dual"):
        for solver in ("CLARABEL", "SCS"):
            found = impossible.solve(backend, solver=solver)
            assert found.status is nm.Status.INFEASIBLE
            assert found.V is None
            assert bottomless.solve(backend, solver=solver).status is nm.Status.UNBOUNDED
    with pytest.raises(nm.SolverError, match="left no point"):
        _ = found.certificate
    with pytest.raises(nm.SolverError, match="left no kernel"):
        _ = found.K
    assert "INFEASIBLE" in found.summary()


def test_other_solvers_need_their_own_option_names(small, monkeypatch):
    from npkl_models.conic import solvers

    options = solvers.ConicOptions(solver_options={"a": 1})
    assert solvers.solver_arguments("SDPA", options) == {"a": 1}
    with pytest.raises(nm.UnsupportedError, match="solver_options"):
        solvers.solver_arguments("SDPA", solvers.ConicOptions(max_iter=3))
    with pytest.raises(nm.UnsupportedError, match="takes no time_limit"):
        solvers.solver_arguments("CVXOPT", solvers.ConicOptions(time_limit=3))


def test_hopeless_memory_is_refused_with_the_prediction():
    L, pairs = side_information("breast_cancer")
    with pytest.raises(nm.UnsupportedError, match=r"order 569.*needs about \d+ GB.*SCS"):
        nm.pcp(L, pairs).solve("sdp", solver="CLARABEL")


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_quadratic_penalties_through_every_version_of_cvxpy(solver):
    # before 1.9.3 CVXPY handed on the quadratic objective of a PSD unknown wrong: -inf
    C = np.random.default_rng(0).standard_normal((5, 5))
    near = nm.LossTerm(nm.Entries(5, ([0], [1])), "square", 1.0)
    problem = nm.Problem(C + C.T, near, regularizer=nm.TracePower(2, penalty=0.5))
    found, reference = problem.solve("sdp", solver=solver), problem.solve("burer_monteiro")
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.certifies(1e-6)
    assert found.objective == pytest.approx(reference.objective, rel=2e-6)


def of_forty():
    data = nm.datasets.load("iris", n=40)
    pairs = nm.Pairs.from_labels(data.y, 24, 24, random_state=0)
    return nm.pcp(nm.laplacian(data.X, 5, shift=0.1), pairs)


def test_scs_has_a_try_where_clarabel_would_take_long():
    problem = of_forty()
    quick, sure = problem.solve("sdp"), problem.solve("sdp", solver="CLARABEL")
    assert quick.message.startswith("SCS")
    assert "CLARABEL" not in quick.message
    assert quick.status is sure.status is nm.Status.OPTIMAL
    assert abs(quick.objective - sure.objective) <= 1e-6 * problem.size(quick.objective, sure.objective)
    assert problem.solve("sdp", tol=1e-8).message.startswith("CLARABEL")  # of which SCS is not asked


def test_clarabel_follows_where_the_try_is_not_certified(monkeypatch):
    monkeypatch.setattr("npkl_models.conic.sdp.tries_scs", lambda order, options: 3)
    found = of_forty().solve("sdp")
    assert found.status is nm.Status.OPTIMAL
    assert re.match("SCS: .*; CLARABEL: ", found.message)
    assert found.iterations > 3
    assert (np.diff(found.history.iteration) > 0).all()


@pytest.mark.parametrize("ended", [nm.Status.STOPPED, nm.Status.TIME_LIMIT])
def test_what_ends_the_second_solver_is_said_whosever_point_is_kept(ended, monkeypatch):
    """An interrupt or the clock was called ITERATION_LIMIT, the status of the try."""
    monkeypatch.setattr("npkl_models.conic.sdp.tries_scs", lambda order, options: 3)
    first = ConicRun._run

    def run(self, solver):
        if solver == "SCS":
            return first(self, solver)
        if ended is nm.Status.STOPPED:
            raise KeyboardInterrupt
        return ended, 0, "CLARABEL: user_limit"

    monkeypatch.setattr(ConicRun, "_run", run)
    found = of_forty().solve("sdp")
    assert found.status is ended
    assert found.V is not None
    assert found.iterations == 3
