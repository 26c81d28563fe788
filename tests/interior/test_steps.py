"""The parts of the interior-point method: starts, steps, factors of kernels, and which certificate is claimed."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.interior import interior, path, start, steps, symmetry
from npkl_models.interior import schur as systems
from npkl_models.interior.path import Iterate
from npkl_models.interior.values import values_of
from npkl_models.linalg import raised_cholesky

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
SQUARE = nm.LossTerm(nm.SquaredDistances(N, ([0, 2], [1, 5])), "square", [1.0, 2.0])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0)
PROBLEMS = {
    "hinge": nm.Problem(COST, HINGE),
    "both": nm.Problem(COST, (HINGE, SQUARE)),
    "equalities": nm.Problem(COST - 4 * np.eye(N), (HINGE, SQUARE, UNIT)),
    "rows": nm.Problem(COST - 4 * np.eye(N), HINGE, nm.RowNormBound(1.5)),
    "trace": nm.Problem(COST - 4 * np.eye(N), HINGE, nm.TracePower(1, bound=3.0)),
    "linear": nm.Problem(COST, (nm.LossTerm(HINGE.functional, "linear", 1.0), UNIT)),
}


def run_of(gaps):
    """A run whose certificates have these gaps."""
    found = [
        SimpleNamespace(
            relative_gap=g,
            point=np.full((2, 1), g),
            multipliers=g,
            bound=0.0,
            rigour="proved",
            violation=0.0,
        )
        for g in gaps
    ]
    run = interior._Run.__new__(interior._Run)
    run.problem, run.options, run.best, run.center, run.one = (
        PROBLEMS["hinge"],
        SimpleNamespace(tol=1e-6),
        [],
        None,
        0.1,
    )
    run.iterate = SimpleNamespace(
        values=SimpleNamespace(multipliers=lambda y: y), y=0, K=np.eye(N), mu=1.0, objective=lambda: 7.0
    )
    watch = SimpleNamespace(rows=[1, 2, 3], certify=lambda *_, **__: found.pop(0), suffices=lambda c: False)
    run.watch = watch
    return run


def test_the_claim_is_the_best_certificate_not_the_first_nor_the_last(monkeypatch):
    monkeypatch.setattr(interior, "factor_of", lambda *_: np.ones((N, 1)))
    run = run_of([0.5, 0.1, 0.3])
    for _ in range(3):
        run._look()
    claim = run.claim(nm.Status.INACCURATE)
    assert claim.certificate.relative_gap == 0.1
    assert claim.multipliers == 0.1
    assert (claim.V == 0.1).all()


def test_a_claim_of_a_run_without_certificates_looks_once(monkeypatch):
    monkeypatch.setattr(interior, "factor_of", lambda *_: np.ones((N, 1)))
    assert run_of([0.5]).claim(nm.Status.STOPPED).certificate.relative_gap == 0.5
    assert run_of([]).claim(nm.Status.FAILED).certificate is None
    early = run_of([])
    early.watch.rows = []
    assert early.claim(nm.Status.TIME_LIMIT).certificate is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_iterate_starts_inside_all_cones_and_on_the_central_path(name):
    now = Iterate(values_of(PROBLEMS[name]))
    box = now.values.box
    assert ((now.y > box.lower) & (now.y < box.upper)).all()
    S = now.slack().toarray() if hasattr(now.slack(), "toarray") else now.slack()
    np.testing.assert_allclose(now.L @ now.L.T, S, atol=1e-10)
    np.testing.assert_allclose(now.K @ S, now.mu * np.eye(N), atol=1e-10 * now.mu)
    np.testing.assert_allclose(now.low[box.below] * (now.y - box.lower)[box.below], now.mu)
    np.testing.assert_allclose(now.high[box.above] * (box.upper - now.y)[box.above], now.mu)
    assert (now.low[~box.below] == 0).all()
    assert (now.high[~box.above] == 0).all()
    assert now.count == N + box.below.sum() + box.above.sum()


@pytest.mark.parametrize("name", PROBLEMS)
def test_iterates_end_at_the_optimum(name):
    problem = PROBLEMS[name]
    now = Iterate(values_of(problem))
    reference = problem.solve("sdp", eps=1e-9)
    before = now.mu
    for k in range(60):
        now.advance()
        S = now.slack().toarray() if hasattr(now.slack(), "toarray") else now.slack()
        assert np.linalg.eigvalsh(S)[0] > 0
        assert np.linalg.eigvalsh(now.K)[0] > 0
        assert ((now.y > now.values.box.lower) & (now.y < now.values.box.upper)).all()
        if now.rho == 0 and k and now.mu < 1e-11 * before:
            break
    assert k <= 20
    assert now.objective() == pytest.approx(reference.objective, abs=1e-6)
    assert now.bound() == pytest.approx(reference.objective, abs=1e-6)
    np.testing.assert_allclose(now.L @ now.L.T, S, atol=1e-9)
    np.testing.assert_allclose(now.L_K @ now.L_K.T, now.K, atol=1e-9)
    y = now.values.multipliers(now.y)
    if not now.values.trace:
        assert problem.conjugate_sum(y) == pytest.approx(-now.bound(), abs=1e-9)


def test_small_algebra():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N))
    for n in (N, symmetry.WHOLE + 45):
        P = rng.normal(size=(n, n))
        np.testing.assert_allclose(symmetry.symmetric_part(P.copy(), -3.0), -1.5 * (P + P.T))
        np.testing.assert_allclose(symmetry.filled(np.tril(P)), np.tril(P) + np.tril(P, -1).T)
    A = X @ X.T + np.eye(N)
    L = start.cholesky(A)
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, A)
    np.testing.assert_allclose(path._inverse(L), np.linalg.inv(A), rtol=1e-9)
    for H, wanted in ((A, A), (np.ones((2, 2)), np.ones((2, 2))), (np.diag([1.0, 0.0]), np.eye(2))):
        factor, lower = raised_cholesky(np.asfortranarray(H.copy()), systems.RAISED)
        assert lower
        np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, wanted, atol=1e-7)
    with pytest.raises(np.linalg.LinAlgError):
        raised_cholesky(np.asfortranarray(np.array([[1.0, 5.0], [5.0, 1.0]])), systems.RAISED)
    with pytest.raises(np.linalg.LinAlgError):
        path._inverse(np.zeros((2, 2)))


def test_the_size_of_a_start_is_the_mean_of_what_is_asked_for():
    assert start.kernel_size(values_of(PROBLEMS["trace"])) == pytest.approx((1 + 1 + 3) / 3)
    assert start.kernel_size(values_of(nm.Problem(COST, nm.LossTerm(HINGE.functional, "square", 0.0)))) == 1.0
    Q = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 2)))[0])
    assert start.kernel_size(values_of(nm.Problem(COST, HINGE, basis=Q))) == pytest.approx(3.0)


def test_multipliers_begin_in_the_middle_of_their_boxes():
    y = start._inside(values_of(PROBLEMS["hinge"]))
    np.testing.assert_allclose(y, [-1.0, 0.25])  # y in [-2, 0] and [0, 0.5]
    values = values_of(PROBLEMS["rows"])
    y = start._inside(values)
    size = max(
        abs(PROBLEMS["rows"].cost).sum(axis=1).max(),
        abs(values.slack(np.r_[-1, 0.25, np.zeros(N)])).sum(axis=1).max(),
    )
    np.testing.assert_allclose(y[2:], size)


@pytest.mark.parametrize("n", [61, 90])
def test_lanczos_is_below_the_smallest_eigenvalue_and_near_it(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A = A + A.T
    true = np.linalg.eigvalsh(A)[0]
    found = steps._smallest(lambda v: A @ v, steps.first_vector(n))
    assert true * 1.02 <= found <= true * 0.99
    assert steps._smallest(lambda v: -3 * v, steps.first_vector(n)) == pytest.approx(-3)
    alpha, beta = list(rng.normal(size=8)), list(rng.uniform(0.5, 1, 8))
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    values, vectors = np.linalg.eigh(T)
    assert steps._ritz(alpha, beta) == pytest.approx((values[0], beta[-1] * abs(vectors[-1, 0])))
    assert steps._ritz([2.0], [3.0]) == (2.0, 3.0)


def test_steps_have_closed_forms():
    L, d = np.eye(2), np.diag([-4.0, 1.0])
    assert steps.longest(L, d, 0.9) == pytest.approx(0.225)
    assert steps.longest(2 * L, d, 0.9) == pytest.approx(0.9)
    assert steps.longest(4 * L, d, 0.9) == 1.0
    assert steps.ratio(np.array([1.0, 3.0, 8.0]), np.array([-2.0, -12.0, 4.0]), 0.8) == pytest.approx(0.2)
    assert steps.ratio(np.array([1.0]), np.array([-0.5]), 0.8) == 1.0
    assert steps.ratio(np.array([1.0]), np.array([0.5]), 0.8) == 1.0


def test_a_factor_has_the_rank_with_the_smallest_merit():
    V = np.random.default_rng(0).normal(size=(N, 2))
    problem = nm.Problem(COST, HINGE)
    y = problem.derivatives(V)
    K = V @ V.T + 1e-12 * np.eye(N)
    found = interior.factor_of(problem, K, y)
    assert found.shape[1] <= 2
    every = [
        problem.objective_of_factor((U * s)[:, :r])
        for U, s, _ in [np.linalg.svd(V, full_matrices=False)]
        for r in (1, 2)
    ]
    assert problem.objective_of_factor(found) <= min(every) * (1 + 1e-9)
    assert not interior.factor_of(problem, np.zeros((N, N)), y).any()
    fixed = nm.Problem(COST, (HINGE, UNIT))
    nu = nm.Multipliers((np.zeros(2),), (np.arange(1.0, N + 1),))
    merit = fixed.objective_of_factor(V) + 2 * np.arange(1.0, N + 1) @ np.abs(np.sum(V**2, axis=1) - 1)
    assert interior._merit(fixed, V, nu) == pytest.approx(merit)
    kept = interior.factor_of(fixed, K, nm.Multipliers((np.zeros(2),), (np.full(N, 1e6),)))
    np.testing.assert_allclose(kept @ kept.T, K, atol=1e-9)


def test_losses_and_multipliers_are_those_of_the_problem():
    for name, problem in PROBLEMS.items():
        values = values_of(problem)
        V = np.random.default_rng(1).normal(size=(N, 3))
        K, y = V @ V.T, np.arange(1.0, values.size + 1)
        terms = [t.weight @ t.loss.value(t.functional.value_of_factor(V), t.target) for t in problem.terms]
        if name != "linear":
            assert values.losses(values.of(K)) == pytest.approx(sum(terms))
        now = Iterate(values)
        now.K = K
        wanted = problem.objective_of_factor(V)
        assert now.objective() == pytest.approx(wanted)
        back = values.multipliers(y)
        S = problem.slack(back).toarray() + (y[-1] * np.eye(N) if values.trace else 0)
        own = values.slack(y)
        np.testing.assert_allclose(own.toarray() if hasattr(own, "toarray") else own, S)


def test_the_end_of_a_run_by_its_numbers():
    infeasible = nm.Problem(COST, (HINGE, UNIT, nm.Constraint(nm.Entries(N, ([0], [1])), equal=3.0)))
    assert infeasible.solve("interior").status is nm.Status.INFEASIBLE
    falling = nm.Problem(-COST, HINGE)
    assert falling.solve("interior").status is nm.Status.UNBOUNDED


def test_a_start_is_dual_feasible_where_a_short_step_into_the_boxes_leaves_a_slack():
    star = nm.LossTerm(nm.Entries(N, (np.zeros(5, dtype=int), ALL[1:])), "hinge", 1.0, 100.0)
    now = Iterate(values_of(nm.Problem(0.1 * np.eye(N), star)))
    assert now.rho == 0.0
    assert now.roomy
    assert now.amiss == 1.0
    assert Iterate(values_of(PROBLEMS["rows"])).rho == 1.0
    assert Iterate(values_of(PROBLEMS["hinge"])).rho == 0.0
