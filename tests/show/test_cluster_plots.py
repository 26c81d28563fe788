"""Pictures of clusters and audits: what is drawn is what was found."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.show import plots
from npkl_models.show.plots import partitions

WINE = nm.datasets.load("wine")
PAIRS = nm.Pairs.from_labels(WINE.y, 40, 30, random_state=0)
SOLUTION = nm.pcp(nm.laplacian(WINE.X / WINE.X.std(axis=0), 10, shift=0.1), PAIRS).solve()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_points_are_coloured_by_cluster_and_pairs_are_lines():
    labels = kernel_kmeans(SOLUTION, 3)
    ax = plots.clusters(SOLUTION, labels, PAIRS)
    assert legend(ax) == ["cluster 0", "cluster 1", "cluster 2", "40 must-links", "30 cannot-links"]
    sizes = [len(part.get_offsets()) for part in ax.collections[:3]]
    assert sizes == np.bincount(labels).tolist()
    must, cannot = ax.collections[3:]
    X = plots.layout(SOLUTION)
    assert np.allclose(must.get_segments(), X[PAIRS.must_link])
    assert np.allclose(cannot.get_segments(), X[PAIRS.cannot_link])
    assert must.get_linestyles() != cannot.get_linestyles()


def test_many_pairs_are_thinned_and_none_are_needed(monkeypatch):
    monkeypatch.setattr(partitions, "MOST_LINES", 10)
    ax = plots.clusters(SOLUTION, np.zeros(178, dtype=int), PAIRS, ax=plt.subplots()[1])
    assert [len(part.get_segments()) for part in ax.collections[1:]] == [10, 10]
    assert len(plots.clusters(SOLUTION, np.zeros(178, dtype=int)).collections) == 1


def test_wrong_sizes_are_named():
    with pytest.raises(nm.ProblemError, match=r"labels must have shape \(178,\)"):
        plots.clusters(SOLUTION, [0, 1])
    with pytest.raises(nm.ProblemError, match="pairs must be over the 178 points"):
        plots.clusters(SOLUTION, np.zeros(178), nm.Pairs(3, [(0, 1)], []))
