"""Similar points near, dissimilar ones apart: exact routes agree, closed forms hold, what is unbounded is refused."""

import numpy as np
import pytest

import npkl_models as nm

N = 14


def some_pairs():
    rng = np.random.default_rng(0)
    must = [(i, i + 1) for i in range(N - 1)] + [(0, 5), (3, 9)]
    cannot = [(i, j) for i in range(N) for j in range(i + 2, N) if (i, j) not in must and rng.random() < 0.3]
    weights = rng.uniform(0.5, 2.0, len(must) + len(cannot))
    return nm.Pairs(N, must, cannot, weights)


FEATURES = np.random.default_rng(1).normal(size=(N, 5)) + 3.0


def printed(K, pairs, C, loss):
    """The formula of the docstring."""
    power = 2 if loss == "squared_hinge" else 1
    d = np.diag(K)
    D = d[pairs.i] + d[pairs.j] - 2 * K[pairs.i, pairs.j]
    short = np.maximum(0.0, pairs.sign * (D - 1)) ** power
    return np.trace(K) - C * pairs.confidence @ short


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_objective_is_the_formula(loss):
    pairs = some_pairs()
    problem = nm.psde(pairs, C=7.0, trace_bound=4.0, loss=loss)
    V = np.random.default_rng(3).normal(size=(N, 3))
    V -= V.mean(axis=0)
    assert problem.objective_of_factor(V) == pytest.approx(-printed(V @ V.T, pairs, 7.0, loss))


@pytest.mark.parametrize(("C", "loss"), [(2.0, "squared_hinge"), (1.0, "hinge")])
def test_two_points_have_a_closed_form(C, loss):
    """tr K = D / 2: with squares D = 1 + 1 / (4 C), with the hinge D = 1 as soon as C is above 1 / 2."""
    problem = nm.psde(nm.Pairs(2, [(0, 1)], None), C=C, loss=loss)
    found = problem.solve()
    D = np.sum((found.V[0] - found.V[1]) ** 2)
    assert pytest.approx(1 + 1 / (4 * C) if loss == "squared_hinge" else 1.0, rel=1e-5) == D


def test_a_chain_is_a_line():
    """Steps alone are similar: the largest variance is that of a straight line of steps of nearly one."""
    found = nm.psde(nm.Pairs(6, [(i, i + 1) for i in range(5)], None), C=1e6).solve("sdp")
    line = np.arange(6) - 2.5
    np.testing.assert_allclose(found.K, np.outer(line, line), atol=1e-3)


def test_features_are_centred_and_spanned():
    doubled = np.column_stack([FEATURES, FEATURES[:, 0], np.ones(N)])
    problem = nm.psde(some_pairs(), features=doubled)
    assert problem.order == 5
    np.testing.assert_allclose(problem.basis.dense.sum(axis=0), 0, atol=1e-12)
    Q = problem.basis.dense
    centred = FEATURES - FEATURES.mean(axis=0)
    np.testing.assert_allclose(Q @ (Q.T @ centred), centred, atol=1e-10)
    same = nm.psde(some_pairs(), features=nm.Basis(np.linalg.qr(centred)[0]))
    V = centred @ np.random.default_rng(0).normal(size=(5, 2))
    assert same.violation(V) < 1e-10
    assert same.objective_of_factor(V) == problem.objective_of_factor(V)


def test_what_is_unbounded_is_refused_with_its_remedy():
    apart = nm.Pairs(5, [(0, 1), (2, 3)], [(0, 2)])
    with pytest.raises(
        nm.ProblemError, match=r"must join all points, got 3 components .* give trace_bound=B"
    ):
        nm.psde(apart)
    assert nm.psde(apart, trace_bound=2.0).solve("simple_npkl").is_optimal(1e-6)
    assert nm.psde(nm.Pairs(3, None, [(0, 1)]), trace_bound=2.0).solve("sdp").is_optimal(1e-6)
    still = np.column_stack([[0.0, 0, 1, 1, 1], [0.0, 1, 2, 3, 5]])
    with pytest.raises(
        nm.ProblemError, match="all 2 directions of the features, got one along which no similar pair differs"
    ):
        nm.psde(apart, features=still)
    with pytest.raises(nm.ProblemError, match="features must tell points apart, got 1 columns"):
        nm.psde(apart, features=np.full((5, 1), 0.1))
    for wrong in (np.ones((4, 2)), np.full((5, 2), np.nan), np.ones(5)):
        with pytest.raises(nm.ProblemError, match=r"features must have shape \(n, d\) with n = 5"):
            nm.psde(apart, features=wrong)
    with pytest.raises(nm.UnsupportedError, match="unknown loss of psde 'square'"):
        nm.psde(apart, loss="square", trace_bound=1.0)


@pytest.mark.parametrize("with_features", [False, True])
def test_the_weight_of_the_hinge_is_refused_just_where_it_is_too_small(with_features):
    """Below the threshold the exact program proves the problem unbounded; above it there is an optimum."""
    pairs, given = some_pairs(), {"features": FEATURES} if with_features else {}
    must = pairs.must_link
    L = nm.SquaredDistances(N, tuple(must.T)).adjoint(pairs.confidence[: len(must)]).toarray()
    if with_features:
        Q = nm.psde(pairs, **given).basis.dense
        threshold = 1 / np.linalg.eigvalsh(Q.T @ L @ Q)[0]
    else:
        threshold = 1 / np.linalg.eigvalsh(L)[1]
    with pytest.raises(nm.ProblemError, match=r"C times the Laplacian .* multiply C by 1\.0"):
        nm.psde(pairs, C=0.99 * threshold, loss="hinge", **given)
    held = nm.psde(pairs, C=1.01 * threshold, loss="hinge", **given)
    assert held.solve("sdp").is_optimal(1e-5)
    shorter = nm.Problem(held.cost - 0.05 * np.eye(N), held.terms, basis=held.basis)
    assert shorter.solve("sdp").status is nm.Status.UNBOUNDED
