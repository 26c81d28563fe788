"""Pairs chosen by what a kernel is unsure of."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm


def test_selected_pairs_are_those_of_uncertain_points(small):
    L, pairs = side_information("iris", 60)
    kernel = nm.simple_npkl(L, pairs, loss="linear", trace_bound=60.0).solve("closed_form")
    chosen = pairs.select(0.3, kernel)
    assert 0 < len(chosen) < len(pairs)
    K, T = kernel.K, np.zeros((60, 60))
    T[pairs.i, pairs.j] = T[pairs.j, pairs.i] = pairs.sign
    count = np.count_nonzero(T, axis=1)
    margin = np.abs(np.sum(T * K, axis=1)) / np.maximum(count, 1)
    margin[count == 0] = np.inf
    points = np.argsort(margin, kind="stable")[: int(np.ceil(0.3 * np.sum(count > 0)))]
    expected = np.isin(pairs.i, points) | np.isin(pairs.j, points)
    assert len(chosen) == int(expected.sum())
    assert {tuple(p) for p in chosen.must_link} <= {tuple(p) for p in pairs.must_link}
    assert len(pairs.select(1.0, kernel)) == len(pairs)
    first, second = (pairs.select(0.3, criterion="random", random_state=s) for s in (0, 0))
    np.testing.assert_array_equal(first.i, second.i)
    for backend in ("bcd", "simple_npkl"):
        problem = nm.npkl(L, chosen) if backend == "bcd" else nm.simple_npkl(L, chosen, trace_bound=60.0)
        assert problem.solve(backend).status is nm.Status.OPTIMAL
    with pytest.raises(nm.ProblemError, match="the margin criterion needs a kernel"):
        pairs.select(0.3)
    with pytest.raises(nm.ProblemError, match="fraction must be above 0"):
        pairs.select(0.0, kernel)
    with pytest.raises(nm.UnsupportedError, match="unknown criterion"):
        pairs.select(0.3, kernel, "best")
    weighted = nm.Pairs(60, pairs.must_link, pairs.cannot_link, np.arange(1.0, 1 + len(pairs)))
    kept = weighted.select(0.3, kernel)
    assert set(kept.weights) <= set(weighted.weights)
