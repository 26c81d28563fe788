"""The data sets of the papers by name.

A data folder is searched first: ``data_home``, or the environment variable ``NPKL_DATA_HOME``. It may hold
files such as ``NAME.csv.gz`` or ``NAME.libsvm.gz``. Otherwise the set comes from scikit-learn, if it is
bundled there, or is downloaded from OpenML or the LIBSVM page. Synthetic sets are drawn.

Examples
--------
>>> import npkl_models as nm
>>> nm.datasets.load("iris").X.shape
(150, 4)
>>> "swiss_roll" in nm.datasets.names()
True
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.data import synthetic
from npkl_models.data.readers import fetch, read_csv, read_libsvm
from npkl_models.errors import NPKLError, ProblemError, unknown
from npkl_models.files.gate import text_of
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import generator

FOLDER_VARIABLE = "NPKL_DATA_HOME"


class DatasetUnavailableError(NPKLError, OSError):
    """A data set is neither bundled nor in the data folder, and could not be downloaded."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set: points X (n x d), classes y (n,) as integers from 0, and the origin of the data.

    A class of -1 is unknown. A table may have ``ids``, the names of its rows, and ``columns``, those of X;
    ``about`` says in words which columns are used.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.datasets.load("iris").y[:3]
    array([0, 0, 0])
    """

    name: str
    X: Array
    y: Index
    origin: str
    ids: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    about: str = ""

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.X)

    def subset(self, n: int, random_state: int = 0) -> Dataset:
        """A data set of ``n`` points that are drawn at random; they keep their order.

        Raises
        ------
        ProblemError
            If ``n`` is below 2 or above the number of points.
        """
        if not 2 <= n <= self.n:
            raise ProblemError(f"n must be between 2 and {self.n}, got {n}")
        chosen = np.sort(generator(random_state).permutation(self.n)[:n])
        y = self.y[chosen] if self.y.size else self.y
        ids = tuple(self.ids[k] for k in chosen) if self.ids else ()
        return replace(self, X=self.X[chosen], y=y, ids=ids)


@dataclass(frozen=True)
class Source:
    """The places where a data set can be found."""

    file: str = ""  # stem of the file in a data folder
    bundled: str = ""  # file of scikit-learn's own data
    openml: str = ""
    openml_version: int = 1
    libsvm: str = ""  # path below the LIBSVM page
    n_features: int | None = None
    generate: Callable[..., tuple[Array, Index]] | None = None


def _adult(k: int) -> Source:
    return Source(f"a{k}a", libsvm=f"binary/a{k}a", n_features=123)


SOURCES: dict[str, Source] = {
    "iris": Source("iris", bundled="iris.csv"),
    "wine": Source("wine", bundled="wine_data.csv"),
    "breast_cancer": Source("breast_cancer", bundled="breast_cancer.csv"),
    "digits": Source("digits", bundled="digits.csv.gz"),
    "glass": Source("glass", openml="glass"),
    "heart": Source("heart", openml="heart-statlog"),
    "sonar": Source("sonar", openml="sonar"),
    "soybean_small": Source("soybean_small", openml="soybean-small"),
    "protein": Source("protein"),
    "ionosphere": Source("ionosphere", openml="ionosphere"),
    "australian": Source("australian", openml="Australian", openml_version=4),
    "usps": Source("usps_train", libsvm="multiclass/usps.bz2"),
    "isolet": Source("isolet", openml="isolet"),
    "boston_housing": Source("boston_housing"),
    "news20": Source("news20_w1000", n_features=1000),
    "mnist": Source("mnist_t10k", openml="mnist_784"),
    **{f"a{k}a": _adult(k) for k in range(1, 10)},
    "two_gaussians": Source(generate=synthetic.two_gaussians),
    "chessboard": Source(generate=synthetic.chessboard),
    "double_spiral": Source(generate=synthetic.double_spiral),
    "xor": Source(generate=synthetic.xor),
    "swiss_roll": Source(generate=synthetic.swiss_roll),
}


def names() -> list[str]:
    """The names of all data sets that `load` knows.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.datasets.names()[:3]
    ['iris', 'wine', 'breast_cancer']
    """
    return list(SOURCES)


def load(name: str, data_home: str | Path | None = None, **generator: Any) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        Name from `names`; "-" and "_" are equivalent.
    data_home : path, optional
        Folder that is searched first; by default the folder in the environment variable NPKL_DATA_HOME.
    **generator
        For a synthetic set: n, random_state and the other parameters of its generator. For any other set: n,
        the number of points to draw (`Dataset.subset`), and random_state, 0 by default.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    DatasetUnavailableError
        If the set was not found; the message tells where it was searched for and what to do.

    Examples
    --------
    >>> import npkl_models as nm
    >>> data = nm.datasets.load("wine")
    >>> data.n, data.X.shape[1], nm.datasets.load("wine", n=60).n
    (178, 13, 60)
    """
    key = str(name).replace("-", "_").lower()  # a value that is no text is an unknown name
    if key not in SOURCES:
        raise unknown("data set", name, SOURCES)
    source = SOURCES[key]
    if source.generate is not None:
        X, y = source.generate(**generator)
        return Dataset(key, X, y, "generated")
    some = {name: generator.pop(name) for name in ("n", "random_state") if name in generator}
    if generator or set(some) == {"random_state"}:
        raise ProblemError(
            f"options of {key}, which is no synthetic set, must be n and random_state (of a subset), got "
            f"{sorted(generator | some)}"
        )
    whole = _whole(key, source, data_home)
    return whole.subset(**some) if some else whole


