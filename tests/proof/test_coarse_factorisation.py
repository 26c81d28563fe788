"""Proofs by factorisation on a machine with few digits: shifts, margins and what is tried in which order."""

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models import linalg
from npkl_models.linalg import norm_bound
from npkl_models.proof import factorisation
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.factorisation import ATTEMPTS, by_cholesky, by_eigh, eigenvalue_floor

U, LEAST = 2.0**-10, 2.0**-8
S = np.array([[3.0, 1, 0, 0], [1, 4, -1, 0], [0, -1, 5, 1], [0, 0, 1, 6]])
N, LOW, NORM = 4, np.linalg.eigvalsh(S)[0], 7.0
RUMP = (N + 2) * U / (1 - (N + 2) * U)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(factorisation, "UNIT", U)
    monkeypatch.setattr(factorisation, "TINY", LEAST)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def floors(monkeypatch, name, answers):
    """The shifts that are tried, where the attempts have these answers."""
    seen, left = [], list(answers)
    monkeypatch.setattr(factorisation, name, lambda S, shift: seen.append(shift) or left.pop(0))
    return seen


def test_a_dense_floor_is_rumps():
    """Minus c times the trace of what was factorised, and n times what may underflow."""
    for shift in (0.0, 0.5, -LOW + 1e-3):
        trace = 18 + 4 * shift
        assert factorisation._dense_floor(S, shift) == near(-RUMP * trace - N * LEAST)
        assert factorisation._dense_floor(sp.csr_array(S), shift) == near(-RUMP * trace - N * LEAST)
    assert factorisation._dense_floor(S, -LOW - 1e-3) is None


@pytest.mark.parametrize("A", [S, S - 2 * LOW * np.eye(4)])
def test_an_eigendecomposition_is_proved_by_a_factorisation_a_margin_below(A):
    low = np.linalg.eigvalsh(A)[0]
    norm = norm_bound(A)
    shift = 4 * 8 * U * norm + LEAST - low
    found = by_eigh(A)
    floor = -RUMP * np.trace(A + shift * np.eye(N)) - N * LEAST
    assert found.lower == near(floor - shift - 2 * U * (norm + abs(shift)))
    assert (found.estimate, found.rigour) == (near(low), "proved")
    np.testing.assert_allclose(A @ found.vector, low * found.vector, atol=1e-12)
    assert found.vector.shape == (N,)


def test_margins_are_quadrupled_until_one_will_do(monkeypatch):
    seen = floors(monkeypatch, "_dense_floor", [None, None, -0.25])
    found, margin = by_eigh(S), 4 * 8 * U * NORM + LEAST
    assert seen == [near(m * margin - LOW) for m in (1, 4, 16)]
    assert found.lower == near(-0.25 - seen[-1] - 2 * U * (NORM + abs(seen[-1])))
    floors(monkeypatch, "_dense_floor", [None] * ATTEMPTS)
    found = by_eigh(S)
    assert (found.lower, found.rigour, found.failure_probability) == (-np.inf, "estimated", 1.0)
    assert found.vector.shape == (N,)
    assert found.estimate == near(LOW)


@pytest.mark.parametrize("accuracy", [1e-3, 1.0])
@pytest.mark.parametrize("estimate", [LOW, -0.5, 300.0])
def test_shifts_begin_at_what_is_asked_for_or_what_rounding_needs(estimate, accuracy, monkeypatch):
    """Where the estimate is above zero, zero itself is tried as well, in the order of size."""
    seen = floors(monkeypatch, "_dense_floor", [None] * 20)
    guess = EigenBound(-np.inf, estimate, "estimated", np.ones(N) / 2)
    assert by_cholesky(S, guess, accuracy) is guess
    base = max(accuracy, 16 * N * U * NORM)
    margin = max(base, 0.01 * estimate)
    wanted = [4.0**k * margin - estimate for k in range(ATTEMPTS)]
    assert seen == [near(s) for s in (sorted([base, *wanted]) if estimate > 0 else wanted)]


def test_a_first_attempt_needs_no_second_guess(monkeypatch):
    guess = EigenBound(-np.inf, LOW, "estimated", np.ones(N) / 2)
    seen = floors(monkeypatch, "_dense_floor", [-0.25])
    monkeypatch.setattr(factorisation, "_lower_than_guessed", lambda *a: pytest.fail("not wrong"))
    found = by_cholesky(S, guess, 1e-3)
    assert found.lower == near(-0.25 - seen[0] - 2 * U * (NORM + abs(seen[0])))
    assert (found.estimate, found.rigour) == (LOW, "proved")
    floors(monkeypatch, "_dense_floor", [None, -0.25])
    assert by_cholesky(S, guess, 1e-3, again=True).rigour == "proved"


@pytest.mark.parametrize(("accuracy", "asked"), [(1e-3, True), (1e3, False)])
def test_a_later_one_does_unless_it_is_good_enough(accuracy, asked, monkeypatch):
    guess, seen = EigenBound(-np.inf, -0.5, "estimated", np.ones(N) / 2), []
    floors(monkeypatch, "_dense_floor", [None, accuracy if not asked else -0.25])
    monkeypatch.setattr(factorisation, "_lower_than_guessed", lambda *a: seen.append(a) or "mended")
    found = by_cholesky(S, guess, accuracy)
    assert (found == "mended") == bool(seen)
    assert bool(seen) == (asked or 4 * accuracy - 0.5 > 2 * accuracy)


