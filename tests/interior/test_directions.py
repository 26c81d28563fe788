"""The directions of the interior-point method against the equations that define them; starts and centring."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.interior import interior
from npkl_models.interior import schur as systems
from npkl_models.interior.path import Iterate
from npkl_models.interior.values import values_of
from npkl_models.linalg import dense

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
SQUARE = nm.LossTerm(nm.SquaredDistances(N, ([0, 2], [1, 5])), "square", [1.0, 2.0])
ROUND = nm.LossTerm(nm.Entries(N, ([1, 4], [2, 5])), "squared_hinge", [1.0, -1.0], [0.7, 3.0])
UNIT = nm.Equality(nm.Entries(N, (ALL, ALL)), 1.0)
PROBLEMS = {
    "losses": nm.Problem(COST, (HINGE, SQUARE, ROUND)),
    "equalities": nm.Problem(COST - 4 * np.eye(N), (HINGE, SQUARE), UNIT),
    "rows": nm.Problem(COST - 4 * np.eye(N), HINGE, (), nm.RowNormBound(1.5)),
    "trace": nm.Problem(COST - 4 * np.eye(N), HINGE, (), nm.TracePower(1, bound=3.0)),
}


def directions(name, advanced, monkeypatch):
    """An iterate, its predictor and its corrected direction towards 0.3 mu."""
    now, seen = Iterate(values_of(PROBLEMS[name])), {}
    for _ in range(advanced):
        now.advance()
    now.amiss = 0.0  # so that the direction is refined where there are equalities

    def centring(self, d, mu):
        seen["first"] = d
        return 0.3

    monkeypatch.setattr(Iterate, "_centring", centring)
    monkeypatch.setattr(Iterate, "_go", lambda self, d: seen.update(final=d))
    now.advance()
    return now, seen["first"], seen["final"]


@pytest.mark.parametrize("advanced", [0, 3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_direction_solves_the_linear_equations_of_the_values(name, advanced, monkeypatch):
    """The values of K + dK are b + q (y + dy), more at an upper end and less at a lower one."""
    now, first, final = directions(name, advanced, monkeypatch)
    box = now.values.box
    for d in (first, final):
        wanted = box.b + box.q * (now.y + d.y)
        wanted += (now.high + d.high) * now.above - (now.low + d.low) * now.below
        found = now.values.of(now.K) + now.values.of(d.K)
        np.testing.assert_allclose(found, wanted, atol=1e-8 * np.max(np.abs(wanted)))


def test_refinements_make_up_for_an_inexact_factor(monkeypatch):
    """With a factor that is off by one per cent three of them leave a millionth of a per cent."""
    exact = systems.raised_cholesky
    monkeypatch.setattr(systems, "raised_cholesky", lambda *H: (1.005 * exact(*H)[0], True))
    now, first, final = directions("equalities", 0, monkeypatch)
    box = now.values.box
    for d, least, most in ((first, 1e-4, np.inf), (final, 0.0, 1e-6)):
        ends = (now.high + d.high) * now.above - (now.low + d.low) * now.below
        missed = now.values.of(now.K + d.K) - box.b - box.q * (now.y + d.y) - ends
        assert least <= np.max(np.abs(missed)) <= most


@pytest.mark.parametrize("advanced", [0, 3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_direction_solves_the_linear_equations_of_the_slack(name, advanced, monkeypatch):
    """S + dS is S(y + dy): a full step leaves nothing of the first dual residual."""
    now, first, final = directions(name, advanced, monkeypatch)
    for d in (first, final):
        wanted = dense(now.values.slack(now.y + d.y))
        np.testing.assert_allclose(dense(now.S) + dense(d.S), wanted, atol=1e-9 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("advanced", [0, 3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_direction_linearises_the_products_of_the_central_path(name, advanced, monkeypatch):
    """K = mu Z - K dS Z - dK dS Z, u way = mu - u dw - du dw; the last products are the predictor's."""
    now, first, final = directions(name, advanced, monkeypatch)
    Z = np.linalg.inv(dense(now.S))
    for d, target, before in ((first, 0.0, None), (final, 0.3 * now.mu, first)):
        product = now.K @ dense(d.S) @ Z
        low, high = now.low * d.y, -now.high * d.y
        if before is not None:
            product = product + before.K @ dense(before.S) @ Z
            low, high = low + before.low * before.y, high - before.high * before.y
        wanted = target * Z - 0.5 * (product + product.T)
        np.testing.assert_allclose(now.K + d.K, wanted, atol=1e-8 * np.max(np.abs(now.K)))
        at = now.below
        np.testing.assert_allclose(((now.low + d.low) * now.to_lower + low)[at], target, atol=1e-8 * now.mu)
        at = now.above
        np.testing.assert_allclose(
            ((now.high + d.high) * now.to_upper + high)[at], target, atol=1e-8 * now.mu
        )


def test_a_factor_is_shrunk_into_its_bound_unless_equalities_say_its_length():
    """With a bound of three on the trace a kernel of trace six is too long, but not where K_ii = 1."""
    nothing = nm.Multipliers((np.zeros(2),))
    free = nm.Problem(COST, HINGE, (), nm.TracePower(1, bound=3.0))
    V = interior.factor_of(free, np.eye(N), nothing)
    assert free.violation(V) == 0.0
    held = nm.Problem(COST, HINGE, UNIT, nm.TracePower(1, bound=3.0))
    V = interior.factor_of(held, np.eye(N), nm.Multipliers((np.zeros(2),), (np.full(N, 1e9),)))
    np.testing.assert_allclose(np.sum(V**2, axis=1), 1.0)
    Q = nm.Basis(np.eye(N)[:, :4])
    inner = nm.Problem(COST, HINGE, (), nm.TracePower(1, bound=3.0), basis=Q)
    V = interior.factor_of(inner, np.eye(4), nothing)
    np.testing.assert_allclose(V @ V.T, np.diag([1.0, 1, 1, 1, 0, 0]), atol=1e-12)


def test_a_kernel_of_zero_has_a_factor_of_zero():
    """One column of zeros stands for it; a tiny kernel is no zero."""
    nothing = nm.Multipliers((np.zeros(2),))
    problem = nm.Problem(COST, HINGE)
    assert interior.factor_of(problem, np.zeros((N, N)), nothing).shape == (N, 1)
    tiny = interior.factor_of(problem, 1e-200 * np.eye(N), nothing)
    assert tiny.any()
