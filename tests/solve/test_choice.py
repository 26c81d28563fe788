"""The choice of a backend and its predictions."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.formulations.known_distances import radio_network
from npkl_models.routes import backends

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose

REGISTRY = backends()


def test_automatic_choice_gives_its_reason(small):
    name, reason = nm.choose_backend(small("pcp"))
    assert name == "interior"  # sure, and soon ready
    assert "by an interior-point method of our own" in reason
    name, reason = nm.choose_backend(nm.pcp(*side_information("digits")))
    assert name == "bcd"
    assert "block coordinate descent" in reason
    name, reason = nm.choose_backend(small("B2:hinge"))
    assert name == "simple_npkl"
    assert "got tr K^2" in reason
    assert "backend chosen: interior" in small("pcp").solve().message
    L, pairs = side_information("breast_cancer")
    assert nm.choose_backend(nm.simple_npkl(L, pairs, p=1.5, trace_bound=569.0))[0] == "simple_npkl"
    n = L.shape[0]
    odd = nm.Problem(
        L,
        nm.LossTerm(nm.DistanceDifferences(n, ([0], [1], [2])), "linear", 1.0),
        regularizer=nm.RowNormBound(1.0),
    )
    assert nm.choose_backend(odd)[0] == "burer_monteiro"


def test_predictions_grow_with_the_problem_and_refuse_the_hopeless(small):
    L, pairs = side_information("breast_cancer")
    large = nm.pcp(L, pairs)
    for name in REGISTRY:
        if "basis" in (REGISTRY[name].reason(large) or ""):
            continue
        little, much = REGISTRY[name].cost(small("pcp")), REGISTRY[name].cost(large)
        assert 0 < little.seconds < much.seconds
        assert 0 < little.bytes < much.bytes
    assert REGISTRY["sdp"].cost(large).seconds > 100 * REGISTRY["bcd"].cost(large).seconds
    name, reason = nm.choose_backend(large)
    assert name == "bcd"
    assert "sdp would take too long at order 569: " in reason
    majorised = nm.simple_npkl(*side_information("iris", 20), p=2.5, trace_bound=9.0)
    assert REGISTRY["sdp"].cost(majorised).seconds > 1


def test_the_choice_without_a_low_rank_route_is_spectral(small):
    L, pairs = side_information("iris", 20)
    problem = nm.simple_npkl(L, pairs, loss="hinge", p=1.5, trace_bound=9.0)
    name, reason = nm.choose_backend(problem)
    assert name == "simple_npkl"
    assert "bcd takes no regulariser, got tr K^1.5" in reason
    for other in ("burer_monteiro", "hybrid"):  # any p, not only integers
        assert problem.solve(other).objective == pytest.approx(problem.solve(name).objective, rel=1e-5)


@pytest.mark.parametrize("side", ["lower", "both"])
def test_distances_with_kinks_and_bounds_are_for_interior(side):
    """burer_monteiro takes several times as long there (docs/lab/localisation.md)."""
    (i, j, d), X = radio_network(60, 0, 0.4, noise=0.01, random_state=0)
    far = np.argwhere(np.triu(np.linalg.norm(X[:, None] - X, axis=2) > 0.4, 1))[:60].T
    high = 1.1 * np.linalg.norm(X[far[0]] - X[far[1]], axis=1)
    bounds = (*far, np.full(60, 0.4), high if side == "both" else np.full(60, np.inf))
    problem = nm.distances((i, j, d), 60, loss="absolute", bounds=bounds)
    assert nm.choose_backend(problem)[0] == "interior"
    found = problem.solve(tol=1e-6)
    assert [attempt.backend for attempt in found.attempts] == ["interior"]
    assert found.is_optimal(1e-6)


@pytest.mark.parametrize("n", [200, 500])
def test_distances_with_kinks_begin_with_interior_unless_there_are_anchors(n):
    """Without anchors interior was three to four times as quick at 200 and 300 points, with them it was not."""
    (i, j, d), X = radio_network(n, 0, {200: 0.22, 500: 0.14}[n], noise=0.01, random_state=0)
    assert nm.choose_backend(nm.distances((i, j, d), n, loss="absolute"))[0] == "interior"
    held = (range(n - 4, n), X[n - 4 :])
    problem = nm.distances((i, j, d), n, loss="absolute", anchors=held)
    assert nm.choose_backend(problem)[0] == "burer_monteiro"
