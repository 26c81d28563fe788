"""Comparisons that bcd takes, and sensors whose sparse factors either library makes, thought up to break them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import npkl_models as nm
from adversary.strategies import EXPONENTS, UNITS

COMPARED = ("logistic", "hinge", "squared_hinge", "absolute", "huber", "square", "linear")


@st.composite
def comparisons(draw, largest: int = 6):
    """Comparisons of three different points with a positive cost of every point, at odd scales."""
    n = draw(st.integers(3, max(3, largest)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    C = 10.0 ** draw(EXPONENTS) * np.eye(n)
    if draw(st.sampled_from([False, False, True])):  # costs of all sizes
        C = C * 10.0 ** rng.uniform(-8, 2, n)
    unit, terms = draw(st.sampled_from(UNITS)), []
    for _ in range(draw(st.integers(1, 2))):
        m = draw(st.integers(1, 12))
        rows = np.array([rng.choice(n, 3, replace=False) for _ in range(m)])
        if draw(st.booleans()):  # repeated answers, and answers that contradict each other
            rows = np.concatenate([rows, rows[:2], rows[:2][:, [0, 2, 1]]])
        loss = draw(st.sampled_from(COMPARED))
        target = np.where(rng.random(len(rows)) < draw(st.sampled_from([0.0, 0.5])), 1.0, -1.0)
        if not nm.LOSSES[loss].sign_targets:
            target = target * 10.0 ** draw(st.sampled_from([0, 0, -4, 4]))
        weight = 10.0 ** draw(EXPONENTS) * rng.uniform(0.5, 2.0, len(rows)) * unit
        terms.append(nm.LossTerm(nm.DistanceDifferences(n, tuple(rows.T)), loss, target, weight))
    R = nm.NoRegularizer()
    if draw(st.sampled_from([False, False, True])):
        R = nm.TracePower(draw(st.sampled_from([1.0, 2.0, 3.0])), bound=10.0 ** draw(EXPONENTS))
    return nm.Problem(unit * C, terms, R)


@st.composite
def sensors(draw, largest: int = 6):
    """Distances of sensors, with anchors or none, bounds, repeated places, and odd lengths and weights."""
    n, m = draw(st.integers(3, max(3, largest))), draw(st.sampled_from([0, 3, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    unit = draw(st.sampled_from([1.0, 1.0, 1.0, 1e-6, 1e6]))
    X = rng.normal(size=(n + m, 2))
    if draw(st.sampled_from([False, False, True])):  # two sensors at one place
        X[1] = X[0]
    i, j = np.triu_indices(n + m, 1)
    own = (i < n) & ((j == i + 1) | (rng.random(i.size) < draw(st.sampled_from([0.0, 0.3, 1.0]))))
    i, j = i[own], j[own]
    d = np.linalg.norm(X[i] - X[j], axis=1) * np.abs(
        1 + draw(st.sampled_from([0.0, 0.1, 1.0])) * rng.normal(size=i.size)
    )
    weights = 10.0 ** (rng.uniform(-3, 3, i.size) if draw(st.booleans()) else np.zeros(i.size))
    bounds = None
    if draw(st.booleans()):
        a, b = rng.integers(n, size=2), n + m - 1 - rng.integers(2, size=2)
        a, b = a[a != b], b[a != b]
        far = np.linalg.norm(X[a] - X[b], axis=1)
        bounds = (a, b, unit * far * draw(st.sampled_from([0.0, 0.9, 1.5])), unit * far * 1.5)
    held = {"anchors": (np.arange(n, n + m), unit * X[n:])} if m else {}
    loss = draw(st.sampled_from(["square", "square", "absolute", "huber"]))
    penalty = draw(st.sampled_from([0.0, 0.0, 1e-3, 1.0, -1e-3])) * unit**2
    return nm.distances(
        (i, j, unit * d), n + m, loss=loss, weights=weights, bounds=bounds, penalty=penalty, **held
    )
