"""Problems, points and multipliers that were thought up to break certificates and solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

import npkl_models as nm
from npkl_models.model.facts import row_bound

EXPONENTS = st.sampled_from([0, 0, 0, 0, -1, 1, -3, 3, -6, 6, -8, 8])
GRAPHS = ("random", "path", "cliques", "isolated", "complete", "duplicates", "weighted")
COSTS = (
    "laplacian", "laplacian", "unshifted", "identity", "zero", "negative", "indefinite", "rank_one",
    "cancelling",
)  # fmt: skip
FUNCTIONALS = (
    *("diagonal", "entries", "matrices") * 2, "distances", "differences", "combinations", "trace",
    "total sum",
)  # fmt: skip
POWERS = (1.0, 1.01, 1.5, 2.0, 2.0, 3.0, 4.0, 7.0)
ODD_POWERS = (1 + 1e-12, 1.0001, 50.0, 1e5, 1e9)
UNITS = [1.0] * 12 + [1e-7, 1e7, 1e-100, 1e100, 1e-150, 1e150]  # of cost and weights together


def graph(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric affinity matrix."""
    A = np.zeros((n, n))
    if kind == "path":
        A[np.arange(n - 1), np.arange(1, n)] = 1.0
    elif kind == "cliques":
        label = np.arange(n) // 2
        A = (label[:, None] == label).astype(float)
    elif kind == "complete":
        A += 1.0
    elif kind == "duplicates":  # points at distance zero
        A = np.kron(np.ones((2, 2)), np.ones(((n + 1) // 2,) * 2))[:n, :n]
    else:
        A = (rng.random((n, n)) < 0.5).astype(float)
        if kind == "weighted":
            A *= 10.0 ** rng.uniform(-8, 2, (n, n))
        if kind == "isolated":
            A[0] = A[:, 0] = 0.0
    A = np.triu(A, 1)
    return A + A.T


def cost(kind: str, n: int, rng: np.random.Generator, shape: str) -> np.ndarray:
    """A cost matrix of size about one."""
    if kind in ("laplacian", "unshifted"):
        A = graph(shape, n, rng)
        degree = A.sum(axis=1)
        root = np.where(degree > 0, degree, 1.0) ** -0.5
        return (1.1 if kind == "laplacian" else 1.0) * np.eye(n) - root[:, None] * A * root
    if kind == "identity":
        return np.eye(n)
    if kind == "zero":
        return np.zeros((n, n))
    if kind == "negative":
        return -np.eye(n)
    x = rng.normal(size=(n, 1))
    if kind == "rank_one":
        return x @ x.T
    B = rng.normal(size=(n, n))
    if kind == "cancelling":  # PSD with an eigenvalue that is all rounding
        u = x / np.linalg.norm(x)
        return B @ B.T - (B @ B.T @ u) @ u.T - u @ (u.T @ B @ B.T) + (u.T @ B @ B.T @ u) * (u @ u.T)
    return B + B.T


@st.composite
def combinations(draw, p: int):
    """A matrix of p columns that cancels, or with numbers of all sizes."""
    m, rng = draw(st.integers(1, 4)), np.random.default_rng(draw(st.integers(0, 10**6)))
    A = draw(st.sampled_from([1.0, 1.0, 1e-8, 1e8])) * rng.normal(size=(m, p))
    if draw(st.booleans()):
        A *= 10.0 ** rng.uniform(-8, 8, (m, p))
    if draw(st.booleans()):
        A = np.where(rng.random((m, p)) < 0.5, A, 0.0)
    return (
        A if draw(st.booleans()) else A - A[:, ::-1] * (1 + draw(st.sampled_from([0.0, 1e-16, 1e-15, 1e-9])))
    )


@st.composite
def matrices(draw, n: int):
    """Symmetric matrices of any sign: squares vv' and nearly squares, multiples, entries of all sizes, zero."""
    m, rng = draw(st.integers(1, 4)), np.random.default_rng(draw(st.integers(0, 10**6)))
    out = []
    for _ in range(m):
        v = rng.integers(-2, 3, size=n).astype(float)
        kind = draw(st.sampled_from(["square", "nearly", "any", "sizes", "diagonal", "zero", "last"]))
        M = np.outer(v, v) * draw(st.sampled_from([1.0, -1.0, 0.5, 1e-8, 1e8]))
        if kind in ("any", "sizes"):
            M = rng.normal(size=(n, n)) * (10.0 ** rng.uniform(-8, 8, (n, n)) if kind == "sizes" else 1.0)
            M = np.where(rng.random((n, n)) < 0.5, M, 0.0)
        if kind == "nearly":
            M[0, 0] += 1e-9
        if kind == "diagonal":
            M = np.diag(v)
        if kind == "last" and out:
            M = out[-1] * draw(st.sampled_from([-1.0, 1.0, 1 / 3]))
        out.append(np.zeros((n, n)) if kind == "zero" else (M + M.T) / 2)
    return nm.SparseMatrices(n, out)


@st.composite
def functionals(draw, n: int):
    """A few values of a kernel over n points."""
    kind = draw(st.sampled_from(FUNCTIONALS))
    m = draw(st.integers(1, 4))
    point = st.integers(0, n - 1)
    if kind == "matrices":
        return draw(matrices(n))
    if kind == "diagonal":
        every = draw(st.booleans())
        i = list(range(n)) if every else draw(st.lists(point, min_size=1, max_size=3))
        return nm.Entries(n, (i, i))
    if kind in ("trace", "total sum"):
        return nm.Trace(n) if kind == "trace" else nm.TotalSum(n)
    columns = [draw(st.lists(point, min_size=m, max_size=m)) for _ in range(3)]
    if kind == "combinations":  # pairs in both orders and of a point with itself, rows without a number
        return nm.DistanceCombinations(n, columns[:2], draw(combinations(m)))
    if kind == "entries":
        return nm.Entries(n, tuple(columns[:2]))
    if kind == "distances":
        return nm.SquaredDistances(n, (columns[0], [(i + 1) % n for i in columns[0]]))
    return nm.DistanceDifferences(n, tuple(columns))


@st.composite
def terms(draw, n: int):
    """A loss term at some scale."""
    functional = draw(functionals(n))
    loss = draw(st.sampled_from(list(nm.LOSSES)))
    weight = draw(st.sampled_from([1.0, 1.0, 0.3, 2.0, 1 / 3])) * 10.0 ** draw(EXPONENTS)
    if nm.LOSSES[loss].sign_targets:
        target = draw(
            st.lists(st.sampled_from([-1.0, 1.0]), min_size=functional.size, max_size=functional.size)
        )
    else:
        target = draw(st.sampled_from([0.0, 1.0, -0.7, 1e-6])) * 10.0 ** draw(
            st.sampled_from([0, 0, 0, -4, 4])
        )
    return nm.LossTerm(functional, loss, target, weight)


@st.composite
def regularizers(draw):
    """None, a row norm or a trace power."""
    kind = draw(st.sampled_from(["none", "none", "row", "bound", "penalty"]))
    size = draw(st.sampled_from([1.0, 0.7, 3.0])) * 10.0 ** draw(EXPONENTS)
    if kind == "none":
        return nm.NoRegularizer()
    if kind == "row":
        return nm.RowNormBound(size)
    odd = draw(st.sampled_from([False] * 7 + [True]))
    return nm.TracePower(draw(st.sampled_from(ODD_POWERS if odd else POWERS)), **{kind: size})


@st.composite
def equalities(draw, n: int, rng: np.random.Generator):
    """Often those of some kernel, sometimes of none."""
    kind = draw(
        st.sampled_from(
            ["none"] * 6
            + ["planted"] * 3
            + [
                "unit",
                "unit",
                "of a kernel",
                "one",
                "centred",
                "squares",
                "impossible",
                "twice",
                "a rounding",
                "a block",
            ]
        )
    )
    size = 10.0 ** draw(EXPONENTS)
    every = (np.arange(n), np.arange(n))
    if kind == "none":
        return ()
    if kind == "planted":  # values that floats hold exactly, of a kernel that is known
        functional, X = draw(functionals(n)), planted(n)
        return (nm.Constraint(functional, equal=functional.value(X @ X.T)),)
    if kind == "unit":
        return (nm.Constraint(nm.Entries(n, every), equal=size),)
    if kind == "one":
        return (nm.Constraint(nm.Entries(n, ([0], [0])), equal=size),)
    if kind == "centred":
        return (nm.Constraint(nm.TotalSum(n), equal=0.0),)
    if kind == "squares":
        f = draw(matrices(n))
        return (nm.Constraint(f, equal=0.0), nm.Constraint(nm.Trace(n), equal=size))
    if kind == "impossible":
        return (
            nm.Constraint(nm.Entries(n, every), equal=size),
            nm.Constraint(nm.Entries(n, ([0], [1])), equal=3 * size),
        )
    if kind == "a rounding":  # beside a bound of n times the value it may be too much by less than one
        return (nm.Constraint(nm.Entries(n, every), equal=0.1 * size),)
    if kind == "a block":  # of one or two points, like anchors
        i, j = np.triu_indices(min(n, draw(st.integers(1, 2))))
        X = rng.normal(size=(n, n))
        return (nm.Constraint(nm.Entries(n, (i, j)), equal=size * (X @ X.T)[i, j]),)
    f = draw(functionals(n))
    X = rng.normal(size=(n, draw(st.integers(1, n))))
    made = nm.Constraint(f, equal=size * f.value(X @ X.T))
    return (made, made) if kind == "twice" else (made,)


@st.composite
def sides(draw, equality):
    """An equality, or the bounds of its values on one side or on both."""
    kind = draw(st.sampled_from(["equal", "equal", "equal", "upper", "lower", "both", "mixed"]))
    f, b = equality.functional, equality.value
    if kind == "equal":
        return (equality,)
    wide = np.abs(b) * draw(st.sampled_from([0.0, 0.1, 2.0]))
    low, high = np.where(kind == "upper", -np.inf, b - wide), np.where(kind == "lower", np.inf, b + wide)
    if kind == "mixed":
        low, high = np.where(np.arange(b.size) % 2, low, -np.inf), np.where(np.arange(b.size) % 3, high, b)
    return nm.Constraint(f, lower=low, upper=high).by_kind()


def planted(n: int) -> np.ndarray:
    """A factor of small integers, whose products and sums are exact."""
    return np.stack([np.arange(n) % 3 - 1, np.arange(n) % 2, 2 - np.arange(n) % 5], axis=1).astype(float)


@st.composite
def problems(draw, largest: int = 6):
    """A problem over two to ``largest`` points."""
    n = draw(st.integers(2, largest))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    C = 10.0 ** draw(EXPONENTS) * cost(draw(st.sampled_from(COSTS)), n, rng, draw(st.sampled_from(GRAPHS)))
    chosen = draw(st.lists(terms(n), max_size=3))
    hard = tuple(one for part in draw(equalities(n, rng)) for one in draw(sides(part)))
    if not chosen and not hard:
        chosen = [draw(terms(n))]
    basis = None
    if draw(st.sampled_from([False, False, False, True])):
        s = draw(st.integers(1, n))
        Q = np.linalg.qr(rng.normal(size=(n, s)))[0]
        basis = nm.Basis(Q if draw(st.booleans()) else np.eye(n)[:, :s])
    R = draw(regularizers())
    if hard and draw(st.sampled_from([False, False, True])):
        top = float(np.max(np.abs(hard[0].value)))
        R = nm.TracePower(1, bound=n * top) if top > 0 else R
    unit = draw(st.sampled_from(UNITS))
    if unit != 1.0:
        chosen = [
            nm.LossTerm(t.functional, t.loss, t.target, np.clip(unit * t.weight, 1e-300, 1e300))
            for t in chosen
        ]
        C = unit * C
    handed_in = sp.csr_array(C) if draw(st.booleans()) else np.array(C)
    problem = nm.Problem(handed_in, (*chosen, *hard), R, basis)
    numbers = handed_in.data if sp.issparse(handed_in) else handed_in
    numbers[...] = np.nan  # whoever still looks there is found out
    return problem


def points(problem, rng: np.random.Generator):
    """(name, point, kind): random, degenerate and hostile."""
    n, size = problem.n, 10.0 ** rng.choice([0, 0, 0, -4, -8, 3, 6])
    V = size * rng.normal(size=(n, int(rng.integers(1, n + 1))))
    yield "random", V, "factor"
    yield "planted", planted(n), "factor"
    yield "signs", 1.0 - 2 * (rng.random((n, 1)) < 0.5), "factor"
    yield "zero", np.zeros((n, 1)), "factor"
    yield "ones", size * np.ones((n, 1)), "factor"
    K = V @ V.T
    yield "kernel", K, "kernel"
    R = problem.regularizer
    if R.bounds:  # on the edge, by what floats know of it
        yield "edge", V / np.sqrt(1 + R.violation(np.linalg.eigvalsh(K))), "factor"
    bound = row_bound(problem)
    if bound is not None:
        yield "edge", V * (np.sqrt(bound) / np.linalg.norm(V, axis=1))[:, None], "factor"
    yield "not quite PSD", K - 0.1 * size**2 * np.eye(n), "kernel"


def handed_in(V: np.ndarray) -> dict[str, np.ndarray]:
    """Kernels near a good one (n x n): scaled, shaken, indefinite, and outside a basis."""
    n, rng = len(V), np.random.default_rng(0)
    K = V @ V.T
    K = 0.5 * (K + K.T)
    top = float(np.linalg.eigvalsh(K)[-1]) or 1.0
    u = rng.normal(size=(n, 1))
    E = rng.normal(size=(n, n))
    out = {f"scaled by {s}": s * K for s in (0.9, 1 - 1e-5, 1 + 1e-9, 1 + 3e-7, 1.01)}
    out |= {f"shaken by {s}": K + s * top * (E + E.T) for s in (1e-9, 1e-5)}
    out |= {f"less by {s}": K - s * top * (u @ u.T) / float(u[:, 0] @ u[:, 0]) for s in (1e-8, 1e-6, 0.1)}
    out |= {f"more by {s}": K + s * top * np.ones((n, n)) for s in (1e-6, 1e-2)}
    return {"the same": K, "negative": -K, **out}


def multipliers(problem, V: np.ndarray, rng: np.random.Generator):
    """(name, multipliers): from the point, from nowhere, and next to the edges of domains."""
    yield "recovered", None
    own = problem.derivatives(V)
    noise = 10.0 ** rng.choice([-14, -8, -3, 0, 4])
    nu = tuple(10.0 ** rng.choice([-6, 0, 6]) * rng.normal(size=part.size) for part in own.constraints)
    shaken = (y + noise * np.abs(y).max() * rng.normal(size=y.size) for y in own.losses)
    yield "noisy", nm.Multipliers(tuple(shaken), nu)
    edge = tuple(
        np.nextafter(
            t.loss.project(rng.normal(size=y.size) * 1e9, t.target, t.weight), rng.choice([-np.inf, np.inf])
        )
        for t, y in zip(problem.losses, own.losses, strict=True)
    )
    yield "edge", nm.Multipliers(edge, nu)
