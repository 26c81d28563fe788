"""A slice of the adversary; its own command runs for as long as it is given: ``python tests/adversary/run.py``."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import npkl_models as nm
from adversary import exact
from adversary.given import Exact
from adversary.run import attack
from adversary.trial import Tally, Trial


def show(tally: Tally) -> str:
    return "\n".join([str(tally), *tally.false[:3], *tally.foreign[:3], *tally.hangs[:3]])


@pytest.mark.parametrize("number", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 4))])
def test_no_certificate_is_false(number, record_property):
    problems = 30 if number else 8
    tally = attack(1_000 + number, problems, 1, solving=False)
    record_property("tried", dict(tally.counts))
    print(tally)
    assert tally.counts["certificates"] >= 7 * problems
    assert tally.counts["bounds checked in exact arithmetic"] >= 2 * problems
    assert tally.false + tally.foreign == [], show(tally)


@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_no_solver_claims_what_is_not_so(number, record_property):
    tally = attack(2_000 + number, 12, 1, solving=True)
    record_property("tried", dict(tally.counts))
    print(tally)
    assert tally.counts["solves"] >= 20
    assert tally.false + tally.foreign + tally.hangs == [], show(tally)


@pytest.mark.parametrize(("number", "what"), [
    (2_002, "solves of comparisons by bcd"), (2_004, "solves with CHOLMOD"),
])  # fmt: skip
def test_comparisons_and_sensors_are_drawn_for_the_solvers_that_take_them(number, what):
    tally = attack(number, 12, 1, solving=True)
    print(tally)
    assert tally.counts[what] >= 4
    assert tally.false + tally.foreign + tally.hangs == [], show(tally)


# ----------------------------------------------------------------- the judge itself is judged on closed forms


def test_exact_values_of_closed_forms():
    n = 3
    half = nm.Problem(np.eye(n), [nm.LossTerm(nm.Entries(n, ([0], [0])), "square", 1.0, 1.0)])
    y = nm.Multipliers((np.array([-1.0]),))  # S = diag(0, 1, 1), f* = 1/4 - 1
    assert exact.dual_value(half, y) == Fraction(3, 4)
    assert exact.objective(half, np.array([[1.0], [0.0], [0.0]])) == 1
    assert exact.dual_value(half, nm.Multipliers((np.array([-1.0000000000000002]),))) == -mpmath.inf
    ball = nm.Problem(-np.eye(n), half.terms, regularizer=nm.TracePower(2, bound=3.0))
    value = exact.dual_value(ball, nm.Multipliers((np.zeros(1),)))
    assert abs(value + 3) < mpmath.mpf(10) ** -50  # sqrt(3) ||I||_F
    hinge = nm.Problem(np.eye(n), [nm.LossTerm(nm.Entries(n, ([0], [1])), "hinge", 1.0, 2.0)])
    assert exact.paid(hinge, nm.Multipliers((np.array([-2.0]),))) == -2
    assert exact.paid(hinge, nm.Multipliers((np.array([-2.0000000000000004]),))) is None
    assert not exact.is_psd([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(5)]])
    assert exact.is_psd([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]])


LIES = ("bound", "feasible", "objective", "gap")
EQUALITY_LIES = ("bound", "gap", "violation", "upper", "no multipliers")


@pytest.mark.parametrize("lie", LIES)
def test_the_trial_sees_a_lie(lie):
    """A certificate with one number changed is found out."""
    problem = nm.Problem(np.eye(2), [nm.LossTerm(nm.Entries(2, ([0, 1], [0, 1])), "square", 1.0, 1.0)])
    honest = problem.solve("burer_monteiro").certificate
    tally = Tally()
    Trial(problem, tally).judge(honest, "honest")
    assert not tally.false
    lies = {
        "bound": replace(honest, bound=honest.bound + 1e-3),
        "feasible": replace(honest, multipliers=nm.Multipliers((np.full(2, -3.0),))),
        "objective": replace(honest, objective=honest.objective + 1e-3),
        "gap": replace(honest, gap=-1e-300),
    }
    Trial(problem, tally).judge(lies[lie], lie)
    assert tally.false


def cut(n: int = 4) -> nm.Problem:
    """The relaxation of a cut of a path: a unit diagonal, and an optimum below that of any signs."""
    C = np.diag(np.full(n - 1, 0.25), 1)
    C[0, -1] = 0.5
    return nm.Problem(C + C.T, (nm.Constraint(nm.Entries(n, (np.arange(n), np.arange(n))), equal=1.0),))


@pytest.mark.parametrize("lie", EQUALITY_LIES)
def test_the_trial_sees_a_lie_about_the_targets_of_a_point(lie):
    """Of a point that misses the diagonal, whose own targets are dearer than those of the problem."""
    problem = cut()
    best = problem.solve("interior")
    honest = nm.certify(problem, 1.001 * best.V, best.multipliers, kind="factor")
    tally = Tally()
    Trial(problem, tally).judge(honest, "honest")
    assert not tally.false
    none = nm.Multipliers((), (np.zeros(4),))
    lies = {
        "bound": replace(honest, bound=honest.bound + 1e-9),
        "gap": replace(
            honest, gap=honest.objective - honest.bound if honest.objective > honest.bound else 0.0
        ),
        "violation": replace(honest, violation=0.999 * honest.violation),
        "upper": replace(honest, upper=honest.objective + 1e-9),
        "no multipliers": replace(honest, multipliers=none),
    }
    Trial(problem, tally).judge(lies[lie], lie)
    assert tally.false


def test_the_trial_sees_a_bound_above_a_kernel_that_floats_hold_exactly():
    problem = cut()
    signs = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    own = Exact(problem, signs)
    assert own.feasible
    assert own.violation == 0
    assert not Exact(problem, np.nextafter(signs, 2)).feasible
    found, tally = nm.certify(problem, signs), Tally()
    trial = Trial(problem, tally)
    trial.judge(found, "signs")
    assert not tally.false
    trial.judge(replace(found, bound=problem.objective_of_factor(signs) + 1e-9), "lie")
    dual, kernel = tally.false
    assert "is above the exact" in dual
    assert "of lie is above" in kernel
    assert "of signs" in kernel


@pytest.mark.parametrize("said", ["OPTIMAL", "agrees"])
@pytest.mark.parametrize("point", ["missed", "indefinite", "dear"])
def test_the_trial_sees_praise_of_a_kernel_from_elsewhere(point, said):
    problem = cut() if point == "missed" else nm.Problem(
        np.diag([-1.0, 1.0, 1.0]), nm.LossTerm(nm.Entries(3, ([0], [0])), "square", 1.0)
    )  # fmt: skip
    best, tally = problem.solve("interior"), Tally()
    E = np.zeros_like(best.K)
    E[-1, -1] = 1.0
    K = best.K + {"missed": 1e-6, "indefinite": -1e-6, "dear": 1e-2}[point] * E
    status = nm.Status.OPTIMAL if said == "OPTIMAL" else nm.Status.FEASIBLE_POINT
    lie = replace(best, status=status)
    Trial(problem, tally).judge_status(lie, point, K, said if said == "agrees" else "", best)
    assert len(tally.false) == 1
    Trial(problem, Tally()).judge_status(lie, "the same", best.K, said, best)
    assert len(tally.false) == 1


def test_what_an_indefinite_kernel_owes_is_the_slack_in_units_of_its_rows():
    problem = nm.Problem(2 * np.eye(2), nm.LossTerm(nm.Entries(2, ([0], [1])), "square", 1.0))
    own = Exact(problem, np.diag([3.0, -0.5]), kernel=True)
    assert own.indefinite == pytest.approx(2 / 3)  # in units of the rows: diag(3 / 4, -0.5)
    y = nm.Multipliers((np.zeros(1),))
    assert float(own.below(y)) == 5.0  # K + diag(2, 0.5) is PSD, and S = 2 I
    rows = nm.Problem(np.eye(2), problem.terms, regularizer=nm.RowNormBound(1.0))
    out = Exact(rows, np.array([[2.0], [0.5]]))
    assert out.residuals(out.rows) == [[3, 0]]  # the second is below its bound
    assert out.violation == 3.0
    assert float(out.owed(nm.Multipliers(y.losses, (np.array([1.0, 3.0]),)))) == 3.0


def test_the_judge_is_exact_where_an_eigenvalue_is_zero():
    """The slack of a complete graph is PSD; sixty digits have its zero at -1e-60, and a bound of 0 too high."""
    C = 12.5 * np.eye(5) - 2.5
    problem = nm.Problem(
        C, nm.LossTerm(nm.Entries(5, ([1], [1])), "hinge", 1.0), nm.TracePower(2, penalty=3.0)
    )
    zero = nm.Multipliers((np.zeros(1),))
    assert exact.dual_value(problem, zero) == 0
    lower = nm.Problem(C - 2.0**-40 * np.eye(5), problem.terms, problem.regularizer)
    assert exact.dual_value(lower, zero) < 0
