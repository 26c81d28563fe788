"""No wrong solver passes a cross-check: every formulation, with every kind of mistake that a solver may make.

That a point is wrong is measured here by dense numpy from the data of the problem, not by the certificate.
"""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations import FORMULATIONS
from npkl_models.formulations.comparisons import ordinal_answers

AGREEMENT, FEASIBILITY = 1e-5, 1e-7
RNG = np.random.default_rng(5)
X = np.vstack([RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3)) + 3.0])
Y = np.repeat([0, 1], 6)
L = nm.laplacian(X, 3, shift=0.1)
PAIRS = nm.Pairs(12, [(0, 1), (1, 2), (6, 7), (8, 9)], [(0, 6), (2, 8), (3, 9)])
CHAIN = nm.Pairs(8, [(i, i + 1) for i in range(7)], [(0, 4), (1, 7)])
PATH = np.diag(np.ones(6), 1) + np.diag(np.ones(6), -1)
ENTRIES = (RNG.random((8, 8)) < 0.6) | np.eye(8, dtype=bool)
KNOWN = np.where(ENTRIES & ENTRIES.T, np.corrcoef(RNG.normal(size=(8, 3))), np.nan)
ARC = np.column_stack([np.cos(np.linspace(0, 4, 14)), np.sin(np.linspace(0, 4, 14))])
SENSORS = RNG.random((9, 2))
I, J = np.triu_indices(9, 1)
LENGTHS = np.linalg.norm(SENSORS[I] - SENSORS[J], axis=1) * (1 + 0.1 * RNG.random(I.size))

STATEMENTS = {
    "pcp": nm.pcp(L, PAIRS),
    "pcp, bounds": nm.Problem(
        L,
        [
            *nm.pcp(L, PAIRS).terms,
            nm.Constraint(nm.Entries(12, ([0, 3], [7, 10])), lower=0.3, name="similar"),
            nm.Constraint(nm.SquaredDistances(12, ([1, 4], [8, 11])), upper=0.6, name="near"),
        ],
    ),
    "npkl": nm.npkl(L, PAIRS, loss="hinge", gamma=3.0),
    "npkl, row norm": nm.npkl(L, PAIRS, loss="linear", gamma=3.0, row_norm=1.0),
    "simple_npkl": nm.simple_npkl(L, PAIRS, loss="squared_hinge", C=5.0, trace_bound=4.0),
    "simple_npkl, penalty": nm.simple_npkl(L, PAIRS, loss="hinge", C=5.0, penalty=1.0),
    "hard_pcp": nm.hard_pcp(L, PAIRS),
    "hard_pcp, printed": nm.hard_pcp(L, nm.Pairs(12, [], PAIRS.cannot_link), reduce=False),
    "reg_pcp": nm.reg_pcp(nm.eigenbasis(L, 4), PAIRS),
    "mvu": nm.mvu(X, 3, components="connect"),
    "reg_mvu": nm.reg_mvu(ARC, 2, n_basis=4, nu=10.0),
    "colored_mvu": nm.colored_mvu(X, Y, n_neighbors=3, components="connect", trace_bound=36.0),
    "mve": nm.mve(ARC, 1, n_neighbors=2, C=100.0),
    "spe": nm.spe(PATH, trace_bound=5.0),
    "psde": nm.psde(CHAIN, C=10.0),
    "psde, hinge": nm.psde(CHAIN, C=50.0, loss="hinge"),
    "kernel_completion": nm.kernel_completion(KNOWN, penalty=0.05),
    "conformal_eigenmaps": nm.conformal_eigenmaps(ARC, n_neighbors=3, n_basis=4),
    "locally_rigid": nm.locally_rigid(np.random.default_rng(0).uniform(size=(40, 2)), 6, 5),
    "ordinal": nm.ordinal(ordinal_answers(X, 60, random_state=0), penalty=0.1),
    "distances": nm.distances((I, J, LENGTHS)),
}


def of_factor(V):
    return V @ V.T


def scaled(problem, V, rng):
    return {"half": 0.5 * V, "double": 2.0 * V, "one per cent": 1.01 * V}


def zero(problem, V, rng):
    return {"zero": 0.0 * V}


def random(problem, V, rng):
    W = rng.normal(size=V.shape)
    return {"random": problem.lift(problem.drop(W)) * np.linalg.norm(V) / np.linalg.norm(W)}


def permuted(problem, V, rng):
    return {"permuted": V[rng.permutation(len(V))], "one row moved": np.vstack([V[1:], V[:1]])}


def of_another_problem(problem, V, rng):
    """Other weights (or another cost, where nothing has a weight), and other pairs."""
    shares = rng.uniform(0.1, 10.0, len(V))
    cost = problem.cost + 0.5 * abs(problem.cost).max() * np.diag(shares / 10)
    terms = [
        replace(t, weight=t.weight * (3.0 if not t.loss.separable else rng.uniform(0.1, 10.0, t.weight.size)))
        for t in problem.losses
    ]
    other = replace(problem, terms=[*terms, *problem.constraints]) if terms else replace(problem, cost=cost)
    place = rng.permutation(problem.n)
    moved = replace(
        problem,
        terms=[replace(t, functional=t.functional.over(problem.n, place)) for t in problem.terms],
    )
    found = {"other weights": other.solve(), "other pairs": moved.solve(time_limit=5.0)}
    return {name: one.V for name, one in found.items() if one.V is not None}


