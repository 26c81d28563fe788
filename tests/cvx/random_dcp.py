"""Random programs of CVXPY whose kind is known from how they are made.

A point that is chosen first keeps every attribute and every constraint, the inequalities with a margin; all
variables are bounded: then an optimum and multipliers exist. One contradiction more, each with a margin, and
the program is infeasible; a free cone more, along which the objective falls, and it is unbounded.
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

KINDS = ("solvable", "solvable", "solvable", "solvable", "infeasible", "unbounded")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A program, and whether it is solvable, infeasible or unbounded."""

    seed: int
    problem: cp.Problem
    kind: str


def normal(rng, *shape):
    """Numbers of two digits, so that the programs can be read."""
    return np.round(rng.normal(size=shape), 2)


def vector(rng):
    """A vector with an attribute, and a point in its interior."""
    n, at = int(rng.integers(2, 6)), normal(rng, 6)
    kind = rng.choice(["free", "nonneg", "nonpos", "bounds", "complex", "free"])
    v = at[:n]
    if kind == "nonneg":
        return cp.Variable(n, nonneg=True), np.abs(v) + 0.2
    if kind == "nonpos":
        return cp.Variable(n, nonpos=True), -np.abs(v) - 0.2
    if kind == "bounds":
        return cp.Variable(n, bounds=[v - 1, np.where(v > 0, v + 2, np.inf)]), v
    return (cp.Variable(n, complex=True), v + 1j * v[::-1]) if kind == "complex" else (cp.Variable(n), v)


def matrix(rng):
    """A matrix with an attribute, and a point in its interior."""
    n = int(rng.integers(2, 5))
    kind = rng.choice(["symmetric", "PSD", "NSD", "diag", "hermitian", "sparsity", "free", "PSD"])
    G = normal(rng, n, n)
    above = G @ G.T + 0.3 * np.eye(n)
    if kind == "free":
        return cp.Variable((n, n + 1)), normal(rng, n, n + 1)
    if kind == "sparsity":
        rows, columns = np.nonzero(np.triu(np.ones((n, n))))
        return cp.Variable((n, n), sparsity=(rows, columns)), np.triu(G)
    if kind == "hermitian":
        return cp.Variable((n, n), hermitian=True), above + 1j * (G - G.T)
    value = {"symmetric": G + G.T, "PSD": above, "NSD": -above, "diag": np.diag(np.diag(G))}[kind]
    return cp.Variable((n, n), **{kind: True}), value


def real(rng, e):
    """The real part, or the sum of both parts; CVXPY 1.9 cannot reduce cp.real of what is real."""
    return e if e.is_real() else (cp.real(e), cp.real(e) + cp.imag(e))[rng.integers(2)]


def flat(rng, e):
    """Real numbers in a row, by one of the affine atoms, with numbers of the program's own."""
    e = real(rng, e)
    if e.ndim == 2 and e.shape[0] == e.shape[1] and rng.random() < 0.4:
        ways = [cp.upper_tri, cp.diag, lambda X: cp.sum(X, axis=0), lambda X: cp.vec(X, order="F")]
        e = ways[rng.integers(4)](e)
    e = e if e.ndim == 1 else cp.vec(e, order="F")
    e = cp.hstack([e, 1 - e]) if e.size == 1 else e
    ways = [
        lambda: e, lambda: normal(rng, 3, e.size) @ e, lambda: cp.multiply(normal(rng, e.size), e), lambda: np.tri(e.size) @ e,
        lambda: cp.hstack([e, cp.sum(e)]), lambda: cp.convolve([1, -1, 0.5], e), lambda: cp.diff(e) + e[1:],
        lambda: cp.vec(cp.kron(np.eye(2), cp.reshape(e, (1, e.size), order="F")), order="F")[: e.size + 2],
    ]  # fmt: skip
    made = ways[rng.integers(len(ways))]()
    return made + normal(rng, made.size) if made.size > 1 else cp.hstack([made, e])


def square(rng, e):
    """A symmetric or Hermitian matrix that is affine in e."""
    if e.ndim == 2 and e.shape[0] == e.shape[1]:
        if e.is_hermitian() and rng.random() < 0.6:
            return e + np.eye(e.shape[0])
        sparse = e.is_diag() or bool(e.attributes["sparsity"])  # whose blocks CVXPY 1.9 cannot evaluate
        S = e if sparse or rng.random() < 0.5 else cp.bmat([[e, 2 * e], [e.H, np.eye(e.shape[0])]])
        return S + S.H
    e = flat(rng, e)
    return sum(e[k] * (B + B.T) for k, B in enumerate(normal(rng, 2, 3, 3))) + np.eye(3)


