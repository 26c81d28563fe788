"""The smallest eigenvalue of a large sparse matrix whose low eigenvectors each live on few points.

Outlying groups of points that hang on the rest by weak edges give such vectors, and more of them the
larger the graph. A Lanczos run on the whole matrix takes long to tell them from zero. Here they are
eliminated, and where the caller lets the diagonal be raised, those below zero are raised above.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from npkl_models.linalg import Array, Mask, Matrix, norm_bound, orthonormal_range
from npkl_models.proof.eigenbound import EigenBound, Query
from npkl_models.proof.elimination import LOOSE, Elimination, raise_block, raise_diagonal
from npkl_models.proof.lanczos import Ritz, search, smallest_component
from npkl_models.proof.recurrence import Deflation, Recurrence, is_local, tight

ELIMINATED, MOST = 0.01, 10_000  # share of the points, and how many at most: their factor hardly fills up
ROUNDS = 5  # Lanczos runs on the Schur complement at most
LOW = 2.5e-3  # share of the norm: eigenvectors below are deflated, those below zero raised
FLOORS = (1.0, 0.5, 0.25, 0.1)  # of that, to which they are raised
AGAIN = 1 / 3  # of that: in later runs, what is below is still worth another one
FEW, MODEL = 40, 10.0  # Ritz pairs that are looked at, and up to which multiple of LOW they model the rest
RAISING = 0.85  # of the allowance; the rest is for what is left of all directions
SMOOTHING = 40  # steps of refinement of the deflated directions
COUPLED = 0.3  # of the tight coupling: what is left without refinement


def by_elimination(S: Matrix, Q: Array, hint: Array, query: Query, steps: int) -> EigenBound:
    """Lanczos on the Schur complement that is left when the points of a local vector are eliminated.

    Run after run: what the last one found below zero is raised if that may be done, other low eigenvectors
    are deflated, and the next one starts afresh, which its failure probability asks for. Q (n x k) is
    orthonormal and nearly mapped to zero by S; the hint (n,) is a mixture of low eigenvectors, such as the
    lowest vector of a short Lanczos run.
    """
    work = _Work(S, Q, hint, query, steps)
    if not work.begin():
        return _local_direction(work.T, work.upper)
    for attempt in range(ROUNDS):
        held = work.deflation(attempt)
        if query.quick and attempt and held.whole(work.upper) < -work.accuracy:
            return _unfinished(work.T, work.W)
        found, run, bound = work.search(held, attempt)
        if bound >= -work.accuracy or found.last or query.late:
            break
        if not work.learn(found, run, first=not attempt):
            return _unfinished(work.T, work.W)
    if query.quick and bound < -work.accuracy and work.W.shape[1]:
        return _unfinished(work.T, work.W)
    vector = held.lowest() if held.size else work.T.extend(run.combine(found.coefficients[:, :1]))[:, 0]
    estimate, raised = float(vector @ (S @ vector)), work.T.raised if work.T.raised.any() else None
    return EigenBound(bound, estimate, "probable", vector, query.failure_probability, held.coupling, raised)


class _Work:
    """What the runs on a Schur complement T have found so far, and done about it.

    W (n x k) is a basis of the low vectors, ``null`` (n x m) are eigenvectors near zero, which are deflated.
    ``accuracy`` is wanted: where the diagonal may be raised, what is left of the allowance, at all points.
    """

    def __init__(self, S: Matrix, Q: Array, hint: Array, query: Query, steps: int) -> None:
        n, self.upper, self.query, self.steps = S.shape[0], norm_bound(S), query, steps
        self.low, self.accuracy = LOW * self.upper, query.accuracy
        self.price = query.price if query.allowance > 0 else None
        count = min(int(ELIMINATED * n), MOST)
        self.T = Elimination(S, np.argpartition(-np.abs(hint), count)[:count])  # where it is largest
        self.Q, self.dimension = Q[:, ~is_local(Q)], n - self.T.points.size
        self.rng = np.random.default_rng(query.random_state)
        self.component = smallest_component(n, query.failure_probability / ROUNDS)
        self.W, self.null = np.zeros((n, 0)), np.zeros((n, 0))

    def begin(self) -> bool:
        """Whether the block of the points is positive definite, or can be made so."""
        try:
            self.T.raise_to(self.T.raised)
        except np.linalg.LinAlgError:
            floor, allowance = FLOORS[-1] * self.low, RAISING * self.query.allowance
            return self.price is not None and raise_block(self.T, floor, self.price, allowance)
        return True

    def deflation(self, attempt: int) -> Deflation:
        """Of range(Q) what is near null, from the second run on well decoupled, and the range of null."""
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
        return Deflation(T, _orthonormal(T, np.hstack([bulk, null])), self.low)

    def search(self, held: Deflation, attempt: int) -> tuple[Ritz, Recurrence, float]:
        """A run until its bound is reached, or something low was found and all of that settled."""
        level = self.low * (AGAIN if attempt else 1.0) if attempt < ROUNDS - 1 else -np.inf

        def stop(found: Ritz, run: Recurrence) -> bool:
            below = found.values < self.low
            seen = bool(found.values[0] < level) and bool(np.all(_settled(found, self.low)[below]))
            return seen or held.whole(found.lower) >= -self.accuracy or self.query.late

        start = held.remove(self.T.within(self.rng.standard_normal(self.T.shape[0])))
        limit = min(self.steps, self.dimension - held.size)
        found, run = search(held, start, limit, self.component, stop, FEW, self.upper)
        lost = held.rounding(self.upper), self.T.rounding(self.upper)
        bound = min(held.whole(found.lower), 0.0) - lost[0] - lost[1]
        return found, run, bound if found.lower >= -self.upper else -np.inf  # see `Elimination.measured`

    def learn(self, found: Ritz, run: Recurrence, first: bool) -> bool:
        """Raise what may be raised, deflate what need not be; False if something stays below zero."""
        new = run.combine(found.coefficients[:, found.values < MODEL * self.low])
        self.W, raised = orthonormal_range(np.hstack([self.W, new]), 1e-3), False
        if self.price is not None and (found.values[0] < 0 or first):
            allowance = RAISING * self.query.allowance
            raised = any(raise_diagonal(self.T, self.W, f * self.low, self.price, allowance) for f in FLOORS)
        if found.values[0] < 0 and not raised:
            return False
        good = _settled(found, self.low)[: new.shape[1]]
        self.null = self.null[:, :0] if raised else np.hstack([self.null, new[:, good]])
        return True


def _settled(found: Ritz, low: float) -> Mask:
    """Which Ritz pairs are as good as eigenpairs, by their residuals."""
    return found.residuals <= 0.2 * np.maximum(np.abs(found.values), low)


def _orthonormal(T: Elimination, X: Array) -> Array:
    """A basis of the columns' range, and zero on the eliminated points.

    Not only to rounding: T knows nothing of what Lanczos vectors have there, and the recurrence would double
    it at each step.
    """
    return T.within(np.linalg.qr(T.within(X))[0])


def _refined(T: Elimination, bulk: Array, null: Array, wanted: float) -> Array:
    """The columns of ``bulk`` less what couples them to the complement of both, by a few steps of CG each."""
    held = Deflation(T, _orthonormal(T, np.hstack([bulk, null])), np.inf)

    def product(x: Array) -> Array:
        return held.remove(T @ held.remove(x)) + held.Q @ (held.Q.T @ x)

    operator = LinearOperator(T.shape, matvec=product, dtype=float)
    out = []
    for q in bulk.T:
        across = held.remove(T @ q)
        share = min(wanted / max(float(np.linalg.norm(across)), 1e-300), 0.5)
        out.append(q - cg(operator, across, rtol=share, maxiter=SMOOTHING)[0])
    return T.within(np.column_stack(out))


def _unfinished(T: Elimination, W: Array) -> EigenBound:
    """No bound, but what stands in its way."""
    X = T.extend(W)
    quotients = np.einsum("ij,ij->j", X, T.S @ X)
    low = int(np.argmin(quotients))
    return EigenBound(-np.inf, float(quotients[low]), "estimated", X[:, low], 1.0, directions=X)


def _local_direction(T: Elimination, upper: float) -> EigenBound:
    """A direction with negative curvature on the eliminated points themselves."""
    values, vectors = T.lowest(LOOSE * upper)
    x = np.zeros(T.shape[0])
    x[T.points] = vectors[:, int(np.argmin(values))]
    return EigenBound(-np.inf, float(x @ (T.S @ x)), "estimated", x, 1.0)
