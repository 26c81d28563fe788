"""What was once claimed and was not true: each case found by an adversary, as it was found."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from problems import side_information

import npkl_models as nm
from npkl_models.model.multipliers import Multipliers

E, T, Problem = nm.Entries, nm.LossTerm, nm.Problem


def Eq(functional, value):
    return nm.Constraint(functional, equal=value)


Status = nm.Status


def D(n):
    """Every (i, i)."""
    return np.arange(n), np.arange(n)


def test_a_multiplier_next_to_the_domain_is_not_in_it():
    """C = 1e6 - 1e-7 against a linear loss of weight 1e6 on K_ii: unbounded below by 1e-7 tr K."""
    unbounded = Problem((1e6 - 1e-7) * np.eye(3), [T(E(3, D(3)), "linear", 1, 1e6)])
    found = nm.certify(unbounded, np.ones((3, 1)))
    assert found.bound == -np.inf
    assert found.rigour == "none"
    assert not found.certifies(0.5)
    for loss in nm.LOSSES.values():
        t, w = np.ones(3), np.full(3, 1e6)
        y = loss.project(np.array([-1e6, 0.0, 7.0]), t, w)
        assert loss.in_domain(y, t, w).all()
    linear = nm.LOSSES["linear"]
    hinge, one = nm.LOSSES["hinge"], np.ones(1)
    for outside in (5e-324, np.nextafter(-1e6, -np.inf)):  # of [-w, 0], by as little as there is
        assert not hinge.in_domain(np.array([outside]), one, 1e6 * one).any()
    assert not linear.in_domain(np.full(3, -1e6 * (1 - 1e-15)), np.ones(3), np.full(3, 1e6)).any()


def test_a_row_norm_pays_for_the_same():
    confined = Problem(
        (1e6 - 1e-7) * np.eye(3), [T(E(3, D(3)), "linear", 1, 1e6)], regularizer=nm.RowNormBound(1e5)
    )
    optimum = -3e10 * 1e-7  # K = 1e10 I
    found = nm.certify(confined, np.ones((3, 1)))
    assert found.bound <= optimum
    assert confined.objective_of_factor(1e5 * np.eye(3)) == pytest.approx(optimum, rel=1e-3)


def test_a_hinge_on_the_diagonal_lifts_no_negative_cost():
    """C = -1e-7 I is unbounded below, whatever the hinge of weight 1e6 on K_ii costs near zero."""
    P = Problem(-1e-7 * np.eye(3), [T(E(3, D(3)), "hinge", 1, 1e6)])
    assert nm.certify(P, np.ones((3, 1))).bound == -np.inf
    assert P.solve("burer_monteiro").status is Status.UNBOUNDED


def test_zero_is_not_in_the_domain_of_a_small_linear_loss():
    P = Problem(1e-13 * np.eye(3), [T(E(3, D(3)), "linear", 1, 1e-12)])
    found = nm.certify(P, np.ones((3, 1)))
    assert found.bound == -np.inf


@pytest.mark.parametrize("backend", ["burer_monteiro", "hybrid", "sdp", "sdp_dual"])
def test_small_equalities_are_met_to_rounding(backend):
    """tr K = 3e-7 at a price of 1e7: a violation of 1e-7 is all there is."""
    P = Problem(1e7 * np.eye(3), [Eq(E(3, D(3)), 1e-7)])
    solution = P.solve(backend)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(3, rel=1e-6)
    np.testing.assert_allclose(np.diag(solution.K), 1e-7, rtol=1e-12)
    assert P.violation(np.zeros((3, 1))) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("backend", ["burer_monteiro", "sdp", "sdp_dual"])
def test_a_basis_that_cannot_meet_small_equalities_is_infeasible(backend):
    """K = Q U Q' of rank 2 with K_ii = 1e-7 for all i, and K_01 = -1e-7 = K_02 = K_12, which no kernel has."""
    n = 6
    Q = np.linalg.qr(np.vander(np.linspace(-1, 1, n), 2))[0]
    off = Eq(E(n, ([0, 0, 1], [1, 2, 2])), -1e-7)
    P = Problem(np.eye(n), [Eq(E(n, D(n)), 1e-7), off], basis=nm.Basis(Q))
    solution = P.solve(backend)
    assert solution.status is Status.INFEASIBLE
    assert solution.V is None


