"""The smallest eigenvalue of a large sparse matrix whose low eigenvectors each live on few points.

Groups of points that weak edges join to the rest give such vectors. Larger graphs have more of them. A
Lanczos run on the whole matrix needs many steps to tell their eigenvalues from zero. Here the points of these
groups are eliminated. If the caller allows it, the diagonal is raised where eigenvalues are negative.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from npkl_models.linalg import LONG, Array, Mask, Matrix, norm_bound, orthonormal_range
from npkl_models.proof.eigenbound import EigenBound, Query
from npkl_models.proof.elimination import LOOSE, Elimination, raise_block, raise_diagonal
from npkl_models.proof.lanczos import LOW, Ritz, search, smallest_component
from npkl_models.proof.recurrence import Deflation, Recurrence, is_local, tight

ELIMINATED, MOST = 0.01, 100_000  # share of the points that are eliminated, and their largest number
ROUNDS = 5  # most Lanczos runs on the Schur complement
FLOORS = (1.0, 0.5, 0.25, 0.1)  # multiples of LOW to which eigenvalues are raised, tried in turn
AGAIN = 1 / 3  # multiple of LOW: in later runs, only a Ritz value below this is worth another run
FEW, MODEL = 40, 10.0  # Ritz pairs that are computed; multiple of LOW below which their vectors are kept
NUMBERS, FEWEST = 200_000_000, 8  # most numbers in these vectors; as many pairs are always computed
RAISING = 0.85  # share of the allowance for local raises; the rest is for an equal raise at all points
REST = 0.25  # multiple of LOW that a bound on the complement of the deflated directions may be
SMOOTHING = 40  # most CG steps that refine a deflated direction
COUPLED = 0.3  # multiple of the tight coupling below which no refinement is needed


def by_elimination(S: Matrix, Q: Array, hint: Array, query: Query, steps: int) -> EigenBound:
    """Lanczos on the Schur complement that remains after the points of a local vector are eliminated.

    Several runs follow each other. Eigenvalues that a run finds below zero are raised, if the query allows
    it. Other low eigenvectors are deflated. Every run has a fresh start, since its failure probability
    requires one. Q (n x k) is orthonormal, and S nearly maps Q to zero. The hint (n,) is a mixture of low
    eigenvectors, such as the lowest vector of a short Lanczos run.
    """
    work = _Work(S, Q, hint, query, steps)
    if not work.begin():
        return _local_direction(work.T, work.upper)
    for attempt in range(ROUNDS):
        held = work.deflation(attempt)
        if query.quick and attempt and held.whole(work.low) - held.rounding(work.upper) < -work.accuracy:
            return work.unfinished()  # even if the complement is as low as low vectors
        found, run, bound = work.search(held, attempt)
        if bound >= -work.accuracy or found.last or query.late:
            break
        if not work.learn(found, run, first=not attempt):
            return work.unfinished()
    if query.quick and bound < -work.accuracy and work.W.shape[1]:
        return work.unfinished()
    vector = held.lowest() if held.size else work.T.extend(run.combine(found.coefficients[:, :1]))[:, 0]
    shown, at = EigenBound(-np.inf, float(vector @ (S @ vector)), "estimated", vector, 1.0), held.coupling
    return replace(work.bounded(shown), coupling=at)


class _Work:
    """The results of the runs on a Schur complement T so far.

    W (n x k) is a basis of the low vectors. ``null`` (n x m) are eigenvectors near zero, which are deflated.
    A bound of -``accuracy`` is wanted. If the diagonal may be raised, ``accuracy`` is the equal raise at all
    points that the rest of the allowance pays for.
    """

    def __init__(self, S: Matrix, Q: Array, hint: Array, query: Query, steps: int) -> None:
        n, self.upper, self.query, self.steps = S.shape[0], norm_bound(S), query, steps
        self.low, self.accuracy = LOW * self.upper, query.accuracy
        self.price = query.price if query.allowance > 0 else None
        count = min(int(ELIMINATED * n), MOST)
        self.T = Elimination(S, np.argpartition(-np.abs(hint), count)[:count])  # where the hint is largest
        self.Q, self.dimension = Q[:, ~is_local(Q)], n - self.T.points.size
        self.rng = np.random.default_rng(query.random_state)
        self.component = smallest_component(n, query.failure_probability / ROUNDS)
        self.W, self.null = np.zeros((n, 0)), np.zeros((n, 0))
        self.best, self.raised = -np.inf, self.T.raised  # the best bound of a run, and what it raises

    def begin(self) -> bool:
        """Make the block of the points positive definite if it is not; False if this is not possible."""
        try:
            self.T.raise_to(self.T.raised)
        except np.linalg.LinAlgError:
            floor, allowance = FLOORS[-1] * self.low, RAISING * self.query.allowance
            return self.price is not None and raise_block(self.T, floor, self.price, allowance)
        return True

    def deflation(self, attempt: int) -> Deflation:
        """The nearly null part of range(Q), with little coupling from the second run on, and range(null)."""
        T = self.T
        if self.price is not None:
            left = self.query.allowance - float(self.price @ T.raised)
            self.accuracy = left / float(self.price.sum())
        loose = COUPLED * tight(self.accuracy, self.upper) if attempt else np.inf
        held = Deflation(T, _orthonormal(T, self.Q), self.low)
        if not self.null.shape[1] and held.coupling <= loose:
            return held
        null = orthonormal_range(held.remove(self.null), 1e-3)
        bulk = _refined(T, held.Q, null, 0.3 * loose) if held.coupling > loose else held.Q
        whole = Deflation(T, _orthonormal(T, bulk, null), self.low)
        rest = REST * self.low
        if whole.whole(rest) - whole.rounding(self.upper) >= -self.accuracy:
            return whole
        far = whole.across.diagonal() > rest * np.maximum(0.25 * whole.inner, self.accuracy)
        if not far.any():
            return whole
        Q = np.hstack([_refined(T, whole.Q[:, far], whole.Q[:, ~far], 0.3 * loose), whole.Q[:, ~far]])
        return Deflation(T, _orthonormal(T, Q), self.low)

    def search(self, held: Deflation, attempt: int) -> tuple[Ritz, Recurrence, float]:
        """Run Lanczos until the bound is reached, or until all low Ritz pairs of the run have converged."""
        level = self.low * (AGAIN if attempt else 1.0) if attempt < ROUNDS - 1 else -np.inf

        def stop(found: Ritz, run: Recurrence) -> bool:
            below = found.values < self.low
            seen = bool(found.values[0] < level) and bool(np.all(_settled(found, self.low)[below]))
            return seen or held.whole(found.lower) >= -self.accuracy or self.query.late

        start = held.remove(self.T.within(self.rng.standard_normal(self.T.shape[0])))
        limit = min(self.steps, self.dimension - held.size)
        few = min(FEW, max(NUMBERS // start.size, FEWEST))
        found, run = search(held, start, limit, self.component, stop, few, self.upper)
        lost = held.rounding(self.upper), self.T.rounding(self.upper)
        bound = min(held.whole(found.lower), 0.0) - lost[0] - lost[1]
        bound = bound if found.lower >= -self.upper else -np.inf  # see `Elimination.measured`
        if self._owed(bound, self.T.raised) < self._owed(self.best, self.raised):
            self.best, self.raised = bound, self.T.raised
        return found, run, bound

    def _owed(self, bound: float, raised: Array) -> float:
        """What a repair of a bound costs: the raises, and an equal raise at all points."""
        price = np.ones_like(raised) if self.price is None else self.price
        return float(price @ raised) + max(-bound, 0.0) * float(price.sum())

    def bounded(self, shown: EigenBound) -> EigenBound:
        """An answer with the best bound of the runs; each run has its share of the failure probability."""
        if self.best == -np.inf:
            return shown
        raised = self.raised if self.raised.any() else None
        failure = self.query.failure_probability
        return replace(shown, lower=self.best, rigour="probable", failure_probability=failure, raised=raised)

    def unfinished(self) -> EigenBound:
        """An answer with the directions that prevent a better bound."""
        X = self.T.extend(self.W)
        quotients = np.einsum("ij,ij->j", X, self.T.S @ X)
        low = int(np.argmin(quotients))
        shown = EigenBound(-np.inf, float(quotients[low]), "estimated", X[:, low], 1.0)
        return self.bounded(shown)

    def learn(self, found: Ritz, run: Recurrence, first: bool) -> bool:
        """Raise the diagonal if needed, deflate other low vectors; False if an eigenvalue stays negative."""
        new = run.combine(found.coefficients[:, found.values < MODEL * self.low])
        run.release()  # nearly always, nothing else is combined
        known = np.hstack([self.W, new]) if self.W.shape[1] else new
        self.W, raised = orthonormal_range(known, 1e-3), False
        del known
        if self.price is not None and (found.values[0] < 0 or first):
            allowance = RAISING * self.query.allowance
            raised = any(raise_diagonal(self.T, self.W, f * self.low, self.price, allowance) for f in FLOORS)
        if found.values[0] < 0 and not raised:
            return False
        good = _settled(found, self.low)[: new.shape[1]]
        self.null = self.null[:, :0] if raised else np.hstack([self.null, new[:, good]])
        return True


def _settled(found: Ritz, low: float) -> Mask:
    """Which Ritz pairs have converged, by their residuals."""
    return found.residuals <= 0.2 * np.maximum(np.abs(found.values), low)


def _orthonormal(T: Elimination, *parts: Array) -> Array:
    """A basis of the range of all columns that is exactly zero on the eliminated points.

    Rounding errors there would grow: T does not see them, and the recurrence would double them at each step.
    """
    X = np.hstack(parts)
    X[T.points] = 0.0
    Q: Array = np.linalg.qr(X)[0] if X.size <= LONG else orthonormal_range(X)
    Q[T.points] = 0.0
    return Q


def _refined(T: Elimination, bulk: Array, null: Array, wanted: float) -> Array:
    """Reduce the coupling of ``bulk`` to the complement of ``bulk`` and ``null``, by CG for each column."""
    held = Deflation(T, _orthonormal(T, bulk, null), np.inf)

    def product(x: Array) -> Array:
        return held.remove(T @ held.remove(x)) + held.Q @ (held.Q.T @ x)

    operator = LinearOperator(T.shape, matvec=product, dtype=float)
    out = []
    for q in bulk.T:
        across = held.remove(T @ q)
        share = min(wanted / max(float(np.linalg.norm(across)), 1e-300), 0.5)
        out.append(q - cg(operator, across, rtol=share, maxiter=SMOOTHING)[0])
    return T.within(np.column_stack(out))


def _local_direction(T: Elimination, upper: float) -> EigenBound:
    """An answer without a bound, with a direction of negative curvature on the eliminated points."""
    values, vectors = T.lowest(LOOSE * upper)
    x = np.zeros(T.shape[0])
    x[T.points] = vectors[:, int(np.argmin(values))]
    return EigenBound(-np.inf, float(x @ (T.S @ x)), "estimated", x, 1.0)
