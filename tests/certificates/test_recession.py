"""UNBOUNDED is a theorem: a direction that is still exactly, next to ones that only seem to be."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models import kernel
from npkl_models.certificates import recession
from npkl_models.certificates.recession import unbounded


def square(functional, target=0.0):
    return nm.LossTerm(functional, "square", target)


@pytest.mark.parametrize("apart", [2.0**-50, 2.0**-40, 2.0**-30, 1e-6])
def test_rows_of_a_basis_that_are_nearly_equal(apart):
    """Found by a reviewer: a square on their distance makes the optimum finite, however large."""
    q = np.array([1.0, 1.0 + apart, 0.5])
    basis = nm.Basis((q / np.linalg.norm(q))[:, None])
    problem = nm.Problem(-np.eye(3), square(nm.SquaredDistances(3, ([0], [1]))), basis=basis)
    assert not unbounded(problem)
    assert problem.solve().status is not nm.Status.UNBOUNDED


def test_rows_of_a_basis_that_are_equal():
    q = np.array([1.0, 1.0, 0.5])
    basis = nm.Basis((q / np.linalg.norm(q))[:, None])
    problem = nm.Problem(-np.eye(3), square(nm.SquaredDistances(3, ([0], [1]))), basis=basis)
    assert problem.solve().status is nm.Status.UNBOUNDED


@pytest.mark.parametrize("size", [2, 3])
def test_a_trace_over_a_basis_is_held_in_all_directions(size):
    """It was taken for 1'K1, which holds one direction alone."""
    Q = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(4, size)))[0])
    assert not unbounded(nm.Problem(-np.eye(4), nm.Constraint(nm.Trace(4), equal=1.0), basis=Q))
    assert unbounded(nm.Problem(-np.eye(4), nm.Constraint(nm.TotalSum(4), equal=1.0), basis=Q))


def test_a_value_of_large_coefficients_is_held_exactly():
    """A value of coefficients of 1e18 has the other sign 1e-9 away, and there the loss outgrows the fall."""
    near = np.array([[0.0], [1.0], [1e-9]])
    f = nm.DistanceCombinations(3, ([0, 0], [1, 2]), [[-1e-2, 1e18]])
    problem = nm.Problem(np.diag([0.0, -1.0, 0.0]), nm.LossTerm(f, "squared_excess", 0.0))
    assert kernel.falls(problem, np.round(near))
    assert not kernel.falls(problem, near)


@pytest.mark.parametrize("apart", [0.0, 2.0**-52, 2.0**-400])
def test_a_direction_that_misses_by_any_number_is_none(apart):
    """In rational numbers 2^-800 is not zero: a square loss outgrows every fall at last."""
    problem = nm.Problem(-np.eye(2), square(nm.Entries(2, ([0], [0]))))
    assert kernel.falls(problem, np.array([[apart], [1.0]])) is (apart == 0.0)


