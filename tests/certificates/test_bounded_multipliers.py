"""Certificates of distances whose multipliers are bounded, beside lower and upper bounds on distances."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certificates.slater import raised_squares, strictly_feasible
from npkl_models.formulations.known_distances import radio_network

BACKENDS = ("burer_monteiro", "hybrid", "interior")


def network(loss, n=20, anchors=0, sides="both", unit=1.0, spread=0.0, weights=1.0, delta=None, seed=0):
    """A noisy network with bounds on pairs out of range; ``delta`` replaces the threshold of huber."""
    (i, j, d), X = radio_network(n - anchors, anchors, 0.5, noise=0.05, random_state=seed)
    rng = np.random.default_rng(seed)
    seen = np.zeros((n, n), dtype=bool)
    seen[i, j] = seen[j, i] = True
    a, b = np.nonzero(np.triu(~seen, 1))
    some = rng.permutation(a.size)[: 2 * n]
    a, b = a[some], b[some]
    true = np.linalg.norm(X[a] - X[b], axis=1)
    lower = np.minimum(0.5, true) * unit if sides != "upper" else 0.0
    upper = 1.1 * true * unit if sides != "lower" else np.inf
    weight = np.full(d.size, weights) if np.isscalar(weights) else 10.0 ** rng.uniform(*weights, d.size)
    held = {"anchors": (range(n - anchors, n), unit * X[n - anchors :])} if anchors else {}
    problem = nm.distances(
        (i, j, unit * d), n, loss=loss, weights=weight, bounds=(a, b, lower, upper),
        penalty=-spread * float(weight.sum()) / n, **held,
    )  # fmt: skip
    if delta is None:
        return problem
    own = replace(problem.terms[0], loss=nm.huber(delta * unit**2))
    return replace(problem, terms=(own, *problem.terms[1:]))


@pytest.mark.parametrize("sides", ["lower", "upper", "both"])
@pytest.mark.parametrize("anchors", [0, 4])
@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_the_backends_certify_one_optimum(loss, anchors, sides):
    table = nm.crosscheck(network(loss, anchors=anchors, sides=sides), backends=BACKENDS)
    assert table.agrees, str(table)
    for row in table.rows:
        assert row.status == "OPTIMAL", str(table)
        assert row.rigour == "proved", str(table)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("weights", "spread"), [(1.0, 0.0), (1.0, 0.02), ((-3, 3), 0.0)])
def test_weights_and_a_spread_leave_the_certificate(backend, weights, spread):
    found = network("absolute", weights=weights, spread=spread, sides="lower").solve(backend)
    assert found.status is nm.Status.OPTIMAL, found.summary()
    assert found.certificate.rigour == "proved"


@pytest.mark.parametrize("delta", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("anchors", [0, 4])
def test_units_of_length_leave_certificate_and_optimum(anchors, delta):
    """The huber loss has a threshold with a unit: it changes with the unit of lengths, and nothing else does."""
    for backend in ("burer_monteiro", "interior"):
        large, small = (
            network("huber", anchors=anchors, unit=unit, delta=delta).solve(backend)
            for unit in (1.0, 2.0**-20)
        )
        for found in (large, small):
            assert found.status is nm.Status.OPTIMAL, found.summary()
        assert small.objective * 2.0**80 == pytest.approx(large.objective, rel=1e-5)


@pytest.mark.parametrize("loss", ["absolute", "huber", "square"])
def test_the_center_is_inside_the_domains_and_its_slack_is_positive_definite(loss):
    problem = network(loss, anchors=4 if loss == "huber" else 0)
    y, T, mu, ray = strictly_feasible(problem)
    assert mu > 0
    assert not ray
    assert np.isfinite(problem.conjugate_sum(y))
    S = T[:, None] * problem.restrict(problem.slack(y)).toarray() * T
    assert np.linalg.eigvalsh(S)[0] >= mu
    assert np.isfinite(problem.conjugate_sum(raised_squares(problem)))


@pytest.mark.parametrize("loss", ["absolute", "huber"])
@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0])
def test_multipliers_that_are_off_give_a_bound_below_the_optimum(loss, size):
    problem = network(loss, sides="lower")
    best = problem.solve("interior")
    rng = np.random.default_rng(0)
    for _ in range(5):
        y = best.certificate.multipliers
        parts = [part + size * rng.standard_normal(part.size) * np.abs(part).max() for part in y.terms]
        found = nm.certify(problem, best.V, problem.split_multipliers(parts))
        assert found.rigour == "proved"
        assert found.bound <= best.certificate.upper
        assert problem.dual_bound(found.multipliers) <= best.certificate.upper * (1 + 1e-9)
    assert np.isfinite(found.bound)


def test_without_a_connected_graph_there_is_no_center():
    f = nm.SquaredDistances(4, (np.array([0, 2]), np.array([1, 3])))
    whole = nm.distances(([0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0]), loss="absolute")
    assert strictly_feasible(whole) is not None
    parted = replace(whole, terms=(nm.LossTerm(f, "absolute", 1.0),))
    assert strictly_feasible(parted) is None
