"""The side information of an estimator: classes, must-links, cannot-links or signed pairs, as one set."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from npkl_models.applications.estimators.given import Names, names_of
from npkl_models.applications.held_out import some_pairs
from npkl_models.errors import ProblemError, calling
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import real_array
from npkl_models.model.graph import check_points
from npkl_models.model.pairs import Pairs
from npkl_models.model.sampling import is_label, labelled, signs

EVERY = 1_000  # the largest number of points whose pairs are all scored
RESTARTS = 10  # restarts of the k-means that finds landmarks


class PairScored:
    """An estimator that has a score of pairs."""

    __metadata_request__score = dict.fromkeys(("must_link", "cannot_link", "pairs", "y_pairs"), True)

    def score(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | Pairs | None = None,
        y_pairs: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    ) -> float:  # fmt: skip
        """How well the estimator predicts pairs, from 0 to 1; use pairs that `fit` has not seen.

        The score of clusters is the mean of two shares: must-links within a cluster, and cannot-links
        across. The score of a kernel is the area under the ROC curve: how often a must-link has a larger
        cosine than a cannot-link, or in a metric a smaller distance.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (m, d)
            Points of the training set, or new points.
        y : array_like of shape (m,), optional
            Known classes; -1 marks a point of unknown class. If only y is given, all pairs of points of
            known class are scored; of more than 1,000 such points, 1,000 evenly spaced ones are used.
        must_link, cannot_link, pairs, y_pairs
            Pairs of rows of this X, as in `fit`; each counts by its confidence.
        sample_weight : array_like of shape (m,), optional
            Weights of the points, which the confidences are multiplied by, as in `fit`.
        """
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        if y is not None and all(one is None for one in (must_link, cannot_link, pairs, y_pairs)):
            held = every_pair(y, count)
        else:
            held = collected(count, names_of(X), y, must_link, cannot_link, pairs, y_pairs)
        if held is None:
            raise ProblemError("score must be given pairs, or two points of known class in y, got neither")
        weight = None if sample_weight is None else real_array(sample_weight, "sample_weight")
        return self._told(X, weighed(held, weight))

    @abstractmethod
    def _told(self, X: Any, held: Pairs) -> float:
        """The score of pairs of points."""


def spanning_pairs(y: ArrayLike) -> Pairs:
    """A small set of pairs whose closure contains every pair of points of known class.

    Must-links chain the points of each class in their order. Cannot-links join the classes in a circle: the
    t-th point of a class and the t-th point of the next class, as long as both have one; two classes that
    are not neighbours in the circle are joined by their first points. So there are fewer than two pairs for
    each labelled point, plus one for every two classes. -1, None, NaN, NA or empty text marks a point of
    unknown class, which gets no pair.
    """
    known, label = labelled(y)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    together = np.flatnonzero(np.diff(label[order]) == 0)
    must = np.stack([order[together], order[together + 1]], axis=1)
    k = sizes.size
    here = np.arange(k if k > 2 else k - 1)
    there = (here + 1) % k
    shared = np.minimum(sizes[here], sizes[there])
    place = np.arange(int(shared.sum())) - np.repeat(np.cumsum(shared) - shared, shared)
    circle = [np.repeat(start[part], shared) + place for part in (here, there)]
    one, other = np.triu_indices(k, k=2)
    far = (one > 0) | (other < k - 1)
    ends = [np.concatenate([c, start[part[far]]]) for c, part in zip(circle, (one, other), strict=True)]
    cannot = order[np.stack(ends, axis=1)]
    place_of = np.flatnonzero(known)
    return Pairs(known.size, place_of[must], place_of[cannot])


def landmark_pairs(X: Any, count: int, random_state: int, sample_weight: Array | None = None) -> Pairs:
    """Cannot-links between every two landmarks, the points that are nearest to the centres of k-means.

    They take the place of side information if none is given: without a pair, the smoothest kernel puts all
    points in one place. The graph determines the rest of the kernel. Of points X (n x d), not all equal,
    ``count`` are landmarks, from 1 to n; 1 counts as 2. ``sample_weight`` (n,) weighs them in k-means.
    """
    X = check_points(X, least=1)
    n = X.shape[0]
    if not 1 <= count <= n:
        raise ProblemError(f"landmarks (one per cluster) must be between 1 and n = {n}, got {count}")
    model = KMeans(max(count, 2), n_init=RESTARTS, random_state=random_state)
    model.fit(X, sample_weight=sample_weight)
    points = np.unique(pairwise_distances_argmin(model.cluster_centers_, X))
    if len(points) < 2:
        raise ProblemError("X must have at least two different points if no cannot-links are given, got one")
    first, second = np.triu_indices(len(points), k=1)
    return Pairs(n, None, np.stack([points[first], points[second]], axis=1))


def collected(
    n: int, names: Names | None, y: ArrayLike | None, must_link: Any, cannot_link: Any,
    pairs: ArrayLike | Pairs | None, y_pairs: ArrayLike | None,
) -> Pairs | None:  # fmt: skip
    """All side information as one set of pairs; None if there is no pair.

    ``names`` are those of the rows, if they have any. A pair that is given twice has the larger confidence.
    """
    linked = [positions(must_link, "must_link", names), positions(cannot_link, "cannot_link", names)]
    with calling(names and names.shown):
        parts = [_of_classes(y, n), _of_pairs(n, names, pairs, y_pairs)]
        parts.append(Pairs(n, *linked) if any(map(len, linked)) else None)
        given = [part for part in parts if part is not None]
        return _united(given) if given else None


def _of_pairs(n: int, names: Names | None, pairs: Any, y_pairs: ArrayLike | None) -> Pairs | None:
    """The argument ``pairs`` as `Pairs`: unchanged, or made from a table of pairs and their signs."""
    if isinstance(pairs, Pairs):
        if y_pairs is not None or pairs.n != n:
            raise ProblemError(
                f"pairs that are Pairs must be over the {n} points of X and come without y_pairs, got pairs "
                f"over {pairs.n} points{'' if y_pairs is None else ' and y_pairs'}"
            )
        return pairs
    what = "y_pairs"
    if pairs is not None and y_pairs is None:
        table = _table(pairs)
        if table.shape[1:] == (3,):
            pairs, y_pairs, what = table[:, :2], table[:, 2], "the third column of pairs"
    if (pairs is None) != (y_pairs is None):
        raise ProblemError(
            "pairs and y_pairs must be given together, or pairs must have three columns, "
            f"got {'y_pairs' if pairs is None else 'pairs'} without the other"
        )
    if pairs is None or y_pairs is None:
        return None
    table, sign = positions(pairs, "pairs", names), signs(y_pairs, what)
    if len(table) != sign.size:
        raise ProblemError(f"pairs and {what} must have one length, got {len(table)} and {sign.size}")
    return Pairs.from_arrays(table, sign, n) if len(table) else None


def _united(parts: list[Pairs]) -> Pairs:
    """The union of several sets; a pair that is in several sets has the largest of its confidences."""
    if len(parts) == 1:
        return parts[0]
    kinds, weights = [], []
    for sign in (1.0, -1.0):
        ends = [part.ends[part.sign == sign] for part in parts]
        confidence = np.concatenate([part.confidence[part.sign == sign] for part in parts])
        distinct, which = np.unique(np.concatenate(ends), axis=0, return_inverse=True)
        kinds.append(distinct)
        weights.append(np.zeros(len(distinct)))
        np.maximum.at(weights[-1], which.ravel(), confidence)
    plain = all(part.weights is None for part in parts)
    return Pairs(parts[0].n, kinds[0], kinds[1], None if plain else np.concatenate(weights))


def every_pair(y: ArrayLike, n: int) -> Pairs | None:
    """All pairs of points of known class, for at most 1,000 points; None if there are fewer than two."""
    if _of_classes(y, n) is None:
        return None
    known, label = labelled(y)
    place = np.flatnonzero(known)
    some = np.linspace(0, max(len(place) - 1, 0), min(len(place), EVERY)).astype(np.intp)
    one, other = np.triu_indices(len(some), k=1)
    same = label[some][one] == label[some][other]
    ends = np.stack([place[some][one], place[some][other]], axis=1)
    return Pairs(n, ends[same], ends[~same])


def weighed(pairs: Pairs, sample_weight: Array | None) -> Pairs:
    """Each confidence times the geometric mean of its points' weights; 0 removes a pair that is not hard."""
    if sample_weight is None:
        return pairs
    left = trusted(pairs, np.sqrt(sample_weight[pairs.i]) * np.sqrt(sample_weight[pairs.j]))
    if left is None:
        raise ProblemError("sample_weight must leave at least one pair, got a weight of 0 in each")
    return left


