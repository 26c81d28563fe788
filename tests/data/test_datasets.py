"""Data sets by name, from folders, downloads and generators."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn import datasets as bundled

import npkl_models as nm
from npkl_models.data import datasets, synthetic
from npkl_models.data.readers import read_csv


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
        ("digits", (1797, 64), 10),
    ],
)
def test_bundled_sets(name, shape, classes, monkeypatch):
    monkeypatch.delenv(nm.datasets.FOLDER_VARIABLE, raising=False)
    data = datasets.load(name)
    assert data.X.shape == shape
    assert np.unique(data.y).tolist() == list(range(classes))
    assert data.origin == "scikit-learn"
    X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize("name", [n for n, s in datasets.SOURCES.items() if s.generate])
def test_synthetic_sets_are_reproducible_and_balanced(name):
    first, second = (datasets.load(name, n=200, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    assert first.X.shape[0] == first.y.size == 200
    counts = np.bincount(first.y)
    assert counts.min() >= 0.3 * 200 / counts.size
    assert not np.array_equal(first.X, datasets.load(name, n=200, random_state=4).X)


def test_two_gaussians_are_the_papers():
    X, y = synthetic.two_gaussians(20_000, 10, 0)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 1, atol=0.05)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), -1, atol=0.05)
    np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(10), atol=0.06)


def test_a_data_folder_comes_first(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "iris.csv.gz", "wt") as file:
        file.write("f0,f1,label\n1,2,0\n3,4,1\n")
    with gzip.open(tmp_path / "a1a.libsvm.gz", "wt") as file:
        file.write("-1 3:1 11:1\n+1 5:1\n")
    data = datasets.load("iris", tmp_path)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.origin.endswith("iris.csv.gz")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    adult = datasets.load("a1a")
    assert adult.X.shape == (2, 123)
    assert adult.y.tolist() == [0, 1]
    assert adult.X[0, 2] == adult.X[0, 10] == adult.X[1, 4] == 1


def test_offline_says_where_was_looked(monkeypatch, tmp_path):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    for name in ("glass", "a3a", "usps"):
        with pytest.raises(datasets.DatasetUnavailableError, match="no network.*looked in no folder"):
            datasets.load(name)
    with pytest.raises(datasets.DatasetUnavailableError, match="protein.*no public download"):
        datasets.load("protein", tmp_path)


@pytest.fixture
def page(monkeypatch, tmp_path):
    """The LIBSVM page, as a folder whose files can be changed, and an empty cache."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    files = {"usps.bz2": bz2.compress(b"1 1:0.5 3:2\n2 2:1\n"), "a1a": b"+1 1:1\n-1 2:1\n"}

    def copy(url, output_file, pooch):
        Path(output_file).write_bytes(files[url.split("/")[-1]])

    monkeypatch.setattr("pooch.core.choose_downloader", lambda *a, **k: copy)
    return files


def test_downloads_are_read_and_kept(page):
    usps = datasets.load("usps")
    assert usps.X.tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert usps.origin == "LIBSVM"
    page.clear()
    assert datasets.load("usps").X.tolist() == usps.X.tolist()


def test_a_download_with_another_checksum_is_refused(page):
    with pytest.raises(datasets.DatasetUnavailableError, match="(?i)hash"):  # a made-up a1a
        datasets.load("a1a")


def test_openml_is_read(monkeypatch):
    class Bunch:
        data, target = np.eye(3), np.array(["b", "a", "b"])

    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *a, **k: Bunch())
    glass = datasets.load("glass")
    assert glass.y.tolist() == [1, 0, 1]
    assert glass.origin == "OpenML"


def test_bad_data_calls(tmp_path):
    with pytest.raises(nm.UnsupportedError, match="unknown data set 'mars'; known are: a1a"):
        datasets.load("mars")
    for name in (None, 3, ["wine"]):
        with pytest.raises(nm.UnsupportedError, match="unknown data set"):
            nm.datasets.load(name)
    with pytest.raises(
        nm.ProblemError, match="options of iris, which is no synthetic set, must be n and random"
    ):
        datasets.load("iris", noise=3)
    with pytest.raises(nm.ProblemError, match="random_state"):
        datasets.load("iris", random_state=3)
    (tmp_path / "bad.csv").write_text("a,b,label\n1,2\n")
    with pytest.raises((nm.ProblemError, ValueError)):
        read_csv(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("name", "shape", "classes"), [("boston_housing", (506, 13), 3), ("news20", (18745, 1000), 20)]
)
def test_sets_that_are_only_in_a_folder(name, shape, classes, paper_data):
    data = datasets.load(name, paper_data)
    assert data.X.shape == shape
    assert np.unique(data.y).tolist() == list(range(classes))


def test_the_two_copies_of_iris_are_told_apart(paper_data, monkeypatch):
    """UCI's has two rows that Fisher's table, and scikit-learn, have not."""
    uci = datasets.load("iris", paper_data)
    monkeypatch.delenv(nm.datasets.FOLDER_VARIABLE, raising=False)
    bundled = datasets.load("iris")
    assert np.flatnonzero((uci.X != bundled.X).any(axis=1)).tolist() == [34, 37]
    assert "iris" in uci.origin
    assert bundled.origin == "scikit-learn"


def test_some_points_of_a_set_are_drawn():
    few = datasets.load("wine", n=60)
    assert (few.n, few.X.shape) == (60, (60, 13))
    np.testing.assert_array_equal(few.X, datasets.load("wine").subset(60).X)
    assert not np.array_equal(few.X, datasets.load("wine", n=60, random_state=1).X)
