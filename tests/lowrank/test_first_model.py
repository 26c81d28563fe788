"""The softened start of bcd: steep square losses begin as envelopes with multipliers."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.lowrank.edges import BETA_FIRST, EdgeModel, first_model
from npkl_models.lowrank.structure import structure


def stated(gamma: float, draw: int = 0, n: int = 60, scale: float = 1.0, **told: object) -> nm.Problem:
    X = np.random.default_rng(draw).normal(size=(n, 4)) + 2 * (np.arange(n) % 2)[:, None]
    L = sp.csr_array(scale * nm.laplacian(nm.knn_affinity(X, 5), shift=0.1))
    pairs = nm.Pairs.from_labels(np.arange(n) % 2, n // 2, n // 2, draw)
    return nm.npkl(L, pairs, gamma=gamma, **told) if told else nm.pcp(L, pairs, gamma=gamma)


def began(P: nm.Problem, cold: bool = True) -> EdgeModel:
    return first_model(P, structure(P), cold)


def test_steep_square_losses_begin_softened_and_others_do_not() -> None:
    assert not began(stated(100.0)).smooth
    assert began(stated(1.0)).smooth
    assert began(stated(100.0), cold=False).smooth
    assert began(stated(100.0, loss="squared_hinge")).smooth  # no gain was measured
    hinge = began(stated(100.0, loss="hinge"))
    assert not hinge.smooth
    assert hinge.beta == BETA_FIRST * 100.0


@pytest.mark.parametrize("gamma", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("draw", [0, 1])
def test_a_softened_run_is_certified_and_agrees_with_interior(gamma: float, draw: int) -> None:
    P = stated(gamma, draw)
    assert not began(P).smooth
    found = P.solve("bcd", tol=1e-6)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.relative_gap <= 1e-6
    best = P.solve("interior", tol=1e-8)
    assert found.objective == pytest.approx(best.objective, rel=3e-6)


def test_a_scaled_problem_has_the_same_sweeps() -> None:
    one = stated(100.0).solve("bcd", tol=1e-6, random_state=1)
    other = stated(6400.0, scale=64.0).solve("bcd", tol=1e-6, random_state=1)
    assert one.iterations == other.iterations
    assert other.objective == pytest.approx(64 * one.objective, rel=1e-9)
