"""Low vectors that are deflated before they have converged: they are refined until they are decoupled."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import weak_groups

from npkl_models.linalg import norm_bound
from npkl_models.proof import localised
from npkl_models.proof.eigenbound import Query

N = 400
S, FLAT, MEMBERS = weak_groups(N, 3, 6)
S = sp.csr_array(S)
VALUES, VECTORS = np.linalg.eigh(S.toarray())


def work(error, accuracy=1e-7):
    """A run that has found the low vectors of two groups with an error; the third group is eliminated."""
    hint = np.zeros(N)
    hint[MEMBERS[0]] = 1.0
    out = localised._Work(S, FLAT / np.linalg.norm(FLAT), hint, Query(accuracy=accuracy), 50)
    assert out.begin()
    low = np.flatnonzero(out.low > VALUES)
    noise = np.random.default_rng(0).standard_normal((N, low.size))
    out.null = VECTORS[:, low] + error * noise / np.sqrt(N)
    return out


@pytest.mark.parametrize("error", [5e-4, 1e-3])
def test_the_deflated_directions_no_longer_miss_the_accuracy(error):
    out = work(error)
    held = out.deflation(1)
    assert held.size >= 2
    assert held.whole(localised.REST * out.low) - held.rounding(norm_bound(S)) >= -out.accuracy
    truth = np.linalg.eigvalsh(out.T.S.toarray())[0]
    assert held.whole(localised.REST * out.low) <= truth + 1e-9


def test_without_the_refinement_they_do(monkeypatch):
    monkeypatch.setattr(localised, "_refined", lambda T, these, others, wanted: these)
    out = work(1e-3)
    held = out.deflation(1)
    assert held.whole(localised.REST * out.low) < -out.accuracy


def test_directions_that_are_low_themselves_are_left_alone(monkeypatch):
    """No direction is coupled: the slack has a negative eigenvalue, and refining would not help."""
    asked = []
    refined = localised._refined
    monkeypatch.setattr(localised, "_refined", lambda *given: asked.append(1) or refined(*given))
    out = work(0.0)
    out.T.S = S - 0.01 * sp.eye_array(N, format="csr")
    held = localised.Deflation(out.T, localised._orthonormal(out.T, out.Q, out.null), out.low)
    asked.clear()
    assert held.whole(localised.REST * out.low) < -out.accuracy
    assert out.deflation(1).size == held.size
