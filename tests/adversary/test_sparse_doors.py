"""Every public function that takes a matrix reads its sparse structure in full, or refuses it in words."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.linalg.entries import read_sparse
from tests.adversary.sparse_doors import DOORS, FITTED_BY_SKLEARN, MEASURES, PATTERNS, Q, broken, legal

LEGAL = tuple(legal(np.eye(6)))
BROKEN = tuple(broken(np.eye(6)))


@pytest.fixture(scope="module")
def outcomes(request):
    """What each function of this run did with each matrix, in a process that a crash would end."""
    asked = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    doors = sorted({one.params["door"] for one in asked if one and "door" in one.params})
    run = subprocess.run(
        [sys.executable, "-m", "tests.adversary.sparse_doors", *doors],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0, (rows[-1:], run.stderr[-500:])
    return {tuple(row[:2]): tuple(row[2:]) for row in rows if len(row) > 2}


@pytest.mark.parametrize("door", DOORS)
def test_a_broken_structure_is_refused_in_words(outcomes, door):
    for case in BROKEN:
        kind, told = outcomes[door, case]
        if case in ("NaN", "infinity") and door in FITTED_BY_SKLEARN:
            assert told.startswith("ValueError: Input X contains"), case
        elif case in ("NaN", "infinity") and door in MEASURES:
            assert kind == "answer", case
            assert not np.isfinite(told), case
        elif case not in ("NaN", "infinity") or door not in PATTERNS:
            assert kind == "refused", (case, kind, told)
            assert " must " in told, told
            assert "got " in told, told


@pytest.mark.parametrize("door", DOORS)
def test_what_scipy_takes_as_equal_is_the_same_problem(outcomes, door):
    kind, expected = outcomes[door, "itself"]
    assert kind == "answer", expected
    for case in LEGAL:
        kind, found = outcomes[door, case]
        if case == "columns that change" and kind == "refused":  # it was read twice
            continue
        assert kind == "answer", (case, found)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=case)


def test_the_words_say_what_and_where():
    A = sp.csr_array(np.eye(6))
    A.indices = A.indices + 1
    wanted = r"cost matrix \(Laplacian\) must be a well-formed sparse matrix, got columns \[6\] outside 0..5"
    with pytest.raises(nm.ProblemError, match=wanted):
        nm.Problem(A, nm.LossTerm(nm.Entries(6, ([0], [1])), "hinge", 1.0))
    with pytest.raises(nm.ProblemError, match=r"must be finite, got NaN at \[\(2, 1\)\]"):
        nm.Basis(sp.csr_array(([np.nan], ([2], [1])), shape=(4, 2)))


def test_what_is_read_shares_no_memory_and_stays_as_it_was():
    parts = np.ones(3), np.array([0, 1, 2]), np.array([0, 1, 2, 3])
    A = sp.csr_array(parts, shape=(3, 3))
    read = read_sparse(A, "A")
    for part in (A.data, A.indices, A.indptr):
        part[:] = 7
    np.testing.assert_array_equal(read.toarray(), np.eye(3))
    assert read.indices.dtype == np.int32


def test_a_basis_is_taken_as_it_is_or_refused():
    tiny = Q.copy()
    tiny[5, 0] = 1e-22  # a QR would lose this row
    for given in (tiny, sp.csr_array(tiny)):
        kept = nm.Basis(given).Q
        np.testing.assert_array_equal(kept.toarray() if sp.issparse(kept) else kept, tiny)
    off = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 4)))[0]
    for error, taken in ((1e-13, True), (1e-11, False), (1e-9, False)):
        given = off * np.sqrt(1 + error)
        if taken:
            np.testing.assert_array_equal(nm.Basis(given).Q, given)
        else:
            with pytest.raises(nm.ProblemError, match=r"got 1.0e-\d\d; Basis\(numpy.linalg.qr\(Q\)\[0\]\)"):
                nm.Basis(given)
            assert nm.Basis(np.linalg.qr(given)[0]).size == 4