def of_vector(rng, e):
    """A convex function of real numbers."""
    n, G = e.size, normal(rng, e.size, e.size)
    ways = [
        lambda: cp.norm1(e), lambda: cp.norm(e), lambda: cp.norm_inf(e), lambda: cp.pnorm(e, 3), lambda: cp.pnorm(e, 1.5),
        lambda: cp.sum_squares(e), lambda: cp.quad_form(e, cp.psd_wrap(G @ G.T)), lambda: cp.sum(cp.square(e)),
        lambda: cp.sum(cp.huber(e, 0.5)), lambda: cp.max(e), lambda: cp.sum_largest(e, 1.5), lambda: cp.sum(cp.pos(e)),
        lambda: cp.sum(cp.neg(e)), lambda: cp.sum(cp.maximum(e, -2 * e, 1)), lambda: cp.sum(cp.abs(e)), lambda: cp.tv(e),
        lambda: cp.ptp(e), lambda: cp.cvar(e, 0.6), lambda: cp.std(e), lambda: cp.var(e), lambda: cp.sum(cp.cummax(e)), lambda: cp.norm(cp.cumsum(e)),
        lambda: cp.dotsort(e, np.sort(normal(rng, n))), lambda: cp.sum(cp.power(e, 4)), lambda: cp.sum(cp.scalene(e, 2, 1)),
        lambda: cp.sum(cp.power(cp.pos(e), 1.5)), lambda: cp.quad_over_lin(e, 2),
        lambda: cp.mixed_norm(cp.vstack([e, e[::-1]]), 2, 1), lambda: cp.max(cp.norm(cp.vstack([e, 2 * e + 1]), axis=0)),
    ]  # fmt: skip
    return ways[rng.integers(len(ways))]()


def of_matrix(rng, S):
    """A convex function of a Hermitian matrix."""
    ways = [cp.lambda_max, lambda S: -cp.lambda_min(S), cp.normNuc, cp.sigma_max, lambda S: cp.norm(S, "fro")]
    ways += [lambda S: cp.sum(cp.abs(S)), lambda S: cp.norm(real(rng, cp.diag(S)))]
    if S.is_real():
        ways += [lambda S: cp.lambda_sum_largest(S, 2), lambda S: -cp.lambda_sum_smallest(S, 2)]
        ways += [lambda S: cp.mixed_norm(S, 2, 1), lambda S: cp.norm(S, 1), lambda S: cp.norm(S, "inf")]
    return ways[rng.integers(len(ways))](S)


def of_positive(rng, e, harmonic):
    """A convex function of numbers that are positive at the point: its domain is a constraint."""
    e = e + np.ceil(1 - np.min(e.value))
    mean = (
        cp.harmonic_mean if harmonic else cp.geo_mean
    )  # CVXPY 1.9 has no harmonic mean beside complex numbers
    ways = [
        lambda: cp.sum(cp.inv_pos(e)), lambda: -cp.geo_mean(e[:5]), lambda: -mean(e[:4]), lambda: -cp.sum(cp.sqrt(e)),
        lambda: -cp.sum(cp.power(e, 0.25)), lambda: cp.inv_prod(e[:2]), lambda: cp.quad_over_lin(e[1:] - 1, e[0]),
        lambda: -cp.min(e), lambda: -cp.sum_smallest(e, 2), lambda: -cp.sum(cp.minimum(e, 2)), lambda: cp.sum(cp.power(e, -2)),
        lambda: -cp.geo_mean(e[:2], [1, 2]), lambda: cp.tr_inv(cp.diag(e)), lambda: cp.matrix_frac(e[:2] - 1, cp.diag(e[:2]) + 1),
    ]  # fmt: skip
    return ways[rng.integers(len(ways))]()


def convex(rng, variables, depth=0):
    """A convex function of one or more variables."""
    e, dice = variables[rng.integers(len(variables))], rng.random()
    if depth < 2 and dice < 0.25:
        f, g = convex(rng, variables, depth + 1), convex(rng, variables, depth + 1)
        ways = [
            lambda: cp.maximum(f, g),
            lambda: f + 0.5 * g,
            lambda: cp.pos(f),
            lambda: cp.square(cp.pos(f)),
        ]
        ways += [lambda: cp.norm(cp.hstack([cp.pos(f), cp.pos(g)])), lambda: cp.max(cp.hstack([f, g, 0]))]
        return ways[rng.integers(len(ways))]()
    if dice < 0.5:
        return of_matrix(rng, square(rng, e))
    if dice < 0.6 and not e.is_real():
        return cp.norm(cp.abs(cp.vec(e, order="F"))) if rng.random() < 0.5 else cp.max(cp.abs(e))
    if dice < 0.7:
        return of_positive(rng, flat(rng, e), all(x.is_real() for x in variables))
    return of_vector(rng, flat(rng, e))


