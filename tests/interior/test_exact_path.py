"""Starts, iterations and objectives of the interior-point method against the same written out in dense algebra."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.interior import path, start
from npkl_models.interior import schur as systems
from npkl_models.interior.path import Iterate
from npkl_models.interior.values import values_of
from npkl_models.linalg import dense, raised_cholesky

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
WIDE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 50.0])
SQUARE = nm.LossTerm(nm.SquaredDistances(N, ([0, 2], [1, 5])), "square", [1.0, 2.0])
ROUND = nm.LossTerm(nm.Entries(N, ([1, 4], [2, 5])), "squared_hinge", [1.0, -1.0], [0.7, 30.0])
FIXED = nm.LossTerm(nm.Entries(N, ([3, 1], [5, 1])), "linear", [1.0, -1.0], [0.25, 0.125])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0 + 0.1 * ALL)
INSIDE = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 4)))[0])
LOW = COST - 4 * np.eye(N)
PROBLEMS = {
    "losses": nm.Problem(COST, (HINGE, SQUARE, ROUND, FIXED)),
    "indefinite": nm.Problem(LOW, (WIDE, SQUARE, ROUND, FIXED)),
    "equalities": nm.Problem(LOW, (HINGE, SQUARE, UNIT)),
    "rows": nm.Problem(LOW, (HINGE, ROUND), nm.RowNormBound(1.5)),
    "basis": nm.Problem(COST, (HINGE, SQUARE, FIXED), basis=INSIDE),
    "held in a basis": nm.Problem(LOW, (HINGE, ROUND), nm.TracePower(1, bound=3.0), basis=INSIDE),
}


class Plain:
    """The state of an iterate and its data, dense."""

    def __init__(self, now):
        v = now.values
        self.b, self.q, self.lower, self.upper = v.box.b, v.box.q, v.box.lower, v.box.upper
        self.M = [dense(v.adjoint(e)) for e in np.eye(v.size)]
        self.C, self.m, self.s = dense(v.C), v.size, v.order
        self.y, self.K, self.low, self.high = now.y.copy(), now.K.copy(), now.low.copy(), now.high.copy()
        self.S, self.steps, self.rho, self.amiss = dense(now.S), now.steps, now.rho, now.amiss
        self.R, self.roomy = dense(now.R), now.roomy

    def slack(self, y):
        return self.C + sum(a * M for a, M in zip(y, self.M, strict=True))

    def mu(self, K, S, low, high, y):
        total, count = np.trace(K @ S), self.s
        for k in range(self.m):
            for u, way, end in ((low, y - self.lower, self.lower), (high, self.upper - y, self.upper)):
                if np.isfinite(end[k]):
                    total, count = total + u[k] * way[k], count + 1
        return total / count

    def direction(self, target, before=None):
        """Newton's step towards K S = target I and so on, by one dense solve."""
        Z = np.linalg.inv(self.S)
        sym = lambda A: 0.5 * (A + A.T)  # noqa: E731
        H, right = np.zeros((self.m, self.m)), np.zeros(self.m)
        second = 0 * self.K if before is None else sym(before[1] @ before[2] @ Z)
        constant = target * Z - sym(self.K @ (self.rho * self.R) @ Z) - second
        dlow, dhigh = np.zeros(self.m), np.zeros(self.m)
        add = np.zeros((self.m, 4))  # u at the lower and upper end: constant and slope in dy
        for k in range(self.m):
            first = (0.0, 0.0, 0.0) if before is None else (before[0][k], before[3][k], before[4][k])
            if np.isfinite(self.lower[k]):
                way = self.y[k] - self.lower[k]
                add[k, :2] = (target - first[0] * first[1]) / way, -self.low[k] / way
            if np.isfinite(self.upper[k]):
                way = self.upper[k] - self.y[k]
                add[k, 2:] = (target + first[0] * first[2]) / way, self.high[k] / way
        for e in range(self.m):
            for f in range(self.m):
                H[e, f] = np.sum(self.M[e] * sym(self.K @ self.M[f] @ Z))
            H[e, e] += self.q[e] - add[e, 1] + add[e, 3]
            right[e] = np.sum(self.M[e] * constant) - self.b[e] - self.q[e] * self.y[e]
            right[e] += add[e, 0] - add[e, 2]
        dy = np.linalg.solve(H, right)
        dS = self.slack(dy) - self.C + self.rho * self.R
        dK = constant + sym(self.K @ (self.rho * self.R) @ Z) - sym(self.K @ dS @ Z) - self.K
        for k in range(self.m):
            if np.isfinite(self.lower[k]):
                dlow[k] = add[k, 0] + add[k, 1] * dy[k] - self.low[k]
            if np.isfinite(self.upper[k]):
                dhigh[k] = add[k, 2] + add[k, 3] * dy[k] - self.high[k]
        return dy, dK, dS, dlow, dhigh

    def reach(self, d, share):
        dy, dK, dS, dlow, dhigh = d

        def cone(X, dX):
            low = scipy.linalg.eigh(dX, X, eigvals_only=True)[0]
            return 1.0 if low >= -share else share / -low

        primal, dual = [cone(self.K, dK)], [cone(self.S, dS)]
        for k in range(self.m):
            for end, steps in (
                (self.lower[k], ((self.low[k], dlow[k], primal), (self.y[k] - self.lower[k], dy[k], dual))),
                (
                    self.upper[k],
                    ((self.high[k], dhigh[k], primal), (self.upper[k] - self.y[k], -dy[k], dual)),
                ),
            ):
                for x, dx, of in steps if np.isfinite(end) else ():
                    of.append(min(1.0, share * x / -dx) if dx < 0 else 1.0)
        return min(primal), min(dual)

    def advance(self):
        """Predictor, centring, corrector, step."""
        mu = self.mu(self.K, self.S, self.low, self.high, self.y)
        first = self.direction(0.0)
        a, c = self.reach(first, 1.0)
        left = self.mu(
            self.K + a * first[1], self.S + c * first[2], self.low + a * first[3],
            self.high + a * first[4], self.y + c * first[0],
        )  # fmt: skip
        far = min(a, c) ** 2
        power = max(1.0, 3 * far) if self.roomy else min(3.0, 1 + 4 * far)
        sigma = min(max((max(left, 0.0) / mu) ** power, 0.1 if self.amiss > 1e-3 else 1e-6), 1.0)
        d = self.direction(sigma * mu, first)
        a, c = self.reach(d, 0.9 + 0.09 * min(self.steps))
        self.y, self.rho = self.y + c * d[0], (1 - c) * self.rho
        self.rho = self.rho if self.rho > 1e-14 else 0.0
        self.K, self.low, self.high = self.K + a * d[1], self.low + a * d[3], self.high + a * d[4]
        self.S, self.steps, self.amiss = self.slack(self.y) - self.rho * self.R, (a, c), self.amiss * (1 - a)


