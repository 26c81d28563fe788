"""Multipliers times a number, such that the slack is orthogonal to the point."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify.lifting import scale_to_orthogonality

N = 60


def problem_and_point(loss, gamma=10.0):
    X = np.random.default_rng(1).standard_normal((N, 2))
    L = nm.laplacian(X, n_neighbors=5, shift=0.1)
    problem = nm.npkl(L, nm.Pairs.from_labels(np.arange(N) % 2, 40, 40, 3), loss=loss, gamma=gamma)
    return problem, problem.solve("burer_monteiro", tol=1e-9, random_state=0)


def lowered(problem, y, share):
    return problem.split_multipliers([own * (1 - share) for own in y.terms])


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_the_slack_becomes_orthogonal_and_the_bound_higher(loss):
    problem, best = problem_and_point(loss)
    y = lowered(problem, best.multipliers, 1e-3)
    found = scale_to_orthogonality(problem, y, best.V, problem.slack(y), 0.0)
    assert abs(np.sum(best.V * (problem.slack(found) @ best.V))) < 1e-9 * best.objective
    assert -problem.conjugate_sum(found) > -problem.conjugate_sum(y)
    assert -problem.conjugate_sum(found) <= best.objective * (1 + 1e-9)


def test_it_leaves_alone_what_it_must():
    problem, best = problem_and_point("hinge", gamma=1.0)
    y = lowered(problem, best.multipliers, 1e-3)
    edge = problem.split_multipliers([np.where(own < 0, -1.0, own) for own in y.terms])
    assert scale_to_orthogonality(problem, edge, best.V, problem.slack(y), 0.0) is None  # beyond the domain
    assert scale_to_orthogonality(problem, y, best.V, problem.slack(y), np.inf) is None  # too little to gain
    assert (
        scale_to_orthogonality(problem, y, best.V, problem.slack(problem.no_multipliers), 0.0) is None
    )  # too far away
    higher = lowered(problem, best.multipliers, -1e-3)
    assert (
        scale_to_orthogonality(problem, higher, best.V, problem.slack(higher), 0.0) is None
    )  # <S, VV'> is negative
    bounded = nm.npkl(problem.cost, nm.Pairs.from_labels(np.arange(N) % 2, 5, 5, 3), row_norm=1.0)
    zero = bounded.no_multipliers
    assert scale_to_orthogonality(bounded, zero, best.V, 1e-3 * bounded.cost, 0.0) is None
