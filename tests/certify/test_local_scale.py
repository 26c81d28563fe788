"""Multipliers around a low vector on few points, scaled towards zero: a valid bound, and a better one."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import fallbacks
from npkl_models.certify.bounds import CertifyOptions, bound_from
from npkl_models.proof.bounds import DENSE_EIGH

N = DENSE_EIGH + 60
SHIFT = 0.1


def ring(loss, bad):
    """Links along a ring; the multipliers of ``bad`` of them are too large, all others leave the slack PSD."""
    at = np.arange(N)
    ones = np.ones(N)
    S = sp.coo_array((ones, (at, (at + 1) % N)), shape=(N, N))
    L = nm.laplacian(sp.csr_array(S + S.T), shift=SHIFT)
    i, j = at, (at + 2) % N
    term = nm.LossTerm(nm.Entries(N, (np.minimum(i, j), np.maximum(i, j))), loss, np.ones(N), 10.0)
    y = np.full(N, -0.02)
    y[np.arange(bad) * (N // max(bad, 1))] = -0.6
    return nm.Problem(L, (term,)), nm.Multipliers((y,))


def demand(quick=False):
    return CertifyOptions("auto", 1e-6, 1e-6, 0, quick, None)


@pytest.mark.parametrize("bad", [1, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_bound_is_one_and_pays_for_few_pairs(loss, bad):
    problem, y = ring(loss, bad)
    V = np.random.default_rng(0).standard_normal((N, 2))
    objective = problem.objective_of_factor(V)
    plain = bound_from(problem, y, V, objective, objective, demand())
    found = fallbacks.around_low_vectors(problem, y, V, objective, objective, demand())
    assert plain.repair == "scale"
    assert found.repair.startswith(fallbacks.AROUND)
    assert found.bound > plain.bound
    lowest = np.linalg.eigvalsh(problem.slack(y).toarray())[0]
    assert found.found.estimate == pytest.approx(lowest, rel=0.05)  # before the repair
    vector = found.found.vector
    assert vector @ (problem.slack(y) @ vector) < 0  # a way down for a point that is stationary
    assert np.linalg.eigvalsh(problem.slack(found.y).toarray())[0] >= -1e-12
    assert found.bound <= -problem.conjugate_sum(found.y)
    far = np.abs(found.y.terms[0] / y.terms[0]) > 0.999
    assert far.mean() > 0.8
    exact = problem.solve("interior", tol=1e-8)
    assert found.bound <= exact.objective


def test_what_is_psd_or_has_squares_on_the_diagonal_is_left_alone():
    problem, y = ring("squared_hinge", 0)
    V = np.zeros((N, 1))
    objective = problem.objective_of_factor(V)
    found = fallbacks.around_low_vectors(problem, y, V, objective, objective, demand())
    np.testing.assert_array_equal(found.y.terms[0], y.terms[0])
    assert fallbacks.AROUND not in found.repair


def test_a_run_shares_its_probability_of_failure(monkeypatch):
    problem, y = ring("hinge", 2)
    V = np.random.default_rng(0).standard_normal((N, 2))
    objective = problem.objective_of_factor(V)
    asked = []

    def noted(*given):
        asked.append(given[-1].failure_probability)
        return bound_from(*given)

    monkeypatch.setattr(fallbacks, "bound_from", noted)
    for quick in (True, False):
        asked.clear()
        fallbacks.around_low_vectors(problem, y, V, objective, objective, demand(quick))
        assert len(asked) > 1
        assert sum(asked) <= 1e-6 * (1 + 1e-12)
