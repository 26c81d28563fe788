"""What is known of a problem is a function of it alone: certificates do not hang on what was solved before."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import npkl_models as nm

RING = 14


def ring(loss="squared_hinge", equalities=()):
    """Points on a ring without a shift: bounds need a strictly feasible dual point or a repair."""
    L = nm.laplacian(np.arange(RING)[:, None] * [[1.0, 0.3]], n_neighbors=2)
    y = np.arange(RING) % 2
    pairs = nm.Pairs.from_labels(y, 12, 12, random_state=1)
    problem = nm.npkl(L, pairs, loss=loss)
    return nm.Problem(problem.cost, (*problem.terms, *equalities))


def centred(n=8):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return nm.mvu(X, 3, reduce=False)


PROBLEMS = {"squared hinge": ring, "hinge": lambda: ring("hinge"), "distances": centred}


def said(problem, V):
    """Everything that a certificate says but for its seconds, as bytes."""
    found = nm.certify(problem, V, random_state=0)
    parts = [found.bound, found.upper, found.objective, found.min_eigenvalue, found.violation, found.gap]
    arrays = [found.point, *found.multipliers.terms, *found.multipliers.constraints]
    return (found.rigour, found.repair, np.array(parts).tobytes(), *(a.tobytes() for a in arrays))


@pytest.mark.parametrize("name", PROBLEMS)
def test_certificates_are_the_same_before_and_after_any_solve(name):
    V = np.random.default_rng(2).normal(size=(PROBLEMS[name]().n, 3))
    first = said(PROBLEMS[name](), V)
    problem = PROBLEMS[name]()
    for backend in ("interior", "burer_monteiro", "auto"):
        problem.solve(backend, max_iter=100, time_limit=60)
        assert said(problem, V) == first
    assert said(pickle.loads(pickle.dumps(problem)), V) == first


def test_certificates_are_the_same_in_threads():
    V = np.random.default_rng(2).normal(size=(RING, 3))
    first, problem = said(ring(), V), ring()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: said(problem, V), range(8))) == {first}


def test_facts_end_with_their_problem():
    import gc
    import weakref

    problem = ring()
    nm.certify(problem, np.ones((RING, 1)))
    assert problem.facts
    end = weakref.ref(problem)
    gc.disable()
    try:
        del problem
        assert end() is None
    finally:
        gc.enable()
