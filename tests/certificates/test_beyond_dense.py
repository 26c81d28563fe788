"""Certificates of located sensors beyond the order of dense factorisations: sparse ones take over."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certificates import bounds as certify_bounds
from npkl_models.formulations.known_distances import radio_network
from npkl_models.model import facts
from npkl_models.proof import bounds, factorisation


def test_a_network_is_certified_without_dense_matrices(monkeypatch):
    known, X = radio_network(1_000, 100, 0.07, noise=0.05, random_state=0)
    d = known[2]
    penalty = -0.01 * float(d @ d) / len(X)

    def problem():
        return nm.distances(known, len(X), anchors=(range(1_000, 1_100), X[1_000:]), penalty=penalty)

    dense = facts.distance_floor(problem())
    for module in (factorisation, bounds, certify_bounds, facts):
        monkeypatch.setattr(module, "DENSE_CHOLESKY", 500)

    whole = factorisation._dense_floor

    def refused(S, shift):
        assert S.shape[0] < 500, "a dense factorisation"
        return whole(S, shift)

    monkeypatch.setattr(factorisation, "_dense_floor", refused)
    assert facts.distance_floor(problem()) == pytest.approx(dense, rel=0.05)
    solution = problem().solve("burer_monteiro", tol=1e-5)  # a repair may cost a multiple of its share of tol
    assert solution.is_optimal(1e-4)
    assert solution.certificate.rigour == "proved"
    y = solution.certificate.multipliers
    slack = problem().restrict(problem().slack(y))
    assert np.linalg.eigvalsh(slack.toarray())[0] >= -1e-14
