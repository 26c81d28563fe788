"""The model of wrong pairs in `NPKLClustering.fit`: a look before the kernel is learnt, and one after it."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from npkl_models.applications.audit import Audit, audit_pairs
from npkl_models.applications.estimators.scales import UnscaledWarning
from npkl_models.applications.pair_noise import PairNoise, different, pair_noise, rate
from npkl_models.errors import ProblemError
from npkl_models.formulations import pcp
from npkl_models.linalg import Index, Matrix
from npkl_models.model.pairs import Pairs

GENTLE = 3.0  # weight of the pairs in the kernel from which the model begins
ROUGH = 1e-4  # target of that kernel's relative gap


class WrongPairsWarning(UserWarning):
    """Warning that some pairs contradict the graph and the other pairs, and are probably wrong."""


WARNINGS = (ConvergenceWarning, UnscaledWarning, WrongPairsWarning)
"""All kinds of warnings of an estimator's fit."""


def wanted(noise: float | str | None, formulation: object) -> float | str | None:
    """The rate for the model, or None if there is no model.

    Raises
    ------
    ProblemError
        If ``noise`` is no rate, or is above 0 for constraints.
    """
    if noise is None:
        return None
    if noise != "auto":
        noise = rate(noise)
    if formulation != "hard_pcp":
        return noise
    if noise not in ("auto", 0.0):
        raise ProblemError(
            "noise must be 'auto', 0 or None with formulation='hard_pcp', whose pairs hold exactly, "
            f"got {noise}"
        )
    return None


def before(
    L: Matrix, pairs: Pairs, k: int, noise: float | str, seed: int, n_init: int, time_limit: float | None
) -> tuple[Audit, PairNoise]:  # fmt: skip
    """An audit of the pairs on a kernel with small weights, and its model."""
    problem = pcp(L, pairs, gamma=GENTLE, cannot=-1.0 / (k - 1))
    solution = problem.solve(tol=ROUGH, time_limit=time_limit)
    audit = audit_pairs(solution, k, noise=noise, random_state=seed, n_init=n_init)
    assert audit.noise is not None
    return audit, audit.noise


def after(audit: Audit, L: Matrix, pairs: Pairs, labels: Index, k: int, noise: float | str) -> PairNoise:
    """The model once more, with the clusters of the learnt kernel as a further beginning; it may warn."""
    found = audit.noise
    assert found is not None
    if len(different([found.labels, labels])) == 2:
        again = pair_noise(L, pairs, [labels], k, noise)
        found = max(found, again, key=lambda one: (np.unique(one.labels).size, one.log_evidence))
    if found.count and found.accuses:
        verb = "contradicts" if found.count == 1 else "contradict"
        words = f"{found.count} of {len(pairs)} pairs {verb} the rest; see audit_"
        warnings.warn(words, WrongPairsWarning, stacklevel=4)  # at the call of `fit`
    return found
