"""Every backend on every kind of problem: status, certificate, agreement, invariance, limits."""

import time

import numpy as np
import pytest
from conftest import KINDS, build, side_information

import npkl_models as nm
from npkl_models.solve.registry import backends

REGISTRY = backends()

LOWRANK = [name for name, backend in REGISTRY.items() if backend.family == "lowrank"]
RAN: set[str] = set()


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("p", [2.5])
@pytest.mark.parametrize("loss", nm.LOSSES)
@pytest.mark.parametrize("how", ["bound", "penalty"])
def test_general_powers_go_through_majorisation(p, loss, how):
    L, pairs = side_information("iris", 9)
    problem = nm.simple_npkl(L, pairs, loss=loss, p=p, **{how: 4.0 if how == "bound" else 0.5})
    primal, dual = (problem.solve(b, eps=1e-9) for b in ("sdp", "sdp_dual"))
    assert primal.certificate.certifies(1e-6)
    assert dual.objective == pytest.approx(primal.objective, rel=1e-6)
    assert dual.certificate.bound <= primal.objective + 1e-9
    L, pairs = side_information("iris", 60)
    large = nm.simple_npkl(L, pairs, loss=loss, p=p, bound=4.0)
    assert "majorisation, for order up to 40 (got 60)" in large.compatible_backends()["sdp"]


def test_every_backend_ran():
    assert set(REGISTRY) == RAN


@pytest.mark.parametrize("kind", KINDS)
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
    with pytest.raises(nm.UnsupportedError, match="needs a factorisation of the dual slack: at order 450"):
        nm.pcp(L, pairs).solve("bcd", rigour="proved")
    with pytest.raises(nm.UnsupportedError, match="rigour must be"):
        nm.pcp(L, pairs).solve("bcd", rigour="sure")


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


@pytest.mark.parametrize("backend", LOWRANK)
def test_limits_and_stops_return_the_best_point(small, backend):
    problem = small("npkl:square")
    start = problem.objective_of_factor(np.random.default_rng(0).normal(size=(24, 8)) / np.sqrt(8))
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
    assert seen[0].V.shape == (24, 2 if backend == "hybrid" else 8)


def test_a_loose_tolerance_never_yields_optimal_by_itself(small):
    """A solver that stops early is not believed: its status comes from the certificate."""
    loose = small("B2:hinge").solve("sdp", solver="SCS", eps=1e-2)
    assert loose.status is nm.Status.INACCURATE
    assert loose.certificate.relative_gap > 1e-6
    assert "solver stopped" in loose.status.value


def test_conic_statuses():
    L, pairs = side_information("iris", 12)
    n = np.arange(12)
    wall = [
        nm.Equality(nm.Entries(12, (n, n)), 1.0),
        nm.Equality(nm.Entries(12, (n[:1], n[1:2])), 2.0),
    ]
    impossible = nm.Problem(L, nm.pcp(L, pairs).terms, wall)
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


def test_bcd_never_goes_up(small):
    for kind in ("pcp", "npkl:square", "npkl:squared_hinge", "row:linear", "row:squared_hinge"):
        history = small(kind).solve("bcd", tol=1e-9, rank=6).history
        rise = np.diff(history.objective)
        assert np.all(rise <= 1e-11 * np.abs(history.objective[0]))


def test_the_printed_row_program_stalls_and_says_so(small, exact):
    """Hu & Kwok 2015, algorithm 1 with the hinge loss: descends, and stops above the optimum."""
    problem = small("npkl:hinge")
    printed = problem.solve("bcd", nonsmooth="row_qp", rank=8, max_iter=120)
    assert np.all(np.diff(printed.history.objective) <= 1e-9)
    assert printed.objective > exact("npkl:hinge").objective * 1.005
    assert printed.status is not nm.Status.OPTIMAL
    assert problem.solve("bcd").objective == pytest.approx(exact("npkl:hinge").objective, rel=1e-5)
    with pytest.raises(nm.UnsupportedError, match="takes neither a loss on the diagonal"):
        small("row:hinge").solve("bcd", nonsmooth="row_qp")


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "G2:squared_hinge", "B2:hinge", "B2:linear"])
def test_admm_may_leave_the_last_digits_to_others(small, exact, kind):
    plain = small(kind).solve("admm", relaxation=1.0)
    assert plain.message == ""
    polished = small(kind).solve("admm", polish="newton", tol=1e-7)
    assert "last digits by newton" in polished.message
    assert plain.status is polished.status is nm.Status.OPTIMAL
    assert polished.objective == pytest.approx(exact(kind).objective, rel=1e-6)
    if kind.startswith(("B", "G")):
        with pytest.raises(nm.UnsupportedError, match="polish='bcd' does not take this problem"):
            small(kind).solve("admm", polish="bcd")
    else:
        assert "last digits by bcd" in small(kind).solve("admm", polish="bcd").message
    # a rank that is too small is left by whoever has the word
    left = small(kind).solve("admm", polish="newton", start=np.ones((24, 1)))
    assert left.status is nm.Status.OPTIMAL


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


