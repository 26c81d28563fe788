"""Ranks: the rank to start with, and steps that leave a point whose rank is too small."""

from __future__ import annotations

import numpy as np

from npkl_models.certificates.points import as_factor
from npkl_models.feasibility.restoration import rescaled
from npkl_models.linalg import Array, pataki_rank
from npkl_models.lowrank.factor.centred_system import restorable
from npkl_models.lowrank.factor.objective import typical_size
from npkl_models.lowrank.tolerances import SAME, STEEP
from npkl_models.model.distances import DistanceCombinations, DistanceDifferences
from npkl_models.model.facts import constrained
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import DENSE_CHOLESKY
from npkl_models.solve.options import FactorOptions

AUTO_RANK = 8  # smallest number of columns at the start: optimal ranks of these problems are small
PER_LOGARITHM, OF_LOSSES = 2, 3  # columns for each unit of ln n, with constraints and without
MIDDLE = 30_000  # largest order for it at large weights
BASIS_SHARE = 3  # a third of the basis: on the sets of the papers the optimal rank was a fifth
COMPARED, MOST_COMPARED = 3.5, 100  # columns for comparisons of distances: for each unit of sqrt(n), and most
SHEET = 10  # most columns for soft distances: a step costs the cube of their number, and few remain
FIRST_STEP = 1e-3  # the new column's share of the trace
WIDENED, NOISE = 1.5, 1e-2  # columns after growth beside comparisons; size of new ones beside the entries
FAINT = 1e-2  # a column whose squared entries are all below this share of the mean squared row is faint


def auto_rank(problem: Statement) -> int:
    """The number of columns with which "auto" begins, at least 8: 3 ln n, or 2 ln n if there are constraints.

    The second is that of LoRADS (Han et al. 2024). Without constraints, optimal ranks reach it where classes
    overlap, and there columns that were left out are added one by one.
    A basis with few columns gets a third of its size. Comparisons of distances get 3.5 times the square root
    of n, as wrong answers among them raise the optimal rank. Orders above that of dense proofs get 8: more
    columns fade away and worsen the bounds. Up to 30,000 points they get as many if weights are large.
    """
    small = problem.basis is not None and 2 * problem.order <= problem.n and not constrained(problem)
    share = -(-problem.order // BASIS_SHARE) if small else 0
    many = problem.order <= DENSE_CHOLESKY
    many |= problem.order <= MIDDLE and not restorable(problem) and _steep(problem)
    per = PER_LOGARITHM if problem.constraints else OF_LOSSES
    several = int(np.ceil(per * np.log(problem.order))) if many else 0
    if restorable(problem):
        several = min(several, SHEET)
    elif _compares(problem):
        several = max(several, min(int(np.ceil(COMPARED * np.sqrt(problem.order))), MOST_COMPARED))
    return min(max(AUTO_RANK, several, share), problem.order)


def _steep(problem: Statement) -> bool:
    """Whether a weight is large beside the cost: then descent with few columns is trapped sooner."""
    largest = max((float(np.max(term.weight, initial=0.0)) for term in problem.losses), default=0.0)
    return largest > STEEP * float(np.mean(np.abs(problem.cost.diagonal())))


def _compares(problem: Statement) -> bool:
    """Whether a problem without a basis has a loss on comparisons of distances."""
    kinds = DistanceDifferences, DistanceCombinations
    return problem.basis is None and any(isinstance(term.functional, kinds) for term in problem.losses)


def _n_values(problem: Statement) -> int:
    """The papers' m, without row norms; a pair counts twice beside losses of K_ii (Hu & Kwok 2013, 4)."""
    every = sum(problem.sizes) if constrained(problem) else problem.n_pairs
    diagonal = sum(int(np.sum(term.functional.on_diagonal)) for term in problem.losses)
    return 2 * every - diagonal if diagonal else every


def starting_factor(problem: Statement, options: FactorOptions) -> Array:
    """The given start, or a random V (n x r) whose rows are as long as the constraints ask for, or one."""
    rank = {"auto": auto_rank(problem), "pataki": pataki_rank(_n_values(problem), problem.order)}.get(
        str(options.rank)
    ) or int(options.rank)
    rank = min(rank, problem.order)
    rng = np.random.default_rng(options.random_state)
    if options.start is None:
        return _drawn(problem, rank, rng)
    V = as_factor(problem, getattr(options.start, "V", options.start), "factor").copy()
    if options.rank != "auto" and V.shape[1] != rank:
        V = fit_columns(V, rank, rng)
    return rescaled(problem, V)


def random_factor(problem: Statement, rank: int, random_state: int | None) -> Array:
    """A random V (n x r) for a seed, independent of the random start with the same seed."""
    seed = None if random_state is None else (int(random_state), 1)
    return _drawn(problem, rank, np.random.default_rng(seed))


def _drawn(problem: Statement, rank: int, rng: np.random.Generator) -> Array:
    V = rng.standard_normal((problem.n, rank)) * np.sqrt(typical_size(problem) / rank)
    return rescaled(problem, V)


def fit_columns(V: Array, rank: int, rng: np.random.Generator) -> Array:
    """A factor with ``rank`` columns: the leading columns of V, or V and columns of small noise."""
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    rotated: Array = (U * s)[:, :rank]
    lack = rank - rotated.shape[1]
    if lack <= 0:
        return rotated
    noise = 1e-3 * rng.standard_normal((V.shape[0], lack)) / np.sqrt(V.shape[0])
    return np.hstack([rotated, noise])


def drop_null_columns(V: Array, share: float = SAME) -> Array:
    """The factor without columns below a share of the largest eigenvalue; at least one column remains."""
    values, rotation = np.linalg.eigh(V.T @ V)
    keep = values > share * values[-1]
    keep[-1] = True
    return V @ rotation[:, keep][:, ::-1]


def drop_faint_columns(V: Array) -> Array:
    """The factor without columns that are faint in every row; one that few outlying rows need is kept."""
    turned = drop_null_columns(V)
    keep = np.max(turned**2, axis=0) > FAINT * float(np.sum(turned**2)) / len(turned)
    keep[0] = True
    return turned[:, keep]


def escape(problem: Statement, V: Array, direction: Array) -> Array:
    """Leave a point of too small a rank: append a short multiple of u, a negative direction of the slack.

    Along K + t u u' the objective has the slope u'Su < 0 at t = 0, and the descent finds the length of the
    new column (Burer & Monteiro 2003).
    """
    base = drop_null_columns(V)
    trace = max(float(np.sum(base**2)), SAME * problem.n * typical_size(problem))
    return rescaled(problem, np.hstack([base, np.sqrt(FIRST_STEP * trace) * direction.reshape(-1, 1)]))


def widened(problem: Statement, V: Array) -> Array:
    """The factor with half as many columns again, of small noise, beside comparisons: one is in vain."""
    if not _compares(problem) or not problem.regularizer.vacuous or problem.constraints:
        return V
    more = min(int(np.ceil(WIDENED * V.shape[1])), problem.order) - V.shape[1]
    size = NOISE * np.sqrt(float(np.mean(V**2)))
    return np.hstack([V, size * np.random.default_rng(V.shape[1]).standard_normal((len(V), max(more, 0)))])
