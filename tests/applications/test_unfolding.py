"""The transformers keep scikit-learn's contract, unroll what is rolled, and place new points."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import npkl_models as nm
from npkl_models.applications.unfolding import MVE, MVU, SPE, ColoredMVU
from npkl_models.data.synthetic import swiss_roll


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([MVU(), ColoredMVU(), MVE(1, max_steps=2), SPE()])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def arc(n=60):
    angle = np.linspace(0, 5, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * 3, angle


@pytest.mark.parametrize("model", [MVU(1, n_neighbors=3, nu=1e4), MVE(1, n_neighbors=3, C=1e3)])
def test_new_points_land_between_their_neighbours(model):
    X, angle = arc()
    model.fit(X[::2])
    assert model.certificate_.certifies(1e-6)
    Z = model.transform(X)[:, 0]
    np.testing.assert_array_equal(Z[::2], model.embedding_[:, 0])
    assert abs(np.corrcoef(Z, angle)[0, 1]) > 0.999
    between = (Z[1:-1:2] - Z[:-2:2]) * (Z[2::2] - Z[1:-1:2])
    assert np.mean(between > 0) > 0.9
    assert model.get_feature_names_out().tolist() == [f"{type(model).__name__.lower()}0"]


def test_colours_tell_the_training_points_better_than_those_held_out():
    """As the docstring warns: the labels have moved the former. Three classes, of which the largest has 40 %."""
    data = nm.datasets.load("wine")
    X = StandardScaler().fit_transform(data.X)
    model = ColoredMVU(2, n_neighbors=5, trace_bound=float(data.n)).fit(X, data.y)
    own = cross_val_score(KNeighborsClassifier(3), model.embedding_, data.y, cv=LeaveOneOut()).mean()
    assert own > 0.97
    line = make_pipeline(ColoredMVU(2, n_neighbors=5, trace_bound=float(data.n)), KNeighborsClassifier(3))
    held_out = cross_val_score(line, X, data.y, cv=3).mean()
    assert 0.7 < held_out < own


def test_a_kernel_of_real_labels():
    X, angle = arc(30)
    model = ColoredMVU(1, n_neighbors=3, C=10.0, label_kernel=lambda y: np.outer(y, y)).fit(X, angle)
    assert abs(np.corrcoef(model.embedding_[:, 0], angle)[0, 1]) > 0.99


def test_parts_are_joined_and_said():
    X = np.concatenate([arc(20)[0], arc(20)[0] + 40])
    model = MVU(n_neighbors=3).fit(X)
    assert model.solution_.problem.name == "mvu, 2 parts of the graph joined"
    with pytest.raises(nm.ProblemError, match="must be connected"):
        MVU(n_neighbors=3, components="refuse").fit(X)


@pytest.mark.parametrize("draw", [1, 3])
def test_angles_hold_a_sheet_flat_that_neighbours_alone_let_bend(draw):
    """The outer turn of an even Swiss roll of 300 points is too sparse for its nearest neighbours alone."""
    X = swiss_roll(300, random_state=draw, even=True)[0]
    X = X[np.hypot(X[:, 0], X[:, 2]) > 9.0]
    across = {}
    for angles in (False, True):
        model = MVU(n_neighbors=5, nu=1e3, angles=angles).fit(X)
        assert model.certificate_.certifies(1e-6)
        across[angles] = np.abs(np.corrcoef(X[:, 1], model.embedding_.T)[0, 1:]).max()
    assert across[True] > max(0.98, across[False])


def test_what_is_not_certified_is_warned_of():
    with pytest.warns(ConvergenceWarning, match="not certified optimal"):
        MVU(options={"max_iter": 3}, backend="interior").fit(arc(30)[0])
    for wrong in (MVU(0), MVU(n_neighbors=0), MVU(metric="precomputed")):
        with pytest.raises(nm.ProblemError, match="must be"):
            wrong.fit(arc(10)[0])


def test_neighbours_of_the_graph_are_kept():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = SPE(3, n_neighbors=4, C=20.0).fit(X)
    assert model.run_.settled
    loose = SPE(3, n_neighbors=4, C=1e-3).fit(X)
    assert model.run_.slack < 1e-3 * loose.run_.slack
    assert model.transform(X + 1e-3).shape == (40, 3)
