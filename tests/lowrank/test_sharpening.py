"""Multipliers that are sharper than slopes: a better bound near the optimum, nothing at the optimum."""

from functools import cache

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.lowrank.factor.burer_monteiro import sharpened, sharpens
from npkl_models.lowrank.factor.objective import FactorObjective

N = 120


def stated(form, gamma=100.0):
    X = np.random.default_rng(4).standard_normal((N, 3))
    L = nm.laplacian(X, n_neighbors=6, shift=0.1)
    pairs = nm.Pairs.from_labels(np.arange(N) % 2, 60, 60, 2)
    return nm.pcp(L, pairs, gamma=gamma) if form == "pcp" else nm.npkl(L, pairs, loss=form, gamma=gamma)


@cache
def solved(form):
    problem = stated(form)
    return problem, problem.solve("burer_monteiro", tol=1e-10, random_state=0)


def near(form, size, random_state=0):
    """An objective, and a point at some distance from the optimum."""
    problem, best = solved(form)
    f = FactorObjective(problem)
    noise = np.random.default_rng(random_state).standard_normal(best.V.shape)
    return f, f.at(best.V + size * noise)


@pytest.mark.parametrize(
    ("form", "size", "share"),  # the share of the plain gap: measured are 0.005, 0.08, 0.1 and 0.6
    [("pcp", 1e-4, 0.1), ("pcp", 1e-2, 0.4), ("squared_hinge", 1e-4, 0.5), ("squared_hinge", 1e-2, 1.0)],
)
def test_the_bound_is_higher_and_never_above_the_optimum(form, size, share):
    problem, best = solved(form)
    before = after = 0.0
    for seed in range(3):
        f, point = near(form, size, seed)
        assert sharpens(f, point)
        plain = nm.certify(problem, point.V, f.multipliers(point), tol=1e-9, search=0)
        slope = sharpened(f, point)
        y = problem.split_multipliers([slope[channel.part] for channel in f.channels])
        sharp = nm.certify(problem, point.V, y, tol=1e-9, search=0)
        assert sharp.bound <= best.objective + 1e-9 * abs(best.objective)
        before += best.objective - plain.bound
        after += best.objective - sharp.bound
    assert after < share * before


def test_nothing_is_left_to_sharpen_at_an_optimum():
    f, point = near("pcp", 0.0)
    assert np.max(np.abs(sharpened(f, point) - point.slope)) < 1e-4 * np.max(np.abs(point.slope))


def test_problems_without_curved_losses_are_left_alone():
    f, point = near("pcp", 0.0)
    flat = nm.npkl(
        f.problem.cost, nm.Pairs.from_labels(np.arange(N) % 2, 20, 20, 2), loss="linear", row_norm=1.0
    )
    g = FactorObjective(flat)
    assert not sharpens(g, g.at(point.V))