def test_automatic_choice_gives_its_reason(small):
    name, reason = nm.choose_backend(small("pcp"))
    assert name == "bcd"
    assert "block coordinate descent" in reason
    name, reason = nm.choose_backend(small("B2:hinge"))
    assert name == "simple_npkl"
    assert "got tr K^2" in reason
    assert "backend chosen: bcd" in small("pcp").solve().message
    L, pairs = side_information("breast_cancer")
    assert nm.choose_backend(nm.simple_npkl(L, pairs, p=1.5, bound=569.0))[0] == "simple_npkl"
    n = L.shape[0]
    odd = nm.Problem(
        L,
        nm.LossTerm(nm.DistanceDifferences(n, ([0], [1], [2])), "linear", 1.0),
        regularizer=nm.RowNormBound(1.0),
    )
    assert nm.choose_backend(odd)[0] == "burer_monteiro"


@pytest.mark.parametrize("backend", REGISTRY)
def test_programs_describe_themselves(small, backend):
    takers = (k for k in ("pcp", "basis:pcp", "G2:linear") if small(k).compatible_backends()[backend] is None)
    program = small(next(takers)).compile(backend)
    text = program.describe()
    assert "MB" in text
    assert "24" in text
    assert program.build_time >= 0


@pytest.mark.parametrize("kind", ["pcp", "row:hinge", "B2:square", "G1:hinge"])
def test_solutions_survive_the_disk(small, exact, tmp_path, kind):
    solution = exact(kind)
    path = solution.save(tmp_path / "answer")
    back = nm.Solution.load(path)
    np.testing.assert_array_equal(back.V, solution.V)
    assert back.status is solution.status
    assert back.objective == solution.objective
    assert back.problem.objective_of_factor(back.V) == pytest.approx(solution.objective)
    assert back.certificate.bound == pytest.approx(solution.certificate.bound, abs=1e-6)
    assert back.problem.name == solution.problem.name
    again = back.problem.solve("sdp", eps=1e-9)
    assert again.objective == pytest.approx(solution.objective, rel=1e-6)
    with pytest.raises(nm.ProblemError, match="written by save"):
        np.savez(tmp_path / "other.npz", a=np.zeros(2))
        nm.Solution.load(tmp_path / "other.npz")


def test_large_kernels_are_not_formed_by_accident(small):
    solution = small("pcp").solve()
    assert solution.trace == pytest.approx(np.trace(solution.K))
    n = 20_001
    big = nm.Problem(
        nm.laplacian(np.random.default_rng(0).normal(size=(n, 2)), 3),
        nm.LossTerm(nm.Entries(n, ([0], [1])), "square", 1.0),
    )
    held = nm.Solution(big, "bcd", nm.Status.STOPPED, np.ones((n, 1)), 0.0, 0.0)
    with pytest.raises(nm.ProblemError, match=r"20001 points takes 3.2 GB"):
        _ = held.K


def test_extension_is_the_fixed_point_of_averaging(small):
    """New rows are affinity-weighted means of their neighbours' rows, old and new."""
    solution = small("pcp").solve()
    rng = np.random.default_rng(0)
    A = rng.random((5, 24)) * (rng.random((5, 24)) < 0.2)
    A[:, 0] += 0.1
    B = rng.random((5, 5))
    B = np.triu(B, 1) + np.triu(B, 1).T
    for shift in (0.0, 0.1):
        V = solution.extend(A, B, shift)
        degree = A.sum(axis=1) + B.sum(axis=1)
        np.testing.assert_allclose(V * ((1 + shift) * degree)[:, None], A @ solution.V + B @ V, atol=1e-12)
    alone = solution.extend(A)
    np.testing.assert_allclose(alone, (A @ solution.V) / A.sum(axis=1)[:, None], atol=1e-12)
    one = np.zeros((1, 24))
    one[0, 7] = 3.0
    np.testing.assert_allclose(solution.extend(one), solution.V[7:8])


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones((2, 5)), None, "a column for each of the 24 old points"),
        (-np.ones((2, 24)), None, "finite non-negative"),
        (np.zeros((2, 24)), None, r"joined to an old one, got none for \[0, 1\]"),
        (np.ones((2, 24)), np.triu(np.ones((2, 2))), "among_new must be symmetric"),
    ],
)
def test_bad_extensions(small, A, B, message):
    with pytest.raises(nm.ProblemError, match=message):
        small("pcp").solve().extend(A, B)


def test_predictions_grow_with_the_problem_and_refuse_the_hopeless(small):
    L, pairs = side_information("breast_cancer")
    large = nm.pcp(L, pairs)
    for name in REGISTRY:
        if "basis" in (REGISTRY[name].reason(large) or ""):
            continue
        little, much = REGISTRY[name].cost(small("pcp")), REGISTRY[name].cost(large)
        assert 0 < little.seconds < much.seconds
        assert 0 < little.bytes < much.bytes
    assert REGISTRY["sdp"].cost(large).seconds > 100 * REGISTRY["bcd"].cost(large).seconds
    name, reason = nm.choose_backend(large)
    assert name == "bcd"
    assert "sdp is hopeless at order 569, predicted" in reason
    majorised = nm.simple_npkl(*side_information("iris", 20), p=2.5, bound=9.0)
    assert REGISTRY["sdp"].cost(majorised).seconds > 1


def test_the_choice_without_a_low_rank_route_is_spectral(small):
    L, pairs = side_information("iris", 20)
    name, reason = nm.choose_backend(nm.simple_npkl(L, pairs, loss="hinge", p=1.5, bound=9.0))
    assert name == "simple_npkl"
    assert (
        "burer_monteiro takes no regulariser, row norms or tr K^p with an integer p, got tr K^1.5" in reason
    )
