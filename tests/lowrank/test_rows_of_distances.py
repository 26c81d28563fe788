"""bcd on squared distances: sweeps that never rise, centred kernels, low-rank costs, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.linalg import LowRankUpdate, dense
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.lowrank.rows.coupling import cost_of_rows
from npkl_models.lowrank.rows.sweeps import CoupledSweeper
from npkl_models.model.basis import centred_wavelets

N = 24


def points(n=N, seed=0):
    angle = np.linspace(0.0, 4.0, n)
    noise = 0.05 * np.random.default_rng(seed).normal(size=(n, 3))
    return np.column_stack([np.cos(angle), np.sin(angle), 0.3 * (np.arange(n) % 3)]) + noise


def embedding(kind, n=N, weight=10.0):
    X, labels = points(n), np.arange(n) * 3 // n
    if kind == "mvu":
        return nm.mvu(X, 4, weight=weight)
    if kind == "printed mvu":
        return nm.mvu(X, 4, weight=weight, reduce=False)
    if kind == "colored":
        return nm.colored_mvu(X, labels, n_neighbors=4, C=weight)
    if kind == "signs":
        return nm.colored_mvu(X, np.outer(X[:, 0], X[:, 0]), n_neighbors=4, C=weight)
    if kind == "mve":
        return nm.mve(X, 2, n_neighbors=4, C=weight)
    raise ValueError(kind)


def far_apart(loss, n=N, entries=False, basis=False):
    """Points on a graph, some pairs of which are to be far from each other (targets +1), others near."""
    rng = np.random.default_rng(1)
    L = nm.laplacian(points(n), 4, shift=0.2)
    i = np.arange(n // 2)
    target = np.where(rng.random(i.size) < 0.7, 1.0, -1.0)
    terms = [nm.LossTerm(nm.SquaredDistances(n, (i, i + n // 2)), loss, target, 1.0)]
    if entries:
        every = np.arange(n)
        terms += [
            nm.LossTerm(nm.Entries(n, (i, (i + 3) % n)), loss, target, 0.5),
            nm.LossTerm(nm.Entries(n, (every, every)), "square", 1.0, 0.5),
        ]
    own = centred_wavelets(np.arange(n)) if basis else None
    return nm.Problem(L, tuple(terms), basis=own)


EMBEDDINGS = ("mvu", "printed mvu", "colored", "signs", "mve")
OTHERS = {
    **{loss: lambda loss=loss: far_apart(loss) for loss in ("square", "hinge", "squared_hinge", "logistic")},
    "centred hinge": lambda: far_apart("hinge", basis=True),
    "linear beside entries": lambda: far_apart("linear", entries=True),
    "square beside entries": lambda: far_apart("square", entries=True),
    "logistic beside entries": lambda: far_apart("logistic", entries=True),
    "squared hinge beside entries": lambda: far_apart("squared_hinge", entries=True),
}


@pytest.mark.parametrize("kind", EMBEDDINGS)
@pytest.mark.parametrize("n", [N, 90])
def test_the_cost_of_the_rows_is_the_centred_cost(kind, n):
    problem = embedding("mvu" if kind == "printed mvu" else kind, n)
    H = np.eye(n) - 1 / n
    found = cost_of_rows(problem)
    np.testing.assert_allclose(
        dense(found), H @ dense(problem.cost) @ H, atol=1e-10 * np.abs(problem.cost).max()
    )
    if isinstance(found, LowRankUpdate):
        assert found.S.nnz <= n
        assert found.mu.size <= 4
    else:
        assert np.abs(problem.cost.sum(axis=1)).max() < 1e-9


@pytest.mark.parametrize("kind", EMBEDDINGS)
@pytest.mark.parametrize("weight", [0.1, 1000.0])
def test_no_sweep_rises_and_each_measures_itself(kind, weight):
    problem = embedding("mvu" if kind == "printed mvu" else kind, weight=weight)
    engine = BCDPlan(problem, BCDOptions(rank=5, extrapolation=False, newton=False)).engine()
    assert isinstance(engine.sweeper, CoupledSweeper) == isinstance(cost_of_rows(problem), LowRankUpdate)
    last = engine.objective
    for _ in range(30):
        engine.iterate()
        followed = engine.objective
        engine.merit = engine._evaluate()
        assert engine.objective == pytest.approx(followed, rel=1e-9, abs=1e-9)
        assert engine.objective == pytest.approx(problem.objective_of_factor(engine.V), rel=1e-9, abs=1e-9)
        assert engine.objective <= last + 1e-10 * abs(last)
        np.testing.assert_allclose(engine.V.mean(axis=0), 0, atol=1e-10 * np.abs(engine.V).max())
        last = engine.objective


@pytest.mark.parametrize("kind", OTHERS)
def test_other_losses_are_certified_and_agree_with_the_exact_program(kind):
    problem = OTHERS[kind]()
    found, exact = problem.solve("bcd"), problem.solve("interior")
    assert found.status is nm.Status.OPTIMAL, found.summary()
    assert abs(found.objective - exact.objective) <= found.certificate.gap + exact.certificate.gap


def test_what_is_too_stiff_for_sweeps_is_not_called_optimal():
    """Sweeps alone, a few of them: the status is that of the certificate; Newton steps finish it."""
    problem = embedding("mvu", weight=1e6)
    cut = problem.solve("bcd", newton=False, max_iter=300)
    assert cut.status is not nm.Status.OPTIMAL
    assert cut.certificate.bound <= cut.objective
    whole = problem.solve("bcd")
    assert whole.status is nm.Status.OPTIMAL
    assert "Newton" in whole.message
    assert cut.certificate.bound <= whole.objective + whole.certificate.gap


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda: far_apart("square", entries=True, basis=True), "needs squared distances alone in a basis"),
        (lambda: far_apart("square").with_basis(nm.eigenbasis(far_apart("square").cost, 5)), "supports no basis except"),
        (lambda: replace(far_apart("square"), regularizer=nm.RowNormBound(1.0)), "without row norms"),
        (lambda: replace(far_apart("hinge"), cost=-far_apart("hinge").cost), "needs a square loss on a distance"),
        (lambda: nm.mvu(points(), 4, reduce=False), "supports only one upper bound on all K_ii, got "),
        (lambda: nm.colored_mvu(points(), np.arange(N) % 2, trace_bound=9.0), "takes no regulariser, got "),
    ],
)  # fmt: skip
def test_what_is_refused_has_its_reason(problem, reason):
    assert reason in problem().compatible_backends()["bcd"]
