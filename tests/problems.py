"""Problems that the tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import npkl_models as nm

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
    if form == "npkl":
        return nm.npkl(L, pairs, loss=loss)
    if form == "row":
        return nm.npkl(L, pairs, loss=loss, row_norm=0.9)
    p, n = float(form[1:]), pairs.n
    if form[0] == "B":
        return nm.simple_npkl(L, pairs, loss=loss, p=p, bound=float(n))
    penalty = 0.5 if p > 1 else 3.0 if loss == "linear" else 1.0  # linear: else unbounded at p = 1
    return nm.simple_npkl(L, pairs, loss=loss, p=p, penalty=penalty)


NONNEGATIVE = tuple(name for name, loss in nm.LOSSES.items() if loss.nonnegative)
KINDS = (
    "pcp",
    *(f"npkl:{name}" for name in NONNEGATIVE),
    *(f"row:{name}" for name in nm.LOSSES),
    *(f"B{p}:{name}" for p in (1, 2, 4) for name in nm.LOSSES),
    *(f"G{p}:{name}" for p in (1, 2, 4) for name in nm.LOSSES),
    *("B1.5:hinge", "B3:square", "G1.5:squared_hinge", "G3:linear"),
    *(f"basis:{kind}" for kind in ("pcp", "npkl:hinge", "npkl:squared_hinge", "B2:square", "G2:linear")),
)
"""Every loss with every kind of regulariser."""
