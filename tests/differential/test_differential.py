"""A slice of the differential test, and that its judge sees a lie."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from differential.models import Numbers, contradictory
from differential.run import _verdict, compare


@pytest.mark.parametrize("seed", [*range(20_000, 20_010), 725, 928])
def test_the_default_and_a_model_from_the_formulas_agree(seed):
    assert compare(seed)["verdict"] in (
        "agrees",
        "proved alone",
        "neither",
        "not proved",
        "contradictory by rounding",
    )


def equalities(*values):
    """d_01 - d_02, d_12 - d_10 and d_12 - d_02, which is their sum."""
    ends = (np.array([0, 1, 2]), np.array([1, 2, 1]), np.array([2, 0, 0]))
    return Numbers(np.eye(3), equalities=[("differences", ends, np.array(values))])


def test_a_contradiction_by_one_unit_is_one():
    assert not contradictory(equalities(1.0, 2.0, 3.0))
    assert contradictory(equalities(1.0, 2.0, np.nextafter(3.0, 4.0)))
    assert contradictory(Numbers(np.eye(2), equalities=[("total", (), 1.0), ("total", (), 2.0)]))
    entry = (np.array([0]), np.array([1]))
    assert not contradictory(Numbers(np.eye(2), equalities=[("entries", entry, 1.0), ("total", (), 2.0)]))


@pytest.mark.parametrize(
    ("status", "objective", "theirs", "value", "verdict"),
    [
        ("OPTIMAL", 1.0, "optimal", 1.0, "agrees"),
        ("OPTIMAL", 1.1, "optimal", 1.0, "false claim"),
        ("OPTIMAL", 1.0, "optimal", 1.1, "theirs is worse"),
        ("OPTIMAL", 1.0, "infeasible", None, "false claim"),
        ("INFEASIBLE", np.nan, "optimal", 1.0, "false claim"),
        ("UNBOUNDED", np.nan, "optimal", 1.0, "false claim"),
        ("UNBOUNDED", np.nan, "unbounded", None, "agrees"),
        ("INACCURATE", 1.0, "optimal", 1.0, "not proved"),
        ("INACCURATE", 1.0, "error", None, "neither"),
    ],
)
def test_the_judge_sees_a_lie(status, objective, theirs, value, verdict):
    problem = nm.Problem(np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0))
    said = SimpleNamespace(
        status=nm.Status[status], objective=objective, certificate=SimpleNamespace(bound=objective)
    )
    assert _verdict(Numbers(np.eye(3)), problem, said, theirs, value) == verdict
