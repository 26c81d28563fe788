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
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.data import synthetic
from npkl_models.data.readers import codes, fetch, read_csv, read_libsvm
from npkl_models.errors import NPKLError, ProblemError, unknown
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
        """A data set of ``n`` points that are drawn at random; they keep their order."""
        if not 2 <= n <= self.n:
            raise ProblemError(f"n must be between 2 and {self.n}, got {n}")
        chosen = np.sort(generator(random_state).permutation(self.n)[:n])
        y = self.y[chosen] if self.y.size else self.y
        ids = tuple(self.ids[k] for k in chosen) if self.ids else ()
        return replace(self, X=self.X[chosen], y=y, ids=ids)

    def scaled(self, how: str) -> Dataset:
        """The set with columns as they are ("raw"), standardised ("standard"), or in [0, 1] ("minmax")."""
        if how == "raw":
            return self
        from sklearn.preprocessing import minmax_scale, scale

        return replace(self, X={"standard": scale, "minmax": minmax_scale}[how](self.X))


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
    **{f"a{k}a": Source(f"a{k}a", libsvm=f"binary/a{k}a", n_features=123) for k in range(1, 10)},
    "two_gaussians": Source(generate=synthetic.two_gaussians),
    "chessboard": Source(generate=synthetic.chessboard),
    "double_spiral": Source(generate=synthetic.double_spiral),
    "xor": Source(generate=synthetic.xor),
    "swiss_roll": Source(generate=synthetic.swiss_roll),
}


def names() -> list[str]:
    """The names of all data sets that `load` knows."""
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
    folder, path = _place_of(key, data_home)
    if path is not None:
        X, y = read_csv(path) if ".csv" in path.suffixes else read_libsvm(path, source.n_features)
        whole = Dataset(key, X, y, str(path))
    elif source.bundled:
        whole = _bundled(key, source)
    else:
        whole = _download(key, source, folder)
    return whole.subset(**some) if some else whole


def origin(name: str, data_home: str | Path | None = None) -> str:
    """The origin from which `load` takes a set: a file, scikit-learn, a generator or a download."""
    source = SOURCES[name]
    if source.generate is not None:
        return "generated"
    path = _place_of(name, data_home)[1]
    if path is not None:
        return str(path)
    return "scikit-learn" if source.bundled else "a download"


def _place_of(key: str, data_home: str | Path | None) -> tuple[Path | None, Path | None]:
    """The data folder, and the file of a set in it, if there are any."""
    value = data_home or os.environ.get(FOLDER_VARIABLE)
    if not value:
        return None, None
    folder = Path(value)
    if not folder.is_dir():
        raise DatasetUnavailableError(f"data_home must be a folder, got {folder}")
    stems, suffixes = (SOURCES[key].file, key), (".csv.gz", ".csv", ".libsvm.gz", ".libsvm")
    paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in suffixes)
    return folder, next((path for path in paths if path.is_file()), None)


def _bundled(key: str, source: Source) -> Dataset:
    """A set of scikit-learn, from its file, because the import takes a second."""
    path = distribution("scikit-learn").locate_file(f"sklearn/datasets/data/{source.bundled}")
    table = np.loadtxt(str(path), delimiter=",", skiprows=int(key != "digits"))  # digits has no header
    X = np.ascontiguousarray(table[:, :-1])
    return Dataset(key, X, table[:, -1].astype(np.intp), "scikit-learn")


def _download(key: str, source: Source, folder: Path | None) -> Dataset:
    where = f"folder {folder}" if folder else f"no folder (set data_home= or {FOLDER_VARIABLE})"
    if not (source.openml or source.libsvm):
        raise DatasetUnavailableError(
            f"data set {key!r} has no public download; looked in {where} for {source.file}.csv.gz"
        )
    try:
        if source.openml:
            from sklearn.datasets import fetch_openml

            bunch = fetch_openml(
                source.openml, version=source.openml_version, as_frame=False, parser="liac-arff", n_retries=1
            )
            X, y = np.asarray(bunch.data, dtype=float), codes(bunch.target)
        else:
            X, y = read_libsvm(fetch(source.libsvm), source.n_features)
    except (OSError, ValueError) as error:
        origin = "OpenML" if source.openml else "the LIBSVM page"
        raise DatasetUnavailableError(
            f"data set {key!r} could not be downloaded from {origin} ({error}); looked in {where}; "
            f"put {source.file}.csv.gz or {source.file}.libsvm.gz into a data folder to work offline"
        ) from error
    return Dataset(key, X, y, "OpenML" if source.openml else "LIBSVM")
