"""What X is: points, distances between points, or a graph of their affinities; and how its rows are named."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from npkl_models.answer.extension import extend
from npkl_models.errors import ProblemError
from npkl_models.linalg import SKEW, Array, Index, Matrix
from npkl_models.linalg.owned import real_matrix, unrounded
from npkl_models.model.graph import APART, lowest, weights_of_graph
from npkl_models.model.reading import symmetric

GIVEN = "precomputed"


class Names(NamedTuple):
    """The names of the rows, a pandas.Index, and whether integers are names, too, and not positions."""

    index: Any
    integers: bool

    @property
    def shown(self) -> Any:
        """What messages call the rows; None for their positions, where pairs are named by them."""
        texts = self.index.is_unique and self.index.dtype.kind not in "iufb"
        return self.index if self.integers or texts else None

    def places(self, table: Any, name: str) -> Index:
        """The positions (m, 2) of the rows that a table of names (m, 2) has."""
        if not self.index.is_unique:
            raise ProblemError(
                f"the index of X must be unique for {name} to name rows by it, got repeated labels"
            )
        import pandas

        place: Array = self.index.get_indexer(pandas.Index([*table.flat], tupleize_cols=False))
        if (place < 0).any():
            strange = [str(label) for label in table.ravel()[place < 0][:5]]
            kind = "nodes of the graph" if self.integers else "labels of its index"
            raise ProblemError(f"{name} must name rows of X by {kind}, got {strange}")
        return place.reshape(-1, 2).astype(np.intp)


def names_of(X: Any) -> Names | None:
    """The index of a DataFrame, or the nodes of a graph of networkx; None for other rows."""
    if is_graph(X):
        import pandas

        return Names(pandas.Index(list(X.nodes), tupleize_cols=False), True)
    return Names(X.index, False) if hasattr(X, "iloc") else None


def is_graph(X: Any) -> bool:
    """Whether X is a graph of networkx."""
    return hasattr(X, "nodes") and hasattr(X, "adj")


def read(estimator: Any, X: Any, **options: Any) -> Any:
    """X as scikit-learn validates it, after a graph or a sparse matrix was read in full."""
    if is_graph(X):
        if getattr(estimator, "affinity", None) != GIVEN:
            raise ProblemError(
                f"X must be points, or with affinity='precomputed' a graph, got a {type(X).__name__}"
            )
        import networkx

        X = networkx.to_scipy_sparse_array(X, format="csr")
    X = real_matrix(X, "X") if sp.issparse(X) else unrounded(X, "X")
    return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, **options)


def check(X: Any, affinity: str, metric: Any) -> None:
    """Refuse a matrix that holds no affinities or no distances; warn if points look like either.

    The warning is at the line of the caller of `fit`.
    """
    if GIVEN in (affinity, metric) and X.shape[0] == X.shape[1] and X.min() < 0:
        how, remedy = ("affinity", APART) if affinity == GIVEN else ("metric", "")
        words = f"Negative values in data passed to an estimator with {how}='precomputed'"
        raise ProblemError(f"{words}: got {lowest(X)}{remedy}")
    if affinity == GIVEN:
        if metric == GIVEN:
            raise ProblemError("X must be affinities or distances, got 'precomputed' for affinity and metric")
        weights_of_graph(X, "X, affinities (affinity='precomputed'),", 2)
    elif metric == GIVEN:
        _check_distances(X)
    elif X.shape[0] == X.shape[1] > 2 and abs(X - X.T).max() <= SKEW * abs(X).max():
        warnings.warn(
            "X is square and symmetric, and is read as points; affinity='precomputed' reads it as affinities,"
            " metric='precomputed' as distances",
            stacklevel=4,
        )


def _check_distances(X: Any) -> None:
    what = "X, distances (metric='precomputed'),"
    if X.shape[0] != X.shape[1]:
        raise ProblemError(f"{what} must be square, got shape {X.shape}")
    own = X.diagonal()
    if own.any():
        at = int(np.argmax(own != 0))
        raise ProblemError(
            f"{what} must be zero from a point to itself, got {own[at]} for point {at}; "
            "affinities need affinity='precomputed'"
        )
    both = (
        X.multiply((X != 0).T) if sp.issparse(X) else X
    )  # a sparse matrix may have one of (i, j) and (j, i)
    symmetric(both, what)


def by_affinities(rows: Array, X: Any, trained: Any, first: int) -> Array:
    """Means of ``rows`` (n x r) with the affinities X (m x n) as weights; a training row keeps its own."""
    S, (same, place) = sp.csr_array(X), recognised(X, trained, first)
    out = np.empty((S.shape[0], rows.shape[1]))
    out[same] = rows[place]
    other = np.setdiff1d(np.arange(S.shape[0]), same)
    if other.size:
        out[other] = extend(rows, S[other])
    return out


def recognised(X: Any, trained: Any, first: int) -> tuple[Index, Index]:
    """The rows of X (m x n) that are rows of the training matrix (n x n), and their positions there.

    They are found by their products with a random vector, and then compared. ``first`` is the position of the
    first row of X: of equal rows, each point of the training set has its own.
    """
    S, known = sp.csr_array(X), sp.csr_array(trained)
    vector = np.random.default_rng(0).random(known.shape[0])
    own, new = known @ vector, S @ vector
    order = np.argsort(own, kind="stable")
    place = order[np.minimum(np.searchsorted(own[order], new), own.size - 1)]
    here = np.minimum(np.arange(first, first + S.shape[0]), own.size - 1)
    place = np.where(own[here] == new, here, place)
    same = equal(S, known[place])
    return same, place[same]


def like(X: Any, rows: Array) -> Array:
    """The rows in single precision if X is."""
    kinds = set(X.dtypes) if hasattr(X, "iloc") else {getattr(X, "dtype", None)}
    return rows.astype(np.float32) if kinds == {np.dtype(np.float32)} else rows


def equal(A: Matrix, B: Matrix) -> Index:
    """Positions of the rows that are equal in A and B."""
    different = abs(A - B).sum(axis=1) if sp.issparse(A) else (A != B).any(axis=1)
    return np.flatnonzero(np.asarray(different).ravel() == 0)
