"""What rounding costs on a coarse machine: each margin is seen, counted and on the safe side."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import repairs
from npkl_models.linalg import UNIT, norm_bound
from npkl_models.model import facts, rounding

CORNER = nm.Constraint(nm.Entries(3, ([0], [0])), equal=1.0)
ACROSS = nm.Constraint(nm.Entries(3, ([0], [1])), equal=0.0)
WHOLE = nm.Constraint(nm.Entries(3, (range(3), range(3))), equal=[1.0, 2.0, 4.0])
SQUARE = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 0.0)


def equal(*parts, cost=None, **more):
    return nm.Problem(np.eye(3) if cost is None else cost, parts, **more)


def test_a_product_with_a_basis_counts_the_operations_of_the_longest_row(monkeypatch):
    """Relative to |Q|'|S||Q|: (longest row + 2) units, four more, and those of a column's sum."""
    Q = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]) / 2**0.5
    cost = np.diag([1.0, 2.0, 4.0])
    cost[1, 2] = cost[2, 1] = 1.0  # two numbers in a row, and a loss that adds one
    problem = nm.Problem(cost, SQUARE, basis=nm.Basis(Q))
    y = nm.Multipliers((np.zeros(1),))
    whole = problem.slack(y).toarray()
    sizes = np.linalg.norm(np.abs(Q).T @ np.abs(whole) @ np.abs(Q), 2)
    assert sizes > 1.5
    monkeypatch.setattr(rounding, "gamma", lambda k: 0.0)
    least = rounding.slack(problem, y)[1]
    defect = problem.basis.defect
    sums = 25 * UNIT * 1.001 * (1 + defect)
    left = least - sums - 2.5 * defect * (1 + defect) * norm_bound(problem.slack(y))
    assert (4 + 5) * UNIT * sizes <= left <= 1.002 * (4 + 5) * UNIT * sizes
    monkeypatch.setattr(rounding, "gamma", lambda k: k * 1e-3)
    more = rounding.slack(problem, y)[1]
    assert more - least == pytest.approx((4 + 2) * 1e-3 * sizes, rel=2e-3)


def test_the_error_of_a_slack_counts_one_operation_for_each_number():
    """A row of one number of the cost and one of a loss, which is added, has 3 + 2 units of its size."""
    y = nm.Multipliers((np.array([8.0]),))
    S, error = rounding.slack(nm.Problem(np.eye(3), SQUARE), y)
    assert S.toarray()[0, 1] == 4.0
    assert error == pytest.approx(5 * UNIT * 5 * 1.001, rel=1e-9, abs=0)
    empty = nm.Problem(sp.csr_array((3, 3)), SQUARE)
    assert rounding.slack(empty, nm.Multipliers((np.zeros(1),)))[1] < 1e-300


def test_the_price_of_an_equality_counts_its_units():
    """64 units of |nu b| come on top."""
    y = nm.Multipliers((), (np.array([-3.0]),))
    assert rounding.paid(equal(CORNER), y) == pytest.approx(-3.0 + 64 * UNIT * 3, abs=UNIT)
    assert -3.0 + 32 * UNIT * 3 < rounding.paid(equal(CORNER), y) < -3.0 + 128 * UNIT * 3


def test_a_bound_on_the_trace_is_rounded_upwards():
    """tr K <= 3 is no less than three; equalities on the whole diagonal say their sum."""
    bounded = nm.Problem(np.eye(3), SQUARE, nm.TracePower(1, bound=3.0))
    assert 3.0 < facts.trace_bound(bounded, np.inf) < 3.0 + 1e-12
    assert 7.0 < facts.trace_bound(equal(WHOLE), np.inf) < 7.0 + 1e-12
    assert facts.trace_bound(equal(CORNER), np.inf) == np.inf


def test_square_losses_bound_the_trace_where_the_cost_is_psd():
    """With C >= 0 and (K_ii - 1)^2 below u in sum, tr K <= 3 + sqrt(3 u)."""
    loss = nm.LossTerm(nm.Entries(3, (range(3), range(3))), "square", 1.0)
    problem = nm.Problem(1e-3 * np.eye(3), loss)
    assert facts.trace_bound(problem, 0.12) == pytest.approx(3.6)
    assert facts.trace_bound(problem, 1e-6) == pytest.approx(1e-3)  # from the cost
    assert facts.trace_bound(problem, np.inf) == np.inf
    halves = [
        nm.LossTerm(nm.Entries(3, (i, j)), "square", 1.0) for i, j in (([0, 1], [0, 2]), ([1, 2], [1, 2]))
    ]
    assert facts.trace_bound(nm.Problem(1e-3 * np.eye(3), halves), 0.12) == pytest.approx(3.6)
    assert facts._from_diagonal_losses(nm.Problem(np.eye(3), halves[:1]), 0.12, 0.0) == np.inf


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_stretch_takes_the_shift_from_what_the_cost_has_to_spare(shift):
    """With C = -2 I and a penalty of G on the trace delta is 2 - G, and s = delta / (delta - eps)."""
    R = {"regularizer": nm.TracePower(1, penalty=shift)} if shift else {}
    problem = nm.Problem(-2 * np.eye(3), SQUARE, **R)
    y = nm.Multipliers((np.array([1.0]),))
    stretched = repairs.stretch(problem, y, 0.3, np.inf)[1]
    assert stretched.terms[0][0] == pytest.approx((2 - shift) / (1.7 - shift))
    assert repairs.stretch(problem, y, 2.0 - shift, np.inf) is None


def test_the_floor_of_a_laplacian_of_distances_is_its_lowest_eigenvalue():
    """Small matrices are decomposed, so that nothing of the floor is given away."""
    basis = nm.Basis(np.linalg.qr(np.eye(3)[:, 1:] - 1 / 3)[0])
    path = nm.Constraint(nm.SquaredDistances(3, ([0, 1], [1, 2])), equal=1.0)
    assert facts.distance_floor(equal(path, basis=basis)) == pytest.approx(1.0, rel=1e-12)
    assert facts.diagonal_floor(equal(CORNER, ACROSS, basis=basis)) == pytest.approx(0.0, abs=1e-12)
