"""Which of two restored points is kept, and what is exactly still along a direction."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import recession
from npkl_models.feasibility import restoration
from npkl_models.feasibility.kantorovich import Near

N = 5
V, BETTER = np.ones((N, 2)), np.full((N, 2), 2.0)


@pytest.mark.parametrize(
    ("at_better", "at_given", "kept"),
    [
        (Near(0.0), None, "better"),
        (Near(1e-3), Near(1e-6), "given"),
        (Near(1e-6), Near(1e-3), "better"),
        (Near(0.0, 1e-9), Near(1e-3), "given"),
        (Near(1e-3), None, "better"),
        (None, Near(1e-3), "given"),
        (None, None, "given"),
    ],
)
def test_the_point_is_kept_that_is_nearer_to_a_feasible_one(at_better, at_given, kept, monkeypatch):
    monkeypatch.setattr(restoration, "newton", lambda problem, X: BETTER)
    monkeypatch.setattr(restoration, "near", lambda problem, X: at_better if X is BETTER else at_given)
    monkeypatch.setattr(restoration, "_leading", lambda X: X)
    monkeypatch.setattr(restoration, "_sharper", lambda *_: None)
    X, found = restoration._nearest(None, V)
    assert X is (BETTER if kept == "better" else V)
    assert found is (at_better if kept == "better" else at_given)


def test_a_direction_has_values_that_are_exactly_still_within_its_reach():
    entry = nm.Entries(N, ([0, 2], [1, 3]))
    problem = nm.Problem(np.eye(N), nm.LossTerm(entry, "square", 1.0))
    D = np.random.default_rng(0).normal(size=(N, 3))
    for i, j in ((0, 1), (2, 3)):
        D[j] -= D[i] * (D[i] @ D[j]) / (D[i] @ D[i])
    D += 1e-12
    with np.errstate(all="ignore"):
        moved, reach = recession._exactly_still(problem, D, [(entry, np.array([True, True]))])
    assert 0 <= reach < 1e-10
    assert np.abs(entry.value_of_factor(moved)).max() < 1e-14
    assert np.linalg.norm(moved - D) < 1e-10
    same, nothing = recession._exactly_still(problem, D, [(entry, np.array([False, False]))])
    assert same is D
    assert nothing == 0.0


def test_what_may_be_meant_to_be_still():
    D = np.array([[1.0, 0], [0, 1], [1e-9, 0], [1, 1e-9], [0, -1]])
    entries = nm.Entries(N, ([0, 0, 2, 0], [1, 3, 2, 0]))
    np.testing.assert_array_equal(recession._still(entries, D, 1e-6), [True, False, True, False])
    apart = nm.SquaredDistances(N, ([0, 0], [3, 1]))
    np.testing.assert_array_equal(recession._still(apart, D, 1e-6), [True, False])
    np.testing.assert_array_equal(recession._still(apart, D, 1e-12), [False, False])
    assert recession._still(nm.TotalSum(N), D - D.mean(axis=0), 1e-6).all()
    assert not recession._still(nm.TotalSum(N), D, 1e-6).any()
