"""What an answer says, and which pairs are asked: new ones, suspicious ones, or both."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications import questions
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.questions import information, suggest_questions

Y = np.repeat([0, 1], 30)
X = np.repeat([[0.0], [4.0]], 30, axis=0) + np.random.default_rng(0).normal(size=(60, 1))
CLEAN = nm.Pairs.from_labels(Y, 25, 25, random_state=0)
TURNED = CLEAN.must_link[3]
PAIRS = nm.Pairs(60, np.delete(CLEAN.must_link, 3, axis=0), np.vstack([CLEAN.cannot_link, TURNED]))
FOUND = pair_noise(nm.laplacian(X, 8), PAIRS, [Y], 2, noise=0.1)


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.3, 0.02)])
def test_information_is_what_entropies_say(rates):
    """The mutual information of both coins, summed over their four outcomes."""
    q = np.array([0.2, 0.5, 0.9])
    for share, value in zip(q, information(q, rates), strict=True):
        joint = np.array(
            [
                [share * (1 - rates[0]), share * rates[0]],
                [(1 - share) * rates[1], (1 - share) * (1 - rates[1])],
            ]
        )
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        assert value == pytest.approx((joint * np.log(joint / apart)).sum(), abs=1e-9)


def test_what_is_certain_is_not_worth_a_question():
    np.testing.assert_allclose(information(np.array([0.0, 1.0]), (0.1, 0.2)), 0.0, atol=1e-9)
    np.testing.assert_allclose(information(np.array([0.3]), (0.5, 0.5)), 0.0, atol=1e-9)
    with pytest.raises(nm.ProblemError, match="rates must be"):
        information(np.array([0.3]), (-0.1, 0.5))


def test_the_turned_pair_is_asked_again():
    again = suggest_questions(FOUND, 3, kind="again")
    assert TURNED.tolist() in again.tolist()
    asked = set(map(tuple, FOUND.pairs.tolist()))
    assert set(map(tuple, again.tolist())) <= asked
    assert not set(map(tuple, suggest_questions(FOUND, 9, kind="new").tolist())) & asked


@pytest.mark.parametrize("kind", ["both", "new", "again"])
def test_no_two_questions_share_a_point(kind):
    ends = suggest_questions(FOUND, 9, kind=kind)
    assert np.unique(ends).size == ends.size == 18


def test_of_both_kinds_the_answer_that_says_most_comes_first():
    values = []
    for kind in ("new", "again", "both"):
        (pair,) = suggest_questions(FOUND, 1, kind=kind)
        place = np.flatnonzero((FOUND.pairs == pair).all(axis=1))
        q = FOUND.beliefs[pair[0]] @ FOUND.beliefs[pair[1]]
        if place.size:
            q = np.where(FOUND.must, 1 - FOUND.wrong, FOUND.wrong)[place[0]]
        values.append(information(np.array([q]), FOUND.rates)[0])
    assert values[2] == pytest.approx(max(values[:2]))


def test_of_many_pairs_some_are_drawn(monkeypatch):
    monkeypatch.setattr(questions, "LISTED", 500)
    first = suggest_questions(FOUND, 5, kind="new", random_state=1)
    np.testing.assert_array_equal(first, suggest_questions(FOUND, 5, kind="new", random_state=1))
    assert len(first) == 5


@pytest.mark.parametrize(("k", "kind", "words"), [(0, "both", "k must be"), (1, "old", "unknown kind 'old'")])
def test_bad_questions_are_refused(k, kind, words):
    with pytest.raises(ValueError, match=words):
        suggest_questions(FOUND, k, kind=kind)
