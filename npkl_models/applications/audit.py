"""An audit of pairs: which pairs contradict the graph and the other pairs, and may be wrong.

The optimum is concave in a pair's weight w, and its slope is the loss of the pair at the optimum. So without
the pair the optimum is lower by at least w loss(z), with z the value of the kernel, and at most w loss(z0),
with z0 the value without the pair. If the value responds in proportion to the multiplier, it is
w sqrt(loss(z) loss(z0)) for a square or an active squared hinge. This number is the score, with the value
between the neighbours of the two points for z0, since an exact one would take a solve for each pair.

For a number of clusters each pair also gets a probability (`npkl_models.applications.pair_noise`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.applications.annotators import AnnotatedPairs
from npkl_models.applications.clustering import directions, kernel_kmeans
from npkl_models.applications.pair_noise import PairNoise, looks, neighbour_mean, pair_noise, rate
from npkl_models.applications.propagated import propagated_spectral
from npkl_models.errors import ProblemError, instance, optional
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import whole_number
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import Pairs
from npkl_models.model.terms import LossTerm

DENSE = 1_000  # up to this number of points pairs spread to all entries of a dense matrix
SHOWN = 10  # number of rows of the printed table


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The pairs of a solved problem, the most suspicious pair first.

    Attributes
    ----------
    pairs, must : ndarray of shape (m, 2) and (m,)
        The pairs (i, j), and whether each is a must-link.
    value, expected : ndarray of shape (m,)
        K_ij, and the value between the mean of i's neighbours and the mean of j's neighbours.
    multiplier : ndarray of shape (m,)
        The slope y_e of the weighted loss: negative if the pair draws its points together.
    loss : ndarray of shape (m,)
        The weighted loss of each pair. Without the pair, the optimum is lower by at least this number.
    score : ndarray of shape (m,)
        An estimate of how much lower the optimum is without the pair; 0 for a pair that meets its target.
    wrong : ndarray of shape (m,) or None
        Probability that the pair is wrong, if the number of clusters was given; it then decides the order.
    noise : PairNoise or None
        The model behind ``wrong``. Its must-links come first, and a pair of several terms is there once.
    names : sequence or None
        Names of the points, as an estimator has them of its rows; None if they are numbers alone.
    """

    pairs: Index
    must: Mask
    value: Array
    expected: Array
    multiplier: Array
    loss: Array
    score: Array
    wrong: Array | None = None
    noise: PairNoise | None = None
    names: Any = None

    @property
    def ids(self) -> Array | None:
        """The names of the points of each pair, shape (m, 2), if points have names."""
        return None if self.names is None else np.asarray(self.names)[self.pairs]

    def judged(self, noise: PairNoise) -> Audit:
        """The same pairs with the probabilities of a model, the pair that is most probably wrong first."""
        size = np.array([int(max(self.pairs.max(), noise.pairs.max())) + 1, 1])
        code, wanted = noise.pairs @ size, np.sort(self.pairs, axis=1) @ size
        place = np.argsort(code)
        wrong = noise.wrong[place][np.searchsorted(code[place], wanted)]
        order = np.lexsort((-self.loss, -self.score, -wrong))
        columns = ("pairs", "must", "value", "expected", "multiplier", "loss", "score")
        ordered = {name: getattr(self, name)[order] for name in columns}
        return Audit(**ordered, wrong=wrong[order], noise=noise, names=self.names)

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with a row for each pair; ``id_i`` and ``id_j`` are names, if any."""
        pandas = optional("pandas", "Audit.to_frame", "frame")
        kind = np.where(self.must, "must", "cannot")
        numbers = ("value", "expected", "multiplier", "loss", "score", "wrong")
        named = {} if self.ids is None else {"id_i": self.ids[:, 0], "id_j": self.ids[:, 1]}
        ends = {"i": self.pairs[:, 0], "j": self.pairs[:, 1]} | named | {"kind": kind}
        return pandas.DataFrame(
            ends | {name: value for name in numbers if (value := getattr(self, name)) is not None}
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        if self.wrong is not None:
            return f"Audit({len(self)} pairs, {looks(int(np.sum(self.wrong > 0.5)))} wrong)"
        return f"Audit({len(self)} pairs, {int(np.sum(self.score > 0))} with a score)"

    def __str__(self) -> str:
        more = len(self) - SHOWN
        table = self.to_frame().head(SHOWN).to_string(index=False, float_format="%.3g")
        return f"{table}\nand {more} more" if more > 0 else str(table)


def audit_pairs(
    solution: Solution, n_clusters: int | None = None, *, noise: float | str = "auto",
    annotated: AnnotatedPairs | None = None, pairs: Pairs | None = None, random_state: int | None = 0,
    n_init: int = 20,
) -> Audit:  # fmt: skip
    """Rank the pairs of a solved problem by how much they contradict the graph and the other pairs.

    Parameters
    ----------
    solution : Solution
        The solution of a problem whose pairs have a loss. Weights from 1 to 10 are best for an audit: with
        larger weights the kernel is bent until it agrees with the pairs.
    n_clusters : int, optional
        Number of clusters, at least 2, for the probability that each pair is wrong. The model begins with the
        clusters of k-means on the kernel and with those of propagated spectral clustering.
    noise : "auto" or float
        The rate of wrong pairs, below 0.5; "auto" estimates it. Used only with ``n_clusters``, as all below.
    annotated : AnnotatedPairs, optional
        All answers of several annotators (`npkl_models.applications.annotators`). The problem must be one of
        ``annotated.pairs``, or of some of them.
    pairs : Pairs, optional
        The pairs of the problem, or more, with weights: a pair of infinite weight counts as right.
    random_state, n_init : int
        Seed and number of restarts of k-means.

    Raises
    ------
    ProblemError
        If no pair has a loss, as in `hard_pcp`; or if a pair is both a must-link and a cannot-link and
        ``n_clusters`` is given.
    SolverError
        If the solution has no kernel.
    """
    instance(solution, Solution, "solution", "problem.solve()")
    for one, kind, name in ((annotated, AnnotatedPairs, "annotated"), (pairs, Pairs, "pairs")):
        if one is not None:
            instance(one, kind, name)
    if noise != "auto":
        rate(noise)
    V = factor_of(solution, "kernel to audit")
    mean = neighbour_mean(solution.problem.cost)
    rows = np.where(mean.sum(axis=1)[:, None] > 0, mean @ V, V)  # a lonely point has its own row
    parts = [_of_term(term, V, rows) for term in solution.problem.losses]
    known = [part for part in parts if part is not None]
    if not known:
        raise ProblemError(
            f"pairs must have a loss to be audited, got {solution.problem.name or 'a problem'} without a loss"
        )
    ends, must, z, z0, y, loss, score = (np.concatenate(part) for part in zip(*known, strict=True))
    order = np.lexsort((-loss, -score))
    audit = Audit(ends[order], must[order], z[order], z0[order], y[order], loss[order], score[order])
    if n_clusters is None:
        return audit
    k, graph = whole_number(n_clusters, "n_clusters", 2), solution.problem.cost
    answers = Pairs(len(V), ends[must], ends[~must])
    if annotated is not None:
        answers = _all_of(annotated.pairs, answers, "annotated")
    elif pairs is not None:
        answers = _all_of(pairs, answers, "pairs")
    rows = directions(V, k) if len(answers.cannot_link) else V  # without cannot-links all directions agree
    spread = propagated_spectral(graph, answers, k, n_init, random_state, everywhere=len(V) <= DENSE)
    starts = [kernel_kmeans(rows, k, n_init, random_state), spread]
    return audit.judged(pair_noise(graph, answers, starts, k, noise, annotated, as_they_are=[spread]))


def _all_of(told: Pairs, solved: Pairs, name: str) -> Pairs:
    """The pairs that were told; those of the problem must be among them."""
    known, code = (
        set(zip(one.i.tolist(), one.j.tolist(), one.sign.tolist(), strict=True)) for one in (told, solved)
    )
    if told.n != solved.n or not code <= known:
        raise ProblemError(f"{name} must have every pair of the problem, with the same answer")
    return told


def _of_term(term: LossTerm, V: Array, rows: Array) -> tuple[Array, ...] | None:
    """The columns of an audit for the pairs of a term; None if the term has no pairs."""
    if not isinstance(term.functional, Entries):
        return None
    ends = np.stack(term.functional.indices, axis=1)
    kept = ends[:, 0] != ends[:, 1]
    if not kept.any():
        return None
    i, j = ends[kept].T
    target, weight, must = term.target[kept], term.weight[kept], term.target[kept] > 0
    z, z0 = np.einsum("er,er->e", V[i], V[j]), np.einsum("er,er->e", rows[i], rows[j])
    y = weight * term.loss.derivative(z, target)
    now, without = (weight * np.maximum(term.loss.value(at, target), 0.0) for at in (z, z0))
    wanting = np.where(must, -y, y) > 0
    score = np.where(wanting, np.sqrt(now * without), 0.0)
    return ends[kept], must, z, z0, y, now, score
