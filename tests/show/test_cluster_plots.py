"""Pictures of clusters and audits: what is drawn is what was found."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.show import plots
from npkl_models.show.plots import points

WINE = nm.datasets.load("wine")
PAIRS = nm.Pairs.from_labels(WINE.y, 40, 30, random_state=0)
SOLUTION = nm.pcp(nm.laplacian(WINE.X / WINE.X.std(axis=0), 10, shift=0.1), PAIRS).solve()


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
    monkeypatch.setattr(points, "MOST_PAIRS", 10)
    ax = plots.clusters(SOLUTION, np.zeros(178, dtype=int), PAIRS, ax=plt.subplots()[1])
    assert [len(part.get_segments()) for part in ax.collections[1:]] == [10, 10]
    assert len(plots.clusters(SOLUTION, np.zeros(178, dtype=int)).collections) == 1


def test_wrong_sizes_are_named():
    with pytest.raises(nm.ProblemError, match=r"labels must have shape \(178,\)"):
        plots.clusters(SOLUTION, [0, 1])
    with pytest.raises(nm.ProblemError, match="pairs must be over the 178 points"):
        plots.clusters(SOLUTION, np.zeros(178), nm.Pairs(3, [(0, 1)], []))


def test_an_audit_is_drawn_in_order_with_the_wrong_ones_marked():
    swapped = nm.Pairs(
        178, [*PAIRS.must_link[4:], *PAIRS.cannot_link[:3]], [*PAIRS.cannot_link[3:], *PAIRS.must_link[:4]]
    )
    wrong = np.concatenate([PAIRS.must_link[:4], PAIRS.cannot_link[:3]])
    found = audit_pairs(nm.pcp(SOLUTION.problem.cost, swapped, gamma=10.0).solve())
    ax = plots.audit(found, wrong[:, ::-1])
    inside = sum(pair in wrong.tolist() for pair in found.pairs[:7].tolist())
    assert legend(ax) == ["must-link", "cannot-link", f"wrong: {inside} of 7 in the top 10 %"]
    points = np.concatenate([part.get_offsets() for part in (ax.collections[0], ax.collections[2])])
    assert sorted(points[:, 0]) == list(range(1, 71))
    order = points[np.argsort(points[:, 0]), 1]
    assert (np.diff(order) <= 0).all()
    assert order[0] == found.score[0]
    marked = np.concatenate([part.get_offsets() for part in (ax.collections[1], ax.collections[3])])
    assert {tuple(found.pairs[int(k) - 1]) for k in marked[:, 0]} == set(map(tuple, wrong.tolist()))


def test_an_audit_without_known_wrong_ones_and_bad_ones():
    found = audit_pairs(SOLUTION)
    assert legend(plots.audit(found, share=1.0)) == ["must-link", "cannot-link"]
    with pytest.raises(nm.ProblemError, match="pairs of the audit"):
        plots.audit(found, [(0, 0)])
    with pytest.raises(nm.ProblemError, match="integers of shape"):
        plots.audit(found, [0, 1])
    with pytest.raises(nm.ProblemError, match="share must be"):
        plots.audit(found, share=0.0)
