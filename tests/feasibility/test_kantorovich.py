"""Existence, Newton steps, centres, residuals, points: closed forms, and derivatives by differences."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import certificate, points
from npkl_models.certify.rays import infeasible
from npkl_models.feasibility import analytic_centre, kantorovich, newton, residual, restoration
from npkl_models.feasibility.equality_map import EqualityMap, largest, outer
from npkl_models.model.regularizers import NoRegularizer

NOTHING = NoRegularizer()
N, ALL = 5, np.arange(5)
FREE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "square", [1.0, -1.0], [2.0, 0.5])
UNIT = nm.Equality(nm.Entries(N, (ALL, ALL)), 1.0 + ALL)
OFF = nm.Equality(nm.Entries(N, ([0, 1], [1, 2])), [0.5, -0.25])
APART = nm.Equality(nm.SquaredDistances(N, ([0, 3], [2, 4])), [1.0, 2.0])
BASIS = nm.Basis(np.linalg.qr(np.random.default_rng(3).normal(size=(N, 4)))[0])


def problem_of(*equalities, R=NOTHING, basis=None):
    return nm.Problem(np.eye(N), FREE, equalities, R, basis)


def all_values(problem, V):
    return np.concatenate([e.functional.value_of_factor(V) for e in problem.equalities])


def jacobian(problem, V):
    W, h = problem.drop(V), 1e-6
    columns = []
    for a in range(W.shape[1]):
        for i in range(W.shape[0]):
            D = np.zeros_like(W)
            D[i, a] = h
            columns.append(
                (all_values(problem, problem.lift(W + D)) - all_values(problem, problem.lift(W - D)))
                / (2 * h)
            )
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("basis", [None, BASIS])
def test_the_derivative_of_the_equalities_is_that_of_differences(basis):
    problem = problem_of(UNIT, OFF, APART, basis=basis)
    V = problem.lift(np.random.default_rng(0).normal(size=(problem.order, 3)))
    J = jacobian(problem, V)
    np.testing.assert_allclose(EqualityMap(problem).derivative(V).toarray(), J, atol=1e-8)
    np.testing.assert_allclose(outer(EqualityMap(problem).derivative(V)), J @ J.T, atol=1e-7)
    G, back = EqualityMap(problem).normal(V)
    np.testing.assert_allclose(G, J @ J.T, atol=1e-7)
    x = np.arange(1.0, len(J) + 1)
    np.testing.assert_allclose(back(x).T.ravel(), J.T @ x, atol=1e-6)
    sigma = np.linalg.svd(J, compute_uv=False)[-1]
    found = kantorovich.independence(problem, V)
    lengths = np.linalg.norm(J, axis=1)
    scaled = np.linalg.svd(J / lengths[:, None], compute_uv=False)[-1]
    assert found <= sigma * (1 + 1e-7)
    assert scaled < 1e-6 or 0.9 * scaled * lengths.min() <= found <= scaled * lengths.min() * (1 + 1e-7)
    triples = problem_of(UNIT, nm.Equality(nm.DistanceDifferences(N, ([0], [1], [2])), 0.1), basis=basis)
    J = jacobian(triples, V)
    G, back = EqualityMap(triples).normal(V)
    np.testing.assert_allclose(G, J @ J.T, atol=1e-7)
    np.testing.assert_allclose(back(x[: len(J)]).T.ravel(), J.T @ x[: len(J)], atol=1e-6)


def test_dependent_equalities_are_not_independent():
    twice = problem_of(nm.Equality(nm.Entries(N, ([0, 0], [0, 0])), 1.0))
    assert kantorovich.independence(twice, np.ones((N, 2))) == 0.0
    assert kantorovich.independence(problem_of(UNIT), np.zeros((N, 2))) == 0.0


@pytest.mark.parametrize("basis", [None, BASIS])
@pytest.mark.parametrize("parts", [(OFF,), (APART,), (OFF, APART)])
def test_newton_meets_known_systems_by_short_steps(parts, basis):
    problem = problem_of(*parts, basis=basis)
    V = problem.lift(np.random.default_rng(1).normal(size=(problem.order, 3)))
    close = nm.Problem(problem.cost, problem.terms, [
        nm.Equality(e.functional, e.functional.value_of_factor(V) * (1 + 1e-3)) for e in parts
    ], basis=basis)  # fmt: skip
    found = newton.newton(close, V)
    assert close.violation(found) < 1e-13
    J = jacobian(problem, V)
    miss = np.concatenate([e.value for e in close.equalities]) - all_values(close, V)
    least = np.linalg.norm(np.linalg.pinv(J) @ miss)
    assert np.linalg.norm(found - V) == pytest.approx(least, rel=0.05)
    step = newton._direct_step(EqualityMap(close), V)
    np.testing.assert_allclose(step.T.ravel(), np.linalg.pinv(J) @ miss, atol=1e-8)
    other = newton._step(close, problem.drop(V), [newton._equalities(EqualityMap(close), V)])
    np.testing.assert_allclose(other, step, atol=1e-8)


@pytest.mark.parametrize(
    "R", [nm.RowNormBound(1.0), nm.TracePower(2, bound=2.0), nm.TracePower(1, bound=1.5)]
)
def test_newton_minds_the_regulariser(R):
    problem = problem_of(OFF, R=R)
    V = np.random.default_rng(0).normal(size=(N, 3))
    found = newton.newton(problem, R.rescale(V) * 1.05)
    assert problem.violation(found) < 1e-9


def test_damped_steps_do_not_end_further_away():
    problem = problem_of(OFF, APART)
    V = newton.newton(problem, np.random.default_rng(0).normal(size=(N, 3)))
    near = V + 1e-4
    found = newton._damped(EqualityMap(problem), near)
    assert problem.violation(found) < 1e-9
    far = np.random.default_rng(1).normal(size=(N, 3)) * 5
    assert newton._damped(EqualityMap(problem), far) is far


def test_the_misfit_has_the_gradient_of_differences():
    for R, basis in (
        (NoRegularizer(), None),
        (nm.RowNormBound(1.0), None),
        (nm.TracePower(2, bound=1.0), None),
        (NoRegularizer(), BASIS),
    ):
        problem = problem_of(OFF, APART, R=R, basis=basis)
        x = np.random.default_rng(0).normal(size=problem.order * 2)
        equal = EqualityMap(problem)
        given = (equal, residual.row_bound(problem), (problem.order, 2))
        value, gradient = residual._residual(*given, x)
        h = 1e-6
        numeric = [
            (residual._residual(*given, x + h * e)[0] - residual._residual(*given, x - h * e)[0]) / (2 * h)
            for e in np.eye(x.size)
        ]
        np.testing.assert_allclose(gradient, numeric, atol=1e-4 * max(1, np.abs(gradient).max()))
        V = problem.lift(x.reshape(-1, 2))
        pairs = zip(problem.equalities, equal.split(equal.scales), strict=True)
        least = 0.5 * sum(np.sum(((e.functional.value_of_factor(V) - e.value) / s) ** 2) for e, s in pairs)
        assert value == pytest.approx(least) if isinstance(R, NoRegularizer) else value > least
        W = residual.nearest(problem, x.reshape(-1, 2))
        assert residual._residual(*given, W.ravel())[0] <= 0.1 * value
        if isinstance(R, NoRegularizer):
            assert residual._residual(*given, W.ravel())[0] < 1e-12
            assert residual.misses_little(problem, problem.lift(W))
    assert not residual.misses_little(problem, problem.lift(x.reshape(-1, 2)))
    np.testing.assert_allclose(
        EqualityMap(problem_of(nm.Equality(OFF.functional, [4.0, 0.0]))).scales, [4.0, 4e-3]
    )
    assert (largest(np.zeros(3)), largest(np.array([-3.0, 2.0]))) == (1.0, 3.0)


def test_what_contradicts_itself():
    entry = lambda i, j, v: nm.Equality(nm.Entries(N, ([i], [j])), v)  # noqa: E731
    assert residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 2.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 1.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 2, 2.0), APART))


def test_values_that_no_index_names_do_not_contradict_each_other():
    """Two combinations have the same (no) indices: that was taken for one value asked for twice."""
    apart = ([0, 0, 1], [1, 2, 2])
    one, other, both = (
        nm.Equality(nm.DistanceCombinations(N, apart, A), value)
        for A, value in (([[1.0, 0, 0]], 1.0), ([[0, 1.0, 0]], 2.0), ([[1.0, 0, 0], [0, 1.0, 0]], [1.0, 2.0]))
    )
    for parts in ((one, other), (both,)):
        problem = nm.Problem(np.eye(N), (), parts)
        assert not residual.contradictory(problem)
        assert not infeasible(problem)
        assert problem.solve().is_optimal()
    assert residual.contradictory(problem_of(*(nm.Equality(nm.Trace(N), v) for v in (1.0, 2.0))))


def test_kantorovich_has_its_closed_form():
    problem = problem_of(OFF)  # |M_e| has the entries 1/2 twice: curvature 1 for each of two values
    curved = 2 * np.sqrt(np.sum([np.sum(np.abs(OFF.functional.triplets().coefficient[:1]))] * 2))
    sigma = 0.5
    most = 0.25 * sigma**2 / curved
    assert kantorovich._of_newton(problem, 0.999 * most, sigma) == pytest.approx(2.001 * 0.999 * most / sigma)
    assert kantorovich._of_newton(problem, 1.001 * most, sigma) == np.inf
    assert kantorovich._of_newton(problem, 0.0, 0.0) == np.inf


def test_rows_of_the_wanted_length_are_as_near_as_they_lack():
    problem = problem_of(UNIT)
    V = np.random.default_rng(0).normal(size=(N, 3))
    V *= (np.sqrt(UNIT.value) / np.linalg.norm(V, axis=1))[:, None]
    off = V * (1 + 1e-8 * np.array([1.0, 0, 0, -2, 0]))[:, None]
    reach = kantorovich._of_lengths(problem, off)
    exact = np.linalg.norm(V - off)
    assert exact <= reach <= 2.01 * exact
    assert kantorovich.near(problem, off).reach == reach
    assert kantorovich._of_lengths(problem, 1.001 * V) == np.inf
    zero = problem_of(nm.Equality(UNIT.functional, [1.0, 2, 3, 4, 0]))
    assert kantorovich._of_lengths(zero, V) == np.inf
    V[4] = 0.0
    assert kantorovich._of_lengths(zero, V) < 1e-14
    assert kantorovich._of_lengths(problem_of(nm.Equality(UNIT.functional, [1.0, 2, 3, 4, -1])), V) == np.inf


@pytest.mark.parametrize("parts", [(OFF,), (OFF, APART), (UNIT, OFF)])
def test_a_feasible_factor_is_within_reach(parts):
    problem = problem_of(*parts)
    V = newton.newton(problem, np.random.default_rng(0).normal(size=(N, 4)))
    off = V + 1e-9 * np.random.default_rng(1).normal(size=V.shape)
    found = kantorovich.near(problem, off)
    assert found.share == 0.0
    back = newton.newton(problem, off)
    assert np.linalg.norm(back - off) <= found.reach <= 1e-5
    assert kantorovich.near(problem, V + 0.1) is None


def test_what_is_confined():
    row, trace = problem_of(R=nm.RowNormBound(2.0)), problem_of(R=nm.TracePower(1, bound=5.0))
    V = np.ones((N, 1))
    for reach, inside_ in ((0.0, True), (0.5, True), (0.99, True), (1.01, False)):
        assert kantorovich._confined(row, V, reach) is inside_
    full = problem_of(R=nm.TracePower(1, bound=6.0))
    gap = np.sqrt(6) - np.sqrt(5)
    assert kantorovich._confined(full, V, 0.99 * gap)
    assert not kantorovich._confined(full, V, 1.01 * gap)
    assert not kantorovich._confined(trace, V, 1e-3)
    assert kantorovich._confined(problem_of(), V, 1e9)
    assert kantorovich._confined(
        problem_of(nm.Equality(nm.Entries(N, (ALL, ALL)), 1.0), R=nm.TracePower(1, bound=5.0)), V, 1e-3
    )
    assert kantorovich._confined(
        problem_of(nm.Equality(nm.Entries(N, (ALL, ALL)), 4.0), R=nm.RowNormBound(2.0)), 2 * V, 1e-3
    )


def test_what_the_diagonal_exceeds():
    one = lambda v, R: problem_of(nm.Equality(nm.Entries(N, ([0, 1], [0, 1])), v), R=R)  # noqa: E731
    assert kantorovich.exceeds(one(4.0 + 1e-15, nm.RowNormBound(2.0)))
    assert not kantorovich.exceeds(one(4.0, nm.RowNormBound(2.0)))
    assert kantorovich.exceeds(one([3.0, 3.0 + 1e-15], nm.TracePower(1, bound=6.0)))
    assert not kantorovich.exceeds(one(3.0, nm.TracePower(1, bound=6.0)))
    assert not kantorovich.exceeds(one(9.0, nm.TracePower(2, bound=6.0)))
    assert not kantorovich.exceeds(one(9.0, NoRegularizer()))


def test_mixtures_and_their_upper_bound():
    V, W = np.random.default_rng(0).normal(size=(2, N, 2))
    mixed = kantorovich.mixture(V, W, 0.25)
    np.testing.assert_allclose(mixed @ mixed.T, 0.75 * V @ V.T + 0.25 * W @ W.T)
    problem = problem_of(OFF)
    objective, away = problem.objective_of_factor(V), problem.objective_of_factor(W)
    nu = (np.zeros(2),)
    for anchor in (W, 3 * W):
        found = kantorovich.Near(0.0, 0.25, anchor).upper(problem, V, objective, nu)
        away = problem.objective_of_factor(anchor)
        assert found == pytest.approx(objective + 0.25 * max(away - objective, 0))
        assert found >= problem.objective_of_factor(kantorovich.mixture(V, anchor, 0.25))
        assert found > objective + 0.25 * max(away - objective, -1e-300) or away < objective
    assert kantorovich.Near(0.0).upper(problem, V, objective, nu) == objective


def test_matrices_of_values_are_symmetric_parts():
    problem = problem_of(OFF, APART, basis=BASIS)
    equal = EqualityMap(problem)
    P, R = equal.vectors
    M = [
        problem.Q.T @ e.functional.adjoint(x) @ problem.Q
        for e in problem.equalities
        for x in np.eye(e.functional.size)
    ]
    U = np.diag(np.arange(1.0, 5))
    for a, A in enumerate(M):
        np.testing.assert_allclose(0.5 * (np.outer(P[a], R[a]) + np.outer(R[a], P[a])), A, atol=1e-12)
    wanted = [[np.sum(A * (U @ B @ U)) for B in M] for A in M]
    np.testing.assert_allclose(equal.products(U), wanted, atol=1e-12)
    np.testing.assert_allclose(equal.products(), [[np.sum(A * B) for B in M] for A in M], atol=1e-12)
    H = np.diag([1.0, 1e8]) + 0.5
    np.testing.assert_allclose(analytic_centre._solve(H, np.ones(2)), np.linalg.solve(H, np.ones(2)))
    assert analytic_centre.reach(1e-12, (1e-3, 0.1), 1e-7) == pytest.approx(1.001e-12 / 0.1 / np.sqrt(2e-10))
    assert EqualityMap(problem_of(nm.Equality(nm.TotalSum(N), 1.0))).vectors is None


def test_restored_points_are_moved_by_as_much_as_is_said():
    problem = problem_of(UNIT)
    V = np.random.default_rng(0).normal(size=(N, 2))
    found = restoration.restore(problem, V)
    np.testing.assert_allclose(np.sum(found.V**2, axis=1), UNIT.value)
    moved = np.linalg.norm(V @ V.T - found.V @ found.V.T) / np.linalg.norm(V @ V.T)
    assert moved <= found.moved <= 4 * moved
    V[2] = 0
    np.testing.assert_allclose(restoration._scaled_rows(problem, V)[2], [np.sqrt(3), 0])
    assert restoration._moved(V, V) == 0.0
    X = np.hstack([V, 1e-7 * V[:, ::-1]])
    led = restoration._leading(X)
    assert led.shape[1] == 2
    np.testing.assert_allclose(led @ led.T, X @ X.T, atol=1e-9)
    turned = restoration._rotated(V)
    np.testing.assert_allclose(turned @ turned.T, V @ V.T)
    assert abs(turned[:, 0] @ turned[:, 1]) < 1e-12
    for R in (nm.RowNormBound(0.5), nm.TracePower(2, bound=0.5)):
        for basis in (None, BASIS):
            inner = problem_of(R=R, basis=basis)
            assert inner.violation(restoration.restore(inner, inner.lift(inner.drop(V))).V) <= 1e-15


def test_multipliers_are_recovered_where_the_point_is_stationary():
    for R, parts in (
        (NoRegularizer(), (UNIT, OFF)),
        (nm.RowNormBound(1.0), ()),
        (nm.TracePower(1, bound=0.5), ()),
    ):
        hinge = nm.LossTerm(FREE.functional, "hinge", [1.0, -1.0], [20.0, 10.0])
        problem = nm.Problem(np.diag([1.0, 2, 3, 4, 5]), hinge, parts, R)
        best = problem.solve("sdp", eps=1e-10)
        y = points.recover_multipliers(problem, best.V)
        S = problem.slack(y).toarray()
        rest = S @ best.V
        if R.spectral is not None:
            level = -np.sum(best.V * rest) / np.sum(best.V**2)
            rest = rest + level * best.V
        assert np.linalg.norm(rest) < 1e-3
        for own, term in zip(y.terms, problem.terms, strict=True):
            assert term.loss.in_domain(own, term.target, term.weight).all()
    A, b = np.diag([1.0, 2.0, 4.0]), np.array([1.0, 8.0, -8.0])
    found = points._bounded_least_squares(A, b, (np.array([-1.0, -1, -1]), np.array([5.0, 1, 5])))
    np.testing.assert_allclose(found, [1, 1, -1], atol=1e-6)


def test_points_are_read_as_what_they_are():
    problem = problem_of()
    V = np.random.default_rng(0).normal(size=(N, 2))
    K = V @ V.T
    wide = np.hstack([V, V, V, V])
    np.testing.assert_allclose(points.as_factor(problem, wide) @ points.as_factor(problem, wide).T, 4 * K)
    assert points.as_factor(problem, wide).shape == (N, N)
    given = points.read_point(problem, K - 0.5 * np.eye(N))
    values = np.linalg.eigvalsh(K - 0.5 * np.eye(N))
    assert given.min_eigenvalue == pytest.approx(values[0])
    assert given.moved == pytest.approx(np.linalg.norm(values[values < 0]) / np.linalg.norm(values))
    assert points.read_point(problem, K).min_eigenvalue == 0.0
    assert points.read_point(problem, K).moved == 0.0
    np.testing.assert_allclose(points.read_point(problem, V, root=2.0).V, V / 2)
    np.testing.assert_allclose(
        points.as_factor(problem, 4 * K) @ points.as_factor(problem, 4 * K).T, 4 * K, atol=1e-12
    )
    scaled = points.read_point(problem, K, root=2.0).V
    np.testing.assert_allclose(scaled @ scaled.T, K / 4, atol=1e-12)
    assert not points.as_factor(problem, -np.eye(N)).any()
    for bad in (
        np.ones((N, 0)),
        np.ones(N),
        np.full((N, 1), np.nan),
        np.full((N, 1), 1e200),
        K + np.triu(K, 1),
    ):
        with pytest.raises(nm.ProblemError):
            points.read_point(problem, bad)
    points.read_point(problem, K + 1e-9 * np.triu(K, 1))


def test_the_budget_of_all_looks_is_one_in_a_million():
    spent = certificate.Budget()
    found = [spent.next() for _ in range(1000)]
    assert found[:3] == pytest.approx([0.5e-6 * (0.05 + share) for share in (1 / 2, 1 / 6, 1 / 12)])
    assert found[19:21] == pytest.approx([0.5e-6 * (0.05 + 1 / 420), 0.5e-6 / 462])
    assert sum(found) == pytest.approx(0.5e-6 * (2 - 1 / 1001))


def test_gaps_are_relative_to_the_problem():
    problem = problem_of()
    assert certificate.relative_gap(problem, 3.0, 1.0) == pytest.approx(2 / (problem.reference + 4))
    assert certificate.relative_gap(problem, np.inf, 1.0) == np.inf
    assert certificate.relative_gap(problem, 1.0, -np.inf) == np.inf
