"""The smooth basis of a graph: eigenvectors of the smallest eigenvalues of its Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from npkl_models.errors import ProblemError
from npkl_models.linalg import DENSE_SPECTRUM, Array, Matrix, dense, without_diagonal
from npkl_models.linalg.owned import finite, real_matrix, whole_number
from npkl_models.model.basis import Basis, orthonormal

SAME = 1e-8  # relative to the largest entry of L: eigenvalues closer than this count as one
SHIFT = 1e-4  # relative to the largest entry of L: shift-invert Lanczos searches around minus this


def eigenbasis(L: Matrix, size: int, skip: int = 0) -> Basis:
    """A basis of eigenvectors of L: those of the ``size`` smallest eigenvalues after the first ``skip``.

    The method is shift-invert Lanczos; for small n, all eigenvalues are computed. The basis is the same in
    each run. The eigenvector of a simple eigenvalue has a positive largest entry. The basis of a multiple
    eigenvalue is triangular at the points that a pivoted QR factorisation of the eigenspace selects.

    Parameters
    ----------
    L : matrix of shape (n, n)
        A graph Laplacian, normalised or not, with or without a shift.
    size : int
        Number s of columns.
    skip : int
        Number of smallest eigenvalues to leave out. 1 drops the constant vector of an unnormalised Laplacian,
        so that every K = QUQ' is centred.

    Raises
    ------
    ProblemError
        If L is not symmetric, if size + skip is more than n, or if ``skip`` removes only a part of the null
        space of a disconnected graph.

    Notes
    -----
    Weinberger, Sha, Zhu & Saul, NIPS 2007 (regularised MVU); Li, Liu & Tang, CVPR 2009 (regularised PCP).

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.eigenbasis(nm.laplacian([[0.0], [1.0], [2.0]], n_neighbors=1), 2)
    Basis(2 columns over 3 points)
    """
    L = finite(real_matrix(L, "Laplacian"), "Laplacian")
    size, skip = whole_number(size, "size of a basis", 1), whole_number(skip, "skip", 0)
    if L.ndim != 2 or L.shape[0] != L.shape[1]:
        raise ProblemError(f"Laplacian must be square, got shape {L.shape}")
    n = L.shape[0]
    if size + skip > n:
        raise ProblemError(f"size + skip must be at most n = {n}, got size = {size} and skip = {skip}")
    skew, largest = float(abs(L - L.T).max()), float(abs(L).max())
    if skew > np.sqrt(np.finfo(np.float32).eps) * largest:  # half the digits of single precision
        raise ProblemError(f"Laplacian must be symmetric, got a difference of {skew:.2e}")
    _check_connected(L, skip)
    scale, spare = max(largest, 1e-300), 1
    while True:  # until a spare eigenvalue shows that all eigenvectors of the last wanted one are there
        values, vectors = _smallest(L, min(n, size + skip + spare))
        if values.size == n or values[-1] - values[size + skip - 1] > SAME * scale:
            break
        spare *= 2
    edges = np.flatnonzero(np.diff(values) > SAME * scale) + 1
    clusters = np.split(np.arange(values.size), edges)
    columns = np.concatenate([_canonical(vectors[:, c]) for c in clusters], axis=1)
    kept = slice(skip, skip + size)
    return Basis(orthonormal(columns[:, kept]), values[kept])


def _check_connected(L: Matrix, skip: int) -> None:
    if skip == 0:
        return
    count, label = connected_components(without_diagonal(L), directed=False)
    if skip < count:
        sizes = np.sort(np.bincount(label))[::-1][:5].tolist()
        raise ProblemError(
            f"a graph must be connected for skip={skip}, got {count} components (the largest hold {sizes} "
            f"points): the Laplacian has {count} null vectors, one per component, and the choice of {skip} "
            "to leave out is arbitrary; raise n_neighbors, or solve each component separately"
        )


def _canonical(E: Array) -> Array:
    """An orthonormal basis of range(E) that depends only on this space, not on E."""
    k = E.shape[1]
    if k == 1:
        return E * np.sign(E[np.argmax(np.abs(E[:, 0]).round(12)), 0])
    points = scipy.linalg.qr(E.T, mode="r", pivoting=True)[1][:k]  # depends on E E' alone
    Q, R = np.linalg.qr(E @ np.linalg.inv(E[points]))
    return Q * np.sign(np.diag(R))


def _smallest(L: Any, count: int) -> tuple[Array, Array]:
    n = L.shape[0]
    if n <= DENSE_SPECTRUM or count > n // 2:
        values, vectors = np.linalg.eigh(dense(L))
        return values[:count], vectors[:, :count]
    scale = float(abs(L).max())
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(sp.csc_array(L), k=count, sigma=-SHIFT * scale, which="LM", v0=start)
    order = np.argsort(values)
    return values[order], np.linalg.qr(vectors[:, order])[0]
