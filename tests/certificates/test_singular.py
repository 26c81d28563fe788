"""Exactly optimal pairs of small integers, whose slacks are singular: certified; and points near them, never falsely."""

from fractions import Fraction

import numpy as np
import pytest
from adversary import exact

import npkl_models as nm

QUICK, ALL = 45, 2_000


def drawn(seed):
    """A problem of integers with an optimal factor V and optimal multipliers: S V = 0, S is PSD, and y is optimal.

    S = W W' with V'W = 0, C = S - sum y_e M_e, and every value of a constraint or loss is met exactly: a squared
    loss has the target z - y / (2 w), with weights that are powers of two.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    r = int(rng.integers(1, n))
    points = rng.permutation(n)
    V, W = np.zeros((n, r)), np.zeros((n, n))
    # V in the span of differences of some columns, W orthogonal to it: integer null vectors by elimination
    V[points[:r]] = rng.integers(-3, 4, (r, r))
    if n - r:
        mix = rng.integers(-2, 3, (n - r, r)).astype(float)
        V[points[r:]] = mix @ V[points[:r]]  # the last rows are sums of the first
        rest = np.zeros((n, n - r))
        rest[points[r:]] = np.eye(n - r)
        rest[points[:r]] = -mix.T
        W = rest @ rng.integers(-2, 3, (n - r, int(rng.integers(1, n - r + 1))))
    assert not (V.T @ W).any()
    S, K = W @ W.T, V @ V.T
    i, j = np.triu_indices(n)
    some = rng.random(i.size) < 0.5
    some[int(rng.integers(i.size))] = True
    f = nm.Entries(n, (i[some], j[some]))
    y = rng.integers(-4, 5, f.size).astype(float) * 2
    kinds = rng.random(f.size) < 0.7
    terms, parts = [], []
    for mask, equality in ((~kinds, False), (kinds, True)):
        if mask.any():
            g = nm.Entries(n, (f.indices[0][mask], f.indices[1][mask]))
            z = g.value(K)
            own = y[mask]
            weight = 2.0 ** rng.integers(-1, 2, own.size)
            terms.append(
                nm.Constraint(g, equal=z)
                if equality
                else nm.LossTerm(g, "square", z - own / (2 * weight), weight)
            )
            parts.append((equality, own))
    C = S - sum(term.functional.adjoint(own).toarray() for term, (_, own) in zip(terms, parts, strict=True))
    problem = nm.Problem(C, terms)
    multipliers = nm.Multipliers(
        tuple(own for equality, own in parts if not equality),
        tuple(own for equality, own in parts if equality),
    )
    return problem, V, multipliers


def optimum(problem, V):
    return exact.objective(problem, V)


def check(seed):
    problem, V, y = drawn(seed)
    best = optimum(problem, V)
    assert exact.dual_value(problem, y) == best  # the pair is optimal, in fractions
    assert exact.is_psd(exact.slack(problem, y))
    found = nm.certify(problem, V, y, kind="factor", search=0, random_state=seed)
    assert found.certifies(1e-6), (seed, str(found))
    assert found.rigour == "proved"
    assert Fraction(found.bound) <= best
    rng = np.random.default_rng(seed)
    for size in (1e-9, 1e-4, 0.1):
        moved = V + size * rng.normal(size=V.shape)
        off = y.scaled(1.0)
        off = nm.Multipliers(
            *(
                tuple(p + size * rng.normal(size=p.size) for p in parts)
                for parts in (off.losses, off.constraints)
            )
        )
        for point, multipliers in ((V, off), (moved, y), (moved, off)):
            near = nm.certify(problem, point, multipliers, kind="factor", search=0, random_state=seed)
            if near.rigour == "proved" and np.isfinite(near.bound):
                assert Fraction(near.bound) <= best, (seed, size)
            if not problem.constraints and near.certifies(1e-6):
                worse = float(optimum(problem, point) - best)
                assert worse <= 1e-6 * (abs(near.objective) + abs(near.bound) + near.faint), (seed, size)
            if problem.constraints and near.certifies(1e-6):
                assert near.violation <= 1e-7


@pytest.mark.parametrize("first", range(0, QUICK, 15))
def test_an_optimal_pair_of_integers_is_certified(first):
    for seed in range(first, first + 15):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, 100))
def test_two_thousand_optimal_pairs_are_certified(first):
    for seed in range(first, min(first + 100, ALL)):
        check(seed)
