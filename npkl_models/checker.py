"""Check a proof of npkl_models with numpy and the standard library alone: python checker.py FILE [--exact].

The problem: minimise <C, K> + sum_e f_e(z_e) over K = P U P' with U positive semidefinite, z_e = <M_e, K>.
Each f_e is given by its conjugate f_e*(y) = b y + (q / weight) y^2 / 2 on low <= y <= high. A term is hard if
q = 0 and an end is infinite: z <= b, z >= b or z = b. P is the identity, the given basis, or the face that
zero distances, K_ii = K_jj = K_ij and K_ii = 0 force on every feasible K: points with equal rows, or none.
Weak duality: if all y_e lie in their boxes and P'SP >= 0 for S = C + sum_e y_e M_e, then for every feasible K
    <C, K> + sum f_e(z_e) >= <C, K> + sum (y_e z_e - f_e*(y_e)) = <S, K> - sum f_e*(y_e) >= -sum f_e*(y_e).
OPTIMAL: this bound, and a point K = VV' whose objective exceeds it by no more than a share ``tol``, for the
right-hand sides that K meets, which differ from b by a share of at most ``feasibility``. INFEASIBLE: the same
bound is positive without cost and losses. UNBOUNDED: a point that meets the constraints as well, and a
direction DD' along which the objective falls for ever. All numbers are whole multiples of 1 / scale, so sums
and products are exact. Only the factorisation for P'SP >= 0 rounds, which is paid for; --exact does not.
"""

import json
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

Array = Any  # of numpy: doubles, indices, or Python's whole numbers (dtype object)
INF, MAX, REAL = math.inf, sys.float_info.max, {int, float}
UNIT, TINY, THETA = 2.0**-53, 1e-300, 1e-3  # of rounding; of underflow in a row; of sizes in a unit of gaps
WIDEST, EXACT, MOST = 2_000, 60, 10**7  # rows of a dense block, order in whole numbers, points
DATA = ["format", "version", "claim", "method", "n", "terms", "entries", "basis"]
USED = {
    "OPTIMAL": ["bound", "value", "violation", "relative_gap", "tol", "feasibility", "multipliers", "point"],
    "INFEASIBLE": ["bound", "multipliers"],
    "UNBOUNDED": ["rate", "violation", "feasibility", "point", "direction"],
}


def need(true: object, words: str) -> None:
    """Raise an `ArithmeticError`, by which a claim is refused, unless something is true."""
    if not true:
        raise ArithmeticError(words)


def listed(given: Any, kinds: set[type] = REAL, least: float = -MAX, most: float = MAX) -> list[Any]:
    """A list of numbers of these kinds (true and false are none) in this range, which excludes NaN."""
    fits = type(given) is list and {*map(type, given)} <= kinds and all(least <= x <= most for x in given)
    need(fits, f"a list must have numbers between {least} and {most}")
    return given


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
        np.minimum.at(root, np.append(root[i], root[j]), np.tile(np.minimum(root[i], root[j]), 2))
        root = root[root]
    return root


def up(x: Fraction) -> float:
    """The least double that is at least x."""
    return float(x) if float(x) >= x else math.nextafter(float(x), INF)


