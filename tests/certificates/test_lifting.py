"""Multipliers that raise the slack on the range of a factor, for costs without a shift."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certificates import repairs
from npkl_models.certificates.lifting import RAISED_ON_RANGE, raise_on_range
from npkl_models.linalg import orthonormal_range
from npkl_models.model import rounding


def unshifted(loss, gamma=1.0, shift=0.0, seed=0):
    data = nm.datasets.load("two_gaussians", n=450)
    pairs = nm.Pairs.from_labels(data.y, 225, 225, seed)
    return nm.npkl(nm.laplacian(data.X, 10, shift=shift), pairs, loss=loss, gamma=gamma)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("gamma", [1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
def test_a_problem_without_a_shift_is_certified(request, loss, gamma, seed):
    P = unshifted(loss, gamma, seed=seed)
    best = P.solve("burer_monteiro", tol=1e-8)
    assert best.certificate.certifies(1e-7)
    request.getfixturevalue("beyond_cholesky")
    found = nm.certify(P, best.V, best.multipliers, random_state=0)
    assert found.certifies(1e-6)
    assert found.rigour == "probable"
    assert found.repair == RAISED_ON_RANGE
    assert best.certificate.bound - 1e-6 * P.size(best.objective) <= found.bound <= best.certificate.upper
    least = float(np.linalg.eigvalsh(P.slack(found.multipliers).toarray())[0])
    assert least > -1e-13
    assert P.dual_bound(found.multipliers) >= found.bound - 1e-9 * abs(found.bound)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_beyond_decompositions_no_slater_point_is_searched(monkeypatch, loss):
    monkeypatch.setattr(repairs, "slater", None)  # a call would fail
    P = unshifted(loss)
    assert P.solve("bcd").certificate.certifies(1e-6)
    assert P.solve("burer_monteiro", rigour="proved").certificate.rigour == "proved"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute", "logistic"])
def test_multipliers_stay_in_their_domain_and_pay_no_more_than_the_budget(loss):
    P = unshifted(loss)
    best = P.solve("burer_monteiro", tol=1e-6)
    y, budget = best.multipliers, 1e-4 * P.size(best.objective)
    found = raise_on_range(P, y, best.V, budget)
    assert found is not None
    moved, S, _, level = found
    for term, own in zip(P.terms, moved.terms, strict=True):
        assert np.all(term.allows(own))
    assert rounding.paid(P, moved) <= rounding.paid(P, y) + budget * (1 + 1e-6)
    Q = orthonormal_range(best.V)
    before, after = (np.linalg.eigvalsh(Q.T @ (P.slack(one) @ Q))[0] for one in (y, moved))
    assert after == pytest.approx(level)
    assert after > max(before, 0.0)
    assert abs(P.slack(moved) - S).max() == 0.0


def test_nothing_is_raised_in_vain():
    P = unshifted("squared_hinge")
    best = P.solve("burer_monteiro", tol=1e-6)
    y = best.multipliers
    assert raise_on_range(P, y, 0.0 * best.V, 1.0) is None  # no range
    assert raise_on_range(P, y, best.V, 0.0) is None  # no budget
    assert raise_on_range(P, P.no_multipliers, best.V, 1.0) is None  # no multiplier that may change
    shifted = unshifted("squared_hinge", shift=0.1)
    assert raise_on_range(shifted, y, best.V, 1.0) is None  # `scale` is at hand


def test_a_point_that_is_not_optimal_is_not_certified(beyond_cholesky):
    P = unshifted("squared_hinge")
    best = P.solve("burer_monteiro", tol=1e-6)
    worse = best.V + 0.1 * np.random.default_rng(0).normal(size=best.V.shape)
    found = nm.certify(P, worse, random_state=0)
    assert found.bound <= best.certificate.upper
    assert not found.certifies(1e-3)


@pytest.mark.parametrize("length", [1e-200, 1e-170])
def test_a_factor_whose_squares_underflow_is_no_obstacle(beyond_cholesky, length):
    P = unshifted("hinge")
    V = length * np.random.default_rng(0).normal(size=(450, 3))
    found = nm.certify(P, V, random_state=0)
    assert not found.certifies(1e-3)
    assert found.bound <= found.upper
