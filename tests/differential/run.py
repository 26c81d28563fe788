"""Differential test: ``python tests/differential/run.py --problems 2000`` holds the default against CVXPY.

Each problem is drawn as plain numbers; one side is a `Problem` of the library solved by its default, the other a
CVXPY model written from the formulas alone and solved by Clarabel. Of four problems, one is of comparisons, by
the default and by bcd, and one is of sensors, by the default and by burer_monteiro with either sparse library.
Prints the counts, every disagreement, and every answer without a proof where CVXPY has one; the exit status is
1 if there was any false claim or error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import cvxpy as cp
import numpy as np

import npkl_models as nm
from differential.models import Numbers, contradictory, cvxpy_model, draw, ours
from differential.told import draw_comparisons, draw_sensors, factorised_by, model_of_sensors, our_sensors

AGREEMENT = 2e-5  # of two objectives, relative to their sizes and the problem's reference
LIMIT = 5.0  # seconds of a backend that is asked for by name
LARGE = 1e7  # a model's value so large is of an optimum that is not attained: nothing is concluded


KINDS = {
    "any": (draw, ours, cvxpy_model, (("auto", None),)),
    "comparisons": (draw_comparisons, ours, cvxpy_model, (("auto", None), ("bcd", None))),
    "sensors": (
        draw_sensors, our_sensors, model_of_sensors,
        (("auto", None), ("burer_monteiro", "CHOLMOD"), ("burer_monteiro", "SuperLU")),
    ),
}  # fmt: skip
"""What is drawn: the numbers, either side, and the backends with their sparse library (None is the usual)."""


def kind_of(seed: int) -> str:
    """What a seed of the command draws: half of all are of any kind."""
    return ("any", "comparisons", "any", "sensors")[seed % 4]


def compare(seed: int, kind: str = "any") -> list[dict]:
    """One problem by both sides; a row for each of the backends with what came of it."""
    numbers, our_side, their_side, backends = KINDS[kind]
    given = numbers(np.random.default_rng(seed))
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem, model = our_side(given), their_side(given)
        try:
            model.solve(solver="CLARABEL")
            theirs, value = model.status, None if model.value is None else float(model.value)
        except (cp.SolverError, ValueError, ArithmeticError) as error:
            theirs, value = f"error: {type(error).__name__}", None
        for backend, library in backends:
            row = {"seed": seed, "kind": kind, "asked": backend, "library": library, "theirs": theirs}
            began = time.perf_counter()
            try:
                with factorised_by(library) if library else nullcontext():
                    solution = problem.solve(backend, **({} if backend == "auto" else {"time_limit": LIMIT}))
            except Exception as error:  # that none escapes is what is tested
                rows.append(row | {"verdict": "raised", "words": f"{type(error).__name__}: {error}"})
                continue
            row |= {"seconds": time.perf_counter() - began, "backend": solution.backend, "value": value}
            row |= {"ours": solution.status.name, "objective": solution.objective, "what": repr(problem)}
            verdict = _verdict(given, problem, solution, theirs, value)
            alone = verdict == "not proved" and backend != "auto"
            rows.append(row | {"verdict": "not proved by one" if alone else verdict})
    return rows


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
    if (
        status is nm.Status.INFEASIBLE
        and finite
        and isinstance(given, Numbers)
        and given.Q is None
        and contradictory(given)
    ):
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
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="these kinds in turn")
    options = parser.parse_args()
    seeds, counts, rows = range(options.seed, options.seed + options.problems), Counter(), []
    with ProcessPoolExecutor(options.processes) as pool:
        kinds = [options.kinds[k % len(options.kinds)] if options.kinds else kind_of(k) for k in seeds]
        for row in chain.from_iterable(pool.map(compare, seeds, kinds, chunksize=4)):
            counts[row["verdict"]] += 1
            rows.append(row)
            if row["verdict"] in ("false claim", "raised", "not proved", "not proved by one"):
                print({key: row[key] for key in row if key != "verdict"}, row["verdict"], flush=True)
    print("\n".join(f"{name:<20}{count:>8,}" for name, count in counts.most_common()))
    if options.json is not None:
        options.json.write_text(json.dumps({"counts": counts, "rows": rows}, indent=1))
    return int(bool(counts["false claim"] or counts["raised"]))


if __name__ == "__main__":
    raise SystemExit(main())
