"""Minimum volume embedding: monotone, settled at a fixed point, and what it is for."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.embedding import held
from npkl_models.applications.volume import minimum_volume, volume_objective


def noisy_arc(n=30, seed=0):
    angle = np.linspace(0, 4.5, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * 3 + np.random.default_rng(seed).normal(
        scale=0.15, size=(n, 2)
    )


@pytest.mark.parametrize(
    ("backend", "extra", "tol"),
    [
        ("interior", {"C": 20.0}, 1e-5),
        ("simple_npkl", {"C": 1.0, "trace_bound": 3e4}, 3e-4),
        ("interior", {"C": np.inf}, 1e-5),
    ],
    ids=["soft", "bound", "hard"],
)
def test_steps_fall_to_a_fixed_point(backend, extra, tol):
    X = noisy_arc()
    run = minimum_volume(X, 1, n_neighbors=4, backend=backend, tol=tol, max_steps=60, **extra)
    assert run.settled
    assert run.solution.certificate.certifies(1e-6)
    assert np.all(np.diff(run.objectives) <= 0)
    again = nm.mve(
        X, 1, n_neighbors=4, directions=np.linalg.svd(run.solution.V - run.solution.V.mean(0))[0][:, :1], **extra
    ).solve(backend)  # fmt: skip
    assert again.objective == pytest.approx(run.objectives[-1], rel=10 * tol)
    assert volume_objective(again.problem, again.V, 1) == pytest.approx(again.objective, rel=10 * tol)


def test_the_objective_is_the_least_over_directions():
    """Ky Fan: the sum of the d largest eigenvalues is the largest tr P K; at others the problem asks for more."""
    X, rng = noisy_arc(), np.random.default_rng(1)
    V = rng.normal(size=(30, 4))
    V -= V.mean(axis=0)
    own = nm.mve(X, 2, directions=np.linalg.svd(V)[0][:, :2])
    least = volume_objective(own, V, 2)
    assert own.objective_of_factor(V) == pytest.approx(least)
    for _ in range(20):
        other = nm.mve(X, 2, directions=rng.normal(size=(30, 2)))
        assert other.objective_of_factor(V) >= least - 1e-9
        assert volume_objective(other, V, 2) == pytest.approx(least)


def test_few_steps_end_where_many_do():
    """L-BFGS between the steps saves most of them, and does not end higher."""
    X = noisy_arc()
    run = minimum_volume(X, 1, n_neighbors=4, C=20.0, backend="interior", tol=1e-5)
    problem, values = nm.mve(X, 1, n_neighbors=4, C=20.0), []
    for _ in range(3 * run.objectives.size):
        V = problem.solve("interior").V
        values.append(volume_objective(problem, V, 1))
        problem = nm.mve(X, 1, n_neighbors=4, C=20.0, directions=np.linalg.svd(V - V.mean(0))[0][:, :1])
    assert run.objectives[-1] <= values[-1] + 1e-6 * abs(values[-1])
    assert run.objectives.size <= 4


def test_it_holds_more_in_the_wanted_dimensions_than_unfolding():
    X = noisy_arc()
    run = minimum_volume(X, 1, n_neighbors=4, C=20.0, backend="interior")
    unfolded = nm.mvu(X, 4, weight=10.0).solve("interior")
    assert run.held[-1] > held(unfolded, 1)
    assert run.held[-1] > 0.99
    assert run.coordinates.shape == (30, 1)
    order = np.argsort(run.coordinates[:, 0])
    assert np.corrcoef(run.coordinates[order, 0], np.arange(30))[0, 1] > 0.98


def test_what_cannot_be_is_refused():
    X = noisy_arc()
    with pytest.raises(nm.ProblemError, match="size (.*) must"):
        nm.mve(X, 30)
    with pytest.raises(nm.ProblemError, match="directions must span 2"):
        nm.mve(X, 2, directions=np.ones((30, 2)))
    with pytest.raises(nm.ProblemError, match="directions must have shape"):
        nm.mve(X, 2, directions=np.ones((30, 3)))
    with pytest.raises(nm.ProblemError, match="C must be finite"):
        nm.mve(X, 2, C=np.inf, trace_bound=1.0)
    with pytest.raises(nm.ProblemError, match="max_steps must"):
        minimum_volume(X, 2, max_steps=0)
    line = np.arange(12.0)[:, None]
    assert minimum_volume(line, 2, n_neighbors=2, max_steps=3).coordinates.shape == (12, 2)