def trusted(pairs: Pairs, weights: Array) -> Pairs | None:
    """Each confidence times a weight; weights of 0 leave hard pairs alone. None if no pair is left."""
    hard = np.isinf(pairs.confidence)
    kept = hard | (weights > 0)
    weight = pairs.confidence * np.where(hard, 1.0, weights)
    return some_pairs(pairs, kept, weight) if kept.any() else None


def with_cannot_links(pairs: Pairs | None, landmarks: Pairs) -> Pairs:
    """The pairs and the cannot-links between landmarks that no chain of must-links joins.

    Must-links alone put all points in one place, as no pair does. So these pairs take the place of
    cannot-links, with the confidences that the landmarks have.
    """
    if pairs is None:
        return landmarks
    group = pairs.groups()[1]
    separate = group[landmarks.i] != group[landmarks.j]
    confidence = np.concatenate([pairs.confidence, landmarks.confidence[separate]])
    cannot = np.concatenate([pairs.cannot_link, landmarks.cannot_link[separate]])
    return Pairs(pairs.n, pairs.must_link, cannot, confidence)


def _of_classes(y: ArrayLike | None, n: int) -> Pairs | None:
    """The pairs that the known classes make; None if fewer than two points are of known class."""
    if y is None:
        return None
    values = column_or_1d(y, warn=True, dtype=None)
    if len(values) != n:
        raise ProblemError(f"y must have a class, or -1, for each of the {n} points, got {len(values)}")
    known = np.array([is_label(value) for value in values.tolist()], dtype=bool)
    if known.any():
        check_classification_targets(np.asarray(values[known].tolist()))
    return spanning_pairs(values) if int(known.sum()) >= 2 else None


