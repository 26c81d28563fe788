"""The softened start of bcd: steep square losses begin as envelopes with multipliers."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows import first_model as of_first_model
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.rows.first_model import first_model
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
    assert hinge.beta == of_first_model.BETA_FIRST * 100.0


def test_the_model_is_exact_once_beta_is_large() -> None:
    P = stated(100.0)
    pairs = structure(P)
    model, exact = began(P), EdgeModel(pairs)
    z = np.linspace(-1.0, 2.0, pairs.size)
    assert np.all(model.evaluate(z)[0] <= exact.evaluate(z)[0])  # without multipliers envelopes are below
    assert np.all(model.steepest() < exact.steepest())
    model.beta = model.hard
    assert model.smooth
    for found, right in zip(model.evaluate(z), exact.evaluate(z), strict=True):
        assert np.array_equal(found, right)


def test_an_envelope_is_the_least_value_over_the_split() -> None:
    P = stated(100.0)
    pairs = structure(P)
    model = began(P)
    rng = np.random.default_rng(0)
    model.y = rng.normal(size=pairs.size)
    z = rng.normal(size=pairs.size)
    u = np.linspace(-10, 10, 200_001)[:, None]
    for e in range(0, pairs.size, 17):
        every = pairs.weight[e] * (u - pairs.target[e]) ** 2
        every = every + model.y[e] * (z[e] - u) + 0.5 * model.beta * (z[e] - u) ** 2
        value = model.evaluate(z[e : e + 1], np.array([e]))[0]
        assert value == pytest.approx(every.min(), rel=1e-6, abs=1e-6)


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


def test_the_kernels_of_the_rows_agree_while_the_losses_are_softened() -> None:
    pytest.importorskip("numba")
    P = stated(100.0)
    two = []
    for kernel in ("numpy", "numba"):
        engine = BCDPlan(P, BCDOptions(kernel=kernel, random_state=3)).engine()
        for _ in range(4):
            engine.iterate()
        two.append(engine.V)
    assert np.any(engine.model.y)  # multipliers have moved
    assert np.allclose(two[0] @ two[0].T, two[1] @ two[1].T, atol=1e-8)


def test_a_scaled_problem_has_the_same_sweeps() -> None:
    one = stated(100.0).solve("bcd", tol=1e-6, random_state=1)
    other = stated(6400.0, scale=64.0).solve("bcd", tol=1e-6, random_state=1)
    assert one.iterations == other.iterations
    assert other.objective == pytest.approx(64 * one.objective, rel=1e-9)
