"""Infinite weights are constraints: they hold, the optimum is the exact one, and a contradiction is named."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations.comparisons import differences, ordinal_answers

STEPS = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
STEPS = np.minimum(STEPS, 12 - STEPS)
RING = nm.Pairs(12, np.argwhere(np.triu(STEPS == 1)), np.argwhere(np.triu(STEPS == 4)))
rng = np.random.default_rng(0)
X = rng.normal(size=(10, 2))
ANSWERS = ordinal_answers(X, 60, random_state=0)
NOISY = X @ X.T + rng.normal(size=(10, 10))
POINTS = rng.normal(size=(24, 3))
L = nm.laplacian(POINTS, n_neighbors=4, shift=0.1)
GIVEN = nm.Pairs.from_labels(np.arange(24) % 3, 6, 6, random_state=0)
TERMS = {
    "pcp": lambda pairs: nm.pcp(L, pairs, cannot=-0.5),
    "hinge": lambda pairs: nm.npkl(L, pairs, loss="hinge", row_norm=2.0),
    "simple_npkl": lambda pairs: nm.simple_npkl(L, pairs, loss="huber", trace_bound=200.0),
}


def agree(problem):
    found, exact = problem.solve(), problem.solve("sdp")
    assert found.is_optimal(1e-6)
    assert exact.is_optimal(1e-5)
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)
    return found


@pytest.mark.parametrize("C", [(np.inf, 5.0), (50.0, np.inf), np.inf, 3.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_similarities_hold(C, loss):
    weights = np.where(np.arange(len(RING)) % 2, np.inf if C == 3.0 else 1.0, 1.0)
    found = agree(nm.psde(nm.Pairs(12, RING.must_link, RING.cannot_link, weights), C=C, loss=loss))
    d = np.diag(found.K)
    short = RING.sign * (d[RING.i] + d[RING.j] - 2 * found.K[RING.i, RING.j] - 1)
    hard = np.isinf(np.repeat(np.broadcast_to(C, 2), len(RING) // 2) * weights)
    assert short[hard].max() <= 1e-6


def test_similarities_that_cannot_hold_are_named():
    pairs = nm.Pairs(3, [(0, 1), (1, 2)], [(0, 2)])
    far = nm.psde(pairs, C=np.inf)
    tight = nm.Constraint(nm.SquaredDistances(3, ([0], [2])), upper=0.5)
    found = nm.Problem(far.cost, [*far.terms, tight], basis=far.basis).solve()
    assert found.status is nm.Status.INFEASIBLE


def test_known_entries_are_met():
    known = (NOISY + NOISY.T) / 2
    np.fill_diagonal(known, 1.0)
    weights = np.where(np.eye(10) > 0, np.inf, 1.0)
    found = agree(nm.kernel_completion(known, weights=weights))
    np.testing.assert_allclose(np.diag(found.K), np.diag(known), rtol=1e-6)
    low = nm.kernel_completion(known).solve()
    assert low.objective < 0.9 * found.objective


def test_an_entry_with_a_finite_and_an_infinite_weight_is_refused():
    with pytest.raises(nm.ProblemError, match="same weight in both orders"):
        nm.kernel_completion(([0, 1], [1, 0], [0.5, 0.5]), weights=[1.0, np.inf])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_required_answers_hold(loss, share):
    weights = np.where(np.arange(60) < share * 60, np.inf, 1.0)
    found = agree(nm.ordinal(ANSWERS, 10, loss=loss, weights=weights))
    z = differences(ANSWERS, 10).value(found.K)
    assert z[weights == np.inf].max() <= -1 + 1e-6


def test_contradicting_answers_are_infeasible():
    opposite = nm.ordinal([(0, 1, 2), (0, 2, 1)], 3, weights=[np.inf, np.inf])
    circle = nm.ordinal([(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 2, 3)], 4, weights=[np.inf] * 4)
    for problem in (opposite, circle):
        assert problem.solve().status is nm.Status.INFEASIBLE
        assert any(found.kind == "contradiction" for found in problem.diagnose())
    with pytest.raises(nm.ProblemError, match="must be positive"):
        nm.ordinal([(0, 1, 2)], 3, weights=[np.nan])


def weighted(weight, share):
    return nm.Pairs(24, GIVEN.must_link, GIVEN.cannot_link, np.where(np.arange(12) < 12 * share, weight, 1.0))


@pytest.mark.parametrize("share", [0.7, 1.0])
@pytest.mark.parametrize("name", TERMS)
def test_pairs_hold_as_the_limit_of_large_weights(name, share):
    found, near = agree(TERMS[name](weighted(np.inf, share))), TERMS[name](weighted(1e6, share)).solve("sdp")
    assert near.certificate.bound <= found.objective * (1 + 1e-6)
    assert near.objective == pytest.approx(found.objective, rel=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "linear"])
def test_pairs_that_no_loss_can_hold_are_refused(loss):
    with pytest.raises(nm.ProblemError, match=f"the {loss} loss, which has no known zero, got 6 infinite"):
        nm.simple_npkl(L, weighted(np.inf, 0.5), loss=loss, trace_bound=9.0)
