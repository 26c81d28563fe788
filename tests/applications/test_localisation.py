"""Localisation: right positions, honest words on what is not located, and uncertainty that is the spread."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.located import Measured, aligned, refined, uncertainty
from npkl_models.formulations.known_distances import radio_network

KNOWN, X = radio_network(30, 5, 0.5, random_state=1)
ANCHORS = (np.arange(30, 35), X[30:])


def error(found):
    return np.sqrt(np.mean(np.sum((found[:30] - X[:30]) ** 2, axis=1)))


def test_exact_distances_are_located_exactly():
    model = nm.Localisation(unique=True).fit(KNOWN, anchors=ANCHORS)
    assert model.certificate_.relative_gap < 1e-4
    assert error(model.positions_) < 1e-8
    assert error(model.positions_) < error(model.relaxed_) < 0.02
    assert model.unique_.all()
    assert np.array_equal(model.positions_[30:], X[30:])
    assert model.uncertainty_[:30].max() < 1e-8
    plain = nm.Localisation(spread=0.0, refine=False).fit(KNOWN, anchors=ANCHORS)
    assert error(plain.positions_) < 1e-4
    assert np.array_equal(plain.positions_, plain.relaxed_)
    assert plain.solution_.problem.cost.nnz == 0
    assert plain.unique_ is None


def test_a_sensor_with_two_distances_is_said_to_be_loose():
    i, j, d = KNOWN
    near = np.argsort(np.linalg.norm(X[30:] - X[0], axis=1))[:2] + 30
    extra = np.linalg.norm(X[near] - X[0], axis=1)
    kept = (i != 0) & (j != 0)
    known = (np.append(i[kept], [0, 0]), np.append(j[kept], near), np.append(d[kept], extra))
    model = nm.Localisation(unique=True).fit(known, anchors=ANCHORS)
    assert not model.unique_[0]
    assert model.left_[0] < 1e-6  # it is spread out in the plane, so one relaxation alone does not tell
    assert model.unique_[1:].all()


def test_what_is_unique_does_not_hang_on_the_random_start():
    known, positions = radio_network(30, 4, 0.5, noise=0.02, random_state=0)
    few = np.flatnonzero(np.bincount(np.concatenate(known[:2]), minlength=34)[:30] < 3)
    found = [
        nm.Localisation(unique=True, options={"random_state": seed})
        .fit(known, anchors=(range(30, 34), positions[30:]))
        .unique_
        for seed in range(3)
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert not found[0][few].any()
    assert found[0].sum() == 29


@pytest.mark.parametrize(("noise", "count"), [(0.0, 29), (0.02, 28)])  # noise leaves something at one more
def test_what_is_unique_without_anchors(noise, count):
    (i, j, d), positions = radio_network(30, 0, 0.6, noise=noise, random_state=3)
    kept = (i != 0) & (j != 0)
    two = np.argsort(np.linalg.norm(positions[1:] - positions[0], axis=1))[:2] + 1
    near = np.linalg.norm(positions[two] - positions[0], axis=1)
    known = np.append(i[kept], [0, 0]), np.append(j[kept], two), np.append(d[kept], near)
    found = [
        nm.Localisation(unique=True, options={"random_state": seed}).fit(known).unique_ for seed in range(3)
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert not found[0][0]
    assert found[0].sum() == count


def test_spread_and_refinement_help_against_noise():
    noisy = radio_network(30, 5, 0.5, noise=0.1, random_state=1)[0]
    plain, spread = (nm.Localisation(spread=s).fit(noisy, anchors=ANCHORS) for s in (0.0, 0.01))
    assert error(spread.relaxed_) < error(plain.relaxed_)
    assert error(spread.positions_) < error(spread.relaxed_)
    assert spread.left_.sum() < plain.left_.sum()


def test_without_anchors_positions_are_right_up_to_a_rigid_motion():
    i, j, _ = KNOWN
    model = nm.Localisation().fit(KNOWN, n_points=35)
    inside = np.unique(np.concatenate([i, j]))
    assert inside.size == 35
    assert np.abs(aligned(model.positions_, X) - X).max() < 1e-6
    assert np.abs(model.positions_.mean(axis=0)).max() < 1e-12
    assert np.isfinite(model.uncertainty_).all()


def test_the_uncertainty_is_the_spread_of_repeated_measurements():
    i, j, d = KNOWN
    moving, rng = np.arange(30), np.random.default_rng(0)
    found, said = [], []
    for _ in range(60):
        known = Measured.of(i, j, d * (1 + 0.02 * rng.standard_normal(d.size)), "relative")
        found.append(refined(X, known, moving))
        said.append(uncertainty(found[-1], known, moving))
    spread = np.sqrt(np.mean(np.sum((np.array(found) - X) ** 2, axis=2), axis=0))[:30]
    ratio = np.sqrt(np.mean(np.array(said) ** 2, axis=0))[:30] / spread
    assert np.median(ratio) == pytest.approx(1.0, abs=0.1)


def test_the_uncertainty_is_unknown_where_the_distances_do_not_fix_a_position():
    i, j, d = KNOWN
    at = np.flatnonzero(i == 0)[:1]
    kept = (i != 0) & (j != 0)
    known = Measured.of(
        np.append(i[kept], i[at]), np.append(j[kept], j[at]), np.append(d[kept], d[at]), "absolute"
    )
    found = uncertainty(X, known, np.arange(30))
    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()


def test_the_refinement_never_raises_the_sum_of_squares():
    i, j, d = radio_network(30, 5, 0.5, noise=0.2, random_state=1)[0]
    known, start = Measured.of(i, j, d, "relative"), np.random.default_rng(0).normal(size=X.shape)
    start[30:] = X[30:]
    end = refined(start, known, np.arange(30))
    assert np.sum(known.residuals(end)[0] ** 2) < np.sum(known.residuals(start)[0] ** 2)
    again = refined(end, known, np.arange(30))
    assert again == pytest.approx(end, abs=1e-4)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: nm.Localisation(3).fit(KNOWN, anchors=ANCHORS), "n_components = 3 coordinates, got 2"),
    (lambda: aligned(X, X[:3]), "same shape"),
])  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(nm.ProblemError, match=words):
        call()


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_the_unit_of_length_does_not_matter(loss):
    (i, j, d), X = radio_network(12, 4, 0.7, noise=0.02, random_state=3)
    found = []
    for unit in (1.0, 64.0):
        model = nm.Localisation(loss=loss, backend="interior", refine=False)
        model.fit((i, j, unit * d), anchors=(range(12, 16), unit * X[12:]))
        found.append(model.relaxed_ / unit)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


def test_distances_between_anchors_change_nothing():
    (i, j, d), X = radio_network(12, 4, 0.7, noise=0.02, random_state=3)
    anchors = (range(12, 16), X[12:])
    own = (i < 12) | (j < 12)
    one = nm.Localisation().fit((i[own], j[own], d[own]), anchors=anchors, n_points=16)
    more = [12, 12, 13], [13, 14, 15], [9.0, 9.0, 9.0]
    wrong = tuple(np.r_[a[own], b] for a, b in zip((i, j, d), more, strict=True))
    two = nm.Localisation().fit(wrong, anchors=anchors, n_points=16)
    np.testing.assert_array_equal(one.uncertainty_, two.uncertainty_)
    np.testing.assert_array_equal(one.positions_, two.positions_)


def test_too_few_points_for_an_uncertainty():
    assert np.isnan(nm.Localisation(3).fit(([0], [1], [1.0])).uncertainty_).all()


def test_distances_between_anchors_alone_need_bounds():
    corners = (range(3), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    known = [0, 1], [1, 2], [1.0, 2**0.5]
    with pytest.raises(nm.ProblemError, match="one that the anchors do not fix, got none"):
        nm.Localisation().fit(known, anchors=corners)
    bounds = [3, 3, 3], [0, 1, 2], [0.6, 0.6, 0.6], [0.8, 0.8, 0.8]
    model = nm.Localisation().fit(known, anchors=corners, bounds=bounds, n_points=4)
    lengths = np.linalg.norm(model.relaxed_[3] - model.positions_[:3], axis=1)
    assert lengths.max() < 0.81
    assert np.isnan(model.uncertainty_[3])
