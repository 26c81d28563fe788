"""What is said of a point that proves nothing, or of a problem without a solution."""

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
