"""What solvers say of programs of CVXPY, and what is true: ``python cvxpy_programs.py [WORD ...]``.

Each program of tests/cvx with one of the words in its name is solved by Clarabel, SCS and InteriorSolver
through `Certified`; with ``--values`` alone, and then judged by `certify_cvxpy`. A line each: value, bounds,
CPU seconds of solve and certificate, rigour, what is certified; then counts. FALSE is a bound on the wrong
side of the closed form, of Clarabel's value at 1e-11 (by 1e-6 of it: it errs, too) or of another bound, or a
certified value that is another. WORSE (``--altered``): values scaled by 1 +- 1e-3, 1e-5 that are certified to
a tenth of the damage. ``--random N`` takes random programs, ``--orders 30 60`` six families; there SCS solves
where matrices are larger than 150 (Clarabel's Hessian of a cone has n^4 / 8 numbers).
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import cvxpy as cp
import numpy as np

import npkl_models as nm

SHARP = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
CLARABEL, ROUGH = ("CLARABEL", {}), ("SCS", {"eps": 1e-3})
FINE = ("SCS", {"eps": 1e-6, "max_iters": 20_000})
SOLVERS = {"CLARABEL": CLARABEL, "SCS 1e-6": FINE, "SCS 1e-3": ROUGH, "interior": (None, {})}
NEAR = 1e-7  # what a point that misses constraints may gain, at optima of 0; the programs' numbers are near 1
ERRORS = (nm.NPKLError, cp.SolverError)


def collection(count: int | None) -> dict:
    """Names, and functions that make a problem and its optimum."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from cvx.programs import PROGRAMS
    from cvx.random_dcp import drawn

    if count is None:
        return {name: lambda make=make: (make().problem, make().optimum) for name, make in PROGRAMS.items()}
    kinds, seeds = {"solvable": None, "infeasible": "infeasible", "unbounded": "unbounded"}, range(count)
    return {f"random {s}": lambda s=s: (drawn(s).problem, kinds[drawn(s).kind]) for s in seeds}


def truth(problem: cp.Problem, optimum: float | str | None) -> tuple[float, float]:
    """The optimum, and how far off that number may be; nan if it is not known."""
    if isinstance(optimum, str):
        down = isinstance(problem.objective, cp.Minimize)
        return (np.inf if down == (optimum == "infeasible") else -np.inf), 0.0
    if optimum is None:
        value = answer(problem, SHARP)
        return value, 1e-6 * abs(value) + 1e-9
    return float(optimum), 1e-11 * abs(optimum) + 1e-13


def answer(problem: cp.Problem, options: dict) -> float:
    """Clarabel's optimum, or nan."""
    try:
        value = problem.solve("CLARABEL", **options)
    except cp.SolverError:
        return np.nan
    return value if problem.status.startswith("optimal") else np.nan


def judged(problem: cp.Problem, solver: str | None, options: dict, values: bool) -> dict:
    """One answer and its certificate, or the error in a word."""
    began = time.process_time()
    try:
        if values:
            problem.solve(solver=solver or nm.InteriorSolver(), **options)
            solved = time.process_time()
            found = nm.certify_cvxpy(problem)
            judge = time.process_time() - solved
        else:
            problem.solve(solver=nm.Certified(solver, **options))
            found = nm.certificate_of(problem)
            judge = found.seconds
    except ERRORS as error:
        return {"word": type(error).__name__}
    except Exception as error:  # what should not reach a user
        return {"word": f"RAW {type(error).__name__}"}
    good = [f"{tol:.0e}" for tol in (1e-6, 1e-4) if found.certifies(tol)]
    solve = time.process_time() - began - judge
    fields = {key: getattr(found, key) for key in ("value", "lower", "upper")}
    return fields | {"solve": solve, "judge": judge, "word": " ".join([found.rigour, *good]), "tols": good}


def false(row: dict, optimum: float, slack: float, rows: list[dict]) -> bool:
    """Whether a bound is on the wrong side, or a certified value is another."""
    if "value" not in row:
        return False
    lower, upper = max(one["lower"] for one in [row, *rows]), min(one["upper"] for one in [row, *rows])
    crossed = lower > upper and lower - upper > 1e-12 * (abs(lower) + abs(upper))
    far = abs(row["value"] - optimum) if row["value"] != optimum else 0.0
    another = any(far > 2 * float(tol) * (abs(row["value"]) + abs(optimum)) + NEAR for tol in row["tols"])
    return crossed or row["lower"] > optimum + slack or row["upper"] < optimum - slack or another


def dense(value):
    """An array; values of sparse variables are sparse."""
    return value.toarray() if hasattr(value, "toarray") else value