class Proof:
    """A problem in whole multiples of 1 / scale, and the claim of a file."""

    def __init__(self, data: Any) -> None:
        self.claim, self.method, self.n = data["claim"], data["method"], data["n"]
        need([data["format"], repr(data["version"])] == ["npkl proof", "1"], "it is no npkl proof, version 1")
        need(self.method in ("dense", "sparse", "exact"), "its method must be dense, sparse or exact")
        listed([self.n], {int}, 1, MOST)
        fields = DATA + USED[self.claim] + ["levels"] * (self.method == "sparse")
        need({*data} == {*fields}, f"it must have the fields {', '.join(fields)}")
        lists = [name for name in fields if name in ("basis", "multipliers", "point", "direction")]
        told = self.told = {name: listed(data[name]) for name in lists}
        self.said = {name: listed([data[name]])[0] for name in USED[self.claim] if name not in lists}
        self.read_terms(data["terms"])
        # z_e is the sum of entry K[row, column] over the entries of owner e; the last owner is the cost
        *index, entry = map(list, zip(*data["entries"], strict=True))
        most = (len(self.terms), self.n - 1, self.n - 1)
        owner, i, j = (np.array(listed(x, {int}, 0, top), int) for x, top in zip(index, most, strict=True))
        every = [x for part in (listed(entry), *told.values()) for x in part]
        self.scale = max((x.as_integer_ratio()[1] for x in every), default=1)
        keys = np.array([owner, np.minimum(i, j), np.maximum(i, j)])
        self.keys, self.entry = merged(keys, self.whole(listed(entry)))
        self.Q: Array = self.whole(told["basis"]).reshape(self.n, -1)
        self.label, self.order = self.face() if not self.Q.size else (np.arange(self.n), self.Q.shape[1])  # type: ignore[var-annotated]
        self.unit = self.scale ** (1 + (self.Q.size > 0))  # V has whole multiples of its inverse
        self.levels = np.array(listed(data.get("levels", [0] * self.order), {int}, 0, self.order), int)

    def read_terms(self, rows: list[Any]) -> None:
        """The b, q / weight, low, high of each f*, and whether it is hard; and all y and f*(y)."""
        self.terms: list[Any] = []
        for b, q, weight, low, high in rows:
            b, q, weight = map(Fraction, listed([b, q, weight]))
            low, high = (end if x is None else listed([x])[0] for x, end in ((low, -INF), (high, INF)))
            hard = q == 0 and INF in (-low, high)
            ends = {low, high} <= {-INF, 0, INF} and weight == 1 if hard else q or weight == 1
            need(q >= 0 < weight and low <= high and ends, "a term must have a conjugate")
            self.terms.append((b, q / weight, low, high, hard))
        self.y = list(map(Fraction, self.told.get("multipliers", [0] * len(self.terms))))
        self.conjugates = [b * y + c * y * y / 2 for y, (b, c, *_) in zip(self.y, self.terms, strict=True)]

    def whole(self, given: list[Any]) -> Array:
        """Doubles times the scale; a double is a whole number over a power of two, the largest serves all."""
        out = np.empty(len(given), dtype=object)
        out[:] = [above * (self.scale // below) for above, below in (x.as_integer_ratio() for x in given)]
        return out

    def face(self) -> tuple[Array, int]:
        """The row of each point in U: points that must coincide share one; -1 where K_ii must be zero."""
        at, fixed, same = np.searchsorted(self.keys[0], range(len(self.terms) + 1)), {}, []
        for k, (b, _, low, high, hard) in enumerate(self.terms):
            (_, i, j), v = (part[..., at[k] : at[k + 1]].tolist() for part in (self.keys, self.entry))
            if (hard, low, high, len(v)) == (True, -INF, INF, 1):
                fixed[i[0], j[0]] = b / v[0]
            if len(v) == 3 and (hard, high, b, v[0] > 0, v[1:]) == (True, INF, 0, True, [-2 * v[0], v[0]]):
                same += [(i[0], j[2])] if (i[0], i[0], j[2], j[2]) == (j[0], i[1], j[1], i[2]) else []
        same += [(i, j) for (i, j), v in fixed.items() if fixed.get((i, i)) == v == fixed.get((j, j))]
        gone = np.array([i for (i, j), v in fixed.items() if i == j and v == 0], int)
        root = joined(self.n, *np.array(same, int).reshape(-1, 2).T)
        first = (root == np.arange(self.n)) & ~np.isin(root, root[gone])
        return np.where(first[root], np.cumsum(first)[root] - 1, -1), int(first.sum())

    def values(self, factor: list[float]) -> tuple[list[Fraction], Array]:
        """All z_e at VV', V = P W for a factor W, then <C, K>; and sums of |M_ij| |V_i| |V_j|."""
        W = self.whole(factor).reshape(self.order, len(factor) // max(self.order, 1))
        V = self.Q.dot(W) if self.Q.size else np.vstack([W, np.zeros((1, W.shape[1]), object)])[self.label]
        (owner, i, j), z = self.keys, np.zeros(len(self.terms) + 1, dtype=object)
        np.add.at(z, owner, self.entry * sum(V[i, k] * V[j, k] for k in range(V.shape[1])))
        s = np.array([math.sqrt(x / self.unit**2) for x in (V * V).sum(axis=1).tolist()])
        sizes = np.array([abs(x) / self.scale for x in self.entry.tolist()]) * s[i] * s[j]
        return [Fraction(x, self.scale * self.unit**2) for x in z.tolist()], np.bincount(owner, sizes, z.size)

    def slack(self, cost: bool) -> tuple[Array, Array]:
        """The entries of a positive multiple of P'SP, in both triangles: keys (row, column) and numbers."""
        (owner, i, j), y = self.keys, self.whole([*self.y, int(cost)])
        whole, off = y[owner] * self.entry, i != j
        keys = self.label[np.hstack([self.keys[1:], [j[off], i[off]]])]
        whole = np.append(np.where(off, whole, 2 * whole), whole[off])  # M_ij is half of the entry of K_ij
        keys, whole = merged(keys[:, (keys >= 0).all(axis=0)], whole[(keys >= 0).all(axis=0)])
        if not self.Q.size:
            return keys, whole
        SQ = np.zeros(self.Q.shape, dtype=object)
        np.add.at(SQ, keys[0], whole[:, None] * self.Q[keys[1]])
        S = self.Q.T.dot(SQ)
        return np.array(np.nonzero(S)), S[np.nonzero(S)]

    def semidefinite(self, cost: bool, exact: bool) -> bool:
        """Whether P'SP is shown to be positive semidefinite."""
        keys, whole = self.slack(cost)
        sums, used, root = np.zeros(self.order, object), np.ones(self.order, bool), joined(self.order, *keys)
        np.add.at(sums, keys[0], whole)
        # if the rows of a connected part sum to zero, x'Sx depends on differences of x: one x_i may be 0
        used[np.setdiff1d(root, root[sums != 0])] = False
        order = np.flatnonzero(used)[np.argsort(self.levels.reshape(used.shape)[used], kind="stable")]
        place, level = np.cumsum(used), self.levels[order]
        place[order] = np.arange(order.size)
        keys, whole = merged(place[keys[:, used[keys].all(axis=0)]], whole[used[keys].all(axis=0)])
        if exact:
            need(order.size <= EXACT, f"whole numbers are for orders up to {EXACT}, got {order.size}")
            S = np.zeros((order.size, order.size), dtype=object)
            S[keys[0], keys[1]] = whole
            return eliminated(S)
        need((abs(np.diff(level[keys], axis=0)) <= 1).all(), "S must join equal levels, or neighbours")
        top = 1 << max(map(abs, whole.tolist()), default=0).bit_length()
        ends = np.append(np.flatnonzero(np.diff(level)) + 1, order.size)  # of the levels
        need(np.diff(ends, prepend=0).max() <= WIDEST, f"a level must have at most {WIDEST} rows")
        return definite(keys, np.array([x / top for x in whole.tolist()]), ends)

    def proved_bound(self, cost: bool) -> float:
        """Minus the sum of f*(y), rounded down: a bound if P'SP is positive semidefinite."""
        for k, (y, (_, _, low, high, hard)) in enumerate(zip(self.y, self.terms, strict=True)):
            need(low <= y <= high and (cost or hard or y == 0), f"multiplier {k} must lie in its box")
        return -up(sum((Fraction(up(x)) for x in self.conjugates), Fraction(0)))

    def parts(self, z: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
        """All losses f(z), the largest y (z - b) - c y^2 / 2 in the box; and what z misses of hard terms."""
        losses, missed = [], []
        for one, (b, c, low, high, hard) in zip(z, self.terms, strict=False):
            r = one - b
            y = Fraction(0 if hard or not r else min(max(r / c, low), high) if c else high if r > 0 else low)
            losses.append(y * r - c * y * y / 2)
            missed.append(r if hard and (high if r > 0 else -low) > 0 else Fraction(0))
        return losses, missed

    def judged(self) -> tuple[float, float, float]:
        """Violation, objective, and relative gap of the claimed value and bound; all rounded up."""
        z, size = self.values(self.told["point"])
        losses, missed = self.parts(z)
        units = [abs(b) or Fraction(x * (1 - 1e-9)) for x, (b, *_) in zip(size, self.terms, strict=False)]
        violation = max((up(abs(r) / unit) for r, unit in zip(missed, units, strict=True) if r), default=0.0)
        objective = up(z[-1] + sum((Fraction(up(x)) for x in losses), Fraction(0)))
        # the point meets the right-hand sides b + r exactly, for which the bound is less by the sum of y r
        value, bound = (Fraction(self.said.get(name, 0)) for name in ("value", "bound"))
        gap = value - bound + sum(y * r for y, r in zip(self.y, missed, strict=True))
        least = min((float(x) for x in self.parts([Fraction(0)] * len(missed))[0] if x > 0), default=0.0)
        primal, dual = (sum(abs(float(x)) for x in part) for part in (losses, self.conjugates))
        small = min(size[-1] + primal, max(dual, least)) if len(missed) in self.keys[0] else least
        unit = Fraction((float(abs(value) + abs(bound)) + THETA * small) * (1 - 1e-9))
        return violation, objective, up(gap / unit) if gap else 0.0

    def proved_rate(self) -> float:
        """How fast the objective changes along DD' in the end, rounded up."""
        (*z, total), _ = self.values(self.told["direction"])
        for one, (_, _, low, high, _) in zip(z, self.terms, strict=True):
            end = high if one > 0 else low if one < 0 else 0.0
            need(abs(end) < INF, "DD' must not move a value that a term holds")
            total += one * Fraction(end)
        return up(total)


def eliminated(S: Array, before: int = 1) -> bool:
    """Whether a matrix of whole numbers is positive semidefinite, by fraction-free elimination (Bareiss)."""
    for k in range(len(S)):
        pivot, side = S[k, k], S[k, k + 1 :]
        if pivot < 0 or (pivot == 0 and side.any()):
            return False
        rest = (pivot * S[k + 1 :, k + 1 :] - np.multiply.outer(side, side)) // before
        S[k + 1 :, k + 1 :], before = (rest, pivot) if pivot else (S[k + 1 :, k + 1 :], before)
    return True


def definite(keys: Array, value: Array, ends: Array) -> bool:
    """Whether A - Diag(margin) = LL' up to an error of row sums below the margins: then A is semidefinite."""
    # LL' is, whatever the arithmetic; L has a block K for each level, and to the left of it a block B
    (row, column), error = keys, np.zeros(ends[-1])
    unit = (2 * int(np.diff(ends, prepend=0).max()) + 8) * UNIT  # of sums as long as two blocks are wide
    for _ in range(3):  # the first factor shows which margins are needed
        margin, L, start, own = 2 * error, np.zeros((0, 0)), 0, 0
        error = 3 * UNIT * (np.bincount(row, abs(value), error.size) + margin) + TINY  # A itself is rounded
        for end, reach in zip(ends, np.append(ends[1:], ends[-1]), strict=True):
            here = slice(*np.searchsorted(row, [own, end]))
            A = np.zeros((end - own, reach - start))
            A[row[here] - own, column[here] - start] = value[here]
            E, T = A[:, : own - start], A[:, own - start : end - start] - np.diag(margin[own:end])
            try:
                B = np.linalg.solve(L, E.T).T
                K = np.linalg.cholesky(T - B @ B.T)
            except np.linalg.LinAlgError:
                return False
            below = abs(E - B @ L.T) + unit * (abs(E) + abs(B) @ abs(L).T)
            square = abs(T - B @ B.T - K @ K.T) + unit * (abs(T) + abs(B) @ abs(B).T + abs(K) @ abs(K).T)
            error[own:end] += 1.01 * (below.sum(axis=1) + square.sum(axis=1))
            error[start:own] += 1.01 * below.sum(axis=0)
            L, start, own = K, own, end
        if (error <= margin).all():
            return True
    return False


def check(data: Any, exact: bool = False) -> list[str]:
    """What is proved, line by line."""
    try:
        p = Proof(data)
    except (ArithmeticError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"its form is wrong: {error}") from None
    said, cost, exact = p.said, p.claim == "OPTIMAL", exact or p.method == "exact"
    how = "in whole numbers" if exact else f"by a {p.method} factorisation whose rounding is paid for"
    if p.claim != "UNBOUNDED":
        bound = p.proved_bound(cost)
        need(said["bound"] <= bound, f"the multipliers give the bound {bound!r}")
        need(cost or said["bound"] > 0, "the bound must be positive")
        need(p.semidefinite(cost, exact), "S is not shown to be positive semidefinite")
        if not cost:
            return [f"INFEASIBLE: the constraints alone have the bound {bound!r} > 0", f"S >= 0 {how}"]
    violation, objective, gap = p.judged()
    need(violation <= said["violation"] <= said["feasibility"] < 1, f"the violation is {violation!r}")
    met = f"constraints met to {said['violation']:.2g} (feasibility {said['feasibility']:g})"
    if not cost:
        need(p.proved_rate() <= said["rate"] < 0, f"along DD' the objective changes by {p.proved_rate()!r}")
        return [f"UNBOUNDED: along DD' the objective changes at the rate {said['rate']!r}", met]
    need(objective <= said["value"], f"the objective of the point is {objective!r}")
    need(gap <= said["relative_gap"] <= said["tol"] < 1, f"the relative gap is {gap!r}")
    words = f"OPTIMAL: {said['bound']!r} <= optimum; a point has the objective {said['value']!r}"
    return [words, f"relative gap {said['relative_gap']:.2g} (tol {said['tol']:g}), {met}", f"S >= 0 {how}"]


def main(arguments: list[str]) -> int:
    """Check a file, say what is proved, and return 0, 1 if the claim is refused, or 2 if it is no proof."""
    try:
        with open(arguments[0], encoding="utf-8") as file, np.errstate(all="ignore"):
            sys.stdout.write("\n".join(check(json.load(file), "--exact" in arguments[1:])) + "\n")
    except (ArithmeticError, OSError, ValueError, MemoryError, RecursionError) as error:
        refused = isinstance(error, (ArithmeticError, MemoryError))
        sys.stderr.write(f"{'not proved' if refused else 'no proof'}: {error}\n")
        return 1 if refused else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [""]))