def test_a_total_sum_of_zero_moves_no_objective():
    """Centring by a constraint: the upper bound is the objective of a centred kernel, never below the optimum."""
    angle = np.linspace(0, 4, 12)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    by_constraint, by_basis = (nm.mvu(X, 2, reduce=reduce) for reduce in (False, True))
    for backend in ("sdp", "sdp_dual", "burer_monteiro"):
        first, second = by_constraint.solve(backend), by_basis.solve(backend)
        assert first.problem is by_constraint
        for solution in (first, second):
            found = solution.certificate
            assert found.gap >= 0
            assert abs(float(np.sum(solution.K))) <= 1e-9
        size = by_basis.size(first.objective, second.objective)
        assert abs(first.certificate.bound - second.certificate.bound) <= 2e-6 * size
    shifted = by_basis.solve("sdp").V + 1e-3  # not centred
    judged = nm.certify(by_constraint, shifted)
    assert judged.violation > 1e-7
    assert judged.missed == "centring"
    assert judged.objective == by_constraint.objective_of_factor(shifted)


@pytest.mark.parametrize("seed", range(3))
def test_a_bracket_is_never_upside_down(seed):
    rng = np.random.default_rng(seed)
    n = 10
    L = nm.laplacian(rng.normal(size=(n, 2)), 3, shift=0.1)
    i, j = np.arange(n - 1), np.arange(1, n)
    Y = rng.normal(size=(n, 2))
    squared = np.sum((Y[i] - Y[j]) ** 2, axis=1)
    P = Problem(L, [Eq(nm.SquaredDistances(n, (i, j)), squared), Eq(nm.TotalSum(n), 0.0)])
    for backend in ("sdp", "sdp_dual", "burer_monteiro"):
        found = P.solve(backend).certificate
        assert found.feasible
        assert found.gap >= 0


def test_an_infeasible_point_enters_no_trace_bound():
    """K_00 = 1e-7: the optimum is 1e-7, and no multiplier proves 100."""
    P = Problem(np.eye(3), [Eq(E(3, ([0], [0])), 1e-7)])
    found = nm.certify(P, np.zeros((3, 1)), Multipliers((), (np.array([-1e9]),)))
    assert found.bound <= 1e-7
    assert found.objective == 0.0
    assert found.violation == pytest.approx(1.0, rel=1e-14)


def test_a_point_outside_the_basis_is_seen():
    n = 12
    Q = np.full((n, 1), n**-0.5)
    P = Problem(np.eye(n), [T(E(n, ([0], [1])), "hinge", 1.0, 1e3)], basis=nm.Basis(Q))
    V = np.zeros((n, 1))
    V[:2] = 1.0
    found = nm.certify(P, V)
    assert found.bound <= 12 * (1 + 1e-12)  # K = 11', feasible
    assert found.violation > 0.5
    assert found.missed == "basis"
    assert found.gap >= 0


def test_no_gap_is_printed_for_a_point_that_misses_its_constraints():
    L, pairs = side_information("iris", 24)
    P = nm.hard_pcp(L, pairs)
    found = nm.certify(P, np.zeros((24, 1)))
    assert not found.feasible
    assert found.upper == found.relative_gap == np.inf
    assert "optimum <=" not in str(found)
    assert "no gap" in str(found)
    assert "violation 1.0e+00 (diagonal)" in str(found)
    assert not found.certifies(0.9)


@pytest.mark.parametrize("G", [6e-4, 1e-5, 1e-30, 1e4])
@pytest.mark.parametrize("p", [1.01, 1.001, 1.5])
def test_the_support_of_a_penalty_neither_under_nor_overflows(p, G):
    """C = -1.05 G I: each eigenvalue minimises -1.05 G k + G/p k^p at k = 1.05^(q-1)."""
    mpmath = pytest.importorskip("mpmath")
    n = 3
    C = -1.05 * G
    P = Problem(
        C * np.eye(n), [T(E(n, ([0], [1])), "hinge", 1.0, 1e-300)], regularizer=nm.TracePower(p, penalty=G)
    )
    with mpmath.workdps(60):
        q = 1 / (1 - 1 / mpmath.mpf(p))
        share = -mpmath.mpf(C) / mpmath.mpf(G)
        optimum = -n * mpmath.mpf(G) / q * share**q
        found = nm.certify(P, np.zeros((n, 1)), [np.zeros(1)])
        if np.isfinite(found.bound):
            assert mpmath.mpf(found.bound) <= optimum
            assert mpmath.mpf(found.bound) >= optimum * (1 + mpmath.mpf(1e-9)) - mpmath.mpf(1e-290)
        else:
            assert found.rigour == "none"
            assert share**q * G > mpmath.mpf(1e300)


