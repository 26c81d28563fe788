"""Suggestions of friends and groups by the values of a kernel."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.applications.ranking import similar_points, voted_groups

rng = np.random.default_rng(0)
V = rng.normal(size=(12, 3))
K = V @ V.T
MEMBER = rng.integers(0, 2, size=(12, 4))


def test_the_largest_values_of_a_row_without_itself_and_friends():
    for i in range(12):
        order = [j for j in np.argsort(-K[i], kind="stable") if j not in (i, 3)]
        for given in (V, K):
            found = similar_points(given, i, 5, known=[3])
            assert found.best.tolist() == order[:5]
            np.testing.assert_allclose(found.score, K[i, order[:5]])
    assert similar_points(V, 0, 50).best.size == 11


def test_votes_of_the_neighbours_for_groups_that_are_new():
    for i in range(12):
        near = similar_points(K, i, 4).best
        votes = MEMBER[near].sum(axis=0)
        for table in (MEMBER, sp.csr_array(MEMBER)):
            found = voted_groups(V, table, i, 4, n_neighbors=4)
            assert set(found.best) == set(np.flatnonzero(MEMBER[i] == 0))
            assert found.score.tolist() == votes[found.best].tolist()
            assert (np.diff(found.score) <= 0).all()


def test_a_solution_finds_its_class():
    data = nm.datasets.load("iris")
    y, pairs = data.y, nm.Pairs.from_labels(data.y, 90, 90, 0)
    solution = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), pairs).solve("bcd")
    assert np.mean([(y[similar_points(solution, i, 5).best] == y[i]).mean() for i in range(150)]) > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: similar_points(V, 12), "point must be integers from 0 to 11"),
        (lambda: similar_points(V, 0.5), "point must be integers"),
        (lambda: similar_points(V, 0, 0), "count must be"),
        (lambda: similar_points(V, 0, known=[99]), "known must be integers"),
        (lambda: similar_points(V.T, 0), "factor"),
        (lambda: voted_groups(V, MEMBER[:5], 0), "membership must be of shape"),
        (lambda: voted_groups(V, 2 * MEMBER, 0), "membership must be"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(nm.ProblemError, match=words):
        call()
