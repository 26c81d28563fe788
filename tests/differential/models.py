"""Random small problems as plain numbers, and CVXPY models of them written from the formulas alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import cvxpy as cp
import numpy as np

import npkl_models as nm

LOSSES = (
    "square", "hinge", "squared_hinge", "linear", "shared_slack", "squared_excess", "absolute", "huber", "logistic",
    "squared_shortfall",
)  # fmt: skip
KINDS = ("entries", "diagonal", "distances", "differences")


@dataclass
class Numbers:
    """A problem as numbers: what either side is written from."""

    C: np.ndarray
    terms: list = field(default_factory=list)  # (kind, indices, loss, target, weight)
    equalities: list = field(default_factory=list)  # (kind, indices, value)
    regularizer: tuple = ("none",)
    Q: np.ndarray | None = None

    @property
    def n(self) -> int:
        return len(self.C)


def draw(rng: np.random.Generator) -> Numbers:
    """A problem over three to eight points: often solvable, sometimes contradictory or unbounded."""
    n = int(rng.integers(3, 9))
    out = Numbers(_cost(n, rng))
    for _ in range(int(rng.integers(0, 4))):
        kind, indices = _values(n, rng)
        m = len(indices[0])
        loss = str(rng.choice(LOSSES, p=[0.1] * 10))
        sign = loss in ("hinge", "squared_hinge", "linear", "logistic")
        target = rng.choice([-1.0, 1.0], m) if sign else rng.choice([0.0, 1.0, -0.5, 2.0], m)
        weight = float(10 ** rng.uniform(-1.5, 1.5))
        weight = np.full(m, weight) if loss == "shared_slack" else weight * rng.uniform(0.5, 2.0, m)
        out.terms.append((kind, indices, loss, target, weight))
    if rng.random() < 0.5:
        _constrain(out, rng)
    if not out.terms and not out.equalities:
        every = np.arange(n)
        out.terms.append(("diagonal", (every, every), "square", np.ones(n), np.ones(n)))
    out.regularizer = _regularizer(n, rng)
    if rng.random() < 0.2:
        s = int(rng.integers(1, n + 1))
        out.Q = np.linalg.qr(rng.normal(size=(n, s)))[0]
    return out


def _cost(n: int, rng: np.random.Generator) -> np.ndarray:
    kind = rng.choice(
        ["laplacian", "singular", "negative", "indefinite", "zero"], p=[0.5, 0.15, 0.1, 0.15, 0.1]
    )
    A = np.triu((rng.random((n, n)) < 0.6) * rng.uniform(0.1, 1.0, (n, n)), 1)
    A = A + A.T
    L = np.diag(A.sum(axis=1)) - A
    if kind == "laplacian":
        return L + 0.1 * np.eye(n)
    if kind == "singular":
        return L
    if kind == "negative":
        return -np.eye(n)
    B = rng.normal(size=(n, n))
    return 0.5 * (B + B.T) if kind == "indefinite" else np.zeros((n, n))


def _values(n: int, rng: np.random.Generator) -> tuple[str, tuple]:
    kind, m = str(rng.choice(KINDS)), int(rng.integers(1, 5))
    if kind == "diagonal":
        i = np.arange(n) if rng.random() < 0.5 else rng.choice(n, min(m, n), replace=False)
        return kind, (i, i)
    triples = np.array([rng.choice(n, 3, replace=False) for _ in range(m)]).T
    return kind, tuple(triples[: 3 if kind == "differences" else 2])


def _constrain(out: Numbers, rng: np.random.Generator) -> None:
    """Equalities that some kernel meets, in nine of ten draws."""
    X = rng.normal(size=(out.n, int(rng.integers(1, out.n + 1))))
    K = X @ X.T
    if rng.random() < 0.3:
        every = np.arange(out.n)
        out.equalities.append(("diagonal", (every, every), np.ones(out.n)))
        return
    if rng.random() < 0.2:
        out.equalities.append(("total", (), np.zeros(1)))
        return
    kind, indices = _values(out.n, rng)
    if rng.random() < 0.2:  # the block of one or two points, like anchors
        kind, indices = "entries", np.triu_indices(int(rng.integers(1, 3)))
    value = evaluate(kind, indices, K)
    if rng.random() < 0.1:
        value = -np.abs(value) - 1.0
    out.equalities.append((kind, indices, value))


def _regularizer(n: int, rng: np.random.Generator) -> tuple:
    kind = str(rng.choice(["none", "rows", "bound", "penalty"], p=[0.4, 0.15, 0.25, 0.2]))
    if kind == "none":
        return ("none",)
    if kind == "rows":
        return ("rows", float(rng.uniform(0.5, 3.0)))
    p = float(rng.choice([1.0, 2.0, 3.0, 4.0, 1.5]))
    return (kind, p, float(rng.uniform(0.3, 3.0)) * (n if kind == "bound" else 1.0))


def evaluate(kind: str, indices: tuple, K):
    """The values on a kernel, a numpy array or a CVXPY expression alike."""
    entry = lambda i, j: [K[int(a), int(b)] for a, b in zip(i, j, strict=True)]  # noqa: E731
    stack = cp.hstack if isinstance(K, cp.Expression) else np.array
    if kind == "total":
        return stack([cp.sum(K) if isinstance(K, cp.Expression) else K.sum()])
    if kind in ("entries", "diagonal"):
        return stack(entry(*indices))

    def apart(i, j):
        return stack(
            [K[int(a), int(a)] + K[int(b), int(b)] - 2 * K[int(a), int(b)] for a, b in zip(i, j, strict=True)]
        )

    i, j = indices[:2]
    return apart(i, j) if kind == "distances" else apart(i, j) - apart(i, indices[2])


def contradictory(given: Numbers) -> bool:
    """Whether the equalities, as the numbers that they are, have no symmetric solution: in fractions."""
    rows: list[dict] = []
    for kind, indices, value in given.equalities:
        for k, asked in enumerate(np.atleast_1d(value)):
            row = {None: Fraction(float(asked))}
            at = [] if kind == "total" else [int(index[k]) for index in indices]
            for i, j, c in _triplets(kind, at, given.n):
                place = (min(i, j), max(i, j))
                row[place] = row.get(place, Fraction(0)) + c
            rows.append(row)
    while rows:
        row = rows.pop()
        pivot = next((place for place, c in row.items() if place is not None and c), None)
        if pivot is None and row.get(None):
            return True
        for other in rows if pivot is not None else ():
            ratio = other.get(pivot, Fraction(0)) / row[pivot]
            for place, c in row.items() if ratio else ():
                other[place] = other.get(place, Fraction(0)) - ratio * c
    return False


def _triplets(kind: str, at: list[int], n: int) -> list[tuple[int, int, int]]:
    """(i, j, c) with the value the sum of c K_ij."""
    if kind == "total":
        return [(i, j, 1) for i in range(n) for j in range(n)]
    if kind in ("entries", "diagonal"):
        return [(at[0], at[1], 1)]
    i, j = at[0], at[1]
    first = [(i, i, 1), (j, j, 1), (i, j, -2)]
    if kind == "distances":
        return first
    k = at[2]
    return [*first, (i, i, -1), (k, k, -1), (i, k, 2)]


def cvxpy_model(given: Numbers) -> cp.Problem:
    """The model as a textbook would write it."""
    if given.Q is None:
        K = cp.Variable((given.n, given.n), PSD=True)
        inner = K
    else:
        s = given.Q.shape[1]
        inner = cp.Variable((s, s), PSD=True)
        K = given.Q @ inner @ given.Q.T
    total, constraints = cp.trace(given.C @ K), []
    for kind, indices, loss, t, w in given.terms:
        z = evaluate(kind, indices, K)
        if loss == "square":
            total += cp.sum(cp.multiply(w, cp.square(z - t)))
        elif loss == "hinge":
            total += cp.sum(cp.multiply(w, cp.pos(1 - cp.multiply(t, z))))
        elif loss == "squared_hinge":
            total += cp.sum(cp.multiply(w, cp.square(cp.pos(1 - cp.multiply(t, z)))))
        elif loss == "squared_excess":
            total += cp.sum(cp.multiply(w, cp.square(cp.pos(z - t))))
        elif loss == "squared_shortfall":
            total += cp.sum(cp.multiply(w, cp.square(cp.pos(t - z))))
        elif loss == "absolute":
            total += cp.sum(cp.multiply(w, cp.abs(z - t)))
        elif loss == "huber":
            total += cp.sum(cp.multiply(w, cp.huber(z - t, 0.5)))
        elif loss == "logistic":
            total += cp.sum(cp.multiply(w, cp.logistic(-cp.multiply(t, z))))
        elif loss == "linear":
            total += -cp.sum(cp.multiply(w * t, z))
        else:
            total += w[0] * cp.pos(cp.max(z - t))
    for kind, indices, value in given.equalities:
        constraints.append(evaluate(kind, indices, K) == value)
    kind, *numbers = given.regularizer
    if kind == "rows":
        constraints.append(cp.diag(K) <= numbers[0] ** 2)
    elif kind in ("bound", "penalty"):
        power = _trace_power(inner, numbers[0], constraints)
        if kind == "bound":
            constraints.append(power <= numbers[1])
        else:
            total += numbers[1] / numbers[0] * power
    return cp.Problem(cp.Minimize(total), constraints)


def _trace_power(K, p: float, constraints: list):
    """tr K^p: the trace, the squared Frobenius norm, by Schur complements of K^2, or by majorisation."""
    if p == 1:
        return cp.trace(K)
    if p == 2:
        return cp.sum_squares(K)
    x = cp.Variable(K.shape[0], nonneg=True)
    constraints += [x[:-1] >= x[1:]] if K.shape[0] > 1 else []
    constraints += [cp.lambda_sum_largest(K, k) <= cp.sum(x[:k]) for k in range(1, K.shape[0])]
    constraints.append(cp.trace(K) == cp.sum(x))
    return cp.sum(cp.power(x, p))


FUNCTIONALS = {
    "entries": nm.Entries,
    "diagonal": nm.Entries,
    "distances": nm.SquaredDistances,
    "differences": nm.DistanceDifferences,
    "total": lambda n, indices: nm.TotalSum(n),
}


def ours(given: Numbers) -> nm.Problem:
    """The same as a Problem of the library."""
    n = given.n
    terms = [
        nm.LossTerm(FUNCTIONALS[kind](n, indices), loss, t, w) for kind, indices, loss, t, w in given.terms
    ]
    hard = [
        nm.Constraint(FUNCTIONALS[kind](n, indices), equal=value) for kind, indices, value in given.equalities
    ]
    kind, *numbers = given.regularizer
    R = nm.NoRegularizer()
    if kind == "rows":
        R = nm.RowNormBound(numbers[0])
    elif kind in ("bound", "penalty"):
        R = nm.TracePower(numbers[0], **{kind: numbers[1]})
    return nm.Problem(given.C, (*terms, *hard), R, None if given.Q is None else nm.Basis(given.Q))
