"""Must-link and cannot-link pairs: the side information of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components, shortest_path

from npkl_models.errors import PairsError, ProblemError, chosen
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import (
    Owner,
    Seed,
    finite,
    frozen,
    generator,
    real_array,
    real_number,
    set_fields,
    whole_array,
    whole_number,
)
from npkl_models.model.sampling import labelled, pairs_per_class, signs, uniform_pairs


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Pairs(Owner):
    """Must-links and cannot-links over n points; each pair is validated and stored once, with i < j.

    Parameters
    ----------
    n : int
        Number of points.
    must_link, cannot_link : array_like of int, shape (m, 2)
        Pairs of indices. The order within a pair does not matter, and a repeated pair counts once.
    weights : array_like of shape (n_must + n_cannot,), optional
        Positive confidence of each pair, must-links first. It multiplies the loss of the pair; a pair of
        the weight ``numpy.inf`` must hold. If weights are given, no pair may be repeated.

    Raises
    ------
    ProblemError
        If a pair joins a point to itself, if an index is out of range, if a pair is both a must-link and a
        cannot-link, or if weights are invalid. The message names the pairs.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Pairs(5, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 4)]).sign
    array([ 1.,  1., -1.])
    >>> nm.Pairs.from_labels([0, 0, 0, 1, 1], n_must=2, n_cannot=3, random_state=0)
    Pairs(n=5, 2 must-links, 3 cannot-links)
    """

    n: int
    must_link: Index
    cannot_link: Index
    weights: Array | None

    def __init__(
        self, n: int, must_link: ArrayLike | None, cannot_link: ArrayLike | None,
        weights: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        n = whole_number(n, "the number of points of pairs", 2)
        must = _ordered(must_link, "must_link", n)
        cannot = _ordered(cannot_link, "cannot_link", n)
        if not len(must) + len(cannot):
            raise ProblemError("pairs must hold at least one must-link or cannot-link, got none")
        given = len(must) + len(cannot)
        must, cannot = _distinct(must), _distinct(cannot)
        both = _codes(must, n)[np.isin(_codes(must, n), _codes(cannot, n))]
        if both.size:
            named = [(int(c) // n, int(c) % n) for c in both[:5]]
            raise PairsError("a pair must not be both a must-link and a cannot-link, got", named)
        if weights is not None:
            weights = real_array(weights, "weights of pairs").ravel()
            if given != len(must) + len(cannot):
                raise ProblemError("pairs with weights must not be repeated, got repeated pairs")
            if weights.size != given or not (weights > 0).all():
                raise ProblemError(
                    f"weights must be {given} positive numbers, infinite for pairs that must hold, got "
                    f"{weights.size} in all, {int(np.sum(~(weights > 0)))} of them not positive"
                )
        set_fields(self, *map(frozen, (n, must, cannot, weights)))

    @classmethod
    def from_labels(cls, y: ArrayLike, n_must: int, n_cannot: int, random_state: Seed = None) -> Pairs:
        """Draw distinct pairs uniformly: must-links within a class, cannot-links across classes.

        The labels -1, None, NaN, NA and empty text mark points of unknown class, which get no pair. More
        pairs than the labels have are refused.
        """
        known, labels = labelled(y)
        must, cannot = uniform_pairs(labels, n_must, n_cannot, generator(random_state))
        return cls(known.size, np.flatnonzero(known)[must], np.flatnonzero(known)[cannot])

    @classmethod
    def per_class(cls, y: ArrayLike, n_must: int, n_cannot: int, random_state: Seed = None) -> Pairs:
        """Draw ``n_must`` must-links in each class and ``n_cannot`` cannot-links between every two classes.

        Labels are as in `from_labels`. More pairs than two classes have are refused.
        """
        known, labels = labelled(y)
        given = np.asarray(y, dtype=object).ravel()[known]
        names = [repr(given[k]) for k in np.unique(labels, return_index=True)[1]]
        must, cannot = pairs_per_class(labels, names, n_must, n_cannot, generator(random_state))
        return cls(known.size, np.flatnonzero(known)[must], np.flatnonzero(known)[cannot])

    @classmethod
    def from_arrays(cls, pairs: ArrayLike, y: ArrayLike, n: int) -> Pairs:
        """Pairs from (m, 2) indices and answers y: +1, True, "must" or "same", and -1, 0, "cannot" ..."""
        table, sign = whole_array(pairs, "pairs of shape (m, 2)"), signs(y, "y")
        if table.ndim != 2 or table.shape != (sign.size, 2):
            raise ProblemError(
                "pairs must have shape (m, 2) and y must hold m answers, got shapes "
                f"{table.shape} and {sign.shape}"
            )
        return cls(n, table[sign > 0], table[sign < 0])

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)

    def __repr__(self) -> str:
        return f"Pairs(n={self.n}, {len(self.must_link)} must-links, {len(self.cannot_link)} cannot-links)"

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n): scikit-learn's searches split pairs as a property of the n points."""
        return self.n, self.n

    def __getitem__(self, rows: Any) -> Pairs:
        """The pairs between some points, numbered anew; numbers below 0 are those of `PairFolds.split`."""
        rows, ends = rows[0] if isinstance(rows, tuple) else rows, self.ends
        rows = np.arange(self.n)[rows] if isinstance(rows, slice) else np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (self.n,) else rows
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not ((rows >= -self.n) & (rows < self.n)).all():
            raise ProblemError(
                f"pairs must be picked by a list of points below {self.n} or a mask of {self.n}, got {rows}"
            )
        if rows.size and rows.max() < 0:
            even = (rows[: rows.size // 2 * 2] + self.n).reshape(-1, 2)
            codes, asked = self.i * self.n + self.j, np.sort(even) @ [self.n, 1]
            at, ends = np.searchsorted(np.sort(codes), asked), np.arange(even.size).reshape(-1, 2)
            chosen = np.argsort(codes)[np.minimum(at, len(self) - 1)]
            if rows.size % 2 or (codes[chosen] != asked).any():
                raise ProblemError(f"numbers below 0 must be ends of known pairs, got {rows[:10]}")
        else:
            place = np.full(self.n, -1)
            place[rows] = np.arange(rows.size)
            inside = (place[ends] >= 0).all(axis=1)
            chosen = np.flatnonzero(inside & ~np.isin(self.owner, rows[rows < 0] + self.n))
            ends = place[ends[chosen]]
        order = np.argsort(-self.sign[chosen], kind="stable")  # must-links first
        must, cannot = np.split(ends[order], [int(np.sum(self.sign[chosen] > 0))])
        return Pairs(rows.size, must, cannot, None if self.weights is None else self.weights[chosen[order]])

    @property
    def owner(self) -> Index:
        """For each pair, its point with fewer pairs; of two with equally many, the larger number."""
        count = np.bincount(self.ends.ravel())
        return np.where(count[self.i] < count[self.j], self.i, self.j)

    @cached_property
    def ends(self) -> Index:
        """The two points of each pair, shape (m, 2), must-links first."""
        return frozen(np.concatenate([self.must_link, self.cannot_link]))

    @property
    def i(self) -> Index:
        """The smaller index of each pair, must-links first."""
        return self.ends[:, 0]

    @property
    def j(self) -> Index:
        """The larger index of each pair, must-links first."""
        return self.ends[:, 1]

    @property
    def sign(self) -> Array:
        """The sign of each pair: +1 for a must-link, -1 for a cannot-link."""
        return np.repeat([1.0, -1.0], [len(self.must_link), len(self.cannot_link)])

    @property
    def confidence(self) -> Array:
        """The weight of each pair; 1 if no weights were given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def groups(self) -> tuple[int, Index]:
        """The number of groups that must-links form, and the group of each point."""
        return components(self.n, self.must_link)

    def conflicts(self) -> Index:
        """The cannot-links (c, 2) whose two points are joined by a chain of must-links."""
        label = self.groups()[1]
        return self.cannot_link[label[self.cannot_link[:, 0]] == label[self.cannot_link[:, 1]]]

    def contradictions(self) -> list[list[int]]:
        """For each cannot-link of `conflicts`, a shortest chain of must-links between its two points."""
        bad = self.conflicts()
        if not len(bad):
            return []
        links = (np.ones(len(self.must_link)), (self.must_link[:, 0], self.must_link[:, 1]))
        graph = sp.coo_array(links, shape=(self.n, self.n)).tocsr()
        sources, row = np.unique(bad[:, 0], return_inverse=True)
        before = shortest_path(
            graph, directed=False, unweighted=True, indices=sources, return_predecessors=True
        )[1]
        out = []
        for (_, end), k in zip(bad.tolist(), row.tolist(), strict=True):
            chain = [end]
            while before[k, chain[-1]] >= 0:
                chain.append(int(before[k, chain[-1]]))
            out.append(chain[::-1])
        return out

    def closure(self) -> Pairs:
        """All pairs that follow from these pairs; an error if a cannot-link contradicts must-links.

        Must-links are transitive. A cannot-link between two points holds for all points that must-links join
        to them.
        """
        contradictions = self.conflicts()
        if len(contradictions):
            raise ProblemError(
                f"cannot-links must not contradict a chain of must-links, got {contradictions[:5].tolist()}"
            )
        count, label = self.groups()
        membership = sp.csr_array((np.ones(self.n), (np.arange(self.n), label)), shape=(self.n, count))
        same = sp.triu(membership @ membership.T, k=1).tocoo()
        across = np.sort(label[self.cannot_link], axis=1)
        forbidden = sp.csr_array((np.ones(len(across)), (across[:, 0], across[:, 1])), shape=(count, count))
        other = (membership @ forbidden @ membership.T).tocoo()
        return Pairs(self.n, *(np.stack([found.row, found.col], axis=1) for found in (same, other)))

    def select(
        self, fraction: float, kernel: Any = None, criterion: str = "margin", random_state: Seed = None
    ) -> Pairs:
        """The pairs of selected points: of those that a kernel is least certain of, or of random points.

        Every pair with a selected point is kept (Zhuang, Tsang & Hoi, JMLR 12, 2011, section 5.3).

        Parameters
        ----------
        fraction : float
            Share of the points with pairs that is selected, in (0, 1].
        kernel : Solution or ndarray of shape (n, r)
            Solution, or factor V of the kernel K = VV'; required for "margin".
        criterion : {"margin", "random"}
            "margin" selects the points i with the smallest ``|sum_j T_ij K_ij| / l_i``, where T_ij = +-1 is
            the sign of each of the l_i pairs of i. "random" draws the points.
        random_state : int
            Seed of the draw for "random".
        """
        fraction = real_number(fraction, "fraction")
        if not 0 < fraction <= 1:
            raise ProblemError(f"fraction must be above 0 and at most 1, got {fraction}")
        chosen("criterion", criterion, ("margin", "random"))
        ends = np.concatenate([self.i, self.j])
        points, place, count = np.unique(ends, return_inverse=True, return_counts=True)
        size = int(np.ceil(fraction * points.size))
        if criterion == "random":
            drawn = generator(random_state).choice(points, size=size, replace=False)
        else:
            given = getattr(kernel, "V", kernel)
            what = "the kernel of the margin criterion"
            V = np.zeros(0) if given is None else finite(real_array(given, what), what)
            if V.ndim != 2 or V.shape[0] != self.n:
                raise ProblemError(
                    f"the margin criterion needs a kernel: a Solution or a factor with {self.n} rows, "
                    f"got {type(kernel).__name__}"
                )
            agreement = self.sign * np.einsum("er,er->e", V[self.i], V[self.j])
            margin = np.abs(np.bincount(place, weights=np.tile(agreement, 2)) / count)
            drawn = points[np.argsort(margin, kind="stable")[:size]]
        kept = np.isin(self.i, drawn) | np.isin(self.j, drawn)
        must = kept[: len(self.must_link)]
        weights = None if self.weights is None else self.weights[kept]
        return Pairs(self.n, self.must_link[must], self.cannot_link[kept[len(self.must_link) :]], weights)

    def connected_components_ratio(self) -> float:
        """The number of groups that must-links form, divided by n: 1 without must-links."""
        return self.groups()[0] / self.n


def components(n: int, edges: Index) -> tuple[int, Index]:
    """Connected components of the graph on n points with the given edges (m, 2)."""
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    return int(count), label.astype(np.intp)


def _codes(pairs: Index, n: int) -> Index:
    return pairs[:, 0] * n + pairs[:, 1]


def _distinct(pairs: Index) -> Index:
    first = np.unique(pairs, axis=0, return_index=True)[1]
    return pairs[np.sort(first)]


def _ordered(values: ArrayLike | None, name: str, n: int) -> Index:
    pairs = whole_array(values if values is not None else [], f"{name} of shape (m, 2)")
    if not pairs.size:
        return np.zeros((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ProblemError(f"{name} must be integers of shape (m, 2), got shape {pairs.shape}")
    outside = (pairs < 0).any(axis=1) | (pairs >= n).any(axis=1)
    if outside.any():
        raise ProblemError(f"{name} must index points 0..{n - 1}, got {pairs[outside][:5].tolist()}")
    own = pairs[:, 0] == pairs[:, 1]
    if own.any():
        raise PairsError(f"{name} must join two different points, got self pairs", pairs[own][:5].tolist())
    return np.sort(pairs, axis=1).astype(np.intp)