def positions(values: Any, name: str, names: Names | None) -> Index:
    """Pairs as positions, if all are whole numbers of any type; else by the names of the rows.

    The nodes of a graph are always named. Texts in an array that are no names may be numbers: an array of
    numbers beside words has texts alone.
    """
    table = _table(values if values is not None else [])
    if not table.size:
        return np.zeros((0, 2), dtype=np.intp)
    if table.dtype.kind == "U" and (names is None or set(names.index).isdisjoint(table.flat)):
        with suppress(ValueError):
            table = table.astype(float)
    whole = (isinstance(x, Real) and not isinstance(x, bool) and x == x // 1 for x in table.flat)
    if not (names and names.integers) and all(whole):
        return table.astype(np.intp)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ProblemError(f"{name} must have shape (m, 2), got {table.shape}")
    if names is None:
        raise ProblemError(
            f"{name} must be positions of rows (integers), or labels of the rows of a DataFrame or nodes of "
            f"a graph, got {table[0].tolist()} without either"
        )
    return names.places(table, name)


def _table(values: Any) -> Any:
    """The rows of a table as an array; in a list of rows each cell keeps its type, also a tuple."""
    if hasattr(values, "dtype") or hasattr(values, "iloc"):
        return np.asarray(values)
    import pandas

    return pandas.DataFrame(list(values)).to_numpy()
