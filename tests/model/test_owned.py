"""Problems and answers own what they are given: nothing that is changed afterwards, anywhere, reaches them."""

import contextlib
import copy
import dataclasses
import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


def arrays_of(value, seen=None):
    """Every array that hangs on a value, through tuples, dataclasses and sparse matrices."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return []
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        return [value]
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, (tuple, list)):
        return [a for part in value for a in arrays_of(part, seen)]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    return [a for part in dataclasses.fields(value) for a in arrays_of(getattr(value, part.name), seen)]


def by_joblib(value):
    file = io.BytesIO()
    joblib.dump(value, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "itself": lambda value: value,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "joblib": by_joblib,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "B2:square", "basis:pcp", "row:linear"])
def test_nothing_that_hangs_on_a_problem_or_an_answer_can_be_written_to(small, kind, way):
    problem = small(kind)
    solution = problem.solve()
    assert solution.certificate.feasible  # made before the copy, too
    for value in (problem, solution, solution.certificate, solution.history):
        found = arrays_of(COPIES[way](value))
        assert found
        for array in found:
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    other = COPIES[way](solution)
    assert other.is_optimal()
    np.testing.assert_array_equal(other.V, solution.V)


def test_a_loaded_answer_cannot_be_written_to(small, tmp_path):
    solution = small("pcp").solve()
    loaded = nm.Solution.load(solution.save(tmp_path / "answer"))
    assert all(not array.flags.writeable for array in arrays_of(loaded))


def test_values_changed_after_they_were_handed_in():
    """Found by a reviewer: what was known of the old problem was said of the new one."""
    v = np.zeros(3)
    term = nm.LossTerm(nm.Entries(6, ([0], [5])), "square", 1.0)
    problem = nm.Problem(
        np.eye(6), (term, nm.Constraint(nm.SquaredDistances(6, ([0, 1, 2], [1, 2, 3])), equal=v))
    )
    first = problem.solve()
    v[:] = 1
    again = problem.solve()
    assert again.objective == first.objective
    assert again.certificate.violation <= 1e-9
    other = nm.Problem(
        np.eye(6), (term, nm.Constraint(nm.SquaredDistances(6, ([0, 1, 2], [1, 2, 3])), equal=v))
    )
    assert other.solve().objective == pytest.approx(1.7739, abs=1e-4)


def handed_in():
    """(what is handed in, the problem made of it) for every array that a problem takes."""
    n, index = 6, np.arange(3)
    L = np.eye(n) + 0.1
    target, weight, value = np.ones(3), np.ones(3), np.full(3, 0.5)
    sparse, Q = sp.csr_array(L), np.eye(n)[:, :4].copy()
    sparse_Q = sp.csr_array(Q)
    term = nm.LossTerm(nm.Entries(n, (index, index)), "square", target, weight)
    hard = nm.Constraint(nm.Entries(n, (index, index + 1)), equal=value)
    pairs = np.array([[0, 1], [2, 3]])
    confidence = np.ones(4)
    made = nm.Pairs(n, pairs, pairs[:, ::-1] + 1, confidence)
    X = np.random.default_rng(0).normal(size=(n, 2))
    return {
        "dense cost": (L, nm.Problem(L, term)),
        "sparse cost": (sparse.data, nm.Problem(sparse, term)),
        "pattern of the cost": (sparse.indices, nm.Problem(sparse, term)),
        "target": (target, nm.Problem(L, term)),
        "weight": (weight, nm.Problem(L, term)),
        "indices": (index, nm.Problem(L, term)),
        "value": (value, nm.Problem(L, (term, hard))),
        "basis": (Q, nm.Problem(L, term, basis=nm.Basis(Q))),
        "sparse basis": (sparse_Q.data, nm.Problem(L, term, basis=nm.Basis(sparse_Q))),
        "pairs": (pairs, nm.pcp(L, made)),
        "confidences": (confidence, nm.pcp(L, made)),
        "points": (X, nm.mvu(X, n_neighbors=3)),
    }


@pytest.mark.parametrize("what", handed_in())
def test_no_array_that_is_handed_in_is_shared(what):
    array, problem = handed_in()[what]
    V = np.random.default_rng(1).normal(size=(problem.n, 2))
    before = problem.objective_of_factor(V), [z.copy() for z in problem.values(V)], problem.violation(V)
    array[...] = 0
    array.setflags(write=False)
    after = problem.objective_of_factor(V), problem.values(V), problem.violation(V)
    assert before[0] == after[0]
    assert before[2] == after[2]
    for a, b in zip(before[1], after[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_point_that_is_certified_is_not_shared(small):
    problem = small("pcp")
    V = problem.solve().V.copy()
    found = nm.certify(problem, V)
    V[:] = 0
    assert problem.objective_of_factor(found.point) == pytest.approx(found.objective)


def test_what_is_set_on_a_cost_or_a_basis_the_problem_does_not_see(small):
    problem = small("basis:pcp")
    with pytest.raises(ValueError, match="read-only"):
        problem.cost.data[0] = 7
    before = problem.cost.toarray()
    assert (before == 0).any()
    cost = problem.cost
    cost.data = np.zeros(cost.nnz)
    other = problem.cost
    i, j = np.argwhere(before == 0)[0]
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")  # that it is expensive
        other[i, j] = 5.0  # a new entry makes new arrays, of the shell alone, or is refused
    np.testing.assert_array_equal(problem.cost.toarray(), before)
    with pytest.raises(AttributeError):
        problem.cost = cost
