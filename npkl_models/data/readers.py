"""Readers of the two file layouts in which the benchmark sets are kept."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index


def read_csv(path: Path) -> tuple[Array, Index]:
    """Features and integer labels of a (gzipped) CSV file with a header and the label last."""
    with _open(path) as file:
        header = file.readline().decode().strip().split(",")
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    if len(header) < 2 or table.shape[1] != len(header):
        raise ProblemError(
            f"{path} must have a header and as many columns, got {len(header)} names and "
            f"{table.shape[1]} columns"
        )
    return table[:, :-1].copy(), table[:, -1].astype(np.intp)


def read_libsvm(path: Path, n_features: int | None = None) -> tuple[Array, Index]:
    """Dense features and integer labels of a (gzip or bzip2) LIBSVM file."""
    with _open(path) as file:
        try:
            X, y = load_svmlight_file(file, n_features=n_features, zero_based=False)
        except (ValueError, OverflowError, MemoryError) as error:
            raise ProblemError(f"{path} must be in LIBSVM's format, indices from 1: {error}") from error
    labels = np.unique(y, return_inverse=True)[1].astype(np.intp)
    dense: Array = np.asarray(X.toarray(), dtype=float)
    return dense, labels


def _open(path: Path) -> IO[bytes]:
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    file: IO[bytes] = openers.get(path.suffix, open)(path, "rb")
    return file
