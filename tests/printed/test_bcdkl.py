"""BCDKL as its source prints it: order, criterion, block updates, elimination."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.structure import structure
from npkl_models.printed.rows import FreeRows, ShuffledSweeper, labelled

NAME = "printed_bcdkl"
ELIMINATED = "printed_bcd_npkl"


def problem(loss="squared_hinge", n=60, m=14, **how):
    L, _ = side_information("iris", n)
    y = np.random.default_rng(1).integers(0, 3, n)
    return nm.npkl(L, nm.Pairs.from_labels(y, m, m, 0), loss=loss, **how)


@pytest.fixture(scope="module")
def best():
    known = {}

    def get(loss):
        if loss not in known:
            known[loss] = problem(loss).solve("interior", tol=1e-8)
            assert known[loss].status is nm.Status.OPTIMAL
        return known[loss]

    return get


def sweeper(P, alone=False):
    pairs = structure(P)
    return ShuffledSweeper(P, pairs, EdgeModel(pairs), 0, alone)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_each_sweep_has_a_new_order_with_labelled_rows_first_or_alone(alone, loss):
    P = problem(loss)
    of = labelled(structure(P))
    assert 5 < of.sum() < 55
    rows, orders = sweeper(P, alone), []
    for _ in range(2):
        rows.run(np.ones((60, 3)))
        assert of[rows.order][: of.sum()].all()
        assert sorted(rows.order.tolist()) == (np.flatnonzero(of).tolist() if alone else list(range(60)))
        orders.append(rows.order)
    assert not np.array_equal(*orders)


def test_levels_of_rows_give_what_row_after_row_gives():
    P = problem("hinge")
    own = sweeper(P)
    V = np.random.default_rng(0).normal(size=(60, 5))
    W = V.copy()
    own.run(V)
    for i in own.order:
        own.rng = SimpleNamespace(permutation=lambda n, i=i: np.array([i]))
        own.run(W)
    np.testing.assert_allclose(V, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
def test_block_is_the_minimiser_and_steps_lead_there_downwards(normalized):
    X = nm.datasets.load("iris").X[::3]
    L = nm.laplacian(X, 5, shift=0.05, normalized=normalized)
    P = nm.npkl(L, nm.Pairs(50, [(0, 1), (2, 9)], [(0, 30), (5, 40)]))
    held = FreeRows(P, structure(P))
    assert held.free.size == 43
    V = np.random.default_rng(0).normal(size=(50, 3))
    exact = V.copy()
    held.block(exact)
    np.testing.assert_allclose((L @ exact)[held.free], 0, atol=1e-12)
    np.testing.assert_array_equal(exact[held.held], V[held.held])
    last = P.objective_of_factor(V)
    for _ in range(2000):
        held.step(V)
        now = P.objective_of_factor(V)
        assert now <= last + 1e-12 * abs(last)
        last = now
    np.testing.assert_allclose(V, exact, atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
@pytest.mark.parametrize("how", [{}, {"unlabelled": "step"}, {"unlabelled": "block"}])
def test_the_printed_algorithm_descends_to_the_optimum(best, loss, how):
    found = problem(loss).solve(NAME, **how)
    objective = found.history.objective
    assert len(objective) > 5
    assert np.all(np.diff(objective) <= 1e-12 * objective[0])
    assert found.objective == pytest.approx(best(loss).objective, rel=1e-4)
    assert found.certificate.bound <= best(loss).objective * (1 + 1e-9)
    assert found.history["change"][-1] <= 1e-5
    assert (found.history["change"][:-1] > 1e-5).all()


def test_the_printed_row_program_stalls_and_says_so(small, exact):
    """Hu & Kwok 2015, algorithm 1 with the hinge loss: descends, and stops above the optimum."""
    problem = small("npkl:hinge")
    printed = problem.solve(NAME, rank=8, max_iter=120)
    assert np.all(np.diff(printed.history.objective) <= 1e-9)
    assert printed.objective > exact("npkl:hinge").objective * 1.005
    assert printed.status is not nm.Status.OPTIMAL
    assert problem.solve("bcd").objective == pytest.approx(exact("npkl:hinge").objective, rel=1e-5)
    with pytest.raises(nm.UnsupportedError, match="row programs with neither a loss on the diagonal"):
        small("row:hinge").solve(NAME)


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_elimination_reaches_the_optimum_of_the_whole_problem(best, loss):
    found = problem(loss).solve(ELIMINATED, epsilon=1e-8, max_iter=20_000)
    assert found.certificate.bound <= best(loss).objective * (1 + 1e-9)
    assert found.objective == pytest.approx(best(loss).objective, rel=1e-5)
    held = FreeRows(found.problem, structure(found.problem))
    np.testing.assert_allclose((found.problem.cost @ found.V)[held.free], 0, atol=1e-10)


def test_the_reduced_problem_is_the_minimum_over_the_free_rows():
    P = problem("square")
    held = FreeRows(P, structure(P))
    inner = held.reduced(P)
    assert inner.n == held.held.size
    V = np.random.default_rng(0).normal(size=(inner.n, 4))
    whole = held.expand(V)
    assert inner.objective_of_factor(V) == pytest.approx(P.objective_of_factor(whole), rel=1e-12)
    for scale in (1e-3, 1.0):
        other = whole.copy()
        other[held.free] += scale * np.random.default_rng(1).normal(size=(held.free.size, 4))
        assert P.objective_of_factor(other) > P.objective_of_factor(whole)
    L = P.cost.toarray()
    U, H = held.free, held.held
    schur = L[np.ix_(H, H)] - L[np.ix_(H, U)] @ np.linalg.inv(L[np.ix_(U, U)]) @ L[np.ix_(U, H)]
    np.testing.assert_allclose(inner.cost.toarray(), schur, atol=1e-12)


def test_a_singular_block_says_so():
    L = nm.laplacian(np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]), 2)
    P = nm.npkl(L, nm.Pairs(6, [(0, 1)], [(1, 2)]))
    for name, options in ((ELIMINATED, {}), (NAME, {"unlabelled": "block"})):
        with pytest.raises(nm.UnsupportedError, match="definite on the points without pairs"):
            P.solve(name, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"), [
        (NAME, {"epsilon": -1.0}, "epsilon must be > 0"),
        (NAME, {"unlabelled": "all"}, "unknown unlabelled 'all'"),
        (NAME, {"unlabelled": "step"}, "unlabelled must be .rows. for a problem with row norms"),
        (ELIMINATED, {}, "supports no constraints, got row norms"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(name, options, message):
    with pytest.raises(nm.UnsupportedError, match=message):
        problem("linear", row_norm=1.0).solve(name, **options)
