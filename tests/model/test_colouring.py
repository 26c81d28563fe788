"""Whether k clusters can keep pairs: against all assignments, and what is named."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications import constrained
from npkl_models.model.colouring import WORK, broken_by, coloured, in_words, neighbours
from npkl_models.model.diagnosis import diagnose


def drawn(seed):
    rng = np.random.default_rng(seed)
    ends = np.array([*itertools.combinations(range(7), 2)])
    chosen = rng.permutation(ends)[: rng.integers(3, 14)]
    count = int(rng.integers(0, 3))
    return nm.Pairs(7, chosen[:count], chosen[count:])


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_it_is_decided_as_all_assignments_decide_it(k):
    kinds = set()
    for seed in range(60):
        pairs = drawn(seed)
        possible = any(not broken_by(np.array(one), pairs) for one in itertools.product(range(k), repeat=7))
        found = diagnose(pairs, k)
        assert bool(found) != possible, (seed, found)
        kinds |= {one.kind for one in found}
        if possible:
            group = pairs.groups()[1]
            colours, decided = coloured(neighbours(pairs)[0], k)
            assert decided
            assert broken_by(np.array(colours)[group], pairs) == []
    assert "contradiction" in kinds


def test_what_contradicts_is_named():
    chain = nm.Pairs(5, [(0, 1), (1, 2), (3, 4)], [(0, 2), (2, 4)])
    assert str(*diagnose(chain)) == "contradiction: cannot-links contradict must-links: 0-2 the chain 0-1-2"
    clique = nm.Pairs(6, [(0, 5)], [(5, 1), (1, 2), (2, 0), (3, 4)])
    assert diagnose(clique) == diagnose(clique, 3) == ()
    apart = "4 cannot-links: 0-2, 1-2, 1-5 are all apart beside the must-links"
    assert str(*diagnose(clique, 2)) == f"clusters: 2 clusters cannot keep the {apart}"
    cycle = nm.Pairs(8, None, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 6), (6, 7)])
    assert str(*diagnose(cycle, 2)).endswith(": 0-1, 1-2, 2-3, 3-4, 0-4 are an odd cycle")
    wheel = nm.Pairs(6, None, [*cycle.cannot_link[:5].tolist(), *((k, 5) for k in range(5))])
    spokes = "0-1, 0-4, 0-5, 1-2, 1-5, 2-3, 2-5, 3-4, 3-5, 4-5 are too many"  # without a clique of four
    assert str(*diagnose(wheel, 3)) == f"clusters: 3 clusters cannot keep the 10 cannot-links: {spokes}"
    more = nm.Pairs.from_labels(
        [-1] * 6 + [0, 1, 2] * 32, 0, 270, random_state=0
    )  # which three clusters keep
    every = nm.Pairs(102, None, np.concatenate([wheel.cannot_link, more.cannot_link]))
    assert str(*diagnose(every, 3)).endswith(spokes)


def test_a_search_that_is_too_long_says_nothing():
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 900, (4300, 2))
    pairs = nm.Pairs(900, None, ends[ends[:, 0] != ends[:, 1]])
    assert WORK < 10**6
    assert coloured(neighbours(pairs)[0], 4) == (None, False)
    assert diagnose(pairs, 4) == ()
    assert diagnose(pairs, 12) == ()  # this one is coloured


def test_the_smallest_part_that_a_search_does_not_decide_is_named(monkeypatch):
    """And a part that is refuted is found beside it."""
    rng, names = np.random.default_rng(0), [f"p{k}" for k in range(400)]
    ends = [first + rng.integers(size, size=(9 * size // 2, 2)) for first, size in ((0, 120), (120, 200))]
    small, large = (part[part[:, 0] != part[:, 1]] for part in ends)
    pairs = nm.Pairs(400, None, np.concatenate([large, small, [[330, 331]]]))
    monkeypatch.setattr(constrained, "milp", lambda *given, **more: SimpleNamespace(x=None, status=1))
    with pytest.raises(nm.ProblemError, match="too long; .* these cannot-links: p0 - "):
        constrained.Assignment(400, 4, pairs, names=names)(rng.random((400, 4)))
    clique = [[i, j] for i in range(330, 335) for j in range(i) if j >= 330]
    assert "are all apart" in str(*diagnose(nm.Pairs(400, None, np.concatenate([small, clique])), 4))


def test_a_wish_is_followed_where_it_may_be():
    near = neighbours(nm.Pairs(4, None, [(0, 1), (1, 2)]))[0]
    wish = np.array([[2, 1, 0], [2, 0, 1], [1, 0, 2], [1, 2, 0]])
    colours, _ = coloured(near, 3, wish)
    assert colours[3] == 1
    assert sum(one == first for one, first in zip(colours, wish[:, 0], strict=True)) == 3
    assert in_words([(1, 2, True), (3, 4, False)], most=1) == "1-2 (must) and 1 more"
