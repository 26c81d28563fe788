"""Pairs to ask for: open ones, apart from each other, where the kernel cannot tell."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications import suggest
from npkl_models.applications.suggest import suggest_pairs

WINE = nm.datasets.load("wine")
L = nm.laplacian(StandardScaler().fit_transform(WINE.X), 10, shift=0.1)
PAIRS = nm.Pairs.from_labels(WINE.y, 30, 30, random_state=0)


@pytest.mark.parametrize("build", [nm.pcp, nm.npkl, nm.hard_pcp])
def test_what_is_asked_for_is_open_and_spread(build, monkeypatch):
    solution = build(L, PAIRS).solve()
    for listed in (suggest.LISTED, 500):
        monkeypatch.setattr(suggest, "LISTED", listed)
        asked = suggest_pairs(solution, 20)
        assert 10 <= len(asked) <= 20
        assert np.unique(asked).size == asked.size
        implied = PAIRS.closure()
        known = set(map(tuple, np.concatenate([implied.must_link, implied.cannot_link]).tolist()))
        assert not known & set(map(tuple, asked.tolist()))
        group = PAIRS.groups()[1]
        assert np.unique(group[asked]).size == asked.size


def test_the_least_certain_come_first():
    """Cosines next to the middle of the targets; each pair is the best of those that its points have left."""
    solution = nm.pcp(L, PAIRS, gamma=10.0).solve()
    V = solution.V / np.linalg.norm(solution.V, axis=1)[:, None]
    i, j = suggest_pairs(solution, 30).T
    margin = np.abs(np.einsum("er,er->e", V[i], V[j]) - 0.5)
    assert (np.diff(margin) >= 0).all()
    assert margin[0] < 1e-3
    i, j = np.triu_indices(len(V), 1)
    assert margin.mean() < np.abs(np.einsum("er,er->e", V[i], V[j]) - 0.5).mean() / 4


def test_they_run_out():
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (3, 4)], [(2, 3)])
    solution = nm.pcp(nm.laplacian(np.arange(6.0)[:, None], 2, shift=0.1), pairs).solve()
    asked = suggest_pairs(solution, 50)
    assert len(asked) == 1
    assert 5 in asked[0]


def test_what_is_wrong_is_said():
    solution = nm.pcp(L, PAIRS).solve()
    with pytest.raises(nm.ProblemError, match="k must be"):
        suggest_pairs(solution, 0)
    term = nm.LossTerm(nm.Entries(6, (np.arange(6), np.arange(6))), "square", 1.0)
    alone = nm.Problem(nm.laplacian(np.arange(6.0)[:, None], 2, shift=0.1), term).solve()
    with pytest.raises(nm.ProblemError, match="problem with pairs"):
        suggest_pairs(alone, 3)


@pytest.mark.parametrize("k", [0, 2.5, -1])
def test_a_number_of_pairs_is_an_integer(k):
    pairs = nm.Pairs(4, must_link=[(0, 1)], cannot_link=[(1, 2)])
    solution = nm.pcp(nm.laplacian([[0.0], [1.0], [2.0], [3.0]], n_neighbors=2, shift=0.1), pairs).solve()
    with pytest.raises(nm.ProblemError, match="k must be an integer"):
        suggest_pairs(solution, k)