def _whole(key: str, source: Source, data_home: str | Path | None) -> Dataset:
    """All points of a set that is not synthetic."""
    folder = Path(data_home) if data_home else _folder_from_environment()
    found = None if folder is None else _from_folder(key, source, folder)
    if found is not None:
        return found
    if source.bundled:
        return _bundled(key, source)
    return _download(key, source, folder)


def origin(name: str, data_home: str | Path | None = None) -> str:
    """The origin from which `load` takes a set: a file, scikit-learn, a generator or a download."""
    source = SOURCES[name]
    folder = Path(data_home) if data_home else _folder_from_environment()
    if source.generate is not None:
        return "generated"
    path = None if folder is None else _file_of(name, source, folder)
    if path is not None:
        return str(path)
    return "scikit-learn" if source.bundled else "a download"


def _folder_from_environment() -> Path | None:
    value = os.environ.get(FOLDER_VARIABLE)
    return Path(value) if value else None


def _from_folder(key: str, source: Source, folder: Path) -> Dataset | None:
    if not folder.is_dir():
        raise DatasetUnavailableError(f"data_home must be a folder, got {folder}")
    path = _file_of(key, source, folder)
    if path is None:
        return None
    if ".csv" in path.suffixes:
        return Dataset(key, *read_csv(path), str(path))
    return Dataset(key, *read_libsvm(path, source.n_features), str(path))


def _file_of(key: str, source: Source, folder: Path) -> Path | None:
    """The file of a set in a folder, if it is there."""
    stems, suffixes = (source.file, key), (".csv.gz", ".csv", ".libsvm.gz", ".libsvm")
    paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in suffixes)
    return next((path for path in paths if path.is_file()), None)


def _bundled(key: str, source: Source) -> Dataset:
    """A set of scikit-learn, read from its file to save the import (a second), or else by its loader."""
    spec = find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    path = Path(folders[0], "datasets", "data", source.bundled) if folders else Path()
    if path.is_file():
        header = 0 if path.suffix == ".gz" else 1  # digits has none
        table = np.loadtxt(text_of(path).splitlines()[header:], delimiter=",")
        X, y = table[:, :-1], table[:, -1]
    else:
        from sklearn import datasets as bundled

        X, y = getattr(bundled, f"load_{key}")(return_X_y=True)
    return Dataset(key, np.ascontiguousarray(X, float), np.asarray(y, np.intp), "scikit-learn")


def _download(key: str, source: Source, folder: Path | None) -> Dataset:
    where = f"folder {folder}" if folder else f"no folder (set data_home= or {FOLDER_VARIABLE})"
    if not (source.openml or source.libsvm):
        raise DatasetUnavailableError(
            f"data set {key!r} has no public download; looked in {where} for {source.file}.csv.gz"
        )
    try:
        if source.openml:
            X, y = _openml(source)
        else:
            X, y = read_libsvm(fetch(source.libsvm), source.n_features)
    except (OSError, ValueError) as error:
        origin = "OpenML" if source.openml else "the LIBSVM page"
        raise DatasetUnavailableError(
            f"data set {key!r} could not be downloaded from {origin} ({error}); looked in {where}; "
            f"put {source.file}.csv.gz or {source.file}.libsvm.gz into a data folder to work offline"
        ) from error
    return Dataset(key, X, y, "OpenML" if source.openml else "LIBSVM")


def _openml(source: Source) -> tuple[Array, Index]:
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(
        source.openml, version=source.openml_version, as_frame=False, parser="liac-arff", n_retries=1
    )
    labels = np.unique(bunch.target, return_inverse=True)[1]
    return np.asarray(bunch.data, dtype=float), labels.astype(np.intp)
