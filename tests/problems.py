"""Problems that the tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

import npkl_models as nm

SHARED_WEIGHT = 30.0  # of one slack for all pairs: at 1 the optimum is zero, where all pairs are tied
PAPER_SETS = ("iris", "wine", "glass", "soybean_small")


def side_information(name: str, n: int | None = None, data_home: Path | None = None, seed: int = 0):
    """Laplacian (5-NN, delta = 0.1) and 0.6 n + 0.6 n pairs of a data set or a random part of it."""
    data = nm.datasets.load(name, data_home=data_home)
    chosen = np.random.default_rng(seed).permutation(data.n)[: n or data.n]
    X, y = data.X[chosen], data.y[chosen]
    count = int(0.6 * len(y))
    return nm.laplacian(X, 5, shift=0.1), nm.Pairs.from_labels(y, count, count, seed)


def build(kind: str, L, pairs) -> nm.Problem:
    """A problem by a short name: "pcp", "npkl:hinge", "row:linear", "B2:square", "G4:hinge", "basis:pcp"."""
    if kind == "pcp":
        return nm.pcp(L, pairs)
    form, loss = kind.split(":", 1)
    if form == "basis":
        return build(loss, L, pairs).with_basis(nm.eigenbasis(L, 8))
    weight = SHARED_WEIGHT if loss == "shared_slack" else 1.0
    if form == "npkl":
        return nm.npkl(L, pairs, loss=loss, gamma=weight)
    if form == "row":
        return nm.npkl(L, pairs, loss=loss, gamma=weight, row_norm=0.9)
    p, n = float(form[1:]), pairs.n
    if form[0] == "B":
        return nm.simple_npkl(L, pairs, loss=loss, C=weight, p=p, trace_bound=float(n))
    penalty = 0.5 if p > 1 else 3.0 if loss == "linear" else 1.0  # linear: else unbounded at p = 1
    return nm.simple_npkl(L, pairs, loss=loss, C=weight, p=p, penalty=penalty)


def digits(per_class=200):
    """Points and labels of the first so many digits of each class."""
    data = nm.datasets.load("digits")
    chosen = np.concatenate([np.flatnonzero(data.y == c)[:per_class] for c in range(10)])
    return data.X[chosen], data.y[chosen]


def weak_groups(n=1_200, groups=6, size=8, weak=1e-4, seed=0):
    """Laplacian of a random graph with groups of points on weak edges; its null vector; and the groups."""
    rng = np.random.default_rng(seed)
    bulk = n - groups * size
    ends = rng.integers(0, bulk, (2, 8 * bulk))
    A = sp.coo_array((np.full(8 * bulk, 0.1), ends), shape=(n, n)).tolil()
    members = []
    for g in range(groups):
        own = bulk + g * size + np.arange(size)
        A[np.ix_(own, own)] = 0.2
        A[own[0], rng.integers(bulk)] = weak
        members.append(own)
    A = sp.csr_array(A)
    A = A + A.T
    A.setdiag(0)
    return sp.csr_array(sp.diags_array(A.sum(axis=1)) - A), np.ones((n, 1)), members


def outlying(n=900, seed=0):
    """Pcp on two Gaussians with far groups of a few points."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 3)) + 3 * rng.integers(0, 2, (n, 1)), np.zeros((0, 3))])
    for g in range(8):
        X = np.vstack([X, rng.normal(size=(6, 3)) * 0.2 + 9 * np.array([np.cos(g), np.sin(g), g % 2])])
    y = (X[:, 0] > 1.5).astype(int)
    m = X.shape[0]
    return nm.pcp(nm.laplacian(X, 6), nm.Pairs.from_labels(y, m // 2, m // 2, 0))


SEPARABLE = {name: loss for name, loss in nm.LOSSES.items() if loss.separable}
NONNEGATIVE = tuple(name for name, loss in SEPARABLE.items() if loss.nonnegative)
SHARED = (
    "npkl:shared_slack", "row:shared_slack", "B1:shared_slack", "B2:shared_slack", "B4:shared_slack",
    "G2:shared_slack", "basis:B2:shared_slack",
)  # fmt: skip
KINDS = (
    "pcp",
    *(f"npkl:{name}" for name in NONNEGATIVE),
    *(f"row:{name}" for name in SEPARABLE),
    *(f"B{p}:{name}" for p in (1, 2, 4) for name in SEPARABLE),
    *(f"G{p}:{name}" for p in (1, 2, 4) for name in SEPARABLE),
    *SHARED,
    *("B1.5:hinge", "B3:square", "G1.5:squared_hinge", "G3:linear"),
    *(f"basis:{kind}" for kind in ("pcp", "npkl:hinge", "npkl:squared_hinge", "B2:square", "G2:linear")),
)
"""Every loss with every kind of regulariser."""
