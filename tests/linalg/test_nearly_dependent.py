"""Gram matrices of rows that nearly depend on each other, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from npkl_models.linalg.nearly_dependent import Rows


def vectors(apart, s=4, seed=0):
    """All forms p'Dp of order s are spanned by ten; the last one is ``apart`` from the span of nine."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(s * (s + 1) // 2, s))
    P[:, -1] *= np.sqrt(apart)
    P[: s * (s - 1) // 2 + 1, -1] = 0  # of s - 1 coordinates there are fewer forms than such rows
    P[0, -1] = np.sqrt(apart)
    return P


@pytest.mark.parametrize("apart", [1.0, 1e-5, 1e-9, 1e-11])
def test_rows_are_orthonormalised_though_they_nearly_depend(apart):
    P = vectors(apart)
    rows = Rows.of(P, P)
    X = rows.others.copy()
    first = np.zeros((len(P), len(rows.first)))
    first[rows.first] = np.linalg.inv(rows.L).T
    T = np.stack([rows.back(x).ravel() for x in np.hstack([first, X]).T], axis=1)
    np.testing.assert_allclose(T.T @ T, np.eye(len(P)), atol=1e-3)
    assert X.shape[1] >= (apart < 1e-5)


@pytest.mark.parametrize("apart", [1.0, 1e-5, 1e-8])
@pytest.mark.parametrize("same", [True, False])
def test_equations_are_solved_to_what_their_data_allow(apart, same):
    P = vectors(apart)
    R = P if same else P @ np.triu(np.random.default_rng(5).normal(size=(4, 4)) + 3 * np.eye(4))
    rows = Rows.of(P, R)
    wanted = np.random.default_rng(1).normal(size=len(P))
    left, right = ([[Fraction(x) for x in row] for row in A.tolist()] for A in (P, R))

    def gram(e, f):
        p = sum(a * b for a, b in zip(left[e], left[f], strict=True))
        return p * sum(a * b for a, b in zip(right[e], right[f], strict=True))

    exact = [sum(gram(e, f) * Fraction(x) for f, x in enumerate(wanted.tolist())) for e in range(len(P))]
    found = rows.solve(np.array([float(x) for x in exact]))
    D = rows.back((found - wanted) * rows.lengths)
    assert np.linalg.norm(D) <= 1e-5 * np.linalg.norm(rows.back(wanted * rows.lengths))


def test_a_row_of_zeros_has_no_direction():
    P = vectors(1.0)
    P[3] = 0
    assert Rows.of(P, P) is None