def test_rounding_when_the_slack_is_formed_is_paid_for():
    """-1e-11 I plus and minus 1e6: the sum is zero in memory, -1e-11 in truth, and b^2 = 1e12."""
    terms = [T(E(3, D(3)), "linear", s, 1e6) for s in (1, -1)]
    P = Problem(-1e-11 * np.eye(3), terms, regularizer=nm.RowNormBound(1e6))
    for found in (nm.certify(P, np.ones((3, 1))), P.solve("burer_monteiro").certificate):
        assert found.bound <= -30
    assert P.solve("burer_monteiro").status is not Status.OPTIMAL


def test_a_row_norm_in_a_basis_counts_points():
    n = 8
    Q = np.full((n, 1), n**-0.5)
    P = Problem(
        -np.eye(n), [T(E(n, ([0], [1])), "hinge", 1.0, 1e-6)], regularizer=nm.RowNormBound(1.0),
        basis=nm.Basis(Q),
    )  # fmt: skip
    optimum = -n  # K = 11'
    assert P.dual_bound([np.zeros(1)]) <= optimum + 1e-9
    assert nm.certify(P, np.ones((n, 1))).bound <= optimum + 1e-9


def test_a_crooked_basis_is_refused_and_what_rounding_leaves_is_paid_for():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(20, 4)))[0]
    given = Q + 5e-14 * rng.normal(size=Q.shape)
    basis = nm.Basis(given)
    np.testing.assert_array_equal(basis.Q, given)
    assert np.linalg.norm(given.T @ given - np.eye(4), 2) <= basis.defect < 2e-12
    with pytest.raises(nm.ProblemError, match="orthonormal columns"):
        nm.Basis(Q + 5e-10 * rng.normal(size=Q.shape))


def test_an_almost_invariant_subspace_is_no_proof():
    """diag(1, ..., 1, 1 - 1e-10): a start that hardly sees the last vector ends after one step."""
    from npkl_models.proof.bounds import min_eigenvalue
    from npkl_models.proof.eigenbound import Query

    S = sp.diags_array(np.r_[np.ones(449), 1 - 1e-10]).tocsr()
    wrong = sum(
        min_eigenvalue(S, query=Query("lanczos", random_state=seed)).lower > 1 - 1e-10
        for seed in range(2_000)
    )
    assert wrong == 0


def test_the_word_of_a_solver_is_not_repeated():
    """INFEASIBLE and UNBOUNDED are proved or not said, whatever the limits."""
    L, pairs = side_information("iris", 24)
    problem = nm.npkl(L, pairs, loss="linear", row_norm=1.0)  # bounded
    healthy = nm.pcp(L, pairs)
    for backend in ("sdp", "sdp_dual"):
        for solver in ("SCS", "CLARABEL"):
            for options in ({"max_iter": 1}, {"max_iter": 3}, {"eps": 0.9}):
                for P in (problem, healthy):
                    status = P.solve(backend, solver=solver, **options).status
                    assert status not in (Status.INFEASIBLE, Status.UNBOUNDED), (backend, solver, options)


def test_the_multipliers_of_a_solution_are_those_of_its_certificate(tmp_path, small):
    for kind in ("pcp", "npkl:hinge", "row:hinge", "B2:square"):
        for backend in ("sdp", "burer_monteiro"):
            solution = small(kind).solve(backend)
            assert solution.status is Status.OPTIMAL
            back = nm.Solution.load(solution.save(tmp_path / f"{kind.replace(':', '_')}_{backend}"))
            assert back.certificate.certifies(2e-6)
            assert nm.certify(small(kind), solution.V, solution.multipliers, kind="factor").certifies(2e-6)


