"""Derivatives of the optimum, against differences of problems solved again."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.sensitivity import CostGradient, optimum_sensitivity

N, WIDTH = 40, 1.2
LOSSES = ("pcp", "squared_hinge", "square", "huber", "squared_excess")


def points():
    """Points without equal distances, so that small changes keep the neighbours."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return rng.normal(size=(N, 4)) + 2.5 * np.eye(3, 4)[y], y


X, Y = points()
PAIRS = nm.Pairs.from_labels(Y, 20, 20, random_state=0)


def problem(loss="pcp", gamma=1.0, shift=0.1, sigma=WIDTH, scales=1.0, normalized=True):
    L = nm.laplacian(X * scales, 5, normalized=normalized, shift=shift, sigma=sigma)
    return nm.pcp(L, PAIRS, gamma=gamma) if loss == "pcp" else nm.npkl(L, PAIRS, loss=loss, gamma=gamma)


def slope(value, at, step=1e-5):
    return (value(at + step) - value(at - step)) / (2 * step)


@pytest.mark.parametrize("loss", [*LOSSES, "hinge", "absolute"])
def test_the_optimum_changes_as_its_derivatives_say(loss):
    def at(**changes):
        return problem(loss, **changes).solve("interior", tol=1e-10).certificate.upper

    found = optimum_sensitivity(problem(loss).solve("interior", tol=1e-10))
    assert found.gamma == pytest.approx(slope(lambda g: at(gamma=g), 1.0, 1e-3), rel=1e-3)
    assert found.cost.shift == pytest.approx(slope(lambda s: at(shift=s), 0.1, 1e-3), rel=1e-3)
    # the tangent is an upper bound on every other optimum
    for g in (0.2, 0.9, 3.0):
        assert at(gamma=g) <= found.value + (g - 1) * found.gamma + 1e-8


def test_edges_of_an_unnormalised_graph():
    S = nm.knn_affinity(X, 5, WIDTH)
    i, j = int(S.tocoo().row[0]), int(S.tocoo().col[0])

    def at(weight):
        changed = S.tolil()
        changed[i, j] = changed[j, i] = weight
        L = nm.laplacian(changed.tocsr(), normalized=False, shift=0.1)
        return nm.pcp(L, PAIRS).solve("interior", tol=1e-10)

    found = optimum_sensitivity(at(S[i, j]))
    known = slope(lambda w: at(w).certificate.upper, S[i, j], 1e-3)
    assert found.cost.edges([i], [j])[0] == pytest.approx(known, rel=1e-3, abs=1e-6)


def test_entries_of_the_cost_and_weights_of_pairs():
    whole = problem()
    found = optimum_sensitivity(whole.solve("interior", tol=1e-10))

    def at(**changes):
        return replace(whole, **changes).solve("interior", tol=1e-10).certificate.upper

    for e in (0, 7, 25):

        def heavier(w, e=e):
            weight = whole.terms[0].weight.copy()
            weight[e] = w
            return at(terms=(replace(whole.terms[0], weight=weight), *whole.terms[1:]))

        known = slope(heavier, float(whole.terms[0].weight[e]), 1e-3)
        assert found.weights[0][e] == pytest.approx(known, rel=1e-3, abs=1e-6)
    change = np.zeros((N, N))
    change[2, 5] = change[5, 2] = 1.0
    change[3, 3] = 0.5
    known = slope(lambda s: at(cost=whole.cost.toarray() + s * change), 0.0, 1e-3)
    assert found.cost.along(change) == pytest.approx(known, rel=1e-3, abs=1e-6)
    both = 2 * found.cost.entries([2], [5])[0] + 0.5 * found.cost.diagonal[3]
    assert found.cost.along(change) == pytest.approx(both)


def test_bad_input():
    solution = problem().solve("interior")
    with pytest.raises(nm.NPKLError, match="kernel to differentiate"):
        optimum_sensitivity(replace(solution, V=None))
    gradient = CostGradient(solution.V)
    with pytest.raises(nm.ProblemError, match=f"must have {N} rows"):
        gradient.along(np.eye(3))
