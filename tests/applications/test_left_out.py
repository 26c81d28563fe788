"""Values of pairs that are left out: one Newton step for all pairs, beside problems solved again."""

import numpy as np
import pytest
from problems import build

import npkl_models as nm
from npkl_models.applications.left_out import left_out_values

N = 40


def points():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return rng.normal(size=(N, 4)) + 2.5 * np.eye(3, 4)[y], y


X, Y = points()
PAIRS = nm.Pairs.from_labels(Y, 15, 15, random_state=0)
COST = nm.laplacian(X, 5, shift=0.1)


def problem(loss, gamma=3.0, cost=COST, pairs=PAIRS):
    if loss == "pcp":
        return nm.pcp(cost, pairs, gamma=gamma, cannot=-0.5)
    return nm.npkl(cost, pairs, loss=loss, gamma=gamma)


def both(question):
    solution = question.solve("burer_monteiro", tol=1e-9)
    return left_out_values(solution, exact=False), left_out_values(solution)


def test_a_term_of_one_pair_beside_another_term_can_be_left_out():
    terms = problem("square").terms
    i, j = terms[0].functional.indices
    more = nm.LossTerm(nm.Entries(N, ([i[0]], [j[1]])), "square", 1.0, 0.1)
    quick, exact = both(nm.Problem(COST, (*terms, more)))
    assert len(quick) == len(PAIRS) + 1
    assert quick.left_out[-1] == pytest.approx(exact.left_out[-1], abs=0.05 * np.ptp(exact.left_out))


@pytest.mark.parametrize("loss", ["pcp", "square", "squared_hinge", "huber", "logistic"])
def test_one_step_is_near_the_optimum_without_the_pair(loss):
    quick, exact = both(problem(loss))
    assert np.array_equal(quick.pairs, exact.pairs)
    assert np.array_equal(quick.pairs, np.stack([PAIRS.i, PAIRS.j], axis=1))
    assert np.array_equal(quick.must, PAIRS.sign > 0)
    change = np.abs(exact.left_out - exact.value)
    assert change.max() > 0.1  # leaving a pair out matters here
    assert np.median(np.abs(quick.left_out - exact.left_out)) < 0.05 * np.median(change)
    assert np.corrcoef(quick.left_out, exact.left_out)[0, 1] > 0.99


@pytest.mark.parametrize("loss", ["pcp", "squared_hinge"])
def test_the_step_is_exact_to_second_order_in_a_small_weight(loss):
    """A pair with the weight w changes its value by O(w), and the error of the step is O(w^2)."""
    term = problem(loss).terms[0]
    errors = []
    for weight in (0.02, 0.01):
        light = np.where(np.arange(term.weight.size) == 3, weight, term.weight)
        terms = (nm.LossTerm(term.functional, term.loss, term.target, light), *problem(loss).terms[1:])
        quick, exact = both(nm.Problem(COST, terms))
        errors.append(abs(quick.left_out[3] - exact.left_out[3]))
        assert abs(exact.left_out[3] - exact.value[3]) > 20 * errors[-1]
    assert errors[1] < 0.5 * errors[0] + 1e-6


def test_a_pair_that_nothing_else_contradicts_is_not_needed():
    """A squared hinge beyond its target has no pull: without it the kernel is the same."""
    solution = problem("squared_hinge", gamma=30.0).solve("burer_monteiro", tol=1e-9)
    quick = left_out_values(solution, exact=False)
    beyond = np.where(quick.must, quick.value, -quick.value) > 1 + 1e-6
    assert beyond.any()
    np.testing.assert_allclose(quick.left_out[beyond], quick.value[beyond], atol=1e-6)


def test_a_reduced_basis_gives_the_values_of_its_own_problem():
    question = build("basis:pcp", COST, PAIRS)
    assert question.basis is not None
    solution = question.solve(tol=1e-9)
    quick, exact = left_out_values(solution, exact=False), left_out_values(solution)
    assert np.corrcoef(quick.left_out, exact.left_out)[0, 1] > 0.98


def test_turned_pairs_are_held_by_their_own_loss_alone():
    ends, sign = np.stack([PAIRS.i, PAIRS.j], axis=1), PAIRS.sign.copy()
    sign[[4, 20]] *= -1
    noisy = nm.Pairs(N, ends[sign > 0], ends[sign < 0])
    found = left_out_values(problem("pcp", pairs=noisy).solve(tol=1e-8))
    away = np.where(found.must, found.value - found.left_out, found.left_out - found.value)
    turned = [tuple(pair) in {tuple(ends[4]), tuple(ends[20])} for pair in found.pairs.tolist()]
    assert np.count_nonzero(turned) == 2
    assert away[turned].min() > np.quantile(away, 0.75)


def test_what_cannot_be_left_out_is_said():
    with pytest.raises(nm.UnsupportedError, match="exact=True takes every loss"):
        left_out_values(problem("hinge").solve("burer_monteiro", tol=1e-6), exact=False)
    hinge = left_out_values(problem("hinge").solve("burer_monteiro", tol=1e-6))
    assert len(hinge) == len(PAIRS)
    with pytest.raises(nm.ProblemError, match="must have a loss to be left out"):
        left_out_values(nm.hard_pcp(COST, PAIRS).solve())
    alone = problem("square", pairs=nm.Pairs(N, must_link=[(0, 3)], cannot_link=[]))
    with pytest.raises(nm.ProblemError, match="the only pair"):
        left_out_values(alone.solve())
    rough = problem("pcp").solve("burer_monteiro", max_iter=1)
    with pytest.raises(nm.SolverError, match="relative gap of at most"):
        left_out_values(rough)


def test_a_pair_that_bends_the_kernel_too_far_for_a_step_is_solved_again():
    pairs = nm.Pairs(2, must_link=[], cannot_link=[(0, 1)])
    question = nm.pcp(nm.laplacian([[0.0], [1.0]], n_neighbors=1, shift=0.1), pairs, gamma=25.0, cannot=-0.5)
    quick, exact = both(question)
    assert quick.left_out == pytest.approx(exact.left_out, abs=1e-5)
    assert exact.left_out > 0.9