def constraint(rng, variables):
    """One that the point keeps, an inequality with a margin."""
    e, dice = variables[rng.integers(len(variables))], rng.random()
    if dice < 0.15:
        row = cp.sum(flat(rng, e))
        return row == row.value
    if dice < 0.3:
        S = square(rng, e)
        return S + (0.5 - np.linalg.eigvalsh(S.value)[0]) * np.eye(S.shape[0]) >> 0
    if dice < 0.4:
        x = flat(rng, e)
        return cp.SOC(cp.sum(x) + np.linalg.norm(x.value) + 1 - x.value.sum(), x)
    if dice < 0.5:
        x = flat(rng, e)
        return x >= x.value - 0.5
    f = convex(rng, variables)
    return f <= f.value + 0.5 + 0.1 * abs(f.value)


def contradiction(rng, variables):
    """Constraints that no values keep, nor any nearby: the margin is at least 1/2."""
    x = flat(rng, variables[rng.integers(len(variables))])
    n, a = x.size, 1 + np.abs(normal(rng, x.size))
    T, t = cp.Variable((3, 3), PSD=True), cp.Variable()
    ways = [
        [a @ x >= 2, a @ x <= 1], [cp.norm(x - 1) <= 1, a @ x >= a.sum() + 1.5 * np.linalg.norm(a)],
        [cp.sum(x) == 1, cp.sum(x) + t == 3, t <= 1], [cp.trace(T) <= 1, cp.sum(T[0]) >= 2 + cp.norm(x)],
        [cp.lambda_max(T) <= 1, cp.trace(T) >= 4 + cp.pos(x[0])], [T[0, 1] >= 1, T[0, 0] + T[1, 1] <= 1],
        [cp.geo_mean(x) >= 2, cp.sum(x) <= n], [cp.sum_squares(x) <= 1, cp.sum(x) >= n + 1.0],
        [cp.norm_inf(x) + cp.square(t) <= -1], [cp.bmat([[t, 2], [2, 1 - t]]) >> 0], [cp.quad_over_lin(2 + cp.pos(x[0]), t) <= 1, t <= 2],
    ]  # fmt: skip
    return ways[rng.integers(len(ways))]


def ray(rng, variables):
    """A rate that falls without end along a cone, and constraints that hold further along it."""
    f, u, U = convex(rng, variables), cp.Variable(3), cp.Variable((3, 3), PSD=True)
    if not all(x.is_real() for x in variables) and rng.random() < 0.3:
        Z = cp.Variable((2, 2), hermitian=True)
        return cp.imag(Z[0, 1]), [Z >> 0, cp.real(Z[0, 0]) == cp.real(Z[1, 1])]
    ways = [
        (-u[2], [f <= u[2] + f.value + 1, cp.norm(u[:2]) <= u[2]]), (-cp.sum(u), [u >= 0, u[0] <= u[1] + 1]),
        (-cp.trace(U), [f <= cp.trace(U) + f.value + 1]), (U[0, 0] - 3 * U[0, 1] + U[1, 1], [U[2, 2] == 1]),
        (u[0] - u[1], [u[2] == 1]), (-cp.min(u), [cp.norm_inf(u - 1) <= 1 + u[0]]),
        (-cp.geo_mean(u), [u[0] == u[1]]), (-cp.lambda_min(U), [U[0, 1] == 0]), (cp.sum_squares(u[:2]) - u[2], [u[1] >= 1 - u[2]]),
    ]  # fmt: skip
    return ways[rng.integers(len(ways))]


def bounded(rng, e):
    """A bound of all entries, wide around the point."""
    x = cp.vec(e, order="F") if e.ndim == 2 else e
    x = x if x.is_real() else cp.hstack([cp.real(x), cp.imag(x)])
    size = np.ceil(2 + 2 * np.linalg.norm(x.value))
    ways = [cp.norm(x) <= size, cp.norm_inf(x) <= size, cp.sum_squares(x) <= size**2, cp.norm1(x) <= 2 * size]
    return ways[rng.integers(4)]


def drawn(seed: int) -> Drawn:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    kind = KINDS[rng.integers(len(KINDS))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values of sparse variables are read here
        pairs = [vector(rng), matrix(rng), (cp.Variable(), np.float64(0.5))]
        variables = []
        for x, value in pairs[: int(rng.integers(2, 4))]:
            x.save_value(value)
            variables.append(x)
        held = [bounded(rng, x) for x in variables]
        held += [constraint(rng, variables) for _ in range(rng.integers(0, 4))]
        cost = cp.Constant(0) if rng.random() < 0.05 else convex(rng, variables) + rng.integers(-2, 3)
        if rng.random() < 0.5:
            cost = cost + normal(rng) * cp.sum(flat(rng, variables[0]))
        if kind == "infeasible":
            held += contradiction(rng, variables)
        if kind == "unbounded":
            rate, more = ray(rng, variables)
            cost, held = rate + (cost if rng.random() < 0.5 else 0), held + more
    for x in variables:
        x.save_value(None)
    goal = cp.Maximize(-cost) if rng.random() < 0.4 else cp.Minimize(cost)
    order = rng.permutation(len(held))
    return Drawn(seed, cp.Problem(goal, [held[k] for k in order]), kind)
