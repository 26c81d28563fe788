"""One slack for all values: the faces of the loss as a whole, and every route that states it."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import side_information

import npkl_models as nm
from npkl_models.model.shared_slack import onto_simplex
from npkl_models.spectral import simple_npkl as ascent

LOSS = nm.LOSSES["shared_slack"]
vectors = st.lists(st.floats(-4, 4), min_size=1, max_size=7).map(np.array)
weights = st.floats(0.05, 5)


def total(z, t, w):
    return w * max(0.0, float(np.max(z - t)))


@given(z=vectors, w=weights)
def test_the_loss_is_the_largest_of_its_multipliers(z, w):
    """Fenchel and Young, as a whole: <= for all y of the domain, = at the derivative."""
    t = np.linspace(-1, 1, z.size)
    every = np.full(z.size, w)
    assert float(every @ LOSS.value(z, t)) == pytest.approx(total(z, t, w), abs=1e-12)
    slope = w * LOSS.derivative(z, t)
    assert LOSS.in_domain(slope, t, every).all()
    assert float(slope @ z - LOSS.conjugate(slope, t, every).sum()) == pytest.approx(
        total(z, t, w), abs=1e-12
    )
    rng = np.random.default_rng(0)
    for _ in range(10):
        y = LOSS.project(rng.normal(size=z.size) * 3, t, every)
        assert float(y @ z - LOSS.conjugate(y, t, every).sum()) <= total(z, t, w) + 1e-12
        low, high = LOSS.domain(t, every)
        assert np.all((low <= y) & (y <= high))
    low, high = LOSS.subdifferential(z, t, every, 1e-3)
    for near in (z, z + 1e-3, z - 1e-3, z + 1e-3 * rng.uniform(-1, 1, z.size)):
        slope = w * LOSS.derivative(near, t)
        assert np.all((low <= slope) & (slope <= high))


@given(y=vectors, w=weights)
def test_the_projection_is_the_nearest_and_stays(y, w):
    x = onto_simplex(y, w)
    assert LOSS.in_domain(x, np.zeros(y.size), np.full(y.size, w)).all()
    np.testing.assert_array_equal(onto_simplex(x, w), x)
    rng = np.random.default_rng(1)
    for _ in range(20):  # the angle to every other point of the simplex is obtuse
        other = onto_simplex(rng.normal(size=y.size) * 3, w)
        assert float((y - x) @ (other - x)) <= 1e-9
    for corner in np.vstack([np.zeros(y.size), w * np.eye(y.size)]):
        assert float((y - x) @ (corner - x)) <= 1e-9


@given(x=vectors, step=weights)
def test_prox_is_the_minimiser(x, step):
    t, every = np.linspace(-1, 1, x.size), np.full(x.size, step)
    u = LOSS.prox(x, t, every)
    least = total(u, t, step) + 0.5 * float(np.sum((u - x) ** 2))
    rng = np.random.default_rng(2)
    for size in (1.0, 0.1, 1e-3):
        for _ in range(10):
            v = u + size * rng.normal(size=x.size)
            assert total(v, t, step) + 0.5 * float(np.sum((v - x) ** 2)) >= least - 1e-9


def test_cvxpy_faces_have_the_same_values():
    z, t, w = np.array([0.3, 2.0, -1.0]), np.array([0.1, 0.0, 0.4]), np.full(3, 1.5)
    assert float(w @ LOSS.cvxpy_value(cp.Constant(z), t).value) == pytest.approx(total(z, t, 1.5))
    y = cp.Variable(3)
    y.value = LOSS.project(np.array([1.0, 0.7, -0.2]), t, w)
    conjugate, domain = LOSS.cvxpy_conjugate(y, t, w)
    assert conjugate.value == pytest.approx(float(LOSS.conjugate(y.value, t, w).sum()))
    assert all(np.max(part.violation()) <= 1e-12 for part in domain)


def test_weights_must_be_equal():
    with pytest.raises(nm.ProblemError, match="weights of pairs must be equal for the shared_slack loss"):
        nm.LossTerm(nm.Entries(3, ([0, 1], [1, 2])), "shared_slack", 0.0, [1.0, 2.0])


def test_solvers_that_take_values_one_by_one_refuse():
    L, pairs = side_information("iris", 12)
    reasons = nm.npkl(L, pairs, loss="shared_slack").compatible_backends()
    assert reasons["bcd"] == "supports no loss that ties its values to each other, got shared_slack"
    assert {name for name, reason in reasons.items() if reason is None} == {"sdp", "sdp_dual"}
    bounded = nm.simple_npkl(L, pairs, loss="shared_slack", p=1, trace_bound=3.0).compatible_backends()
    assert bounded["simple_npkl"] == "needs p > 1 for a loss that ties its values to each other"


@pytest.mark.parametrize("how", [{"trace_bound": 20.0}, {"penalty": 1.0}])
@pytest.mark.parametrize("largest", [400, 0])
def test_dual_ascent_agrees_with_the_exact_program(how, largest, monkeypatch):
    """By quadratic programs, and by Nesterov's method alone, as with very many multipliers."""
    monkeypatch.setattr(ascent, "LARGEST_PROGRAM", largest)
    L, pairs = side_information("iris", 24)
    problem = nm.simple_npkl(L, pairs, loss="shared_slack", C=3.0, p=2, **how)
    exact = problem.solve("sdp", eps=1e-9)
    found = problem.solve("simple_npkl", tol=1e-6)
    assert exact.certificate.certifies(1e-6)
    assert found.certificate.certifies(1e-6)
    assert found.objective == pytest.approx(exact.objective, rel=1e-5, abs=1e-6)
    y = found.certificate.multipliers.terms[0]
    assert LOSS.in_domain(y, np.zeros(y.size), np.full(y.size, 3.0)).all()


def test_a_sum_that_is_too_large_is_not_in_the_domain():
    """Multipliers that are each below the weight, together above it, bound nothing."""
    t, w = np.zeros(3), np.full(3, 1.0)
    assert not LOSS.in_domain(np.full(3, 0.5), t, w).any()
    L, pairs = side_information("iris", 12)
    problem = nm.simple_npkl(L, pairs, loss="shared_slack", trace_bound=5.0)
    best = problem.solve("sdp", eps=1e-9).objective
    loose = np.full(len(pairs), 0.9)
    assert problem.dual_bound([loose]) == -np.inf
    found = nm.certify(problem, np.zeros((12, 1)), multipliers=problem.as_multipliers([loose]))
    assert found.bound <= best + 1e-9
