"""A bound above the objective of a point is an alarm: nothing is proved, and the status is FAILED."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm

PAIR = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0)
PROBLEM = nm.Problem(np.eye(3), PAIR)


@pytest.fixture
def false_bound(monkeypatch):
    """A dual side whose conjugate lies: its bound is one above every objective."""
    nm.certify(PROBLEM, np.ones((3, 1)))
    prove = sys.modules["npkl_models.certificates.prove"]
    own = prove.bound_from

    def lying(problem, y, V, objective, demand):
        return replace(own(problem, y, V, objective, demand), bound=objective + 1.0, rigour="proved")

    monkeypatch.setattr(prove, "bound_from", lying)


def test_nothing_is_proved(false_bound):
    found = nm.certify(PROBLEM, np.ones((3, 1)))
    assert found.repair == "bound above objective"
    assert found.rigour == "none"
    assert found.bound == -np.inf
    assert found.gap == found.relative_gap == np.inf
    assert not found.certifies(0.999)
    assert "nothing is proved" in found.plainly


@pytest.mark.parametrize("backend", ["bcd", "interior"])
def test_a_solver_with_such_a_bound_has_failed(false_bound, backend):
    solution = PROBLEM.solve(backend, max_iter=30)
    assert solution.status is nm.Status.FAILED
    assert "a loss and its conjugate contradict each other" in solution.message


def test_a_cross_check_does_not_agree(false_bound):
    table = nm.crosscheck(PROBLEM, ["interior"], points={"mine": np.zeros((3, 1))}, max_iter=30)
    assert not table.agrees
    assert not any(row.verdict == "agrees" for row in table.rows)
