"""Random comparisons and sensors as plain numbers, and CVXPY models of them written from the papers' formulas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import npkl_models as nm
from differential.models import Numbers
from npkl_models.linalg import cholesky

COMPARED = ("logistic", "hinge", "squared_hinge", "absolute", "huber")
LIBRARIES = {"CHOLMOD": 0, "SuperLU": float("inf")}  # the order from which on CHOLMOD is tried


def draw_comparisons(rng: np.random.Generator) -> Numbers:
    """Comparisons of distances with a positive cost of every point, which bcd takes."""
    n = int(rng.integers(3, 9))
    out = Numbers(float(10 ** rng.uniform(-2, 1)) * np.eye(n))
    if rng.random() < 0.3:  # a cost that is no multiple of the identity
        B = rng.normal(size=(n, n))
        out.C = out.C + 0.1 * B @ B.T / n
    for _ in range(int(rng.integers(1, 3))):
        m = int(rng.integers(1, 4 * n))
        triples = np.array([rng.choice(n, 3, replace=False) for _ in range(m)])
        if rng.random() < 0.3:  # repeated answers
            triples = triples[rng.integers(m, size=m)]
        loss = str(rng.choice(COMPARED))
        sign = loss in ("logistic", "hinge", "squared_hinge")
        target = -np.ones(m) if sign and rng.random() < 0.7 else rng.choice([-1.0, 1.0], m)
        weight = float(10 ** rng.uniform(-1, 1)) * rng.uniform(0.5, 2.0, m)
        out.terms.append(("differences", tuple(triples.T), loss, target, weight))
    return out


@dataclass
class Sensors:
    """Measured distances as numbers: (i, j, d, w), the anchors are the last points."""

    n: int
    anchors: np.ndarray  # positions (m, d), perhaps of no anchor
    measured: tuple
    loss: str
    penalty: float
    bounds: tuple | None = None
    Q: None = None  # as `Numbers` has it


def draw_sensors(rng: np.random.Generator) -> Sensors:
    """Sensors with noisy distances that join them, with anchors in the plane or without."""
    d, n = 2, int(rng.integers(4, 9))
    m = int(rng.choice([0, 3, 4]))
    X = rng.normal(size=(n + m, d))
    i, j = np.triu_indices(n + m, 1)
    tree = (j == i + 1) | ((i == 0) & (j == n + m - 1))
    own = (tree | (rng.random(i.size) < 0.5)) & (i < n)
    i, j = i[own], j[own]
    noise = float(rng.choice([0.0, 0.02, 0.2]))
    length = np.linalg.norm(X[i] - X[j], axis=1) * np.abs(1 + noise * rng.normal(size=i.size))
    weight = 10.0 ** (rng.uniform(-1, 1, i.size) if rng.random() < 0.3 else np.zeros(i.size))
    bounds = None
    if rng.random() < 0.4:
        a, b = np.triu_indices(n + m, 1)
        some = np.flatnonzero(a < n)
        some = some[rng.permutation(some.size)[:3]]
        far = np.linalg.norm(X[a[some]] - X[b[some]], axis=1)
        bounds = (a[some], b[some], rng.uniform(0.0, 1.2, some.size) * far, 1.3 * far)
    penalty = float(rng.choice([0.0, 0.01, 0.3, -0.01]))
    loss = str(rng.choice(["square", "absolute", "huber"], p=[0.6, 0.2, 0.2]))
    return Sensors(n + m, X[n:], (i, j, length, weight), loss, penalty, bounds)


def our_sensors(given: Sensors) -> nm.Problem:
    """The problem of the library."""
    i, j, d, w = given.measured
    m = len(given.anchors)
    held = {"anchors": (np.arange(given.n - m, given.n), given.anchors)} if m else {}
    return nm.distances(
        (i, j, d), given.n, loss=given.loss, weights=w, penalty=given.penalty, bounds=given.bounds, **held
    )


def model_of_sensors(given: Sensors) -> cp.Problem:
    """Biswas and Ye: Z = [I X'; X Y] is PSD; without anchors, a centred kernel.

    The anchors are moved such that their mean is zero, because the penalty is of tr Y.
    """
    m, d = given.anchors.shape
    s = given.n - m
    constraints = []
    if m:
        A = given.anchors - given.anchors.mean(axis=0)
        Z = cp.Variable((d + s, d + s), PSD=True)
        constraints.append(Z[:d, :d] == np.eye(d))
        rows = [np.concatenate([np.zeros(d), np.eye(s)[k]]) for k in range(s)]
        rows += [np.concatenate([a, np.zeros(s)]) for a in A]
    else:
        Z = cp.Variable((s, s), PSD=True)
        constraints.append(cp.sum(Z, axis=0) == 0)
        rows, d = list(np.eye(s)), 0

    def squared(i, j):
        apart = [rows[int(a)] - rows[int(b)] for a, b in zip(i, j, strict=True)]
        return cp.hstack([x @ Z @ x for x in apart])

    i, j, length, w = given.measured
    error = squared(i, j) - length**2
    total = given.penalty * cp.trace(Z[d:, d:])
    losses = {"square": cp.square, "absolute": cp.abs, "huber": lambda z: cp.huber(z, 0.5)}
    total += cp.sum(cp.multiply(w, losses[given.loss](error)))
    if given.bounds is not None:
        a, b, low, high = given.bounds
        z = squared(a, b)
        total += cp.sum(cp.square(cp.pos(z - high**2))) + cp.sum(cp.square(cp.pos(low**2 - z)))
    return cp.Problem(cp.Minimize(total), constraints)


@contextmanager
def factorised_by(library: str) -> Iterator[None]:
    """Sparse factors by CHOLMOD at any order, or by SuperLU."""
    before = cholesky.WORTH
    cholesky.WORTH = LIBRARIES[library]
    try:
        yield
    finally:
        cholesky.WORTH = before
