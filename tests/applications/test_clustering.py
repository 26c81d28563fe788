"""Kernel k-means and the accuracy of the papers."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans


def test_kernel_kmeans_and_the_papers_accuracy():
    data = nm.datasets.load("iris")
    L, pairs = side_information("iris")
    found = nm.simple_npkl(L, pairs, loss="squared_hinge", trace_bound=150.0).solve("simple_npkl")
    clusters = kernel_kmeans(found, 3)
    np.testing.assert_array_equal(clusters, kernel_kmeans(found.V, 3))
    order = np.random.default_rng(0).permutation(data.n)
    labels = data.y[order]
    same = labels[:, None] == labels
    guess = (labels > 0).astype(int)
    agree = same == (guess[:, None] == guess)
    expected = agree[np.triu_indices(data.n, 1)].mean()
    assert cluster_accuracy(labels, guess) == pytest.approx(expected)
    assert cluster_accuracy(labels, labels) == 1.0
    full = kernel_kmeans(found.K, 3)
    assert cluster_accuracy(full, clusters) > 0.99
    with pytest.raises(nm.ProblemError, match="n_clusters must be between 1 and n = 150"):
        kernel_kmeans(found, 0)
