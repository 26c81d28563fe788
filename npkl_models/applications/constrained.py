"""Clusters that keep pairs and sizes: an assignment of points to clusters, and k-means with it.

Must-links are contracted. Groups that cannot-links join are then assigned one after the other, the most
certain one first, and by a search if that fails (`npkl_models.model.colouring`), as in Wagstaff, Cardie,
Rogers & Schroedl, ICML 2001. Sizes make it an integer program, which HiGHS solves; without cannot-links it is
a transport problem, whose linear relaxation is exact (Bradley, Bennett & Demiriz, Microsoft Research
MSR-TR-2000-65).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from npkl_models.applications.clustering import centres_of, check_clusters, membership
from npkl_models.errors import ProblemError
from npkl_models.linalg import UNIT, Array, Index
from npkl_models.linalg.owned import whole_number
from npkl_models.model.colouring import coloured, neighbours, of_pairs, undecided
from npkl_models.model.pairs import Pairs


class Assignment:
    """The labels of low cost that keep pairs and sizes.

    Parameters
    ----------
    n, n_clusters : int
        Number of points and of clusters.
    pairs, names : Pairs and sequence, optional
        The pairs that labels keep, and names of the points for errors.
    size_min, size_max : int, optional
        Least and largest number of points of each cluster.

    A ProblemError names a chain of must-links that contradicts a cannot-link, cannot-links that need more
    clusters, as far as `diagnose` finds them, or sizes that do not fit.
    """

    def __init__(
        self, n: int, n_clusters: int, pairs: Pairs | None = None, size_min: int = 0,
        size_max: int | None = None, names: Any = None,
    ) -> None:  # fmt: skip
        k = n_clusters
        check_clusters(k, n)
        if pairs is not None and pairs.n != n:
            raise ProblemError(f"pairs must be over the {n} points, got pairs over {pairs.n}")
        for found in () if pairs is None else of_pairs(pairs, k, names):
            raise ProblemError(f"pairs must be such that {k} clusters can keep them, got: {found.message}")
        self.count, self.group = (n, np.arange(n)) if pairs is None else pairs.groups()
        self.gather = membership(self.group, self.count)
        self.size = np.bincount(self.group, minlength=self.count)
        self.given = pairs, names
        self.least, self.most = _sizes(n, k, size_min, size_max, self.size)
        self.near = [set[int]()] * self.count if pairs is None else neighbours(pairs)[0]

    def __call__(self, cost: Array) -> Index:
        """Labels (n,) of a low sum of costs (n x k), the lowest one if there are sizes and no cannot-links.

        A ProblemError says that there are none, or that the search for them is too long.
        """
        of_groups = np.asarray(self.gather @ cost)
        labels = self._by_turns(of_groups)
        sizes = np.bincount(labels, self.size, cost.shape[1])
        if sizes.min() < self.least or sizes.max() > self.most:
            labels = self._by_sizes(of_groups)
        return labels[self.group].astype(np.intp)

    def _by_turns(self, cost: Array) -> Index:
        """The groups in turn, the most certain one first; by a search of colours if one finds none."""
        labels, ranked = np.argmin(cost, axis=1), np.argsort(cost, axis=1, kind="stable")
        some = np.array([g for g, others in enumerate(self.near) if others], dtype=np.intp)
        least = np.sort(cost[some], axis=1)[:, :2]
        taken = dict[int, int]()
        for g in some[np.argsort(least[:, 0] - least[:, -1], kind="stable")].tolist():
            closed = {taken.get(other) for other in self.near[g]}
            free = [c for c in ranked[g].tolist() if c not in closed]
            if not free:
                k = cost.shape[1]
                colours = coloured(self.near, k, ranked)[0] or coloured(self.near, k)[0]
                return self._by_sizes(cost) if colours is None else np.array(colours, dtype=np.intp)
            taken[g] = labels[g] = free[0]
        return labels

    def _by_sizes(self, cost: Array) -> Index:
        """The labels of groups by an integer program, which is given up after its root."""
        (g, k), each = cost.shape, sp.eye_array(cost.shape[1])
        size = self.size[None].astype(float)
        rows = [
            LinearConstraint(sp.kron(sp.eye_array(g), np.ones((1, k))), 1, 1),
            LinearConstraint(sp.kron(size, each), self.least, self.most),
        ]
        ends = np.array([(a, b) for a, near in enumerate(self.near) for b in near if a < b], dtype=np.intp)
        if len(ends):
            both = membership(np.arange(ends.size) // 2, len(ends)) @ membership(ends.ravel(), g).T
            rows.append(LinearConstraint(sp.kron(both, each), -np.inf, 1))
        excess = (cost - cost.min(axis=1, keepdims=True)).ravel()
        found = milp(
            excess, integrality=np.ones(g * k), bounds=Bounds(0, 1), constraints=rows,
            options={"node_limit": 1},
        )  # fmt: skip
        if found.x is None:
            why = "none, as a search shows" if found.status == 2 else "a search that is too long"
            pairs, names = self.given
            unsure = "" if pairs is None else undecided(pairs, k, names)
            why += f"; a search does not decide these cannot-links: {unsure}" if unsure else ""
            raise ProblemError(
                f"pairs, size_min and size_max must be such that {k} clusters of {self.least} to {self.most} "
                f"points keep them, got {why}"
            )
        return np.argmax(found.x.reshape(g, k), axis=1)


def _sizes(n: int, k: int, size_min: int, size_max: int | None, groups: Index) -> tuple[int, int]:
    """The bounds on sizes, which are checked."""
    least = whole_number(size_min, "size_min", 0)
    most = n if size_max is None else whole_number(size_max, "size_max", 1)
    if not least * k <= n <= most * k:
        raise ProblemError(
            f"size_min and size_max must allow {n} points in {k} clusters, got {least} and {most}"
        )
    if groups.max() > most:
        raise ProblemError(f"size_max must be at least {groups.max()}, which must-links join, got {most}")
    return least, most


def log_costs(beliefs: Array) -> Array:
    """The costs (n x k) whose cheapest labels are the most probable ones by the beliefs (n x k)."""
    return -np.log(np.maximum(beliefs, UNIT))


def settled(V: Array, centres: Array, keep: Assignment, max_iter: int = 300) -> Index:
    """Labels (n,) that keep pairs and sizes, after rounds of k-means from centres (k x r)."""
    from sklearn.metrics import euclidean_distances

    old = np.full(len(V), -1)
    for _ in range(max_iter):
        labels = keep(euclidean_distances(V, centres, squared=True))
        if (labels == old).all():
            break
        old = labels
        centres = centres_of(V, labels, len(centres))
    return labels
