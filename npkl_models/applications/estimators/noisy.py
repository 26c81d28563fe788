"""The model of wrong pairs in `fit`: a look before the kernel is learnt.

The answers of annotators are read here, too.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from npkl_models.applications.annotators import AnnotatedPairs, annotated_pairs
from npkl_models.applications.audit import Audit, audit_pairs
from npkl_models.applications.estimators.given import Names
from npkl_models.applications.estimators.side import positions, trusted
from npkl_models.applications.held_out import softened
from npkl_models.applications.pair_noise import PairNoise
from npkl_models.errors import ProblemError, calling
from npkl_models.formulations import pcp
from npkl_models.linalg import Array, Matrix
from npkl_models.model.graph import UnscaledWarning
from npkl_models.model.pairs import Pairs
from npkl_models.model.sampling import signs

GENTLE = 3.0  # weight of the pairs in the kernel from which the model begins
ROUGH = 1e-4  # target of that kernel's relative gap
RATE = Interval(Real, 0, 0.5, closed="left")  # of wrong pairs
FEW_STARTS = 5  # of k-means for each set of first clusters, which the model changes anyway
LEAST = 0.01  # the least weight of a pair with annotators in that kernel, so that the audit has every pair


class WrongPairsWarning(UserWarning):
    """Warning that pairs contradict the graph and the other pairs, or that the labels do not keep them."""


WARNINGS = (ConvergenceWarning, UnscaledWarning, WrongPairsWarning)
"""All kinds of warnings of an estimator's fit."""


def wanted(noise: float | str | None, formulation: object, hard: bool = False) -> float | str | None:
    """The rate for the model, 0 for pairs that are kept; None if there is no model.

    A ProblemError says that it is above 0 for pairs that hold exactly.
    """
    if noise is None:
        return None
    exact = formulation == "hard_pcp"
    if (exact or hard) and noise not in ("auto", 0.0):
        who = "formulation='hard_pcp'" if exact else "hard=True"
        raise ProblemError(
            f"noise must be 'auto', 0 or None with {who}, whose pairs hold exactly, got {noise}"
        )
    return None if exact else 0.0 if hard else noise


def answered(
    n: int, names: Names | None, given: tuple[Any, Any, Any], others: tuple[Any, ...],
    sample_weight: Array | None,
) -> AnnotatedPairs:  # fmt: skip
    """The pairs, answers and annotators that `fit` was ``given``; points of weight 0 count for nothing.

    A ProblemError says that there are ``others``, or no pairs with answers.
    """
    pairs, answers, annotator = given
    if any(one is not None for one in others) or answers is None or isinstance(pairs, Pairs):
        raise ProblemError("annotator must come with pairs and y_pairs, and with no other side information")
    ends, said, who = positions(pairs, "pairs", names), signs(answers, "y_pairs"), np.asarray(annotator)
    if not len(ends):
        raise ProblemError("annotator must come with at least one pair, got none")
    if sample_weight is not None and len(ends) == said.size == who.size:
        kept = np.take(sample_weight, ends, mode="clip").all(axis=1)
        if not kept.any():
            raise ProblemError("sample_weight must leave at least one pair, got a weight of 0 in each")
        ends, said, who = ends[kept], said[kept], who[kept]
    with calling(names and names.shown):
        return annotated_pairs(n, ends, said, who)


def before(
    L: Matrix, pairs: Pairs, k: int, noise: float | str, fitting: tuple[int, float | None],
    annotated: AnnotatedPairs | None,
) -> tuple[Audit, PairNoise]:  # fmt: skip
    """An audit of the pairs on a kernel with small weights, and its model.

    ``fitting`` has the seed of k-means and the time limit of the solve.
    """
    seed, time_limit = fitting
    if annotated is not None:
        heard = trusted(pairs, np.maximum(annotated.weights, LEAST))
        assert heard is not None
        pairs = heard
    problem = pcp(L, softened(pairs), gamma=GENTLE, cannot=-1.0 / (k - 1))
    solution = problem.solve(tol=ROUGH, time_limit=time_limit)
    audit = audit_pairs(
        solution, k, noise=noise, annotated=annotated, pairs=pairs, random_state=seed, n_init=FEW_STARTS
    )
    assert audit.noise is not None
    return audit, audit.noise


def warn_of_wrong(found: PairNoise | None, stacklevel: int, broken: str = "") -> None:
    """Warn if estimated rates accuse pairs, or labels break some; a level of 2 is the caller's line."""
    words = [f"the labels do not keep {broken}"] if broken else []
    if found is not None and found.count and found.accuses:
        verb = "contradicts" if found.count == 1 else "contradict"
        words.insert(0, f"{found.count} of {len(found.pairs)} pairs {verb} the rest; see audit_")
    if words:
        warnings.warn("; ".join(words), WrongPairsWarning, stacklevel=stacklevel)
