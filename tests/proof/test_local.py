"""Local vectors and positive parts: what is asked of Lanczos, when its runs end, and what they leave."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from problems import weak_groups

from npkl_models.proof import elimination, localised, positive
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.elimination import Elimination
from npkl_models.proof.recurrence import Deflation


def test_lanczos_is_asked_for_a_few_pairs_more_than_guessed(monkeypatch):
    """Ten more, from the start that is given, or one of its own."""
    asked = []

    def noted(operator, count, begin):
        asked.append((count, begin))
        return np.array([-1.0]), np.ones((60, 1))

    monkeypatch.setattr(positive, "_upper_end", noted)
    start = np.arange(60.0)
    for guess, count in ((0, 11), (1, 11), (7, 17)):
        positive.positive_part(np.eye(60), guess, start, 50, lanczos=True)
        assert asked[-1][0] == count
        assert asked[-1][1] is start
    positive.positive_part(np.eye(60), most=50, lanczos=True)
    assert asked[-1][1].shape == (60,)
    positive.positive_part(np.eye(60), 90, most=20, lanczos=True)
    assert asked[-1][0] == 20


def test_raising_gives_up_after_its_rounds(monkeypatch):
    """A block that is still indefinite then was not raised."""
    S = sp.csr_array(weak_groups(100, 1, 6)[0] - 3.0 * sp.eye_array(100))
    held = Elimination(S, np.arange(20))
    monkeypatch.setattr(elimination, "ROUNDS", 0)
    assert not elimination.raise_block(held, 1e-3, np.ones(100), 1e9)


def test_the_pairs_that_are_looked_at_are_below_zero():
    """Of a diagonal with one negative entry and many about one the negative one is among the eight."""
    diagonal = np.r_[-0.5, np.linspace(0.9, 1.1, 19), np.ones(5)]
    held = Elimination(sp.csr_array(sp.diags_array(diagonal)), np.arange(20))
    values, vectors = held.lowest(1.0)
    assert values.size == 8
    assert values[0] == pytest.approx(-0.5)
    assert abs(vectors[0, 0]) == pytest.approx(1.0)


def work(attempt, **asked):
    """What decides the end of a run on a Schur complement, LOW times the norm being one."""
    S, V, members = weak_groups(300, 1, 6)
    hint = np.zeros(300)
    hint[members[0]] = 1.0
    out = localised._Work(S, V / 300**0.5, hint, Query(**asked), 50)
    out.T.raise_to(np.zeros(300))
    out.low, out.component = 1.0, 1e-9
    seen = []

    def noted(held, start, limit, component, stop, *rest):
        seen.append(stop)
        return SimpleNamespace(lower=-0.25), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(localised, "search", noted)
        held = SimpleNamespace(remove=lambda x: x, size=0, whole=lambda c: c, rounding=lambda upper: 0.0)
        bound = out.search(held, attempt)[2]
    return lambda *given: seen[0](
        SimpleNamespace(**dict(zip(("values", "residuals", "lower"), given, strict=True))), None
    ), bound


def test_a_run_on_a_complement_ends_with_what_is_low_and_settled():
    """In later runs only what is below a third of that is worth another one, in the last nothing is."""
    settled, loose = np.array([1e-3, 1.0]), np.array([0.5, 1.0])
    for attempt, value, ends in ((0, 0.9, True), (1, 0.9, False), (1, 0.3, True), (4, 0.3, False)):
        decides, bound = work(attempt)
        assert decides(np.array([value, 5.0]), settled, -np.inf) is ends
        assert decides(np.array([value, 5.0]), loose, -np.inf) is False
        assert -0.26 < bound <= -0.25


def test_a_run_on_a_complement_ends_with_its_bound():
    """Within the accuracy below zero."""
    decides, _ = work(0, accuracy=1e-2)
    high = np.array([5.0]), np.array([0.0])
    assert decides(*high, -0.9e-2)
    assert not decides(*high, -1.1e-2)


def test_refined_directions_are_coupled_to_the_rest_no_more_than_is_wanted():
    """Steps of conjugate gradients take out of a direction what S maps across."""
    S, _, members = weak_groups(120, 1, 6)
    S = sp.csr_array(S + 1e-6 * sp.eye_array(120))
    T = Elimination(S, members[0])
    T.raise_to(np.zeros(120))
    bulk = T.within(np.ones((120, 1)) + 0.1 * np.random.default_rng(0).normal(size=(120, 1)))
    bulk /= np.linalg.norm(bulk)
    before = Deflation(T, bulk, np.inf).coupling
    refined = localised._refined(T, bulk, np.zeros((120, 0)), 1e-3 * before)
    after = Deflation(T, localised._orthonormal(T, refined), np.inf).coupling
    assert after < 0.1 * before


def test_what_is_found_first_may_be_raised_though_it_is_not_negative(monkeypatch):
    """Only behind the first run is that so."""
    told = []

    class Work:
        T = W = None
        accuracy = upper = 1.0

        def __init__(self, *given):
            pass

        def begin(self):
            return True

        def deflation(self, attempt):
            return SimpleNamespace(whole=lambda c: c)

        def search(self, held, attempt):
            return SimpleNamespace(last=False), None, -np.inf

        def learn(self, found, run, first):
            told.append(first)
            return len(told) < 3

        def unfinished(self):
            return "unfinished"

    monkeypatch.setattr(localised, "_Work", Work)
    assert localised.by_elimination(None, None, None, Query(), 10) == "unfinished"
    assert told == [True, False, False]
