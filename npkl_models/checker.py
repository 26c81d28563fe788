"""Check a proof of npkl_models with numpy and the standard library alone: python checker.py FILE [--exact].

The problem: minimise <C, K> + sum_e f_e(z_e) over K = P U P' with U positive semidefinite, z_e = <M_e, K>.
Each f_e is given by its conjugate f_e*(y) = b y + (q / weight) y^2 / 2 on low <= y <= high. A term is hard if
q = 0 and an end is infinite: z <= b, z >= b or z = b. P is the identity, the given basis, or the face that
zero distances, K_ii = K_jj = K_ij and zero diagonals force on every feasible K: points with equal rows.

Weak duality: if all y_e lie in their boxes and P'SP >= 0 for S = C + sum_e y_e M_e, then for every feasible K
    <C, K> + sum f_e(z_e) >= <C, K> + sum (y_e z_e - f_e*(y_e)) = <S, K> - sum f_e*(y_e) >= -sum f_e*(y_e).

OPTIMAL: this bound, and a point K = VV' whose objective exceeds it by no more than a share ``tol``, for the
right-hand sides that K meets, which differ from b by a share of at most ``feasibility``. INFEASIBLE: the same
bound is positive without cost and losses. UNBOUNDED: a point that meets the constraints as well, and a
direction DD' along which the objective falls for ever.

Every number of a file is a double, so a whole multiple of 1 / scale for a power of two. All sums and products
are made in whole numbers, without rounding. Only the factorisation that shows P'SP >= 0 is in floating point,
and what it misses is paid for. With --exact, it is in whole numbers, too, up to order 60. The exit status is
0 where the claim holds, 1 where it does not, and 2 for a file that is no proof.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Array = Any  # of numpy: doubles, indices, or Python's whole numbers (dtype object)
INF, UNIT, TINY = math.inf, 2.0**-53, 1e-300  # unit of rounding; more than underflow takes from a row
WIDEST, EXACT, MOST = 2_000, 60, 10**7  # rows of a dense block, order in whole numbers, points
THETA = 1e-3  # share of the sizes of what is added, in the unit of a relative gap
DATA = ["format", "version", "claim", "method", "n", "terms", "entries", "basis"]
USED = {
    "OPTIMAL": ["bound", "value", "violation", "relative_gap", "tol", "feasibility", "multipliers", "point"],
    "INFEASIBLE": ["bound", "multipliers"],
    "UNBOUNDED": ["rate", "violation", "feasibility", "point", "direction"],
}


class RefusedError(Exception):
    """The claim of a file is not proved."""


class MalformedError(Exception):
    """A file is no proof."""


def need(true: object, words: str, kind: type[Exception] = RefusedError) -> None:
    """Raise an error in words unless something is true."""
    if not true:
        raise kind(words)


def form(true: object, words: str) -> None:
    """The same for the form of a file."""
    need(true, words, MalformedError)


def load(path: str) -> Any:
    """The fields of a file in JSON; no name may stand twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        form(len(dict(pairs)) == len(pairs), "a name stands twice")
        return dict(pairs)

    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file, object_pairs_hook=once)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise MalformedError(" ".join(str(error).split()) or "it is not in JSON") from None


def doubles(given: Any) -> list[float]:
    """A list of finite doubles."""
    form(type(given) is list and {*map(type, given)} <= {int, float}, "a list must have numbers alone")
    form(all(abs(x) <= sys.float_info.max for x in given), "numbers must be finite doubles")
    return [float(x) for x in given]


def indices(given: Any, below: int) -> Array:
    """Whole numbers from 0 to below - 1."""
    form(type(given) is list and {*map(type, given)} <= {int}, "indices must be whole numbers")
    form(all(0 <= x < below for x in given), f"indices must lie in 0..{below - 1}")
    return np.array(given, dtype=np.int64)


def merged(keys: Array, whole: Array) -> tuple[Array, Array]:
    """Sort keys (columns of indices), sum the whole numbers at equal ones, and leave out what is zero."""
    order = np.lexsort(keys[::-1])
    keys, whole = keys[:, order], whole[order]
    first = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: whole.size])
    total = np.add.reduceat(whole, first) if whole.size else whole
    return keys[:, first[total != 0]], total[total != 0]