def cases():
    n = 5
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, 3)))[0]
    off = nm.Entries(n, ([0, 1], [1, 2]))
    return {
        "a free point": (nm.Problem(-np.eye(n), square(nm.Entries(n, ([0], [0])), 1.0)), True),
        "every K_ii held": (nm.Problem(-np.eye(n), square(nm.Entries(n, (range(5), range(5))), 1.0)), False),
        "entries held": (nm.Problem(-np.eye(n), square(off, 0.5)), True),
        "a distance held": (nm.Problem(-np.eye(n), square(nm.SquaredDistances(n, ([0], [1])), 1.0)), True),
        "differences held": (
            nm.Problem(-np.eye(n), square(nm.DistanceDifferences(n, ([0], [1], [2])), 1.0)), True,
        ),
        "equalities": (nm.Problem(-np.eye(n), nm.Constraint(off, equal=[0.5, 0.2])), True),
        "all equal": (
            nm.Problem(-np.eye(n), [nm.Constraint(nm.Entries(n, (range(5), range(5))), equal=1.0)]), False,
        ),
        "a distance held in a basis": (
            nm.Problem(-np.eye(n), square(nm.SquaredDistances(n, ([0], [1])), 1.0), basis=nm.Basis(Q)), True,
        ),
        "as many as the basis": (
            nm.Problem(
                -np.eye(n), square(nm.SquaredDistances(n, ([0, 1, 2], [1, 2, 3])), 1.0), basis=nm.Basis(Q)
            ), False,
        ),
        "a bound on the trace": (
            nm.Problem(-np.eye(n), square(off, 0.5), nm.TracePower(1, bound=3.0)), False,
        ),
        "a hinge that gives way": (
            nm.Problem(-0.1 * np.eye(n), nm.LossTerm(nm.Entries(n, ([0], [0])), "hinge", -1.0, 0.05)), True,
        ),
        "a hinge that does not": (
            nm.Problem(
                np.diag([-0.1, 1, 1, 1, 1]), nm.LossTerm(nm.Entries(n, ([0], [0])), "hinge", -1.0, 0.2)
            ), False,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", cases())
def test_closed_forms(name):
    problem, wanted = cases()[name]
    assert unbounded(problem) is wanted
    status = problem.solve().status
    assert (status is nm.Status.UNBOUNDED) is wanted
    assert wanted or status is nm.Status.OPTIMAL


def test_what_equalities_exceed_by_a_rounding_is_within_the_feasibility():
    """Ten times the number 0.1 is more than one: by a violation of 1e-17, and not by one of 1e-4."""
    n = 10
    every = nm.Entries(n, (range(n), range(n)))
    term = square(nm.Entries(n, ([0], [1])), 1.0)
    for value, R in ((0.1, nm.TracePower(1, bound=1.0)), (0.1 * 0.1, nm.RowNormBound(0.1))):
        for more, status in ((1.0, nm.Status.OPTIMAL), (1.0001, nm.Status.INFEASIBLE)):
            solution = nm.Problem(np.eye(n), (term, nm.Constraint(every, equal=more * value)), R).solve()
            assert solution.status is status
            assert solution.V is None or solution.certificate.violation <= 1e-7


@pytest.mark.parametrize("c", [5e-324, 3e-323, 1e-310, 1e-300])
def test_bounds_of_costs_that_have_lost_their_digits(c):
    """The optimum of c tr K with 1'K1 = 1 is c / n, exactly; in floats it is rounded, outwards."""
    from fractions import Fraction

    n = 5
    problem = nm.Problem(c * np.eye(n), nm.Constraint(nm.TotalSum(n), equal=1.0))
    found = nm.certify(problem, np.full((n, 1), 1 / n))
    assert Fraction(found.bound) <= Fraction(c) / n
    assert found.upper == np.inf  # a point of an equality proves nothing above
    assert found.objective + found.gap >= c / n


class Differences(nm.Functional):
    """K_ii - K_jj: the order of the two matters."""

    kind, arity, latex, latex_matrix = "diagonal differences", 2, "", ""

    def triplets(self):
        from npkl_models.model.functional import Triplets

        i, j = self.indices
        each, one = np.arange(i.size), np.ones(i.size)
        return Triplets(np.r_[each, each], np.r_[i, j], np.r_[i, j], np.r_[one, -one])


def test_a_functional_that_is_not_symmetric_does_not_contradict_itself():
    """Found by a reviewer: (0, 1) and (1, 0) were taken for the same value."""
    problem = nm.Problem(np.eye(3), nm.Constraint(Differences(3, ([0, 1], [1, 0])), equal=[1.0, -1.0]))
    assert problem.violation(np.array([[1.0], [0.0], [0.0]])) <= 1e-14
    assert problem.solve().status is not nm.Status.INFEASIBLE


def test_a_small_value_keeps_its_price():
    """A value next to zero whose loss is steep may cost more than the fall of the cost: none is left out."""
    x = np.array([0.0, 1.0, 1.0 - 4e-4])
    x /= np.linalg.norm(x)
    C = np.eye(3) - (1 + 1e-5) * np.outer(x, x)
    steep = nm.LossTerm(nm.DistanceDifferences(3, ([0], [1], [2])), "linear", -1.0, 100.0)
    problem = nm.Problem(C, steep)
    z = float(steep.functional.value_of_factor(x[:, None])[0])
    assert x @ C @ x < -9e-6
    assert 0 < z < 1e-3  # which is small enough to be taken for zero
    assert x @ C @ x + 100.0 * z > 0
    assert not recession._falls(problem, x[:, None], 1e-3)


def test_a_shared_slack_grows_with_its_largest_value_alone():
    """Of four values that grow together the slack pays for one: weight w, and not 4 w."""
    every = np.arange(4)
    for weight, falls in ((3.5, True), (4.5, False)):
        shared = nm.LossTerm(nm.Entries(4, (every, every)), "shared_slack", 1.0, weight)
        problem = nm.Problem(-np.eye(4), shared)
        assert recession._falls(problem, np.eye(4) / 2, 1e-9) is falls
        solution = problem.solve()
        assert (solution.status is nm.Status.UNBOUNDED) is falls
