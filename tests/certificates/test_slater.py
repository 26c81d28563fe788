"""A strictly feasible dual point bounds problems without a shift."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models import kernel
from npkl_models.certificates.slater import strictly_feasible
from npkl_models.kernel import cost_floor


def ring(n=30, seed=0, must=10, cannot=10):
    """A connected graph without a shift, with pairs."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n, n))
    i = np.arange(n)
    A[i, (i + 1) % n] = rng.uniform(0.5, 1.0, n)
    labels = (i >= n // 2).astype(int)
    return nm.laplacian(A + A.T), nm.Pairs.from_labels(labels, must, cannot, seed)


def is_inside(problem):
    """The multipliers of the centre that is found; T S T is at least mu I for it."""
    center = strictly_feasible(problem)
    S = problem.slack(center.y).toarray() * center.T * center.T[:, None]
    assert 0 < center.mu <= np.linalg.eigvalsh(S)[0]
    assert np.isfinite(kernel.paid(problem, center.y))
    return center.y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_and_close_without_a_shift(loss, seed):
    problem = nm.npkl(*ring(seed=seed), loss=loss)
    best = problem.solve("interior", tol=1e-8)
    assert best.status is nm.Status.OPTIMAL
    is_inside(problem)
    rng = np.random.default_rng(seed)
    for size in (1e-8, 1e-3, 1.0):
        y = problem.as_multipliers([best.multipliers.terms[0] + size * rng.normal(size=20)])
        found = nm.certify(problem, best.V, y)
        assert np.isfinite(found.bound)
        assert found.bound <= best.certificate.upper
        assert found.rigour == "proved"
        again = problem.dual_bound(found.multipliers)
        assert again == pytest.approx(found.bound, rel=1e-6, abs=1e-9)
    assert nm.certify(problem, best.V, problem.as_multipliers([y.terms[0] * 0])).bound >= -1e-9


def test_a_lack_of_rounding_costs_rounding():
    problem = nm.npkl(*ring(), loss="hinge")
    best = problem.solve("interior", tol=1e-8)
    floor = kernel.floor_of(best.multipliers, kernel.slack(problem, best.multipliers))
    lacking = replace(floor, lower=-1e-13)
    centre = strictly_feasible(problem)
    t = 2e-13 / (centre.mu * float(np.min((floor.T / centre.T) ** 2)))
    y = best.multipliers.towards(centre.y, t)
    found = kernel.moved(problem, lacking, centre, t, y)
    assert found.proved
    assert kernel.bound_of(problem, found).value == pytest.approx(best.certificate.bound, abs=1e-9)
    assert np.linalg.eigvalsh(problem.slack(y).toarray())[0] >= -1e-15


def test_none_where_nothing_holds_the_null_vector():
    L, pairs = ring(cannot=0)
    assert strictly_feasible(nm.npkl(L, pairs, loss="hinge")) is None


def test_a_point_is_sought_from_the_multipliers_if_none_is_found_without_them():
    """A ring of which every other tension is at its limit: zero multipliers are far from a Slater point."""
    steps = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    steps = np.triu(np.minimum(steps, 12 - steps))
    weights = np.where(np.arange(24) % 2, np.inf, 1.0)
    pairs = nm.Pairs(12, np.argwhere(steps == 1), np.argwhere(steps == 4), weights)
    problem = nm.psde(pairs, C=3.0, loss="hinge")
    best = problem.solve("interior")
    assert strictly_feasible(problem) is None
    y = best.multipliers
    tight = tuple(np.where(part > 1, 3.0, part) for part in y.losses)
    near = nm.Multipliers(tight, tuple(part * (1 - 1e-7) for part in y.constraints))
    found = nm.certify(problem, best.V, near)
    assert (found.rigour, found.repair) == ("proved", "Slater point")
    assert found.relative_gap <= 1e-6
    assert found.bound <= best.certificate.upper


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_multipliers_that_are_far_off_give_no_false_bound(size, loss):
    """Found by the adversary: a share of the center that is more than all of it."""
    problem = nm.npkl(*ring(), loss=loss)
    y = size * np.random.default_rng(0).normal(size=20)
    found = nm.certify(problem, np.ones((30, 1)), problem.as_multipliers([y]))
    assert found.bound <= problem.solve("interior").certificate.upper
    S = problem.slack(found.multipliers).toarray()
    assert np.linalg.eigvalsh(S)[0] >= -1e-14
    is_inside(problem)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_path_is_certified_without_a_shift(seed):
    """The eigenvalues of its cost above zero are far closer to zero than a step may be long."""
    ends = np.arange(199)
    A = sp.coo_array((np.ones(199), (ends, ends + 1)), shape=(200, 200)).tocsr()
    pairs = nm.Pairs.from_labels(np.arange(200) >= 100, 120, 120, seed)
    problem = nm.npkl(nm.laplacian(A + A.T), pairs, loss="squared_hinge")
    exact = problem.solve("interior")
    for backend in ("bcd", "burer_monteiro"):
        found = problem.solve(backend, random_state=seed)
        assert found.status is nm.Status.OPTIMAL
        assert found.certificate.rigour == "proved"
        assert found.objective == pytest.approx(exact.objective, abs=1e-6)


@pytest.mark.parametrize("n", [100, 130])
@pytest.mark.parametrize("method", ["auto", "cholesky"])
def test_a_center_is_found_on_both_sides_of_the_dense_spectrum(n, method, monkeypatch):
    monkeypatch.setattr(sys.modules["npkl_models.certificates.slater"], "DENSE_SPECTRUM", 110)
    problem = nm.npkl(*ring(n, must=n // 5, cannot=n // 5), loss="hinge")
    center = is_inside(problem)
    y = 1e-3 * np.random.default_rng(0).normal(size=2 * (n // 5))
    V, near = np.ones((n, 1)), problem.as_multipliers([center.terms[0] + y])
    found = nm.certify(problem, V, near, method=method)
    assert found.rigour == "proved"
    assert np.isfinite(found.bound)
    assert found.bound <= found.upper


@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro", "interior"])
@pytest.mark.parametrize(
    ("n", "seed", "gamma"), [(14, 1, 1.0), (14, 4, 1.0), (30, 1, 1.0), (30, 2, 10.0), (60, 0, 0.1)]
)
def test_a_floor_that_is_rounding_keeps_no_better_repair_away(backend, n, seed, gamma):
    """The floor of a Laplacian without a shift is 1e-15: multipliers scaled by it bound next to nothing."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    pairs = nm.Pairs.from_labels(X[:, 0] > 0, n // 2, n // 2, seed)
    problem = nm.npkl(nm.laplacian(X, 4), pairs, loss="hinge", gamma=gamma)
    assert cost_floor(problem) < 1e-12
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    assert found.certificate.bound <= problem.solve("interior", tol=1e-8).certificate.upper
