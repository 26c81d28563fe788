"""Solutions: on disk, dense, for new points."""

import numpy as np
import pytest

import npkl_models as nm


@pytest.mark.parametrize("kind", ["pcp", "row:hinge", "B2:square", "G1:hinge"])
def test_solutions_survive_the_disk(small, exact, tmp_path, kind):
    solution = exact(kind)
    path = solution.save(tmp_path / "answer")
    back = nm.Solution.load(path)
    np.testing.assert_array_equal(back.V, solution.V)
    assert back.status is solution.status
    assert back.objective == solution.objective
    assert back.problem.objective_of_factor(back.V) == pytest.approx(solution.objective)
    assert back.certificate.bound == pytest.approx(solution.certificate.bound, abs=1e-6)
    assert back.problem.name == solution.problem.name
    again = back.problem.solve("sdp", eps=1e-9)
    assert again.objective == pytest.approx(solution.objective, rel=1e-6)
    with pytest.raises(nm.ProblemError, match="written by save"):
        np.savez(tmp_path / "other.npz", a=np.zeros(2))
        nm.Solution.load(tmp_path / "other.npz")


def test_large_kernels_are_not_formed_by_accident(small):
    solution = small("pcp").solve()
    assert solution.trace == pytest.approx(np.trace(solution.K))
    n = 20_001
    big = nm.Problem(
        nm.laplacian(np.random.default_rng(0).normal(size=(n, 2)), 3),
        nm.LossTerm(nm.Entries(n, ([0], [1])), "square", 1.0),
    )
    held = nm.Solution(big, "bcd", nm.Status.STOPPED, np.ones((n, 1)), 0.0, 0.0)
    with pytest.raises(nm.ProblemError, match=r"20001 points takes 3.2 GB"):
        _ = held.K


def test_extension_is_the_fixed_point_of_averaging(small):
    """New rows are affinity-weighted means of their neighbours' rows, old and new."""
    solution = small("pcp").solve()
    rng = np.random.default_rng(0)
    A = rng.random((5, 24)) * (rng.random((5, 24)) < 0.2)
    A[:, 0] += 0.1
    B = rng.random((5, 5))
    B = np.triu(B, 1) + np.triu(B, 1).T
    for shift in (0.0, 0.1):
        V = solution.extend(A, B, shift)
        degree = A.sum(axis=1) + B.sum(axis=1)
        np.testing.assert_allclose(V * ((1 + shift) * degree)[:, None], A @ solution.V + B @ V, atol=1e-12)
    alone = solution.extend(A)
    np.testing.assert_allclose(alone, (A @ solution.V) / A.sum(axis=1)[:, None], atol=1e-12)
    one = np.zeros((1, 24))
    one[0, 7] = 3.0
    np.testing.assert_allclose(solution.extend(one), solution.V[7:8])


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones((2, 5)), None, "a column for each of the 24 old points"),
        (-np.ones((2, 24)), None, "must be non-negative, got -1.0"),
        (np.zeros((2, 24)), None, r"joined to an old point, got no edges for \[0, 1\]"),
        (np.ones((2, 24)), np.triu(np.ones((2, 2))), "among_new must be symmetric"),
    ],
)
def test_bad_extensions(small, A, B, message):
    with pytest.raises(nm.ProblemError, match=message):
        small("pcp").solve().extend(A, B)