def test_certify_does_not_guess_and_says_what_it_moved(small):
    problem = small("pcp")
    best = problem.solve("burer_monteiro", tol=1e-8)
    K = best.K
    noise = np.triu(1e-8 * np.random.default_rng(0).normal(size=K.shape), 1)
    bent = nm.certify(problem, K + noise)
    assert 0 < bent.indefinite < 1e-7
    assert bent.objective == pytest.approx(problem.objective(K + 0.5 * (noise + noise.T)), rel=1e-12)
    assert bent.certifies(1e-5)  # the gap pays for the negative eigenvalue
    with pytest.raises(nm.ProblemError, match="must be symmetric.*kind='factor'"):
        nm.certify(problem, K + np.triu(K, 1))
    factor = np.random.default_rng(0).normal(size=K.shape)  # its signs fit no kernel
    assert nm.certify(problem, factor).objective == pytest.approx(problem.objective_of_factor(factor))
    low = nm.certify(problem, K - 0.1 * np.eye(len(K)))
    assert low.point_min_eigenvalue == pytest.approx(-0.1, abs=1e-6)
    assert low.objective == pytest.approx(problem.objective(K - 0.1 * np.eye(len(K))), rel=1e-12)
    assert not low.feasible
    assert "smallest eigenvalue -1.0e-01" in str(low)
    ball = Problem(np.eye(5), [T(E(5, ([0], [1])), "hinge", 1.0)], regularizer=nm.TracePower(2, bound=2.0))
    outside = nm.certify(ball, 20 * np.eye(5))
    assert outside.violation == pytest.approx(20 * 5**0.5 / 2**0.5 - 1)
    assert outside.missed == "tr K^2 <= 2"
    assert not outside.feasible
    exact = nm.certify(problem, best)
    assert exact.violation == exact.point_min_eigenvalue == 0


