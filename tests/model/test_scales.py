"""Unlike scales are said where they decide the distances, however many features there are."""

import warnings

import numpy as np
import pandas as pd
import pytest

import npkl_models as nm
from npkl_models.model.graph import UnscaledWarning, unscaled

PLAIN = np.random.default_rng(0).normal(size=(60, 8))


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("make", [nm.laplacian, nm.knn_affinity, lambda X: nm.NPKLKernel().fit(X)])
def test_one_large_feature_is_named_whatever_the_number_of_features(d, make):
    X = pd.DataFrame(PLAIN[:, :d], columns=[f"f{k}" for k in range(d)])
    X["f1"] *= 1e4
    with pytest.warns(UnscaledWarning, match="'f1' makes 100.0% of the squared distances") as said:
        make(X)
    assert [one.filename for one in said if one.category is UnscaledWarning] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(PLAIN[:, :d])


def test_the_unit_does_not_matter_and_features_of_one_unit_are_left_in_peace():
    assert unscaled(PLAIN * 1e9) == ""
    assert unscaled(np.column_stack([PLAIN[:, 0], np.zeros(60)])) == ""  # a constant says nothing
    assert (
        unscaled(np.column_stack([4 * np.repeat([-1, 1], 30) + PLAIN[:, 0], PLAIN[:, 1]])) == ""
    )  # two clusters
    assert unscaled(np.eye(60) * np.geomspace(1, 0.005, 60)) == ""  # eleven effective features
    for name in ("iris", "digits", "two_gaussians", "chessboard", "double_spiral", "xor", "swiss_roll"):
        assert unscaled(nm.datasets.load(name).X) == "", name
    for name in ("wine", "breast_cancer"):
        assert "unlike scales" in unscaled(nm.datasets.load(name).X), name


def test_what_is_no_table_of_numbers_is_left_to_others():
    assert unscaled(PLAIN * 1e5, metric="cosine") == ""
    with pytest.raises(nm.ProblemError, match="X must hold real numbers"):
        nm.laplacian([["a", "b"], ["c", "d"]])
    with pytest.raises(nm.ProblemError, match="X must have shape"):
        nm.laplacian([1.0, 2.0, 3.0])
