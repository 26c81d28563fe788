"""What is said of a point that proves nothing, or of a problem without a solution."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.options import Options
from npkl_models.solve.watch import RunMonitor


def watching():
    return RunMonitor(Options(tol=1e-6))


def test_a_point_below_the_bound_is_not_called_optimal():
    """Equalities that are met only roughly push the objective below the bound: the gap knows their price."""
    problem = nm.hard_pcp(*side_information("iris", 20))
    good = problem.solve("sdp", eps=1e-9)
    cheat = nm.certify(problem, good.V * (1 - 4e-7), good.multipliers)
    assert 1e-7 < cheat.violation <= 1e-6
    assert not cheat.feasible
    assert cheat.objective < good.certificate.bound
    assert cheat.gap >= 0
    loose = nm.certify(problem, good.V * (1 - 4e-7), good.multipliers, feasibility=1e-6)
    assert loose.certifies(1e-5)


@pytest.mark.parametrize("functional", [nm.Entries, nm.SquaredDistances])
def test_zero_is_an_answer_when_the_time_is_up(functional):
    """Without a cost the gap stays large however near to zero a point is."""
    values = nm.LossTerm(functional(6, ([0, 1, 2], [3, 4, 5])), "square", 0.0)
    found = nm.Problem(np.zeros((6, 6)), values).solve("burer_monteiro", time_limit=0.3)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    assert found.objective == 0.0


@pytest.mark.parametrize("said", [nm.Status.OPTIMAL, nm.Status.INFEASIBLE, nm.Status.UNBOUNDED])
def test_the_word_of_a_solver_without_a_proof_is_inaccurate(said):
    pair = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0)
    far = judge(nm.Problem(np.eye(3), pair), "mine", Claim(np.full((3, 1), 3.0), status=said), watching())
    assert far.status is nm.Status.INACCURATE


def test_a_point_that_is_not_optimal_or_misses_a_constraint_is_named_so():
    pair, far = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0), Claim(np.full((3, 1), 3.0))
    assert judge(nm.Problem(np.eye(3), pair), "mine", far, watching()).status is nm.Status.LOCALLY_SOLVED
    held = nm.Constraint(nm.Entries(3, ([0], [0])), equal=1.0)
    problem, watch = nm.Problem(np.eye(3), (pair, held)), watching()
    as_it_is = watch.certify(problem, far.V, None, restoring=False)
    found = judge(problem, "mine", Claim(far.V, certificate=as_it_is), watch)
    assert found.status is nm.Status.INACCURATE
    assert "misses the constraint" in found.message
