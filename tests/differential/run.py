"""Differential test: ``python tests/differential/run.py --problems 2000`` holds the default against CVXPY.

Each problem is drawn as plain numbers; one side is a `Problem` of the library solved by its default, the other a
CVXPY model written from the formulas alone and solved by Clarabel. Prints the counts, every disagreement, and
every answer without a proof where CVXPY has one; the exit status is 1 if there was any false claim or error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import cvxpy as cp
import numpy as np

import npkl_models as nm
from differential.models import contradictory, cvxpy_model, draw, ours

AGREEMENT = 2e-5  # of two objectives, relative to their sizes and the problem's reference
LARGE = 1e7  # a model's value so large is of an optimum that is not attained: nothing is concluded


def compare(seed: int) -> dict:
    """One problem by both; what came of it in a row."""
    given = draw(np.random.default_rng(seed))
    row = {"seed": seed, "verdict": "agrees"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem, model = ours(given), cvxpy_model(given)
        try:
            model.solve(solver="CLARABEL")
            theirs, value = model.status, model.value
        except (cp.SolverError, ValueError, ArithmeticError) as error:
            theirs, value = f"error: {type(error).__name__}", None
        began = time.perf_counter()
        try:
            solution = problem.solve()
        except Exception as error:  # that none escapes is what is tested
            return row | {"verdict": "raised", "words": f"{type(error).__name__}: {error}", "theirs": theirs}
    row |= {"seconds": time.perf_counter() - began, "backend": solution.backend, "theirs": theirs}
    row |= {"ours": solution.status.name, "value": None if value is None else float(value)}
    row |= {"objective": solution.objective, "what": repr(problem)}
    return row | {"verdict": _verdict(given, problem, solution, theirs, row["value"])}


def _verdict(given, problem: nm.Problem, solution: nm.Solution, theirs: str, value: float | None) -> str:
    status = solution.status
    finite = theirs == "optimal" and value is not None and abs(value) < LARGE
    if status is nm.Status.OPTIMAL:
        if theirs in ("infeasible", "unbounded"):
            return "false claim"
        if not finite:
            return "proved alone"
        far = abs(solution.objective - value) > AGREEMENT * problem.size(solution.objective, value)
        found = solution.certificate
        outside = far and not found.bound <= value + AGREEMENT * problem.size(value)
        return "false claim" if outside else "theirs is worse" if far else "agrees"
    if status is nm.Status.INFEASIBLE and finite and given.Q is None and contradictory(given):
        return "contradictory by rounding"
    if status in (nm.Status.INFEASIBLE, nm.Status.UNBOUNDED):
        return "false claim" if finite else "agrees" if theirs == status.name.lower() else "proved alone"
    if finite or theirs in ("infeasible", "unbounded"):
        return "not proved"
    return "neither"


def main() -> int:
    """Draw, compare, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seeds, counts, rows = range(options.seed, options.seed + options.problems), Counter(), []
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(partial(compare), seeds, chunksize=4):
            counts[row["verdict"]] += 1
            rows.append(row)
            if row["verdict"] in ("false claim", "raised", "not proved"):
                print({key: row[key] for key in row if key != "verdict"}, row["verdict"], flush=True)
    print("\n".join(f"{name:<20}{count:>8,}" for name, count in counts.most_common()))
    if options.json is not None:
        options.json.write_text(json.dumps({"counts": counts, "rows": rows}, indent=1))
    return int(bool(counts["false claim"] or counts["raised"]))


if __name__ == "__main__":
    raise SystemExit(main())