@pytest.mark.parametrize("seed", [0, 2])
def test_dual_ascent_and_its_certificate_agree_above_the_order_of_small_matrices(seed):
    """The certificate of a dual point is as good as its dual value, at any order."""
    data = nm.datasets.load("two_gaussians", n=450)
    pairs = nm.Pairs.from_labels(data.y, 270, 270, seed)
    problem = nm.simple_npkl(nm.laplacian(data.X, 10), pairs, loss="squared_hinge", trace_bound=450.0)
    solution = problem.solve("simple_npkl", tol=1e-6)
    assert solution.status is Status.OPTIMAL
    best = np.nanmax(solution.history.bound)
    assert solution.certificate.bound >= best - 1e-8 * abs(best)


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (2, 201),
        (5, 81),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(2, 400), (3, 150), (7, 100)]),
    ],
)
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "hinge"])
def test_identical_cliques_are_solved(size, count, loss):
    n = size * count
    block = np.ones((size, size)) - np.eye(size)
    L = nm.laplacian(sp.block_diag([block] * count).tocsr(), shift=0.1)
    pairs = nm.Pairs.from_labels(np.arange(n) // size % 3, 60, 60, 0)
    solution = nm.npkl(L, pairs, loss=loss).solve(time_limit=20)
    assert solution.status in (Status.OPTIMAL, Status.TIME_LIMIT)
    assert np.isfinite(solution.certificate.bound)
    assert solution.certificate.bound <= solution.objective + 1e-9


BOTTOMLESS = {
    "linear": lambda: Problem(np.eye(4), [T(E(4, ([0, 1], [1, 2])), "linear", 1, 9.0)]),
    "cost": lambda: Problem(np.diag([1.0, -1, 1, 1]), [T(E(4, ([0], [2])), "hinge", 1)]),
    "equalities": lambda: Problem(-np.eye(4), [Eq(E(4, ([0], [0])), 1.0)]),
    "penalty": lambda: Problem(
        np.eye(4), [T(E(4, ([0], [1])), "linear", 1, 30.0)], regularizer=nm.TracePower(1, penalty=0.5)
    ),
    "centred": lambda: Problem(
        -np.eye(5), [Eq(nm.TotalSum(5), 0.0), Eq(nm.SquaredDistances(5, ([0], [1])), 1.0)]
    ),
}


@pytest.mark.parametrize("kind", BOTTOMLESS)
def test_every_backend_says_unbounded_and_none_breaks(kind):
    P = BOTTOMLESS[kind]()
    for backend, reason in P.compatible_backends().items():
        if reason is None:
            solution = P.solve(backend, time_limit=20)
            assert solution.status is Status.UNBOUNDED, backend
            assert solution.V is None


IMPOSSIBLE = {
    "wall": lambda: [Eq(E(4, D(4)), 1.0), Eq(E(4, ([0], [1])), 2.0)],
    "negative": lambda: [Eq(E(4, ([0], [0])), -1.0)],
    "distances": lambda: [Eq(nm.SquaredDistances(4, ([0, 1, 0], [1, 2, 2])), [1.0, 1.0, 9.0])],
    "twice": lambda: [Eq(E(4, D(4)), 1.0), Eq(E(4, ([0], [0])), 2.0)],
    "small": lambda: [Eq(E(4, D(4)), 1e-9), Eq(E(4, ([0], [1])), 2e-9)],
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_every_backend_says_infeasible_and_none_breaks(kind):
    P = Problem(np.eye(4), (T(E(4, ([2], [3])), "hinge", 1.0), *IMPOSSIBLE[kind]()))
    for backend, reason in P.compatible_backends().items():
        if reason is None:
            solution = P.solve(backend, max_iter=100)
            assert solution.status is Status.INFEASIBLE, (backend, solution.summary())


def test_numbers_out_of_range_end_in_an_error_of_ours():
    P = Problem(np.eye(3), [T(E(3, ([0], [1])), "square", 1.0)])
    with pytest.raises(nm.ProblemError, match="multipliers must be finite"):
        nm.certify(P, np.ones((3, 1)), [np.array([np.nan])])
    with pytest.raises(nm.ProblemError, match="finite objective, got entries up to 1.0e\\+160"):
        nm.certify(P, np.full((3, 1), 1e160))
    tiny = Problem(
        -np.eye(3), [T(E(3, ([0], [1])), "hinge", 1.0)], regularizer=nm.TracePower(1.001, penalty=1e-30)
    )
    solution = tiny.solve("simple_npkl")
    assert solution.status in (Status.FAILED, Status.INACCURATE)


def test_a_conic_solver_keeps_its_time_and_its_caller_informed():
    data = nm.datasets.load("iris")
    pairs = nm.Pairs.from_labels(data.y, 90, 90, 0)
    P = nm.npkl(nm.laplacian(data.X, 5), pairs, loss="hinge")  # no shift: SCS would need many minutes
    started = time.perf_counter()
    solution = P.solve("sdp", time_limit=3.0, tol=1e-12)
    assert solution.status is Status.TIME_LIMIT
    assert time.perf_counter() - started < 20
    seen = []
    stopped = P.solve("sdp", tol=1e-12, callback=lambda state: seen.append(state) or len(seen) == 2)
    assert stopped.status is Status.STOPPED
    assert [s.iteration for s in seen] == sorted(s.iteration for s in seen)
    assert np.isfinite(seen[-1].objective)
    assert seen[-1].V.shape[0] == 150


def test_a_conic_solver_stops_on_the_certified_gap():
    """Asked for eps = 1e-12 it would go on; the gap is proved long before."""
    L, pairs = side_information("iris", 60)
    solution = nm.pcp(L, pairs).solve("sdp", solver="SCS", eps=1e-14, tol=1e-4)
    assert solution.status is Status.OPTIMAL
    assert solution.iterations < 2_000
    assert len(solution.history) >= 1


def test_a_regulariser_that_a_backend_does_not_know_is_refused():
    class Mine(nm.NoRegularizer):
        name = latex = "mine"
        vacuous = False

    P = Problem(np.eye(3), [T(E(3, ([0], [1])), "square", 1.0)], regularizer=Mine())
    for backend in ("burer_monteiro", "hybrid", "bcd", "admm", "simple_npkl", "closed_form"):
        assert P.compatible_backends()[backend] is not None, backend
        with pytest.raises(nm.UnsupportedError, match="cannot take this problem"):
            P.compile(backend)


def test_chance_is_not_lost_to_underflow():
    """A slack of size 1e-160, whose squares are zero."""
    n = 500
    v = np.full(n, n**-0.5)
    P = Problem(
        1e-160 * (np.eye(n) - 2 * np.outer(v, v)), [T(E(n, ([0], [1])), "hinge", 1.0, 1e-300)],
        regularizer=nm.RowNormBound(1e80),
    )  # fmt: skip
    feasible = nm.certify(P, np.full((n, 1), 0.99e80)).objective
    assert feasible < -400
    assert nm.certify(P, np.zeros((n, 1))).bound <= feasible


@pytest.mark.parametrize("kappa", [1e-5, 1e-7, 1e-8, 1e-12])
def test_bounded_by_a_hair_is_not_unbounded(kappa):
    """x_1 = x_0 + e: kappa |x_0|^2 - 2 x_0'e - 1, whose optimum is -(1 + kappa) / kappa."""
    P = Problem(np.diag([1 + kappa, -1.0]), [Eq(nm.SquaredDistances(2, ([0], [1])), 1.0)])
    for backend in ("burer_monteiro", "sdp", "sdp_dual"):
        solution = P.solve(backend, time_limit=10)
        assert solution.status not in (Status.UNBOUNDED, Status.INFEASIBLE)
        if solution.V is not None:
            assert solution.certificate.bound <= -(1 + kappa) / kappa * (1 - 1e-9)


def test_equalities_without_an_interior_give_no_false_upper_bound():
    """K_00 = K_11 = K_01 = 1 forces v_0 = v_1, and the optimum is 0; a rotation by 1e-7 costs 0.05."""
    M = 1e6
    C = np.zeros((3, 3))
    C[0, 2] = C[2, 0] = M / 2
    C[1, 2] = C[2, 1] = -M / 2
    P = Problem(C, [Eq(E(3, ([0, 1, 2, 0], [0, 1, 2, 1])), 1.0)])
    V = np.array([[1, -0.5e-7], [1, 0.5e-7], [0, 1]])
    V /= np.linalg.norm(V, axis=1)[:, None]
    for y in (None, Multipliers((), (np.zeros(4),))):
        found = nm.certify(P, V, y)
        assert found.upper == np.inf
        assert found.objective < -0.04
        assert found.bound + found.gap >= -1e-9  # the gap is that of the kernel on the face
        assert found.bound <= 1e-9
    wide = np.hstack([V, np.zeros((3, 20_000))])
    assert nm.certify(P, wide).upper == np.inf
    for backend in ("burer_monteiro", "sdp"):
        answer = P.solve(backend).certificate
        assert answer.bound <= 1e-9
        assert answer.bound + answer.gap >= -1e-9
        assert answer.gap <= 2e-7 * M


def test_points_that_coincide_or_vanish_are_faces():
    n = 5
    L = nm.laplacian(np.random.default_rng(0).normal(size=(n, 2)), 2, shift=0.1)
    same = Problem(L, (T(E(n, ([0], [3])), "hinge", 1.0), Eq(nm.SquaredDistances(n, ([0], [1])), 0.0)))
    gone = Problem(L, (T(E(n, ([0], [3])), "hinge", 1.0), Eq(E(n, ([2], [2])), 0.0)))
    for P in (same, gone):
        answers = [P.solve(b) for b in ("burer_monteiro", "sdp", "sdp_dual")]
        assert all(a.status is Status.OPTIMAL for a in answers)
        assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-5)
    V = same.solve("burer_monteiro").V
    np.testing.assert_allclose(V[0], V[1], atol=1e-15)
    assert not gone.solve("burer_monteiro").V[2].any()


def test_points_far_away_are_measured_by_their_distances():
    P = Problem(1e-20 * np.eye(2), [Eq(nm.SquaredDistances(2, ([0], [1])), 4.0)])
    found = nm.certify(P, np.array([[1e9], [1e9]]), Multipliers((), (np.zeros(1),)))
    assert not found.feasible or P.violation(found.point) < 1e-9
    C = np.zeros((3, 3))
    C[0, 2] = C[2, 0] = 0.5
    C[1, 2] = C[2, 1] = -0.5
    hard = [Eq(E(3, ([2], [2])), 1.0), Eq(nm.SquaredDistances(3, ([0], [1])), 1e-6)]
    for size in (1e3, 1e5, 1e9):
        point = np.array([[size, -50], [size, 50.0], [0, 1]])
        found = nm.certify(Problem(C, hard), point)
        assert found.bound <= -1e-3 * (1 - 1e-9)  # the objective of (0, -5e-4), (0, 5e-4) and (0, -1)
        assert found.violation >= 1e10 * (1 - 1e-9)  # the distance of the first two is 1e4, not 1e-6
        assert found.gap >= 0


def test_weights_and_powers_at_the_end_of_the_range():
    mpmath = pytest.importorskip("mpmath")
    heavy = Problem(1e299 * np.eye(2), [T(E(2, ([0], [0])), "square", -1e-2, 1e308)])
    found = nm.certify(heavy, np.zeros((2, 1)), [np.array([1.5e308])])
    assert found.bound <= found.upper
    with mpmath.workdps(60):
        B, p = 1e300, 1.3220156770381633
        P = Problem(
            -np.eye(2), [T(E(2, ([0], [1])), "square", 0.0, 1.0)], regularizer=nm.TracePower(p, bound=B)
        )
        found = nm.certify(P, np.eye(2), [np.zeros(1)], quick=True, kind="factor")
        true = -(mpmath.mpf(B) ** (1 / mpmath.mpf(p))) * mpmath.mpf(2) ** (1 - 1 / mpmath.mpf(p))
        assert mpmath.mpf(found.bound) <= true
    tiny = Problem(
        -1e130 * np.eye(2),
        [T(E(2, ([0], [1])), "square", 0.0, 1.0)],
        regularizer=nm.TracePower(2.0, penalty=1e300),
    )
    assert nm.certify(tiny, np.zeros((2, 1))).bound <= -1e-40
    for b in (1e160, 1e-200):
        with pytest.raises(nm.ProblemError, match="between 1e-150 and 1e150"):
            nm.RowNormBound(b)


EXTREME = {
    "total sum": lambda: Problem(np.eye(3), [T(nm.TotalSum(3), "square", 1.0, 1.0)]),
    "small sum": lambda: Problem(
        4 * np.eye(3), [Eq(nm.TotalSum(3), 1e-300)], nm.TracePower(1.01, bound=1e200)
    ),
    "small entry": lambda: Problem(
        np.eye(3), [Eq(E(3, ([0], [1])), 1e-100)], nm.TracePower(3.0, bound=1e-300)
    ),
    "large diagonal": lambda: Problem(np.eye(3), [Eq(E(3, D(3)), 1e300)], nm.TracePower(3.0, bound=1.0)),
    "heavy": lambda: Problem(
        np.eye(3), [T(E(3, ([0], [1])), "hinge", 1.0, 1e300)], nm.TracePower(1.5, bound=1e200)
    ),
    "large cost": lambda: Problem(1e250 * np.eye(3), [T(E(3, ([0], [1])), "hinge", 1.0, 1.0)]),
    "scales": lambda: Problem(
        np.diag([-1e-300, 0.0, 1.0]), [T(E(3, ([1], [1])), "square", 0.0, 1.0)], nm.TracePower(2.0, bound=1.0)
    ),
}


@pytest.mark.parametrize("kind", EXTREME)
def test_extreme_numbers_end_in_a_status_or_an_error_of_ours(kind):
    P = EXTREME[kind]()
    for backend in ("auto", *(b for b, reason in P.compatible_backends().items() if reason is None)):
        try:
            solution = P.solve(backend, time_limit=1)
        except nm.NPKLError:
            continue
        assert isinstance(solution.status, Status)
    for size in (1e160, 1e-160, 1.0, 1.7e308):
        for kind_of in ("factor", "kernel"):
            try:
                found = nm.certify(P, size * np.eye(3), kind=kind_of)
            except nm.NPKLError:
                continue
            assert not np.isnan(found.bound)
            assert found.gap >= 0


def test_options_of_certify_that_mean_nothing_are_refused():
    P = Problem(np.eye(3), [T(E(3, ([0], [1])), "square", 1.0)])
    for bad in ({"failure_probability": 5.0}, {"failure_probability": 0.0}, {"tol": np.nan}, {"tol": 0.0}):
        with pytest.raises(nm.UnsupportedError, match="must be"):
            nm.certify(P, np.ones((3, 1)), **bad)


def test_what_the_adversary_found_in_a_long_run():
    """A trace bound far below what a step asks for (mfpc), and proximal problems that forgot the time (simple_npkl)."""
    n = 5
    C = 1.1e-8 * np.eye(n)
    terms = [T(E(n, ([2], [3])), "linear", 1.0, 2e6), T(E(n, ([2, 1], [4, 4])), "square", 1e4, 1 / 3e8)]
    P = Problem(C, terms, nm.TracePower(1.0, bound=1e3), nm.Basis(np.eye(n)[:, :4]))
    assert P.solve("mfpc", time_limit=5).status in Status
    hard = [Eq(E(n, D(n)), 1.0)]
    terms = [T(E(n, D(n)), "linear", [-1, 1, 1, -1, -1], 3e7), T(E(n, ([0], [1])), "square", 1e-6, 2.0)]
    started = time.perf_counter()
    Problem(np.eye(n), (*terms, *hard), nm.TracePower(7.0, bound=0.7)).solve("simple_npkl", time_limit=0.5)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("apart", [5e-7, 1e-9])
def test_two_values_for_one_entry_are_a_contradiction_above_the_allowed_violation(apart):
    i = np.array([0, 1, 0])
    P = Problem(np.eye(2), [Eq(E(2, (i, i)), [1, 1, 1 + apart])])
    known = nm.certify(P, np.eye(2))
    assert known.violation == pytest.approx(apart, rel=1e-6)
    assert known.feasible == (apart <= known.feasibility)
    for backend in ("burer_monteiro", "hybrid", "sdp", "sdp_dual"):
        found = P.solve(backend)
        assert (found.status is Status.OPTIMAL) == known.feasible
        assert not known.feasible or found.certificate.violation >= 0.4 * apart
    assert known.feasible or P.solve("burer_monteiro").status is Status.INFEASIBLE


def test_rounding_in_the_derivative_of_equalities_proves_nothing():
    """D_01 = a, D_02 = b and D_01 - D_02 = a - b + 1e-10: no kernel, and a derivative that is all rounding."""
    n, feasible = 4, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        basis = nm.Basis(np.linalg.qr(rng.standard_normal((n, n)))[0])
        V = rng.standard_normal((n, 3)) * 3 + 1e13 * rng.standard_normal((1, 3))
        f, g = nm.SquaredDistances(n, ([0, 0], [1, 2])), nm.DistanceDifferences(n, ([0], [1], [2]))
        d = f.value_of_factor(basis.Q @ (basis.Q.T @ V))
        P = Problem(np.eye(n) * 1e-30, [Eq(f, d), Eq(g, [d[0] - d[1] + 1e-10])], basis=basis)
        feasible += nm.certify(P, V, kind="factor").feasible
    assert feasible == 0


@pytest.mark.parametrize("d", [1e-8, 1e-15, 1e-20])
def test_a_row_that_is_almost_zero_is_no_ray(d):
    """K_00 = 1: the objective is at least -sqrt(K_11) + d K_11 >= -1 / (4 d)."""
    from npkl_models.certificates.recession import unbounded

    P = Problem(np.array([[0, -0.5], [-0.5, d]]), [Eq(E(2, ([0], [0])), [1.0])])
    V = np.array([[1.0], [0.5 / d]])
    assert not unbounded(P, V)
    assert P.solve("burer_monteiro", start=V).status is not Status.UNBOUNDED


@pytest.mark.parametrize("scale", [0.1, 1, 20, 100])
def test_unfolding_does_not_mind_the_scale_of_the_data(scale):
    t = np.linspace(0, 3, 30)
    arc = nm.mvu(np.stack([np.cos(t), np.sin(t)], 1) * scale, n_neighbors=2)
    solution = arc.solve("burer_monteiro")
    assert solution.certificate.violation < 1e-6
    assert solution.status in (Status.OPTIMAL, Status.LOCALLY_SOLVED, Status.ITERATION_LIMIT)
    assert solution.objective < 0


@pytest.mark.parametrize("R", [nm.RowNormBound(1.0), nm.TracePower(1, bound=24.0)])
def test_a_bound_that_equalities_keep_is_no_obstacle(R):
    L, pairs = side_information("iris", 24)
    term = T(E(24, (pairs.i, pairs.j)), "hinge", pairs.sign)
    P = Problem(L, (term, Eq(E(24, D(24)), 1.0)), R)
    assert P.solve("burer_monteiro").status is Status.OPTIMAL


@pytest.mark.parametrize("backend", ["burer_monteiro", "hybrid", "auto"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_objective_beyond_all_numbers_is_never_stated(backend, seed):
    """A penalty of power 1.01 holds a negative cost of 1e100 at a trace of 1e9900 only: no float is near."""
    A = np.random.default_rng(seed).normal(size=(5, 5))
    term = nm.LossTerm(nm.Entries(5, ([0], [1])), "hinge", 1.0)
    problem = nm.Problem(1e100 * (A + A.T), term, regularizer=nm.TracePower(1.01, penalty=3.0))
    found = problem.solve(backend, time_limit=1.0, random_state=seed)
    assert found.status not in (nm.Status.OPTIMAL, nm.Status.INFEASIBLE)
    assert found.V is None or np.isfinite(found.objective)
    far = np.zeros((5, 1))
    far[int(np.argmin(A.diagonal()))] = 1e110
    with pytest.raises(nm.ProblemError, match="finite objective"):
        nm.certify(problem, far)
