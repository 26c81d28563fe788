"""Readers of the two file layouts in which the benchmark sets are kept."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from npkl_models.data.cells import number_of, read_cells
from npkl_models.errors import ProblemError
from npkl_models.files.gate import content, gate, text_of
from npkl_models.linalg import Array, Index

ODD = re.compile(rb"^[^#\n]*(_|qid)", re.MULTILINE)  # Python takes 1_0 for 10; a qid would be passed over
FLOOR = 2**23  # numbers of a dense table that any file may ask for
SPARSEST = 2000  # beyond: how many times more numbers than are written may be in it


def read_csv(path: Path) -> tuple[Array, Index]:
    """Features and labels of a (gzipped) CSV file with a header and the label last.

    Labels that are whole numbers are left as they are, others are numbered from 0.

    Raises
    ------
    ProblemError
        For any other file; the text says where it is another.
    """
    with gate(path, "a csv with a header and the label last"):
        found = _plain(text_of(path))
        if found is None:
            cells = read_cells(path, row_names=False)
            if not cells.names or cells.width < 2:
                raise ProblemError(f"{path} must have a header and at least two columns, got {cells.width}")
            X, labels = cells.numbers(range(cells.width - 1)), [row[-1] for row in cells.rows]
            if any(not label for label in labels):
                where = cells.where(labels.index(""), cells.width - 1)
                raise ProblemError(f"{where}: must be a label, got nothing")
            numbers = [number_of(label) for label in labels]
            return X, _labels(np.array(labels if None in numbers else numbers))
        return found[:, :-1].copy(), _labels(found[:, -1])


def _plain(text: str) -> Array | None:
    """The numbers below a header, where that is all there is; else None: cells are looked at one by one."""
    head, _, body = text.partition("\n")
    names = head.split(",")
    if (
        len(names) < 2
        or not text.isascii()
        or '"' in head
        or any(number_of(name) is not None for name in names)
    ):
        return None
    if not body.strip():
        return None
    try:
        table = np.loadtxt(io.StringIO(body), delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    return table if table.shape[1] == len(names) and np.isfinite(table).all() else None


def _labels(values: Array) -> Index:
    if values.dtype.kind == "f" and (values == np.floor(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.intp)
    return codes(values)


def codes(values: Array) -> Index:
    """Values as numbers from 0, in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.intp).ravel()


def read_libsvm(path: Path, n_features: int | None = None) -> tuple[Array, Index]:
    """Dense features and integer labels of a (gzip or bzip2) LIBSVM file.

    Raises
    ------
    ProblemError
        If it is in another format, or its largest index asks for a table that is out of proportion.
    """
    from sklearn.datasets import load_svmlight_file

    with gate(path, "in LIBSVM's format, indices from 1"):
        raw = content(path)
        if b"\0" in raw or ODD.search(raw):
            raise ProblemError(f"{path} must be in LIBSVM's format, got a zero byte, an underscore or a qid")
        X, y = load_svmlight_file(io.BytesIO(raw), n_features=n_features, zero_based=False)
        n, d = X.shape
        if n * d > max(FLOOR, SPARSEST * X.nnz):
            raise ProblemError(
                f"{path} must be in LIBSVM's format, got the index {d} for {n} points and {X.nnz} "
                f"numbers: a dense table would take {n * d * 8 / 2**30:.3g} GiB"
            )
        if not X.nnz or not (np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise ProblemError(f"{path} must be in LIBSVM's format, got no number at all, NaN or infinity")
        dense: Array = np.asarray(X.toarray(), dtype=float)
        return dense, codes(y)