def joined(count: int, i: Array, j: Array) -> Array:
    """For each of ``count`` things the first of its class, where each i shares a class with its j."""
    root = np.arange(count)
    while (root[i] != root[j]).any():
        least = np.minimum(root[i], root[j])
        np.minimum.at(root, np.append(root[i], root[j]), np.append(least, least))
        root = root[root]
    return root


def up(x: Fraction) -> float:
    """The least double that is at least x."""
    return float(x) if float(x) >= x else math.nextafter(float(x), INF)


class Proof:
    """A problem in whole multiples of 1 / scale, and the claim of a file."""

    def __init__(self, data: Any) -> None:
        self.claim, self.method, self.n, self.terms = data["claim"], data["method"], data["n"], []
        form(data["format"] == "npkl proof" and repr(data["version"]) == "1", "it must be an npkl proof, version 1")
        form(self.method in ("dense", "sparse", "exact"), "its method must be dense, sparse or exact")
        form(type(self.n) is int and 0 < self.n <= MOST, f"n must lie in 1..{MOST}")
        fields = DATA + USED[self.claim] + ["levels"] * (self.method == "sparse")
        form({*data} == {*fields}, f"it must have the fields {', '.join(fields)}")
        lists = [name for name in fields if name in ("basis", "multipliers", "point", "direction")]
        told = {name: doubles(data[name]) for name in lists}
        self.said = {name: doubles([data[name]])[0] for name in USED[self.claim] if name not in lists}
        form(all(0 < self.said.get(name, 0.5) < 1 for name in ("tol", "feasibility")), "tol must be below 1")
        for b, q, weight, low, high in data["terms"]:
            b, q, weight = map(Fraction, doubles([b, q, weight]))
            low = -INF if low is None else doubles([low])[0]
            high = INF if high is None else doubles([high])[0]
            hard = q == 0 and INF in (-low, high)
            form(q >= 0 < weight and low <= high and (q or weight == 1), "a term must have a conjugate")
            form(not hard or {low, high} <= {-INF, 0.0, INF}, "the ends of a hard term must be 0 or null")
            self.terms.append((b, q / weight, low, high, hard))
        self.y = list(map(Fraction, told.get("multipliers", [])))
        form("multipliers" not in told or len(self.y) == len(self.terms), "a term must have a multiplier")
        # z_e is the sum of entry K[row, column] over the entries of owner e; the last owner is the cost
        *keys, entry = ([one[k] for one in data["entries"]] for k in range(4))
        owner, i, j = map(indices, keys, (len(self.terms) + 1, self.n, self.n))
        # a double is a whole number over a power of two, and the largest such power serves all
        every = [x for part in (doubles(entry), *told.values()) for x in part]
        self.scale = max((x.as_integer_ratio()[1] for x in every), default=1)
        ends = np.array([owner, np.minimum(i, j), np.maximum(i, j)])
        self.keys, self.entry = merged(ends, self.whole(doubles(entry)))
        self.Q = self.whole(told["basis"]).reshape(self.n, -1) if told["basis"] else None
        self.label, self.order = self.face() if self.Q is None else (np.arange(self.n), self.Q.shape[1])
        self.V, self.D = (self.lifted(told.get(name, [])) for name in ("point", "direction"))
        self.levels = indices(data.get("levels", [0] * self.order), self.order)
        form(self.levels.size == self.order, "a row of P must have a level")

    def whole(self, given: list[float]) -> Array:
        """Doubles times the scale."""
        out = np.empty(len(given), dtype=object)
        out[:] = [above * (self.scale // below) for above, below in map(float.as_integer_ratio, given)]
        return out

    def face(self) -> tuple[Array, int]:
        """The row of each point in U: points that must coincide share one; -1 where K_ii must be zero."""
        at, fixed, same, gone = np.searchsorted(self.keys[0], range(len(self.terms) + 1)).tolist(), {}, [], []
        for k, (b, _, low, high, hard) in enumerate(self.terms):
            (_, i, j), v = (part[..., at[k] : at[k + 1]].tolist() for part in (self.keys, self.entry))
            if not hard or high < INF or len(v) not in (1, 3):  # z <= b or z = b
                continue
            if len(v) == 1 and low == -INF:
                fixed[i[0], j[0]] = b / v[0]
            if len(v) == 1 and i == j and v[0] > 0 and b == 0:
                gone.append(i[0])
            a, c = i[0], j[-1]
            if (i, j, v, b) == ([a, a, c], [a, c, c], [v[0], -2 * v[0], v[0]], 0) and v[0] > 0:
                same.append((a, c))  # a squared distance <= 0
        same += [(i, j) for (i, j), v in fixed.items() if fixed.get((i, i)) == v == fixed.get((j, j))]
        root = joined(self.n, *np.array(same, dtype=np.int64).reshape(-1, 2).T)
        first = (root == np.arange(self.n)) & ~np.isin(root, root[np.array(gone, dtype=np.int64)])
        return np.where(first[root], np.cumsum(first)[root] - 1, -1), int(first.sum())

    def lifted(self, factor: list[float]) -> tuple[Array, int]:
        """V = P W for a factor W of U, row by row; and the number of whose inverse V has whole multiples."""
        W = self.whole(factor).reshape(self.order, len(factor) // max(self.order, 1))
        if self.Q is not None:
            return self.Q.dot(W), self.scale**2
        return np.vstack([W, np.zeros((1, W.shape[1]), dtype=object)])[self.label], self.scale

    def values(self, V: Array, unit: int) -> tuple[list[Fraction], Array]:
        """All z_e at VV', the cost last; and the sums of |M_ij| |V_i| |V_j|, in floating point."""
        (owner, i, j), z = self.keys, np.zeros(len(self.terms) + 1, dtype=object)
        np.add.at(z, owner, self.entry * sum(V[i, k] * V[j, k] for k in range(V.shape[1])))
        s = np.array([math.sqrt(x / unit**2) for x in (V * V).sum(axis=1).tolist()])
        sizes = np.array([abs(x) / self.scale for x in self.entry.tolist()]) * s[i] * s[j]
        return [Fraction(x, self.scale * unit**2) for x in z.tolist()], np.bincount(owner, sizes, z.size)

    def slack(self, cost: bool) -> tuple[Array, Array]:
        """The entries of a positive multiple of P'SP, in both triangles: keys (row, column) and numbers."""
        (owner, i, j), y = self.keys, self.whole([*map(float, self.y), float(cost)])
        whole, off = y[owner] * self.entry, i != j
        keys = self.label[np.hstack([self.keys[1:], [j[off], i[off]]])]
        whole = np.append(np.where(off, whole, 2 * whole), whole[off])  # M_ij is half of the entry of K_ij
        keys, whole = merged(keys[:, (keys >= 0).all(axis=0)], whole[(keys >= 0).all(axis=0)])
        if self.Q is None:
            return keys, whole
        SQ = np.zeros(self.Q.shape, dtype=object)
        np.add.at(SQ, keys[0], whole[:, None] * self.Q[keys[1]])
        S = self.Q.T.dot(SQ)
        return np.array(np.nonzero(S)), S[np.nonzero(S)]

    def semidefinite(self, cost: bool, exact: bool) -> bool:
        """Whether P'SP is shown to be positive semidefinite."""
        (keys, whole), n = self.slack(cost), self.order
        if exact:
            need(n <= EXACT, f"elimination in whole numbers takes orders up to {EXACT}, got {n}")
            S = np.zeros((n, n), dtype=object)
            S[keys[0], keys[1]] = whole
            return eliminated(S)
        sums, root, used = np.zeros(n, dtype=object), joined(n, *keys), np.isin(np.arange(n), keys[0])
        np.add.at(sums, keys[0], whole)
        # where the rows of a connected part sum to zero, only differences of x count in x'Sx: one x_i may be 0
        used[np.setdiff1d(root, root[sums != 0])] = False
        order = np.flatnonzero(used)[np.argsort(self.levels[used], kind="stable")]
        place, level = np.cumsum(used), self.levels[order]
        place[order] = np.arange(order.size)
        keys, whole = merged(place[keys[:, used[keys].all(axis=0)]], whole[used[keys].all(axis=0)])
        need((abs(np.diff(level[keys], axis=0)) <= 1).all(), "S must join equal levels, or neighbours")
        top = 1 << max(map(abs, whole.tolist()), default=0).bit_length()
        ends = np.append(np.flatnonzero(np.diff(level)) + 1, order.size)  # of the levels
        need(np.diff(ends, prepend=0).max() <= WIDEST, f"a level must have at most {WIDEST} rows")
        return definite(keys, np.array([x / top for x in whole.tolist()]), ends)

    def proved_bound(self, cost: bool) -> float:
        """Minus the sum of f*(y), rounded down: a bound if P'SP is positive semidefinite."""
        for k, (y, (_, _, low, high, hard)) in enumerate(zip(self.y, self.terms, strict=True)):
            need(low <= y <= high, f"multiplier {k} must lie in its box")
            need(cost or hard or y == 0, f"multiplier {k} must be zero, as it belongs to a loss")
        return -up(sum((Fraction(up(x)) for x in self.conjugates()), Fraction(0)))

    def conjugates(self) -> list[Fraction]:
        """All f*(y)."""
        return [b * y + c * y * y / 2 for y, (b, c, *_) in zip(self.y, self.terms, strict=True)]

    def parts(self, z: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
        """All losses f(z), the largest y (z - b) - c y^2 / 2 in the box; and by how much z misses hard terms."""
        losses, missed = [], []
        for one, (b, c, low, high, hard) in zip(z, self.terms, strict=False):
            r = one - b
            y = Fraction(0 if hard or not r else min(max(r / c, low), high) if c else high if r > 0 else low)
            losses.append(y * r - c * y * y / 2)
            missed.append(r if hard and (r > 0 and high > 0 or r < 0 and low < 0) else Fraction(0))
        return losses, missed

    def judged(self) -> tuple[float, float, float]:
        """Violation, objective, and relative gap of the claimed value and bound; all rounded up."""
        (z, size), violation = self.values(*self.V), 0.0
        losses, missed = self.parts(z)
        for k, r in enumerate(missed):
            unit = abs(self.terms[k][0]) or Fraction(size[k] * (1 - 1e-9))  # b, or what the value adds up
            violation = max(violation, 0.0 if r == 0 else up(abs(r) / unit) if unit else INF)
        objective = up(z[-1] + sum((Fraction(up(x)) for x in losses), Fraction(0)))
        if self.claim != "OPTIMAL":
            return violation, objective, INF
        # the point meets the right-hand sides b + r exactly, for which the bound is less by the sum of y r
        value, bound = self.said["value"], self.said["bound"]
        gap = Fraction(value) - Fraction(bound) + sum(y * r for y, r in zip(self.y, missed, strict=True))
        positive = [float(x) for x in self.parts([Fraction(0)] * len(self.terms))[0] if x > 0]
        primal, dual = (
            size[-1] + sum(abs(float(x)) for x in losses),
            sum(abs(float(x)) for x in self.conjugates()),
        )
        small = min(positive, default=0.0)
        if (self.keys[0] == len(self.terms)).any():  # there is a cost
            small = min(primal, max(dual, small))
        unit = Fraction((abs(value) + abs(bound) + THETA * small) * (1 - 1e-9))
        return violation, objective, 0.0 if gap == 0 else up(gap / unit) if unit else INF

    def proved_rate(self) -> float:
        """How fast the objective changes along DD' in the end, rounded up."""
        (*z, total), _ = self.values(*self.D)
        for one, (_, _, low, high, _) in zip(z, self.terms, strict=True):
            end = high if one > 0 else low if one < 0 else 0.0
            need(abs(end) < INF, "DD' must not move a value that a term holds")
            total += one * Fraction(end)
        return up(total)


def eliminated(S: Array) -> bool:
    """Whether a matrix of whole numbers is positive semidefinite, by elimination without fractions (Bareiss)."""
    before = 1
    for k in range(len(S)):
        pivot, side = S[k, k], S[k, k + 1 :]
        if pivot < 0 or (pivot == 0 and side.any()):
            return False
        if pivot > 0:
            S[k + 1 :, k + 1 :] = (pivot * S[k + 1 :, k + 1 :] - np.multiply.outer(side, side)) // before
            before = pivot
    return True


def definite(keys: Array, value: Array, ends: Array) -> bool:
    """Whether A - Diag(margin) = LL' up to an error whose absolute row sums are at most the margins.

    Then A is positive semidefinite: LL' is, whatever the arithmetic, and so is Diag(margin) plus the error.
    """
    margin = np.zeros(ends[-1])
    for _ in range(3):  # the first factor shows which margins are needed
        error = missed(keys, value, ends, margin)
        if (error <= margin).all():
            return True
        margin = 2 * error
    return False


def missed(keys: Array, value: Array, ends: Array, margin: Array) -> Array:
    """Row sums of |A - Diag(margin) - LL'| with all rounding; infinite if there is no factor.

    L has a dense block K for each level, and beside it a block B below the block of the level before.
    """
    row, column = keys
    out = 3 * UNIT * (np.bincount(row, abs(value), margin.size) + margin) + TINY  # A itself is rounded
    L, start, own, unit = np.zeros((0, 0)), 0, 0, (2 * int(np.diff(ends, prepend=0).max()) + 8) * UNIT
    for end in ends.tolist():
        here = slice(*np.searchsorted(row, [own, end]))
        i, j, v = row[here] - own, column[here] - start, value[here]
        A = np.zeros((end - own, end - start))
        A[i[j < end - start], j[j < end - start]] = v[j < end - start]
        E, T = A[:, : own - start], A[:, own - start :] - np.diag(margin[own:end])
        try:
            B = np.linalg.solve(L, E.T).T
            K = np.linalg.cholesky(T - B @ B.T)
        except np.linalg.LinAlgError:
            return np.full(margin.size, INF)
        b, k = abs(B), abs(K)
        below = abs(E - B @ L.T) + unit * (abs(E) + b @ abs(L).T)
        square = abs(T - B @ B.T - K @ K.T) + unit * (abs(T) + b @ b.T + k @ k.T)
        out[own:end] += 1.01 * (below.sum(axis=1) + square.sum(axis=1))
        out[start:own] += 1.01 * below.sum(axis=0)
        L, start, own = K, own, end
    return out


def check(data: Any, exact: bool = False) -> list[str]:
    """What is proved, line by line."""
    try:
        p = Proof(data)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise MalformedError(f"{type(error).__name__}: {error}") from None
    said, cost, exact = p.said, p.claim == "OPTIMAL", exact or p.method == "exact"
    how = f"S >= 0 {'in whole numbers' if exact else f'by a {p.method} factorisation, whose rounding is paid for'}"
    if p.claim != "UNBOUNDED":
        bound = p.proved_bound(cost)
        need(said["bound"] <= bound, f"the multipliers give the bound {bound!r}")
        need(cost or said["bound"] > 0, "the bound must be positive")
        need(p.semidefinite(cost, exact), "S is not shown to be positive semidefinite")
        if not cost:
            return [f"INFEASIBLE: the constraints alone have the bound {said['bound']!r} > 0", how]
    violation, objective, gap = p.judged()
    need(violation <= said["violation"] <= said["feasibility"], f"the violation is {violation!r}")
    met = f"constraints met to {said['violation']:.2g} (feasibility {said['feasibility']:g})"
    if not cost:
        need(p.proved_rate() <= said["rate"] < 0, f"along DD' the objective changes by {p.proved_rate()!r}")
        return [f"UNBOUNDED: along DD' the objective changes at the rate {said['rate']!r}", met]
    need(objective <= said["value"], f"the objective of the point is {objective!r}")
    need(gap <= said["relative_gap"] <= said["tol"], f"the relative gap is {gap!r}")
    words = f"OPTIMAL: {said['bound']!r} <= optimum; a point has the objective {said['value']!r}"
    return [words, f"relative gap {said['relative_gap']:.2g} (tol {said['tol']:g}), {met}", how]


def main(arguments: Sequence[str]) -> int:
    """Check the file that the arguments name, print what is proved, and return the exit status."""
    names = [one for one in arguments if one != "--exact"]
    try:
        form(len(names) == 1, "usage: python checker.py FILE [--exact]")
        with np.errstate(all="ignore"):
            lines = check(load(names[0]), "--exact" in arguments)
    except MalformedError as error:
        print(f"no proof: {error}", file=sys.stderr)
        return 2
    except (RefusedError, ArithmeticError, MemoryError) as error:
        print(f"not proved: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
