"""Files of the benchmark sets: readers of their two formats, and downloads with checksums."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from npkl_models.data.cells import read_cells
from npkl_models.errors import ProblemError
from npkl_models.files.gate import content, gate
from npkl_models.linalg import Array, Index
from npkl_models.model.storage import FEW

ODD = re.compile(rb"^[^#\n]*(_|qid)", re.MULTILINE)  # Python reads 1_0 as 10; the reader ignores a qid
SPARSEST = 2000  # a dense table of more than `FEW` numbers may have so many times the numbers in the file

LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
CHECKSUMS = {
    "binary/a1a": "md5:b62d93d768db2423dd06fadb24ea0c1f",
    "binary/a2a": "md5:1328dfba5eee42f878af59e41fa414cf",
    "binary/a4a": "md5:ce53c338007a0ad8e7021186cc259b07",
    "binary/a5a": "md5:556ff24aafeb30297763c0dcb0feeb4f",
    "binary/a6a": "md5:02abf77023749b83eb5cfb1ad60969cc",
    "binary/a7a": "md5:3285a272a2f5c5e343c74c9394cbac6c",
    "binary/a8a": "md5:247737ca98b22d3186c0c0db33d5f006",
    "binary/a9a": "md5:fb3596510d780aaf76a06dc721d49662",
}
"""Checksums of files on the page."""


def read_csv(path: Path) -> tuple[Array, Index]:
    """Features and labels of a CSV file, perhaps gzipped, with a header and the label in the last column."""
    with gate(path, "a csv with a header and the label last"):
        cells = read_cells(path)
        last = cells.width - 1
        if last < 1 or not cells.names or not cells.names[0]:
            raise ProblemError(
                f"{path} must have a header with a name for each of at least two columns, got {cells.width} "
                f"columns and {sum(map(bool, cells.names))} names"
            )
        X, labels = cells.numbers(range(last)), cells.texts([last])[last]
        if (labels == "").any():
            cells.refuse(int(np.argmax(labels == "")), last, "must be a label")
        numbers = cells.floats(labels)
        if not np.isfinite(numbers).all():
            return X, codes(labels.to_numpy(str))
        whole = (numbers == np.floor(numbers)).all() and (np.abs(numbers) < 2**53).all()
        return X, numbers.astype(np.intp) if whole else codes(numbers)


def codes(values: Array) -> Index:
    """The rank of each value among the distinct values, from 0."""
    return np.unique(values, return_inverse=True)[1].astype(np.intp).ravel()


def read_libsvm(path: Path, n_features: int | None = None) -> tuple[Array, Index]:
    """Dense features and integer labels of a LIBSVM file, perhaps packed by gzip or bzip2."""
    from sklearn.datasets import load_svmlight_file

    with gate(path, "in LIBSVM's format, indices from 1"):
        raw = content(path)
        if b"\0" in raw or ODD.search(raw):
            raise ProblemError(f"{path} must be in LIBSVM's format, got a zero byte, an underscore or a qid")
        X, y = load_svmlight_file(io.BytesIO(raw), n_features=n_features, zero_based=False)
        n, d = X.shape
        if n * d > max(FEW, SPARSEST * X.nnz):
            raise ProblemError(
                f"{path} must be in LIBSVM's format, got the index {d} for {n} points and {X.nnz} "
                f"numbers: a dense table would take {n * d * 8 / 2**30:.3g} GiB"
            )
        if not X.nnz or not (np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise ProblemError(f"{path} must be in LIBSVM's format, got no number at all, NaN or infinity")
        dense: Array = np.asarray(X.toarray(), dtype=float)
        return dense, codes(y)


def fetch(path: str) -> Path:
    """The file with a path below the LIBSVM page, downloaded once; a known checksum is checked each time."""
    import pooch

    name, folder = path.replace("/", "_"), pooch.os_cache("npkl_models")
    return Path(pooch.retrieve(f"{LIBSVM_PAGE}/{path}", CHECKSUMS.get(path), fname=name, path=folder))
