"""Stops, starts and margins of the proofs of an eigenvalue, on matrices whose spectrum is known."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models.linalg import UNIT
from npkl_models.proof import bounds, factorisation, lanczos, perron
from npkl_models.proof.eigenbound import EigenBound, Query


def path(n, diagonal=2.0):
    """A tridiagonal matrix with -1 beside its diagonal."""
    beside = -np.ones(n - 1)
    return sp.csr_array(sp.diags_array([beside, np.full(n, diagonal), beside], offsets=[-1, 0, 1]))


# --------------------------------------------------------------------- Lanczos


def stop(theta, residual, lower=-np.inf, steps=10, local=False, vector=None, **asked):
    """Whether a run ends that has seen a Ritz value with that residual, and the one that decides it."""
    held = SimpleNamespace(whole=lambda c: c)
    found = SimpleNamespace(
        values=np.array([theta]), residuals=np.array([residual]), lower=lower, steps=steps, spread=1.0,
        coefficients=np.ones((1, 1)),
    )  # fmt: skip
    run = SimpleNamespace(combine=lambda coefficients: np.ones((100, 1)) if vector is None else vector)
    decides = lanczos._Stop(held, Query(**asked), 1e-6, local)
    return decides(found, run), decides


def test_a_run_ends_when_its_bound_is_within_the_accuracy():
    """The bound itself may be below zero by that, and no more."""
    assert stop(1.0, 1.0, -0.9e-3, accuracy=1e-3)[0]
    assert not stop(1.0, 1.0, -1.1e-3, accuracy=1e-3)[0]


def test_a_quick_run_ends_with_a_vector_that_is_clearly_negative():
    """Clearly is below minus the accuracy, with a residual of no more than 0.3 of the value."""
    quick = {"quick": True, "accuracy": 1e-2}
    assert stop(-2.0, 0.5, **quick)[0]
    assert not stop(-2.0, 0.7, **quick)[0]
    assert not stop(-0.5, 0.2, **quick)[0]
    assert not stop(-0.9e-2, 1e-9, **quick)[0]
    assert not stop(0.5e-2, 1e-9, **quick)[0]
    assert not stop(-2.0, 0.5, accuracy=1e-2)[0]


def test_before_a_factorisation_an_estimate_will_do():
    """Its residual is a share of the value that the factorisation gives away, or the accuracy."""
    factor = {"method": "cholesky", "accuracy": 1e-6}
    assert stop(2.0, 0.009, **factor)[0]
    assert not stop(2.0, 0.011, **factor)[0]
    assert stop(-1.0, 0.9e-6, **factor)[0]
    assert not stop(-1.0, 1.1e-6, **factor)[0]


def test_a_run_that_would_take_long_is_given_up_once_if_its_vector_is_local():
    """After sixty steps, and where the margin asks for many more of them."""
    few = np.zeros((100, 1))
    few[:5] = 1.0
    slow = {"local": True, "accuracy": 1e-9, "vector": few}
    assert stop(1e-9, 1.0, steps=60, **slow)[0]
    assert not stop(1e-9, 1.0, steps=59, **slow)[0]
    assert not stop(0.5, 1.0, steps=60, **slow)[0]  # a few more steps will do
    assert not stop(1e-9, 1.0, steps=60, accuracy=1e-9, vector=few)[0]
    ended, decides = stop(1e-9, 1.0, steps=60, local=True, accuracy=1e-9)
    assert not ended
    assert not decides.hopes


def test_a_start_has_a_component_with_the_probability_that_is_asked():
    """0.8 sqrt(n) c is the chance of less than c; n = 0 counts as one."""
    assert lanczos.smallest_component(25, 0.1) == pytest.approx(0.1 / (0.8 * 5))
    assert lanczos.smallest_component(1, 0.1) == lanczos.smallest_component(0, 0.1) == pytest.approx(0.125)


def test_one_step_has_one_ritz_value():
    """Whatever beta follows."""
    assert lanczos._ritz_values([3.0], [7.0]).tolist() == [3.0]
    values, vectors, spread = lanczos._extreme_ritz([3.0], [], 4)
    assert (values.tolist(), vectors.tolist(), spread) == ([3.0], [[1.0]], 0.0)


# ------------------------------------------------------------------------ cases


def test_what_is_not_known_is_claimed_with_no_confidence():
    """Before any route there is no bound, and it fails for sure."""
    found = bounds.Case(path(3), None, Query()).found
    assert (found.lower, found.failure_probability, found.rigour) == (-np.inf, 1.0, "none")


def test_runs_that_look_for_local_vectors_share_their_chance(monkeypatch):
    """Three of them may be needed beyond the order of dense proofs: the first has half of it."""
    S, V = path(30), np.ones((30, 1))
    assert bounds.Case(S, V, Query()).run.failure_probability == 1e-6
    monkeypatch.setattr(bounds, "DENSE_CHOLESKY", 10)
    assert bounds.Case(S, V, Query()).run.failure_probability == pytest.approx(1e-6 / 2)
    assert bounds.Case(S, V, Query()).later.failure_probability == pytest.approx(1e-6 / 4)
    for other in (bounds.Case(S, None, Query()), bounds.Case(S.toarray(), V, Query())):
        assert other.run.failure_probability == 1e-6
    assert bounds.Case(S, V, Query("lanczos")).run.failure_probability == 1e-6


def test_an_elimination_counts_where_it_is_better_or_quick(monkeypatch):
    """Otherwise what was found stays, and the hint with it."""
    case = bounds.Case(path(30), None, Query())
    for quick, lower, taken in ((False, -0.5, True), (False, -2.0, False), (True, -2.0, True)):
        case.query, case.hint = Query(quick=quick), np.ones(30)
        case.found = EigenBound(-1.0, 0.0, "probable", np.ones(30))
        better = EigenBound(lower, 0.0, "probable", np.ones(30))
        monkeypatch.setattr(bounds, "by_elimination", lambda *given, b=better: b)
        assert bounds._eliminate(case) is (better if taken else case.found)
        assert (case.hint is None) is taken


def test_a_factorisation_follows_where_it_is_asked_for_or_nothing_else_proved():
    """Not behind a decomposition, nor where a quick look has seen a negative value."""
    case = bounds.Case(np.eye(500), None, Query(accuracy=1e-6))
    case.found = EigenBound(-1.0, 0.0, "probable", np.ones(500))
    assert bounds._factorises(case)
    case.found = EigenBound(-1e-7, 0.0, "probable", np.ones(500))
    assert not bounds._factorises(case)
    for method, wanted in (("cholesky", True), ("lanczos", False), ("eigh", False)):
        other = bounds.Case(np.eye(500), None, Query(method))
        other.found = EigenBound(-1.0, 0.0, "probable", np.ones(500))
        assert bounds._factorises(other) is wanted
    assert not bounds._factorises(bounds.Case(np.eye(50), None, Query()))
    quick = bounds.Case(np.eye(500), None, Query("cholesky", quick=True, accuracy=1e-6))
    quick.found = EigenBound(-1.0, -0.5, "estimated", np.ones(500))
    assert not bounds._factorises(quick)


# --------------------------------------------------------------- factorisations


def test_a_sparse_factorisation_pays_for_its_rounding():
    """Of a diagonal nothing is left over, and four operations in a row of size four may be off."""
    S = sp.csc_array(sp.diags_array([1.0, 2.0, 3.0]))
    assert factorisation._sparse_floor(S, 1.0) == pytest.approx(-2 * 4 * UNIT * 4.0, rel=1e-9, abs=0)


def test_a_positive_guess_is_no_reason_to_give_zero_away():
    """Where the guess is wrong and the matrix singular, the accuracy is proved all the same."""
    S = np.diag([0.0, 1.0, 2.0, 3.0])
    guess = EigenBound(-np.inf, 0.5, "estimated", np.eye(4)[1])
    found = factorisation.by_cholesky(S, guess, 1e-6, again=True)
    assert found.rigour == "proved"
    assert -1.1e-6 <= found.lower <= 0
    true = EigenBound(-np.inf, 1.0, "estimated", np.eye(4)[0])
    assert 0.9 <= factorisation.by_cholesky(S + np.eye(4), true, 1e-6).lower <= 1.0


def test_a_lower_vector_is_named_even_if_it_proves_no_more(monkeypatch):
    """The estimate is the Rayleigh quotient of the vector that comes with it."""
    S = np.diag([-0.5, 1.0, 2.0, 3.0])
    monkeypatch.setattr(factorisation, "by_cholesky", lambda S, guess, accuracy, again: guess)
    found = EigenBound(-0.6, 1.0, "proved", np.eye(4)[1])
    mended = factorisation._lower_than_guessed(S, found, 0.6, 1e-6)
    assert mended.lower == -0.6
    assert mended.estimate == pytest.approx(-0.5)
    assert mended.vector @ S @ mended.vector == pytest.approx(mended.estimate)


def test_what_can_be_factorised_is_small_or_has_little_fill(monkeypatch):
    """A band of any order, a full matrix up to some order."""
    assert factorisation.can_factorise(np.eye(20))
    monkeypatch.setattr(factorisation, "DENSE_CHOLESKY", 10)
    assert factorisation.can_factorise(path(500))
    assert not factorisation.can_factorise(sp.csr_array(np.ones((20, 20))))
    assert not factorisation.can_factorise(np.eye(20))


# ------------------------------------------------------------- positive vectors


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
def test_a_floor_by_a_positive_vector_is_tight_at_any_scale(scale):
    """Its iteration goes on until the quotients agree, relative to their size."""
    C = path(12) + sp.diags_array(np.r_[np.zeros(6), np.full(6, 3.0)])
    low = np.linalg.eigvalsh(C.toarray())[0]
    assert 0.99 * low <= perron.perron_floor(sp.csr_array(scale * C)) / scale <= low


def test_small_entries_of_a_positive_vector_are_as_sharp_as_large_ones():
    """They fall by five digits from point to point: inverse iteration finds them, an eigenvector does not."""
    C = np.diag(np.full(6, 10.0)) - 1e-4 * (np.eye(6, k=1) + np.eye(6, k=-1))
    C[0, 0] = 1.0
    mixed = np.array([2, 3, 0, 5, 1, 4])  # in their order an eigenvector would be as sharp
    x = np.empty(6)
    x[mixed] = perron._inverse_iteration(C[np.ix_(mixed, mixed)])
    np.testing.assert_allclose((C @ x) / x, np.linalg.eigvalsh(C)[0], rtol=1e-3)
    np.testing.assert_allclose(x[1:] / x[:-1], 1e-4 / 9, rtol=1e-3)


def test_two_components_have_no_positive_vector():
    """The lowest vector of one is zero on the other."""
    C = sp.csr_array([[1.0, -0.5, 0], [-0.5, 1.0, 0], [0, 0, 5.0]])
    assert perron.perron_vector(C) is None
