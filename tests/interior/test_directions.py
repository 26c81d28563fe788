"""The directions of the interior-point method against the equations that define them; starts and centring."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.interior import interior
from npkl_models.interior import schur as systems
from npkl_models.interior.path import Iterate
from npkl_models.interior.values import values_of
from npkl_models.linalg import dense, raised_cholesky

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
SQUARE = nm.LossTerm(nm.SquaredDistances(N, ([0, 2], [1, 5])), "square", [1.0, 2.0])
ROUND = nm.LossTerm(nm.Entries(N, ([1, 4], [2, 5])), "squared_hinge", [1.0, -1.0], [0.7, 3.0])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0)
PROBLEMS = {
    "losses": nm.Problem(COST, (HINGE, SQUARE, ROUND)),
    "equalities": nm.Problem(COST - 4 * np.eye(N), (HINGE, SQUARE, UNIT)),
    "rows": nm.Problem(COST - 4 * np.eye(N), HINGE, nm.RowNormBound(1.5)),
    "trace": nm.Problem(COST - 4 * np.eye(N), HINGE, nm.TracePower(1, bound=3.0)),
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


def test_ways_to_ends_that_are_not_there_are_one():
    """No division by them does anything."""
    now = Iterate(values_of(PROBLEMS["losses"]))
    assert (~now.above).sum() == 3
    assert (~now.below).sum() == 3
    np.testing.assert_array_equal(now.to_upper[~now.above], 1.0)
    np.testing.assert_array_equal(now.to_lower[~now.below], 1.0)


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


def centring(reach, after, roomy=True, amiss=0.0):
    """The share of mu that is kept, for steps that may go so far and leave so much of mu."""
    state = SimpleNamespace(
        _reach=lambda d, share: reach, _mu_after=lambda *_: after, roomy=roomy, amiss=amiss,
    )  # fmt: skip
    return Iterate._centring(state, None, 1.0)


def test_the_power_of_the_centring_goes_with_the_shorter_step():
    """From max(1, 3 a^2) with room, else min(3, 1 + 4 a^2), of the share that a predictor leaves."""
    assert centring((1.0, 1.0), 0.1) == pytest.approx(0.1**3)
    assert centring((0.9, 1.0), 0.1) == pytest.approx(0.1 ** (3 * 0.81))
    assert centring((1.0, 0.5), 0.1) == pytest.approx(0.1)
    assert centring((0.5, 1.0), 0.1, roomy=False) == pytest.approx(0.1**2)
    assert centring((1.0, 1.0), 0.1, roomy=False) == pytest.approx(0.1**3)


def test_the_centring_has_a_floor_that_is_higher_early():
    """A tenth is kept while the values of K are amiss, a millionth later, and never more than all."""
    assert centring((1.0, 1.0), 0.1, amiss=1.0) == pytest.approx(0.1)
    assert centring((1.0, 1.0), 1e-9, amiss=1e-4) == pytest.approx(1e-6)
    assert centring((1.0, 1.0), -0.5) == pytest.approx(1e-6)
    assert centring((1.0, 1.0), 7.0) == 1.0


def test_a_start_goes_half_of_a_step_into_each_box():
    """The step is the size of the cost, half of the box, or 1 / q, whichever is the shortest."""
    light = nm.LossTerm(nm.Entries(N, ([0, 1], [2, 3])), "squared_hinge", [1.0, -1.0], [1e-3, 100.0])
    narrow = nm.LossTerm(nm.Entries(N, ([4], [5])), "hinge", 1.0, 0.5)
    y = Iterate(values_of(nm.Problem(np.eye(N), (light, narrow)))).y
    np.testing.assert_allclose(y, [-0.5 * 2e-3, 0.5, -0.5 * 0.25])


def test_a_factorisation_begins_afresh_after_each_failure():
    """What a failure has overwritten is taken from the other half, however many there were."""
    A = np.array([[4.0, 2.0, 1.0], [2.0, 9.0, 3.0], [1.0, 3.0, 16.0]])
    root = np.linalg.cholesky(A)
    x = np.linalg.solve(root.T, np.array([0.0, 0.0, 1.0]))
    H = A - (1 + 1e-11) / (x @ A @ x) * np.outer(A @ x, A @ x)  # one eigenvalue just below zero
    factor, _ = raised_cholesky(np.asfortranarray(H), systems.RAISED)
    L = np.tril(factor)
    np.testing.assert_allclose(L @ L.T, H, atol=1e-6)


def test_the_cost_is_sparse_without_a_basis_and_dense_in_one():
    """Without a basis S has the pattern of the graph; in one it has none."""
    Q = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 3)))[0])
    assert sp.issparse(values_of(PROBLEMS["losses"]).C)
    inside = values_of(nm.Problem(COST, HINGE, basis=Q)).C
    np.testing.assert_allclose(inside, Q.Q.T @ COST @ Q.Q)
    assert isinstance(inside, np.ndarray)


def test_a_factor_is_shrunk_into_its_bound_unless_equalities_say_its_length():
    """With a bound of three on the trace a kernel of trace six is too long, but not where K_ii = 1."""
    nothing = nm.Multipliers((np.zeros(2),))
    free = nm.Problem(COST, HINGE, nm.TracePower(1, bound=3.0))
    V = interior.factor_of(free, np.eye(N), nothing)
    assert free.violation(V) == 0.0
    held = nm.Problem(COST, (HINGE, UNIT), nm.TracePower(1, bound=3.0))
    V = interior.factor_of(held, np.eye(N), nm.Multipliers((np.zeros(2),), (np.full(N, 1e9),)))
    np.testing.assert_allclose(np.sum(V**2, axis=1), 1.0)
    Q = nm.Basis(np.eye(N)[:, :4])
    inner = nm.Problem(COST, HINGE, nm.TracePower(1, bound=3.0), basis=Q)
    V = interior.factor_of(inner, np.eye(4), nothing)
    np.testing.assert_allclose(V @ V.T, np.diag([1.0, 1, 1, 1, 0, 0]), atol=1e-12)


def test_a_kernel_of_zero_has_a_factor_of_zero():
    """One column of zeros stands for it; a tiny kernel is no zero."""
    nothing = nm.Multipliers((np.zeros(2),))
    problem = nm.Problem(COST, HINGE)
    assert interior.factor_of(problem, np.zeros((N, N)), nothing).shape == (N, 1)
    tiny = interior.factor_of(problem, 1e-200 * np.eye(N), nothing)
    assert tiny.any()


@pytest.mark.parametrize("rigour", ["proved", "estimated"])
@pytest.mark.parametrize("suffices", [True, False])
def test_a_probable_certificate_gives_way_to_a_proof_that_suffices(rigour, suffices, monkeypatch):
    """What the factorisation says must be proved and close the gap; else the probable one stays."""
    first = SimpleNamespace(bound=0.0, rigour="probable", relative_gap=0.5)
    second = SimpleNamespace(bound=0.0, rigour=rigour, relative_gap=0.5)
    run = interior._Run.__new__(interior._Run)
    run.problem, run.options, run.best, run.center = None, SimpleNamespace(tol=1e-6), [], None
    run.iterate = SimpleNamespace(values=SimpleNamespace(multipliers=lambda y: y), y=0, K=None)
    run.watch = SimpleNamespace(
        certify=lambda *_, method="auto": second if method == "cholesky" else first,
        suffices=lambda found: suffices if found is second else True,
        offer=lambda *_: pytest.fail("a bound was not lost"),
    )
    monkeypatch.setattr(interior, "factor_of", lambda *_: None)
    assert run._look() is (second if rigour == "proved" and suffices else first)


@pytest.mark.parametrize("taken", [True, False])
def test_a_bound_that_is_lost_is_looked_for_again_with_the_center(taken, monkeypatch):
    """The first dual feasible iterate is offered, and a second certificate asked for if it is taken."""
    found = [SimpleNamespace(bound=b, rigour="proved", relative_gap=0.5) for b in (-np.inf, -1.0)]
    left, offered = list(found), []
    run = interior._Run.__new__(interior._Run)
    run.problem, run.options, run.best, run.center = None, SimpleNamespace(tol=1e-6), [], "center"
    run.iterate = SimpleNamespace(values=SimpleNamespace(multipliers=lambda y: y), y=0, K=None)
    run.watch = SimpleNamespace(
        certify=lambda *_: left.pop(0), suffices=lambda found: False,
        offer=lambda problem, y: bool(offered.append(y)) or taken,
    )  # fmt: skip
    monkeypatch.setattr(interior, "factor_of", lambda *_: None)
    assert run._look() is found[1 if taken else 0]
    assert offered == ["center"]