def test_what_is_below_a_guess_is_found_and_proved():
    """The guess is a second eigenvalue; the lowest vector is found by inverse iteration."""
    A = np.diag([-2.0, 1.0, 3.0, 5.0])
    for matrix in (A, sp.csr_array(A)):
        found = by_cholesky(matrix, EigenBound(-np.inf, 1.0, "estimated", np.eye(N)[1]), 1e-3)
        assert found.estimate == pytest.approx(-2, abs=1e-9)
        assert found.rigour == "proved"
        assert abs(found.vector[0]) == pytest.approx(1)
        assert np.linalg.norm(found.vector) == pytest.approx(1)
        assert -2 - 3 * 16 * N * U * 5 < found.lower < -2


def test_a_better_estimate_is_kept_even_if_its_proof_is_no_better(monkeypatch):
    A = np.diag([-2.0, 1.0, 3.0, 5.0])
    first = EigenBound(-2.5, 1.0, "proved", np.eye(N)[1])
    worse = EigenBound(-3.0, -2.0, "proved", np.eye(N)[0])
    monkeypatch.setattr(factorisation, "by_cholesky", lambda *a, again: worse)
    found = factorisation._lower_than_guessed(A, first, 2.5, 1e-3)
    assert (found.lower, found.estimate) == (-2.5, near(-2.0))
    better = EigenBound(-2.4, -2.0, "proved", np.eye(N)[0])
    monkeypatch.setattr(factorisation, "by_cholesky", lambda *a, again: better if again else None)
    assert factorisation._lower_than_guessed(A, first, 2.5, 1e-3) is better
    low = EigenBound(-2.5, -2.0, "proved", np.eye(N)[0])
    assert factorisation._lower_than_guessed(A, low, 2.5, 1e-3) is low


def test_the_floor_of_a_definite_matrix_is_most_of_what_iterations_find(monkeypatch):
    G = S - (LOW - 0.25) * np.eye(N)
    norm, least, half = norm_bound(G), 0.95 * 0.25, 0.5 * 0.25
    proved = factorisation._dense_floor(G, -least)
    assert eigenvalue_floor(G) == pytest.approx(least + proved - 2 * U * (norm + least), rel=1e-6)
    seen = floors(monkeypatch, "_dense_floor", [None, -0.25])
    assert eigenvalue_floor(G) == pytest.approx(half - 0.25 - 2 * U * (norm + half), rel=1e-6)
    assert seen == [pytest.approx(-share * 0.25, rel=1e-6) for share in (0.95, 0.5)]
    floors(monkeypatch, "_dense_floor", [None, None])
    assert eigenvalue_floor(G) == 0.0
    assert eigenvalue_floor(S - 2 * LOW * np.eye(N)) == 0.0


def test_a_sparse_floor_is_minus_the_residual_of_its_factors():
    """|R| by its row sums, with n units more, and for each row of L two units of |L| D |L'| a number."""
    A = S.copy()
    A[0, 3] = A[3, 0] = 0.5  # fills: rows of L with one, two, two and four numbers
    for shift in (0.0, 0.75):
        L = np.linalg.cholesky(A + shift * np.eye(N))
        D = L.diagonal() ** 2
        L = L / L.diagonal()
        magnitude = np.abs(L) @ (D * np.abs(L).sum(axis=0))
        terms = max(np.count_nonzero(np.abs(row) > 1e-14) for row in L) + 3
        found = factorisation._sparse_floor(sp.csc_array(A), shift)
        assert found == pytest.approx(-max(2 * terms * U * magnitude), rel=1e-9)
    assert factorisation._sparse_floor(sp.csc_array(A), -2 * np.linalg.eigvalsh(A)[0]) is None
    assert factorisation._sparse_floor(sp.csc_array(np.diag([1.0, 0, 1, 1])), 0.0) is None


def test_the_residual_of_factors_counts_in_full(monkeypatch):
    exact = linalg.splu

    class Off:
        """Factors of which one pivot is a hundredth too large."""

        def __init__(self, *args, **options):
            found = exact(*args, **options)
            self.L, self.perm_r, self.perm_c = found.L, found.perm_r, found.perm_c
            self.U = sp.csc_array(sp.diags_array(found.U.diagonal() * [1, 1, 1, 1.01]))

    first = factorisation._sparse_floor(sp.csc_array(S), 0.0)
    monkeypatch.setattr(linalg, "splu", Off)
    pivot = np.linalg.cholesky(S)[-1, -1] ** 2
    found = factorisation._sparse_floor(sp.csc_array(S), 0.0)
    rows = np.abs(np.linalg.cholesky(S) / np.linalg.cholesky(S).diagonal())
    D = np.linalg.cholesky(S).diagonal() ** 2 * [1, 1, 1, 1.01]
    magnitude = rows @ (D * rows.sum(axis=0))
    own = np.array([0, 0, 0, 0.01 * pivot]) * (1 + N * U)
    assert found == pytest.approx(-max(own + 2 * 5 * U * magnitude), rel=1e-6)
    assert found < first


def test_an_order_is_worth_it_where_its_work_is_small():
    """A path has an envelope of one number in each row; a full matrix has none that is small."""
    n = 200
    path = sp.diags_array([np.ones(n - 1), 2 * np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    order = factorisation.sparse_order(sp.csr_array(path))
    assert sorted(order) == list(range(n))
    assert np.max(np.abs(np.diff(order))) == 1
    assert factorisation.sparse_order(sp.csr_array(np.ones((n, n)))) is None
    assert factorisation.sparse_order(path.toarray()) is None
    assert factorisation.can_factorise(np.eye(3))


@pytest.mark.parametrize(("n", "fits"), [(7, False), (8, True)])
def test_a_path_of_seven_is_factorised_dense(n, fits):
    """n - 1 operations against n^3 / 60."""
    path = sp.diags_array([np.ones(n - 1), 2 * np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    assert (factorisation.sparse_order(sp.csr_array(path)) is not None) == fits