def alike(plain, now):
    for mine, other in ((plain.y, now.y), (plain.low, now.low), (plain.high, now.high), (plain.K, now.K)):
        np.testing.assert_allclose(other, mine, rtol=1e-6, atol=1e-8 * max(np.max(np.abs(mine)), 1e-12))
    np.testing.assert_allclose(dense(now.S), plain.S, atol=1e-8 * np.max(np.abs(plain.S)))
    np.testing.assert_allclose(now.steps, plain.steps, rtol=1e-6)
    np.testing.assert_allclose([now.rho, now.amiss], [plain.rho, plain.amiss], rtol=1e-5, atol=1e-9)
    assert now.mu == pytest.approx(plain.mu(plain.K, plain.S, plain.low, plain.high, plain.y), rel=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_iterations_are_those_of_dense_algebra(name):
    """Ten of them, from wherever the method starts."""
    now = Iterate(values_of(PROBLEMS[name]))
    plain = Plain(now)
    assert now.steps == (1.0, 1.0)
    for _ in range(7):
        alike(plain, now)
        now.advance()
        plain.advance()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_start_is_on_the_central_path_at_the_size_of_what_is_asked_for(name):
    """A feasible start lacks all of the primal side, another one all of the dual side."""
    problem = PROBLEMS[name]
    now = Iterate(values_of(problem))
    plain = Plain(now)
    feasible = np.linalg.eigvalsh(plain.slack(now.y))[0] > 0 and now.rho == 0
    assert (now.rho, now.amiss, now.roomy) == ((0.0, 1.0, True) if feasible else (1.0, 0.0, False))
    wanted = np.mean(np.abs(plain.b[plain.b != 0])) * (problem.n / problem.order)
    Z = np.linalg.inv(plain.S)
    assert np.mean(now.K.diagonal()) == pytest.approx(wanted)
    mu = wanted / np.mean(Z.diagonal())
    np.testing.assert_allclose(now.K, mu * Z)
    assert now.mu == pytest.approx(mu)
    at, to = np.isfinite(plain.lower), np.isfinite(plain.upper)
    np.testing.assert_allclose(now.low[at] * (now.y - plain.lower)[at], mu)
    np.testing.assert_allclose(now.high[to] * (plain.upper - now.y)[to], mu)
    assert not now.low[~at].any()
    assert not now.high[~to].any()
    if not feasible:
        np.testing.assert_allclose(plain.S, plain.S[0, 0] * np.eye(plain.s), atol=1e-12)
        size = np.max(np.abs(plain.slack(now.y)).sum(axis=1))
        assert plain.S[0, 0] == pytest.approx(size)
        np.testing.assert_allclose(plain.slack(now.y) - plain.S, plain.R, atol=1e-12)
        cost = max(
            np.max(np.abs(plain.C).sum(axis=1)), np.max(np.abs(plain.slack(middle_of(plain))).sum(axis=1))
        )
        step = np.minimum(cost, np.where(plain.q > 0, 1 / np.where(plain.q > 0, plain.q, 1), np.inf))
        for k in range(plain.m):
            lower, upper = plain.lower[k], plain.upper[k]
            both, one = np.isfinite(lower) and np.isfinite(upper), np.isfinite(lower)
            other = upper - step[k] if np.isfinite(upper) else 0.0
            assert now.y[k] == pytest.approx(
                0.5 * (lower + upper) if both else lower + step[k] if one else other
            )


def middle_of(plain):
    both = np.isfinite(plain.lower) & np.isfinite(plain.upper)
    return 0.5 * (np.where(both, plain.lower, 0.0) + np.where(both, plain.upper, 0.0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_objective_and_the_bound_are_those_of_the_problem(name):
    """What a linear loss adds is in both, once."""
    problem = PROBLEMS[name]
    now = Iterate(values_of(problem))
    K = problem.Q @ now.K @ problem.Q.T
    whole = np.sum(problem.cost.toarray() * K)
    whole += sum(part.value(part.functional.value(K)) for part in problem.terms)
    assert now.objective() == pytest.approx(whole)
    y = now.values.multipliers(now.y)
    trace = 3.0 * now.y[-1] if now.values.trace else 0.0
    assert now.bound() == pytest.approx(-problem.conjugate_sum(y) - trace)


def test_a_start_in_a_basis_is_dense_and_one_without_is_sparse():
    """S is of the kind that S(y) is of."""
    assert isinstance(Iterate(values_of(PROBLEMS["held in a basis"])).S, np.ndarray)
    assert sp.issparse(Iterate(values_of(PROBLEMS["indefinite"])).S)


def test_a_slack_that_is_nearly_singular_is_no_start():
    """The square of the smallest pivot must be more than a millionth of the cost."""
    for low, roomy in ((1e-7, False), (1e-4, True)):
        cost = np.diag([1.0, 2.0, 8.0, 1.0, 1.0, low])
        problem = nm.Problem(cost, nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0))
        assert Iterate(values_of(problem)).roomy == roomy


def test_steps_into_the_boxes_are_quartered_until_the_slack_is_positive():
    """From a positive definite cost of norm four: 4, 1, 1/4, of which 1 is the first that fits; half of it."""
    term = nm.LossTerm(nm.Entries(N, (ALL, ALL)), "hinge", 1.0, 100.0)  # y in [-100, 0]
    now = Iterate(values_of(nm.Problem(np.diag([4.0, 1.5, 4, 4, 4, 4]), term)))
    np.testing.assert_allclose(now.y, -0.5)
    up = Iterate(
        values_of(
            nm.Problem(np.diag([4.0, 1.5, 4, 4, 4, 4]), nm.LossTerm(term.functional, "hinge", -1.0, 100.0))
        )
    )
    np.testing.assert_allclose(up.y, 2.0)


def test_out_of_range_or_singular_is_said():
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError):
        start.cholesky(np.diag([1.0, np.nan]))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        path._inverse(np.diag([1.0, 0.0]))
    with pytest.raises(np.linalg.LinAlgError, match="definite"):
        raised_cholesky(np.asfortranarray(np.array([[1.0, 2.0], [2.0, 1.0]])), systems.RAISED)