def truncated(problem, V, rng):
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    rank = int(np.sum(s > 0.03 * s[0]))
    return {"truncated": U[:, : rank - 1] * s[: rank - 1] if rank > 1 else 0.0 * V}


def indefinite(problem, V, rng):
    """The kernel less a hundredth of its norm along its lowest direction in the range of the basis."""
    K, Q = of_factor(V), problem.Q
    values, vectors = np.linalg.eigh(Q.T @ K @ Q)
    u = Q @ vectors[:, 0]
    return {"indefinite": K - (values[0] + 0.01 * values[-1]) * np.outer(u, u)}


def of_one_constraint(problem, V, rng):
    """Points that miss one constraint by a thousandth."""
    out = {}
    for part in problem.constraints:
        k = int(rng.integers(part.functional.size))
        M = part.functional.adjoint(np.eye(part.functional.size)[k])
        step = M @ V if np.abs(M @ V).max() > 1e-6 else M @ rng.normal(size=V.shape)
        step = step if part.equal or np.isfinite(part.upper).all() else -step
        out[part.name] = problem.lift(
            problem.drop(V + 0.01 * step * np.linalg.norm(V) / np.linalg.norm(step))
        )
    if problem.regularizer.constrains and not problem.regularizer.vacuous:
        out[problem.regularizer.words] = V * (1.01 / np.sqrt(1 - 1e-3))
    if problem.basis is not None and problem.order < problem.n:
        W = rng.normal(size=V.shape)
        W -= problem.lift(problem.drop(W))
        out["basis"] = V + 1e-3 * W * np.linalg.norm(V) / np.linalg.norm(W)
    return out


MISTAKES = (scaled, zero, random, permuted, of_another_problem, truncated, indefinite, of_one_constraint)


def wrong(problem, point, optimum):
    """Whether a point is wrong, by dense numpy: not PSD, a constraint missed, or a larger objective."""
    K = point if point.shape == (problem.n, problem.n) else of_factor(point)
    values = np.linalg.eigvalsh(K)
    if values[0] < -2 * FEASIBILITY * values[-1]:
        return True
    for part in problem.constraints:
        scale = np.abs(part.value).max() or np.abs(K).max()
        z, room = part.functional.value(K), 2 * FEASIBILITY * scale
        if (z > part.upper + room).any() or (z < part.lower - room).any():
            return True
    R = problem.regularizer
    if R.bounds and np.sum(values.clip(0) ** R.spectral.p) > R.spectral.bound * (1 + 4 * FEASIBILITY):
        return True
    off = K - problem.Q @ (problem.Q.T @ K @ problem.Q) @ problem.Q.T
    if np.linalg.norm(off) > 2 * FEASIBILITY * np.linalg.norm(K):
        return True
    return problem.objective(K) > optimum + 2 * AGREEMENT * problem.size(optimum)


def test_every_formulation_is_here():
    assert {name.split(",")[0] for name in STATEMENTS} == set(FORMULATIONS)


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_wrong_solver_passes(name):
    problem, rng = STATEMENTS[name], np.random.default_rng(1)
    solution = problem.solve()
    assert solution.status is nm.Status.OPTIMAL
    points = {}
    for mistake in MISTAKES:
        points |= mistake(problem, np.array(solution.V), rng)
    points |= {
        "NaN": solution.V * np.nan,
        "inf": np.where(np.arange(solution.V.shape[1]), 0.0, np.inf) + solution.V,
    }
    points |= {"text": np.full((problem.n, 2), "1")}
    table = nm.crosscheck(
        problem, [solution.backend], points={"right": solution.V, "kernel": solution.K} | points
    )
    rows = {row.backend: row for row in table.rows}
    assert [rows[label].verdict for label in (solution.backend, "right", "kernel")] == ["agrees"] * 3
    assert rows["right"].status in ("OPTIMAL", "FEASIBLE_POINT")
    told = {label: rows[label] for label in points}
    harmless = {
        label
        for label, point in points.items()
        if label not in ("NaN", "inf", "text") and not wrong(problem, point, solution.objective)
    }
    assert harmless <= {"one row moved", "truncated", "other weights", "other pairs"}
    assert len(harmless) <= 2
    passed = {label for label, row in told.items() if row.verdict == "agrees" or row.status == "OPTIMAL"}
    assert passed <= harmless, {label: (told[label].verdict, told[label].status) for label in passed}
    named = [label for label in told if label in {m.name for m in _missable(problem)}]
    for label in named:  # the constraint that was broken is the one that is named
        assert told[label].verdict.startswith("misses constraint "), (label, told[label].verdict)
    if "indefinite" in told:
        assert told["indefinite"].verdict.startswith("not PSD by ")
    for label in ("NaN", "inf", "text"):
        assert told[label].verdict.startswith("failed: ")
    assert not table.agrees


def _missable(problem):
    from npkl_models.model.misses import misses

    return misses(problem, np.zeros((problem.n, 1)))
