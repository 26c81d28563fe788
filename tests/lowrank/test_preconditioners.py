"""Preconditioners of Newton steps: the graph of distances over sparse centred vectors, and flat graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.lowrank.edges import first_model
from npkl_models.lowrank.factor.burer_monteiro import BurerMonteiroEngine
from npkl_models.lowrank.factor.preconditioners import FlatPreconditioner
from npkl_models.lowrank.options import BurerMonteiroOptions
from npkl_models.lowrank.rows import engine
from npkl_models.lowrank.structure import structure
from npkl_models.model.basis import centred_wavelets


@pytest.mark.parametrize("n", [2, 3, 7, 16, 100])
def test_wavelets_span_the_centred_vectors(n):
    order = np.random.default_rng(n).permutation(n)
    basis = centred_wavelets(order)
    Q = basis.dense
    np.testing.assert_allclose(Q.T @ Q, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(Q @ Q.T, np.eye(n) - 1 / n, atol=1e-14)
    assert basis.Q.nnz <= n * (np.ceil(np.log2(n)) + 1)


def test_soft_unfolding_comes_near_the_hard_one():
    """Distances that give a little: no less variance, and nearer and nearer as they stiffen."""
    angle = np.linspace(0, 4, 20)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    hard = nm.mvu(X, 2).solve("interior").objective
    soft = [nm.mvu(X, 2, weight=nu).solve("interior").objective for nu in (1e3, 1e4, 1e5)]
    assert soft[0] < soft[1] < soft[2] < hard + 1e-6 * abs(hard)
    assert soft[2] == pytest.approx(hard, rel=1e-2)
    printed = nm.mvu(X, 2, weight=1e3, reduce=False)
    assert printed.solve("interior").objective == pytest.approx(soft[0], rel=1e-5)


def moons(n: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles with noise (n x 2), and which of them."""
    rng = np.random.default_rng(draw)
    angle, y = np.pi * rng.random(n), np.arange(n) % 2
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(y, -1, 1)[:, None]
    return X + y[:, None] * [1.0, 0.5] + 0.15 * rng.standard_normal((n, 2)), y


def test_the_factors_of_a_flat_graph_invert_the_cost_and_its_weights() -> None:
    L = sp.csr_array(nm.laplacian(moons(1500, 0)[0]))
    assert FlatPreconditioner.worth(L)
    assert not FlatPreconditioner.worth(L.toarray())
    flat, weights = FlatPreconditioner(L), np.where(np.arange(1500) % 5, 0.0, 2.0)
    G = np.random.default_rng(0).normal(size=(1500, 3))
    inverse = flat.at(weights)
    assert inverse is not None
    M = L.toarray() + np.diag(weights + flat.floor)
    np.testing.assert_allclose(2 * M @ inverse(G), G, atol=1e-10)
    assert flat.at(np.ones(1500)) is None  # the losses hold all rows
    assert FlatPreconditioner(-L).at(0 * weights) is None  # it would not be definite


@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "logistic", "square"])
def test_newton_steps_on_softened_losses_reach_the_optimum(loss: str) -> None:
    X, y = moons(60, 3)
    P = nm.npkl(nm.laplacian(X, shift=1e-3), nm.Pairs.from_labels(y, 12, 12, 3), loss=loss, gamma=1e3)
    exact, model = P.solve("interior", tol=1e-9), first_model(P, structure(P), cold=False)
    V = P.solve("bcd", newton=False, max_iter=100, tol=1e-9, random_state=0).V
    z = model.pairs.pair_values(V)
    _, slope, bend = model.evaluate(z)
    beta, soft = model.softer(z, flat=True)
    assert soft
    assert not model.softer(z, flat=False)[1]
    assert beta**2 == pytest.approx(bend.max() * np.abs(slope).sum() / np.abs(z).sum())
    solver = BurerMonteiroEngine(P, BurerMonteiroOptions(method="newton"), V, soft=True)
    assert not solver.f.smooth
    solver.begin_with(P.derivatives(V), beta)
    for _ in range(150):
        solver.iterate()
    certificate = nm.certify(P, solver.V, multipliers=solver.multipliers())
    assert certificate.relative_gap <= 1e-6
    assert solver.objective == pytest.approx(exact.objective, rel=1e-6)


@pytest.mark.parametrize(("loss", "gamma"), [("hinge", 1.0), ("squared_hinge", 100.0), ("huber", 1.0)])
def test_steep_losses_without_a_shift_reach_the_optimum(loss: str, gamma: float) -> None:
    X, y = moons(160, 3)
    pairs = nm.Pairs.from_labels(y, 32, 32, 3)
    P = nm.npkl(nm.laplacian(X), pairs, loss=loss, gamma=gamma)
    found, exact = P.solve("bcd", random_state=0), P.solve("interior")
    assert found.status is nm.Status.OPTIMAL
    gaps = found.certificate.gap + exact.certificate.gap
    assert abs(found.objective - exact.objective) <= gaps * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_newton_steps_end_with_a_slack_at_their_floor(loss: str) -> None:
    """They are optimal for the cost less floor I, so the least eigenvalue of the cost's own slack is it."""
    X, y = moons(80, 3)
    P = nm.npkl(nm.laplacian(X, 10), nm.Pairs.from_labels(y, 40, 40, 3), loss=loss, gamma=1.0)
    found = P.solve("bcd", random_state=0)
    floor = 1e-4 * found.objective / float(np.sum(found.V**2))
    solver = BurerMonteiroEngine(P, BurerMonteiroOptions(method="newton"), found.V, floor=floor)
    for _ in range(40):
        solver.iterate()
    least = np.linalg.eigvalsh(P.slack(solver.multipliers()).toarray())[0]
    assert least == pytest.approx(floor, rel=1e-5)
    assert solver.objective == pytest.approx(P.objective_of_factor(solver.V), rel=1e-12)
    assert solver.objective == pytest.approx(found.objective, rel=1e-4)


@pytest.mark.parametrize(
    ("form", "shift", "given"), [("npkl", 0.0, True), ("npkl", 0.1, False), ("pcp", 0.0, False)]
)
def test_only_a_slack_that_nothing_raises_has_a_floor(
    form: str, shift: float, given: bool, monkeypatch
) -> None:
    floors = []

    class Seen(BurerMonteiroEngine):
        def __init__(self, *given):
            floors.append(given[-1])
            super().__init__(*given)

    monkeypatch.setattr(engine, "BurerMonteiroEngine", Seen)
    X, y = moons(150, 3)
    P = getattr(nm, form)(nm.laplacian(X, 10, shift=shift), nm.Pairs.from_labels(y, 60, 60, 3), gamma=1e3)
    assert P.solve("bcd", tol=1e-8, random_state=0).status is nm.Status.OPTIMAL
    assert floors
    assert all((floor > 0) == given for floor in floors)
