"""Pairs: drawn, checked, closed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npkl_models as nm


def test_pairs_are_ordered_and_distinct():
    pairs = nm.Pairs(5, [(3, 1), (1, 3)], [(4, 0)])
    assert pairs.must_link.tolist() == [[1, 3]]
    assert pairs.i.tolist() == [1, 0]
    assert pairs.j.tolist() == [3, 4]
    assert pairs.sign.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, [(0, 1)], [(1, 0)]), r"both a must-link and a cannot-link, got \[\(0, 1\)\]"),
        ((5, [(0, 5)], []), r"must_link must index points 0..4, got \[\[0, 5\]\]"),
        ((5, [], [(-1, 2)]), r"cannot_link must index points"),
        ((5, [(2, 2)], []), r"self pairs \[\[2, 2\]\]"),
        ((5, [], []), "at least one must-link or cannot-link"),
        ((5, [(0.5, 1)], []), "of shape .m, 2. must hold"),
        ((5, [(0, 1, 2)], []), r"integers of shape \(m, 2\)"),
        ((5, [(0, 1)], [], [-1.0]), "positive numbers"),
        ((5, [(0, 1)], [], [1.0, 2.0]), "weights must be 1 positive"),
        ((5, [(0, 1), (1, 0)], [], [1.0, 2.0]), "pairs with weights must not be repeated"),
    ],
)
def test_bad_pairs_are_named(arguments, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.Pairs(*arguments)


@pytest.mark.parametrize("rows", [[True], np.ones(6, bool), np.eye(5, dtype=bool), [0, 5], [0.5]])
def test_points_that_pick_no_pairs_are_named(rows):
    with pytest.raises(nm.ProblemError, match="a list of points below 5 or a mask of 5"):
        nm.Pairs(5, [(0, 1)], [(2, 3)])[rows]


@given(
    labels=st.lists(st.integers(0, 3), min_size=4, max_size=40),
    share=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_pairs_from_labels_are_right_and_as_many_as_asked(labels, share, seed):
    y = np.array(labels)
    same = int(sum(c * (c - 1) // 2 for c in np.bincount(y)))
    other = len(y) * (len(y) - 1) // 2 - same
    n_must, n_cannot = int(share * same), int(share * other)
    if n_must + n_cannot == 0:
        return
    pairs = nm.Pairs.from_labels(y, n_must, n_cannot, seed)
    assert (len(pairs.must_link), len(pairs.cannot_link)) == (n_must, n_cannot)
    assert np.all(y[pairs.must_link[:, 0]] == y[pairs.must_link[:, 1]])
    assert np.all(y[pairs.cannot_link[:, 0]] != y[pairs.cannot_link[:, 1]])


def test_pairs_from_labels_are_uniform():
    y = np.repeat([0, 1], [2, 30])  # one pair in the small class, 435 in the large one
    hits = sum(
        len(pairs.must_link[pairs.must_link[:, 1] < 2])
        for pairs in (nm.Pairs.from_labels(y, 4, 1, seed) for seed in range(2000))
    )
    assert 5 < hits < 40  # 2000 * 4 / 436 = 18.3 expected


def test_too_many_pairs_asked_for():
    with pytest.raises(nm.ProblemError, match="between 0 and the 2 that exist, got 3"):
        nm.Pairs.from_labels([0, 0, 1, 1], 3, 1)


def test_pairs_per_class_are_as_many_in_every_class_and_distinct():
    y = np.array([1, 2, 1, -1, 7, 7, 2, 1, 2, 7])
    pairs = nm.Pairs.per_class(y, 3, 4, random_state=0)
    assert np.bincount(y[pairs.must_link[:, 0]])[[1, 2, 7]].tolist() == [3, 3, 3]  # all that there are
    assert (y[pairs.must_link[:, 0]] == y[pairs.must_link[:, 1]]).all()
    couples = [tuple(sorted(c)) for c in y[pairs.cannot_link].tolist()]
    assert {c: couples.count(c) for c in couples} == {(1, 2): 4, (1, 7): 4, (2, 7): 4}
    assert len(pairs) == 9 + 12
    with pytest.raises(nm.ProblemError, match="must-link pairs in class 'b' must be at most the 1"):
        nm.Pairs.per_class(["a", "a", "a", "b", "b"], 2, 1)
    with pytest.raises(nm.ProblemError, match="between classes 'a' and 'b' must be at most the 6"):
        nm.Pairs.per_class(["a", "a", "a", "b", "b"], 0, 7)


def test_pairs_per_class_are_uniform():
    y = np.zeros(5)
    y[4] = -1  # no label
    drawn = [nm.Pairs.per_class(y, 2, 0, seed).must_link for seed in range(1500)]
    counts = np.unique(np.concatenate(drawn), axis=0, return_counts=True)[1]
    assert counts.size == 6
    assert (abs(counts - 500) < 100).all()  # five standard deviations


def test_from_arrays_is_the_same():
    pairs = nm.Pairs.from_arrays([[0, 1], [2, 3]], [1, -1], 4)
    assert pairs.must_link.tolist() == [[0, 1]]
    assert pairs.cannot_link.tolist() == [[2, 3]]
    for words in (
        ["same", "different"],
        ["Yes", "NO"],
        [True, False],
        [1, 0],
        np.array([1.0, -1.0]),
        ["1", "-1"],
    ):
        again = nm.Pairs.from_arrays([[0, 1], [2, 3]], words, 4)
        assert (again.must_link.tolist(), again.cannot_link.tolist()) == ([[0, 1]], [[2, 3]])
    with pytest.raises(nm.ProblemError, match=r"y must be must, same, .*, got \['2'\]"):
        nm.Pairs.from_arrays([[0, 1]], [2], 4)
    with pytest.raises(nm.ProblemError, match="0 or -1 for cannot-links, got both"):
        nm.Pairs.from_arrays([[0, 1], [1, 2]], [0, -1], 4)
    with pytest.raises(nm.ProblemError, match="y must be in one row, got shape"):
        nm.Pairs.from_arrays([[0, 1]], [[1]], 4)


def test_closure_and_conflicts():
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (3, 4)], [(2, 3)])
    closed = pairs.closure()
    assert {tuple(p) for p in closed.must_link.tolist()} == {(0, 1), (0, 2), (1, 2), (3, 4)}
    assert {tuple(p) for p in closed.cannot_link.tolist()} == {(a, b) for a in (0, 1, 2) for b in (3, 4)}
    assert pairs.connected_components_ratio() == pytest.approx(3 / 6)
    bad = nm.Pairs(4, [(0, 1), (1, 2)], [(0, 2)])
    assert bad.conflicts().tolist() == [[0, 2]]
    with pytest.raises(nm.ProblemError, match=r"contradict a chain.*\[\[0, 2\]\]"):
        bad.closure()