def worse(problem: cp.Problem, by: float) -> str:
    """What is said of values that are moved, if there is damage."""
    best, damages = answer(problem, {}), {}
    values = [(x, x.value) for x in problem.variables()]
    if np.isnan(best):
        return "not tried"
    for factor in (1 + by, 1 - by, None):
        for x, value in values:  # and at last to the worse of both
            x.save_value((factor or damages[max(damages)]) * value)
        moved = problem.objective.value
        rise = (moved - best) * (1 if isinstance(problem.objective, cp.Minimize) else -1)
        lost = [0.0, rise / (abs(moved) + abs(best) or 1)]
        for c in problem.constraints:
            size = max(np.max(np.abs(dense(a.value)), initial=0.0) for a in [*c.args, *c.variables()])
            lost.append(np.max(c.violation(), initial=0.0) / (size or 1))
        damages[max(lost)] = factor or damages[max(damages)]
    damage = max(damages)
    try:
        good = damage >= 1e-7 and nm.certify_cvxpy(problem).certifies(damage / 10, damage / 10)
    except ERRORS:
        good = False
    except Exception as error:  # what should not reach a user
        return f"RAW {type(error).__name__}"
    return "WORSE" if good else "refused" if damage >= 1e-7 else "not tried"


def families(n: int) -> dict:
    """Six programs of order n."""
    rng, X, w = np.random.default_rng(n), cp.Variable((n, n), PSD=True), cp.Variable(n, nonneg=True)
    W, G = np.triu(rng.random((n, n)) < 8 / n, 1) * 1.0, rng.normal(size=(n, n)) / np.sqrt(n)
    x, t, F, A = cp.Variable(n), cp.Variable(), rng.normal(size=(n, 5)), rng.normal(size=(2 * n, n))
    L, C, risk = np.diag((W + W.T).sum(0)) - W - W.T, np.eye(n) + (G + G.T) / 2, F @ F.T / n + np.eye(n) / 10

    def least(cost, *held) -> cp.Problem:
        return cp.Problem(cp.Minimize(cost), list(held))

    return {
        "max-cut": least(-cp.trace(L @ X), cp.diag(X) == 1),
        "theta": least(-cp.sum(X), cp.trace(X) == 1, X[np.nonzero(W)] == 0),
        "correlation": least(cp.sum_squares(X - C), cp.diag(X) == 1),
        "LMI": least(cp.sum(w) + cp.square(t - 1), cp.diag(w) + t * (G + G.T) >> np.eye(n)),
        "portfolio": least(-rng.random(n) @ w + cp.quad_form(w, risk), cp.sum(w) == 1),
        "lasso": least(cp.sum_squares(A @ x - A[:, 0]) + 5 * cp.norm1(x)),
    }


def main() -> None:
    """The table, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", default=[""])
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--altered", action="store_true")
    parser.add_argument("--random", type=int)
    parser.add_argument("--orders", type=int, nargs="+")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # CVXPY's: inaccurate answers, values of sparse variables
    programs, counts = collection(given.random) if not given.orders else {}, Counter()
    for n in given.orders or ():
        for name, problem in families(n).items():
            large = n > 150 and name not in ("portfolio", "lasso")
            row = judged(problem, *(ROUGH if large else CLARABEL), False)
            solve, judge = problem.solver_stats.solve_time or np.nan, row.get("judge", np.nan)
            head = f"{name:12} {n:4} {'SCS' if large else 'CLARABEL':9}"
            print(f"{head} solve {solve:8.2f} judge {judge:8.2f} {row['word']}", flush=True)
    for name in (name for name in programs if any(word in name for word in given.words)):
        (optimum, slack), rows = truth(*programs[name]()), {}
        for label in given.solvers:
            row = judged(programs[name]()[0], *SOLVERS[label], given.values)
            wrong = false(row, optimum, slack, [one for one in rows.values() if "value" in one])
            rows[label], word = row, row["word"] + " FALSE" * wrong
            counts[label, word] += 1
            numbers = " ".join(f"{row.get(key, np.nan):15.9g}" for key in ("value", "lower", "upper"))
            clock = f"{row.get('solve', np.nan):6.2f} {row.get('judge', np.nan):6.2f}"
            print(f"{name:46} {label:9} {numbers} {clock} {word}", flush=True)
        for by in (1e-3, 1e-5) if given.altered else ():
            counts[f"moved by {by:.0e}", said := worse(programs[name]()[0], by)] += 1
            print(f"{name:46} moved by {by:.0e} {said}", flush=True)
    print("\n".join(f"{label:15} {word:24} {counts[label, word]}" for label, word in sorted(counts)))


if __name__ == "__main__":
    main()
