"""Every backend against the exact optimum."""

import time

import numpy as np
import pytest
from problems import KINDS, build, side_information

import npkl_models as nm
from npkl_models.routes import backends

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose

REGISTRY = backends()

LOWRANK = [name for name, backend in REGISTRY.items() if backend.family == "lowrank"]

RAN: set[str] = set()


AT_ONCE = 10  # every so many-th kind is in the quick suite, and those over a basis, which some backends need
SOME_KINDS = [
    pytest.param(kind, marks=[pytest.mark.slow] * (k % AT_ONCE != 0 and not kind.startswith("basis:")))
    for k, kind in enumerate(KINDS)
]


@pytest.mark.parametrize("kind", SOME_KINDS)
@pytest.mark.parametrize("backend", REGISTRY)
def test_backend_reaches_the_exact_optimum(small, exact, backend, kind):
    problem = small(kind)
    reason = problem.compatible_backends()[backend]
    if reason is not None:
        with pytest.raises(nm.UnsupportedError, match="cannot take this problem"):
            problem.solve(backend)
        return
    RAN.add(backend)
    reference = exact(kind)
    assert reference.is_optimal(1e-6)
    solution = problem.solve(backend)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.certificate.certifies(1e-6)
    assert solution.objective == pytest.approx(problem.objective(solution.K), rel=1e-9)
    scale = 1 + abs(reference.objective)
    assert abs(solution.objective - reference.objective) <= 1e-5 * scale
    assert solution.certificate.bound <= reference.objective + 1e-9 * scale


def test_every_backend_ran():
    assert set(REGISTRY) == RAN


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_a_point_from_elsewhere_is_certified(small, exact, kind):
    """`certify` recovers the multipliers of a kernel that comes without any."""
    certificate = nm.certify(small(kind), exact(kind).K)
    assert certificate.rigour == "proved"
    assert certificate.relative_gap <= 1e-4


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "npkl:square", "row:linear"])
def test_permuting_the_points_changes_nothing(kind):
    L, pairs = side_information("iris", 40)
    order = np.random.default_rng(1).permutation(40)
    where = np.argsort(order)
    moved = nm.Pairs(40, where[pairs.must_link[:, ::-1]], where[pairs.cannot_link])
    here = build(kind, L, pairs).solve()
    there = build(kind, L[order][:, order], moved).solve()
    gap = here.certificate.gap + there.certificate.gap
    assert abs(here.objective - there.objective) <= gap + 1e-12
    np.testing.assert_allclose(there.K[np.ix_(where, where)], here.K, atol=2e-2)


@pytest.mark.parametrize("backend", LOWRANK)
def test_a_proof_can_be_asked_for(backend):
    data = nm.datasets.load("two_gaussians", n=450)
    problem = nm.pcp(nm.laplacian(data.X, 10), nm.Pairs.from_labels(data.y, 270, 270, 0))
    assert problem.solve(backend).certificate.rigour == "probable"
    proved = problem.solve(backend, rigour="proved")
    assert proved.status is nm.Status.OPTIMAL
    assert proved.certificate.rigour == "proved"
    assert proved.certificate.relative_gap <= 1e-6


def test_a_proof_out_of_reach_is_refused(monkeypatch):
    from npkl_models.proof import factorisation

    L, pairs = side_information("breast_cancer", 450)
    monkeypatch.setattr(factorisation, "DENSE_CHOLESKY", 400)
    monkeypatch.setattr(factorisation, "SPARSE_WORK", 1e5)
    with pytest.raises(
        nm.UnsupportedError, match="needs a factorisation of the dual slack; the slack of order 450"
    ):
        nm.pcp(L, pairs).solve("bcd", rigour="proved")
    with pytest.raises(nm.UnsupportedError, match="rigour must be"):
        nm.pcp(L, pairs).solve("bcd", rigour="sure")


@pytest.mark.parametrize("backend", LOWRANK)
def test_limits_and_stops_return_the_best_point(small, backend):
    problem = small("npkl:square")
    start = problem.objective_of_factor(np.random.default_rng(0).normal(size=(24, 10)) / np.sqrt(10))
    seen = []

    def after_three(state):
        seen.append(state)
        return state.iteration == 3

    def interrupted(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    options = {"tol": 1e-14}
    runs = {
        nm.Status.STOPPED: problem.solve(backend, callback=after_three, **options),
        nm.Status.ITERATION_LIMIT: problem.solve(backend, max_iter=3, **options),
        nm.Status.TIME_LIMIT: problem.solve(
            backend, callback=lambda state: time.sleep(0.02) and None, time_limit=0.05, **options
        ),
    }
    for status, solution in runs.items():
        assert solution.status is status
        assert solution.objective < start
        assert np.isfinite(solution.certificate.bound)
        assert solution.history.iteration[-1] == solution.iterations
    broken = problem.solve(backend, callback=interrupted, **options)
    assert broken.status is nm.Status.STOPPED
    assert broken.certificate.bound <= broken.objective
    assert [s.iteration for s in seen] == [1, 2, 3]
    assert seen[0].V.shape == (24, 2 if backend == "hybrid" else 10)


def test_a_loose_tolerance_never_yields_optimal_by_itself(small):
    """A solver that stops early is not believed: its status comes from the certificate."""
    loose = small("B2:hinge").solve("sdp", solver="SCS", eps=1e-2)
    assert loose.status is nm.Status.INACCURATE
    assert loose.certificate.relative_gap > 1e-6
    assert "solver stopped" in loose.status.value


@pytest.mark.parametrize("backend", REGISTRY)
def test_programs_describe_themselves(small, backend):
    takers = (k for k in ("pcp", "basis:pcp", "G2:linear") if small(k).compatible_backends()[backend] is None)
    program = small(next(takers)).compile(backend)
    text = program.describe()
    assert "MB" in text
    assert "24" in text
    assert program.build_time >= 0


@pytest.mark.parametrize("functional", [nm.Entries(4, ([0], [1])), nm.SquaredDistances(4, ([0], [1]))])
def test_a_problem_without_any_scale_is_solved(functional):
    """No cost and no target: objective, bound and all that they are compared with are zero."""
    problem = nm.Problem(np.zeros((4, 4)), [nm.LossTerm(functional, "square", 0.0, 1.0)])
    able = [name for name, reason in problem.compatible_backends().items() if reason is None]
    assert {"interior", "burer_monteiro", "sdp"} <= set(able)
    for backend in ("auto", *able):
        found = problem.solve(backend)
        assert found.status is nm.Status.OPTIMAL
        assert "Error" not in found.message
