"""bcd on comparisons of distances: steps that never rise, certificates, agreement, refusals."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from differential.models import ours
from differential.told import draw_comparisons

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.model.basis import centred_wavelets

N = 30
LOSSES = ("logistic", "squared_hinge", "hinge", "square", "huber", "absolute", "ties", "cost")


@cache
def compared(loss, each=20, n=N):
    asked = ordinal_answers(np.random.default_rng(0).normal(size=(n, 3)), each * n, noise=0.1, random_state=0)
    if loss == "ties":
        return nm.ordinal(asked, ties=[[0, 1, 2], [3, 4, 5]])
    if loss == "cost":  # entries of the cost beside the diagonal, and weights
        L = nm.laplacian(np.random.default_rng(1).normal(size=(n, 2)), 4, shift=3.0)
        problem = nm.ordinal(asked, loss="logistic", weights=np.linspace(0.5, 2.0, len(asked)))
        return nm.Problem(10 * L, problem.terms)
    return nm.ordinal(asked, loss=loss)


@cache
def exact(loss):
    return compared(loss).solve("interior", tol=1e-8)


def engine(problem):
    return BCDPlan(problem, BCDOptions(random_state=0)).engine()


def model_of(run, V):
    """The smooth model of the objective that sweeps decrease."""
    return float(np.sum(V * (run.problem.cost @ V))) + run.model.value(run.pairs.pair_values(V))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sweep_never_rises_and_measures_what_it_does(loss):
    run = engine(compared(loss))
    V, met = run.V.copy(), []
    for _ in range(40):
        before = model_of(run, V)
        fall, steep = run.sweeper.run(V)
        met.append(steep)
        assert fall >= -1e-12 * abs(before)
        assert before - model_of(run, V) == pytest.approx(fall, rel=1e-6, abs=1e-10 * abs(before))
    assert met[-1] < 0.1 * met[0]


def test_a_row_without_comparisons_goes_to_zero():
    problem = nm.ordinal([[0, 1, 2], [1, 2, 0], [0, 1, 2]], 5, penalty=0.1)
    found = problem.solve("bcd")
    assert found.is_optimal(1e-6)
    np.testing.assert_allclose(found.V[3:], 0.0, atol=1e-6)


def beside(kind):
    p = compared("logistic")
    if kind == "entries":
        extra = nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0)
        return nm.Problem(p.cost, (*p.terms, extra))
    if kind == "basis":
        return p.with_basis(nm.eigenbasis(nm.laplacian(np.arange(N)[:, None] * 1.0, 3), 10))
    if kind == "centred":
        return nm.Problem(p.cost, p.terms, basis=centred_wavelets(np.arange(N)))
    if kind == "row norm":
        return nm.Problem(p.cost, p.terms, regularizer=nm.RowNormBound(1.0))
    if kind == "cost":
        own = np.where(np.arange(N) == 3, 0.0, 1.0)
        return nm.Problem(sp.diags_array(own, format="csr"), p.terms)
    term = nm.LossTerm(nm.DistanceDifferences(N, ([0, 1], [1, 1], [2, 3])), "logistic", -1.0)
    return nm.Problem(p.cost, term)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("entries", "takes differences of distances only without other values"),
        ("basis", "works on the rows of V, and supports no basis"),
        ("centred", "only without a basis and without row norms"),
        ("row norm", "only without a basis and without row norms"),
        ("cost", "needs a positive cost of every point if values are differences"),
        ("same", "needs comparisons of three different points"),
    ],
)
def test_what_is_refused(kind, words):
    with pytest.raises(nm.UnsupportedError, match=words):
        beside(kind).solve("bcd")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("each", [10, 50])
@pytest.mark.parametrize("n", [150, 1_000])
def test_the_default_steps_row_by_row_on_comparisons(loss, each, n):
    assert nm.choose_backend(compared(loss, each, n))[0] == "bcd"


def test_a_small_penalty_with_many_comparisons_is_certified_in_few_sweeps():
    """The optimum has more columns than the start. Columns that came one by one took 364 sweeps."""
    X = nm.datasets.load("swiss_roll", n=150, random_state=0).X
    asked = ordinal_answers(X, 50 * 150, noise=0.2, random_state=0)
    top = largest_penalty(nm.ordinal(asked, 150, loss="squared_hinge"))
    problem = nm.ordinal(asked, 150, loss="squared_hinge", penalty=0.05 * top)
    found = problem.solve("bcd", tol=1e-5)
    assert found.is_optimal(1e-5)
    assert found.iterations < 300


def test_rows_are_moved_together_to_where_they_cost_least():
    """A move of all rows changes no comparison. Row by row it took thousands of sweeps."""
    run = engine(compared("cost"))
    V, sums = run.V + 3.0, np.asarray(run.problem.cost.sum(axis=0)).ravel()
    run.sweeper.run(V)
    assert np.abs(sums @ V).max() < 1e-9 * np.abs(sums).sum() * np.abs(V).max()


@pytest.mark.parametrize("seed", [316, 782])
def test_small_problems_that_stalled_are_certified(seed):
    """Found by tests/differential/run.py --kinds comparisons sensors."""
    asked = draw_comparisons(np.random.default_rng(seed))
    assert ours(asked).solve("bcd").is_optimal()
