"""Choices by held-out comparisons: rough kernels, the search for a penalty, and the choice of a refinement."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.answers import HeldAnswers, led
from npkl_models.applications.refine import Compared, softplus
from npkl_models.formulations.comparisons import answered, ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty

X = np.random.default_rng(3).normal(size=(40, 2))
ASKED = ordinal_answers(X, 1_500, noise=0.1, random_state=3)


def held(rows=ASKED, loss="logistic", cv=3):
    return HeldAnswers(rows, 40, loss, cv, 0)


def test_distances_of_triplets_and_quadruplets():
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(40), (9, 1)), axis=1)
    for width, other in ((3, 0), (4, 3)):
        near, far = Compared(rows[:, :width], 40).distances(X)
        np.testing.assert_allclose(near, np.sum((X[rows[:, 0]] - X[rows[:, 1]]) ** 2, axis=1))
        ends = (rows[:, 0], rows[:, 2]) if width == 3 else (rows[:, 2], rows[:, other])
        np.testing.assert_allclose(far, np.sum((X[ends[0]] - X[ends[1]]) ** 2, axis=1))


def test_softplus_is_exact_and_does_not_overflow():
    z = np.array([-1e4, -30.0, -1e-3, 0.0, 2.0, 1e4])
    total, slope = softplus(z)
    assert total == pytest.approx(np.logaddexp(0.0, z).sum(), rel=1e-14)
    np.testing.assert_allclose(slope, np.exp(-np.logaddexp(0.0, -z)), rtol=1e-14)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_a_rough_kernel_is_close_to_the_certified_optimum(loss):
    top = largest_penalty(nm.ordinal(ASKED, 40, loss=loss))
    own = held(loss=loss, cv=2)
    for penalty in (0.4 * top, 0.15 * top):
        for part, V in zip(own.parts, own.kernels(penalty), strict=True):
            problem = nm.ordinal(part.known.rows, 40, loss=loss, penalty=part.share * penalty)
            best = problem.solve(tol=1e-4)
            assert best.is_optimal(1e-4)
            above = problem.objective_of_factor(V) - best.certificate.bound
            assert -1e-9 < above / best.certificate.bound < 0.02


def test_parts_keep_repeated_comparisons_together():
    rows = np.concatenate([ASKED[:500], ASKED[:500]])
    parts = held(rows).parts
    assert len(parts) == 3
    assert sum(len(part.unknown) for part in parts) == len(rows)
    for part in parts:
        known = {tuple(row) for row in part.known.rows.tolist()}
        assert not known & {tuple(row) for row in part.unknown.tolist()}
        assert part.share == pytest.approx(len(part.known.rows) / len(rows))
    many = ordinal_answers(X, 12_000, random_state=0)
    assert len(held(many, cv=4).parts) == 1  # 3,000 answers are enough


def test_the_search_ends_at_the_first_penalty_that_is_not_better():
    top = largest_penalty(nm.ordinal(ASKED, 40))
    penalties = top * np.array([0.9, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01])
    at, scores, factors = held().penalty(penalties)
    tried = scores[np.isfinite(scores)]
    assert np.isfinite(scores[: tried.size]).all()
    assert at == tried.size - 2
    assert (np.diff(tried[:-1]) > 0).all()
    assert tried[-1] <= tried[-2]
    own = [answered(V, part.unknown) for V, part in zip(factors, held().parts, strict=True)]
    assert np.mean(own) == scores[at]


def test_the_better_way_is_found():
    """One dimension cannot hold points of the plane; the kernel itself answers more."""
    clean = held(ordinal_answers(X, 3_000, random_state=5))
    factors = clean.kernels(0.1 * largest_penalty(nm.ordinal(clean.rows, 40)))
    flat = [("t_ste", 1), ("ckl", 1)]
    assert clean.way([*flat, (None, 0)], factors) == (None, 0)
    assert clean.way([*flat, ("t_ste", 2)], factors) == ("t_ste", 2)


def test_leading_coordinates_of_a_wide_factor():
    V = np.random.default_rng(0).normal(size=(5, 9))
    assert led(V, 2).shape == (5, 2)
    K = (V - V.mean(axis=0)) @ (V - V.mean(axis=0)).T
    every = led(V, 4)
    np.testing.assert_allclose(every @ every.T, K, atol=1e-10)
