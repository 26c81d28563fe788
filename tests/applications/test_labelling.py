"""The labelling loop: asked, answered, solved from where it was; what contradicts is refused."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.labelling import Labelling

WINE = nm.datasets.load("wine")
L = nm.laplacian(StandardScaler().fit_transform(WINE.X), 10, shift=0.1)
PAIRS = nm.Pairs.from_labels(WINE.y, 20, 20, random_state=0)


def oracle(i, j):
    return 1 if WINE.y[i] == WINE.y[j] else -1


@pytest.mark.parametrize(
    "build",
    [
        L,
        lambda pairs: nm.npkl(L, pairs, loss="hinge", gamma=10.0),
        lambda pairs: nm.hard_pcp(L, pairs),
        lambda pairs: nm.simple_npkl(L, pairs, loss="squared_hinge", bound=3000.0),
    ],
    ids=["pcp", "npkl", "hard_pcp", "simple_npkl"],
)
def test_every_round_is_certified_warm_and_the_cold_optimum(build):
    loop = Labelling(build, PAIRS)
    found = loop.run(oracle, rounds=3, batch=5)
    assert [one.warm for one in loop.rounds] == [False, True, True, True]
    assert [one.pairs for one in loop.rounds] == [40, 45, 50, 55]
    assert all(one.status is nm.Status.OPTIMAL for one in loop.rounds)
    assert all(one.relative_gap <= 1e-6 for one in loop.rounds)
    make = build if callable(build) else lambda pairs: nm.pcp(L, pairs, gamma=100.0)
    cold = make(loop.pairs).solve()
    assert found.objective == pytest.approx(cold.objective, rel=3e-6)
    assert found.problem.n == 178


def test_it_begins_with_nothing():
    """Pairs at random until there is an answer; then those of the kernel."""
    loop = Labelling(L, WINE.X.shape[0], random_state=3)
    assert loop.pairs is None
    with pytest.raises(nm.ProblemError, match="at least one pair must be known"):
        loop.solve()
    first = loop.suggest(4)
    assert np.unique(first).size == 8
    assert (first == Labelling(L, 178, random_state=3).suggest(4)).all()
    assert loop.run(oracle, rounds=2, batch=4).is_optimal()
    assert len(loop.pairs) == 8
    assert [one.warm for one in loop.rounds] == [False, True]


def test_what_was_answered_implied_or_skipped_is_not_asked_again():
    loop = Labelling(L, PAIRS)
    loop.solve()
    for skip in (True, False):
        asked = loop.suggest(6)
        for i, j in asked.tolist():
            assert loop.answer(j, i, 0 if skip else oracle(i, j)) is not skip
        again = set(map(tuple, loop.suggest(30).tolist()))
        assert len(again) >= 20
        assert not again & set(map(tuple, asked.tolist()))
    implied = loop.pairs.closure()
    known = set(map(tuple, np.concatenate([implied.must_link, implied.cannot_link]).tolist()))
    assert not known & again
    assert len(loop.skipped) == 6


@pytest.mark.parametrize(
    ("pair", "sign", "words"),
    [
        ((1, 0), -1, "0 - 1 must not be on both lists: the pair is a must-link already"),
        ((2, 3), 1, "2 - 3 must not be on both lists: the pair is a cannot-link already"),
        ((0, 2), -1, "0 - 2 must not be a cannot-link: must-links join 0 - 1 - 2"),
        (
            (0, 3),
            1,
            "0 - 3 must not be a must-link: must-links would join 2 - 1 - 0 - 3, and 2 - 3 is a cannot-link",
        ),
        ((0, 9), 1, "two different points 0 to 5"),
        ((4, 4), 1, "two different points"),
        ((0, 4), 2, "an answer must be 1, -1, or 0"),
    ],
)
def test_what_contradicts_is_refused_and_not_added(pair, sign, words):
    loop = Labelling(
        nm.laplacian(np.arange(6.0)[:, None], 2, shift=0.1), nm.Pairs(6, [(0, 1), (1, 2)], [(2, 3)])
    )
    with pytest.raises(nm.ProblemError, match=words):
        loop.answer(*pair, sign)
    assert len(loop.pairs) == 3
    assert loop.answer(0, 4, 1)
    assert loop.answer(4, 3, -1) is False  # implied
    assert len(loop.pairs) == 4


def test_pairs_that_contradict_each_other_are_refused_at_the_beginning():
    with pytest.raises(nm.ProblemError, match="cannot-link 0 - 2 and must-links that join 0 - 1 - 2"):
        Labelling(L, nm.Pairs(178, [(0, 1), (1, 2)], [(0, 2)]))
    with pytest.raises(nm.ProblemError, match="points to ask about must be an integer >= 2, got 1"):
        Labelling(L, 1)
    with pytest.raises(nm.UnsupportedError, match="unknown backend"):
        Labelling(L, PAIRS, backend="bcq")
    with pytest.raises(nm.ProblemError, match="k must be"):
        Labelling(L, PAIRS).suggest(0)


def test_weights_of_given_pairs_stay_theirs():
    given = nm.Pairs(178, [(0, 1)], [(0, 100)], weights=[2.0, 3.0])
    loop = Labelling(L, given)
    loop.answer(2, 3, 1)
    loop.answer(2, 101, -1)
    assert loop.pairs.must_link.tolist() == [[0, 1], [2, 3]]
    assert loop.pairs.confidence.tolist() == [2.0, 1.0, 3.0, 1.0]


def test_a_backend_without_starts_solves_from_the_beginning():
    small = nm.laplacian(np.arange(12.0)[:, None], 3, shift=0.1)
    loop = Labelling(small, nm.Pairs(12, [(0, 1)], [(0, 9)]), backend="interior", tol=1e-8)
    loop.run(lambda i, j: 1 if abs(i - j) < 5 else -1, rounds=1, batch=1)
    assert [one.warm for one in loop.rounds] == [False, False]
    assert loop.rounds[-1].relative_gap <= 1e-8


def test_it_ends_where_pairs_run_out():
    small = nm.laplacian(np.arange(5.0)[:, None], 2, shift=0.1)
    loop = Labelling(small, 5)
    loop.run(lambda i, j: 1 if (i < 2) == (j < 2) else -1, rounds=20, batch=2)
    assert len(loop.suggest(3)) == 0
    assert len(loop.rounds) < 8
    assert len(loop.pairs.closure()) == 10


def test_a_start_with_other_pairs_is_taken_or_left():
    X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0], [9.0, 9.0]]
    L = nm.laplacian(X, 4, shift=0.1)

    def build(pairs):
        return nm.simple_npkl(L, pairs, loss="hinge", C=1.0, bound=5.0)

    loop = Labelling(build, nm.Pairs(5, [(0, 1)], [(0, 4)]), backend="simple_npkl")
    assert loop.solve().is_optimal()
    loop.answer(2, 3, 1)
    assert loop.solve().is_optimal()
    with pytest.raises(nm.NPKLError, match="two integers"):
        loop.answer(0.5, 1.7, 1)
    loop.answer(0, 2, 0)
    loop.answer(0, 2, None)
    assert loop.skipped == [(0, 2)]
    with pytest.raises(nm.NPKLError, match="random_state"):
        Labelling(L, 5, random_state=None)
