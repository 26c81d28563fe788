"""What is said of a point that proves nothing, or of a problem without a solution."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm


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
