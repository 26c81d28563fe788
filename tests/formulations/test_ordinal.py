"""Kernels from comparisons: certified, equal to the exact SDP, and right where the answer is known."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations.comparisons import answered, ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty

X = np.random.default_rng(0).normal(size=(12, 2))
ASKED = ordinal_answers(X, 150, noise=0.1, random_state=0)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_the_kernel_is_zero_from_the_largest_penalty_on(loss):
    top = largest_penalty(nm.ordinal(ASKED, loss=loss))
    zero, other = (nm.ordinal(ASKED, loss=loss, penalty=share * top).solve() for share in (1.05, 0.9))
    assert np.sum(zero.V**2) < 1e-3 * np.sum(other.V**2)
    assert zero.objective == pytest.approx(
        nm.ordinal(ASKED, loss=loss).objective_of_factor(np.zeros((12, 1))), rel=4e-6
    )


def test_the_kernel_is_centred():
    V = nm.ordinal(ASKED).solve().V
    assert np.linalg.norm(V.sum(axis=0)) < 1e-3 * np.linalg.norm(V)


def test_quadruplets_with_a_shared_point_are_triplets():
    i, j, k = ASKED.T
    one, other = nm.ordinal(ASKED, penalty=3.0), nm.ordinal(np.stack([i, j, i, k], axis=1), penalty=3.0)
    V = np.random.default_rng(1).normal(size=(12, 3))
    assert one.objective_of_factor(V) == pytest.approx(other.objective_of_factor(V))
    assert other.solve("burer_monteiro").objective == pytest.approx(one.solve("interior").objective, rel=1e-5)


def test_repeated_answers_count_once_for_each_time():
    twice, weighed = (
        nm.ordinal(np.concatenate([ASKED, ASKED]), penalty=1.0),
        nm.ordinal(ASKED, penalty=1.0, weights=np.full(150, 2.0)),
    )
    V = np.random.default_rng(1).normal(size=(12, 3))
    assert twice.objective_of_factor(V) == pytest.approx(weighed.objective_of_factor(V))
    swapped = ASKED[:, [1, 0]]
    quads = np.concatenate([swapped, ASKED[:, [0, 2]]], axis=1)  # the ends of a distance in another order
    assert (
        nm.ordinal(quads, penalty=1.0).n_pairs
        == nm.ordinal(np.concatenate([ASKED[:, [0, 1]], ASKED[:, [0, 2]]], axis=1), penalty=1.0).n_pairs
    )


def test_ties_pull_two_distances_together():
    rows = [[0, 1, 2], [1, 0, 2], [2, 0, 3]]
    apart = nm.ordinal(rows, 4, penalty=0.1).solve()
    tied = nm.ordinal(rows, 4, penalty=0.1, ties=np.tile([[3, 0, 2]], (30, 1))).solve()
    D = [np.sum((s.V[[3, 3]] - s.V[[0, 2]]) ** 2, axis=1) for s in (apart, tied)]
    assert abs(D[1][0] - D[1][1]) < 1e-3 < abs(D[0][0] - D[0][1])


def test_the_answers_are_drawn_evenly_and_rightly():
    asked = ordinal_answers(X, 60_000, random_state=3)
    near, far = (np.sum((X[asked[:, 0]] - X[asked[:, k]]) ** 2, axis=1) for k in (1, 2))
    assert (near <= far).all()
    every = np.unique(np.concatenate([asked, asked[:, [0, 2, 1]]]), axis=0, return_counts=True)[1]
    assert every.size == 12 * 11 * 10
    assert every.min() > 40  # of 91 on average
    noisy = ordinal_answers(X, 20_000, noise=0.2, random_state=3)
    assert answered(X, noisy) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: nm.ordinal([[0, 1]]), r"shape \(m, 3\) or \(m, 4\)"),
    (lambda: nm.ordinal([[0, 1, 1]]), "two distances of different points, got"),
    (lambda: nm.ordinal([[0, 1, 1, 0]]), "two distances of different points, got"),
    (lambda: nm.ordinal([[0, 1, -2]]), "from 0 on, got -2"),
    (lambda: nm.ordinal([[0, 1, 5]], 4), r"points 0\.\.3, got 5"),
    (lambda: nm.ordinal([[0, 1, 2]], weights=[0.0]), "positive"),
    (lambda: nm.ordinal([[0, 1, 2]], weights=[1.0, 2.0]), r"shape \(1,\)"),
    (lambda: nm.ordinal([[0, 1, 2]], penalty=0), "penalty"),
    (lambda: nm.ordinal([[0.5, 1, 2]]), "whole|integer"),
    (lambda: ordinal_answers([[0.0], [1.0]], 5), "n >= 3"),
])  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(nm.ProblemError, match=words):
        call()


def test_a_stationary_point_of_small_gain_gets_its_column():
    """A run that was stationary, with a gap of 5e-3, and waited for iterations to gain what only a column could."""
    digits, n = nm.datasets.load("digits"), 100
    points = digits.X[np.random.default_rng(0).permutation(digits.n)[:n]]
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
    asked = ordinal_answers(points, 5_000, noise=0.2, random_state=1)[:3_333]
    problem = nm.ordinal(asked, n, penalty=0.25 * largest_penalty(nm.ordinal(asked, n)))
    start = np.random.default_rng(0).standard_normal((n, 10)) / np.sqrt(10)
    assert problem.solve("burer_monteiro", tol=1e-3, start=start).status is nm.Status.OPTIMAL
