"""Sparse matrices with one pattern against the sums that they stand for, and starts where equalities leave y free."""

import numpy as np
import pytest

import npkl_models as nm

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.scales.UnscaledWarning")  # raw on purpose

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.001])
@pytest.mark.parametrize(("name", "seed"), [("wine", 0), ("iris", 2), ("breast_cancer", 14)])
def test_hard_pairs_are_certified(name, seed, shift):
    """Draws of the kind that `interior.py hard` of the benchmarks counts."""
    data = nm.datasets.load(name).subset(150, 0)
    pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
    solution = nm.hard_pcp(nm.laplacian(data.X, 5, shift=shift), pairs).solve("interior")
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.iterations <= 20
