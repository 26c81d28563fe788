"""Run SCS in chunks; each chunk begins where the last one ended.

CVXPY compiles the program to SCS's data once, and reads SCS's answers back. In between, SCS is called
directly. Each chunk begins with the point and the scale of the last chunk, and factorises anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from npkl_models.answer.solution import Status

if TYPE_CHECKING:
    import cvxpy as cp

FIRST, GROWTH, LONGEST = 100, 1.5, 2_000  # iterations of the first chunk, their growth, and their limit
ALWAYS = 0.1  # seconds that a solver always has for a first point, whatever the time limit
SHORTEST = 1e-3  # least seconds of a chunk
LET_GO = 600  # iterations without a halved gap after which SCS may adapt its scale
SOLVED, INACCURATE, INTERRUPTED = 1, 2, -5
UNFINISHED = (INACCURATE, -6, -7)
STATUSES = {
    SOLVED: Status.OPTIMAL,
    INACCURATE: Status.ITERATION_LIMIT,
    -1: Status.UNBOUNDED,
    -2: Status.INFEASIBLE,
    -6: Status.UNBOUNDED,
    -7: Status.INFEASIBLE,
}

STEADY: dict[str, Any] = {"adaptive_scale": False}
"""SCS keeps its first scale, 0.1. With a scale that SCS adapts, gaps stop falling at 1e-4 to 1e-2."""


def in_chunks(
    program: cp.Problem, limit: int, settings: dict[str, Any], look: Callable[[int], Status | None],
    time_limit: float | None, waited: Callable[[], int],
) -> tuple[Status, int, str]:  # fmt: skip
    """Run SCS until SCS is done, ``look`` returns a status, or a limit is reached.

    Whenever ``look`` is called, the program's variables and duals hold SCS's point. ``limit`` is the total
    number of iterations, and ``settings`` are options of SCS. ``waited`` returns for how many iterations the
    gap has not been halved. Returns the status, the number of iterations and a message.
    """
    from cvxpy.reductions.solvers.conic_solvers.scs_conif import SCS, dims_to_solver_dict

    started = time.perf_counter()
    with only_the_solver():
        data, chain, inverse = program.get_problem_data("SCS", solver_opts=dict(settings))
    cone = dims_to_solver_dict(data["dims"])
    rest = STEADY | SCS.parse_solver_options({k: value for k, value in settings.items() if k != "verbose"})
    length, done = min(FIRST, limit), 0
    point: dict[str, Any] = {}
    while True:
        scale = point.get("info", {}).get("scale", 0.0)  # which SCS has reached
        held = rest | ({"scale": scale} if scale > 0 else {})
        if time_limit is not None:  # SCS checks its clock only after each iteration
            held["time_limit_secs"] = max(time_limit - (time.perf_counter() - started), SHORTEST)
        found = _run_chunk(data, cone, length, held, point)
        done += int(found["info"]["iter"])
        point = found
        status = int(found["info"]["status_val"])
        with only_the_solver():
            program.unpack_results(_as_solved(found), chain, inverse)
        elapsed = time.perf_counter() - started
        if not done and time_limit is not None and elapsed > max(time_limit, ALWAYS):
            return Status.TIME_LIMIT, 0, f"SCS did no iteration in {elapsed:.2g} s; raise time_limit"
        stop = look(done)
        if stop is not None:
            return stop, done, f"stopped after {done} iterations, SCS says {found['info']['status']}"
        if waited() >= LET_GO and "adaptive_scale" not in settings:
            rest["adaptive_scale"] = True
        if status not in UNFINISHED or done >= limit:
            return STATUSES.get(status, Status.FAILED), done, str(found["info"]["status"])
        if status != INACCURATE:  # SCS suspects infeasibility after a chunk that is too short to tell
            point, length = {}, int(GROWTH * length)
        length = min(int(GROWTH * length), LONGEST, limit - done)


def _run_chunk(
    data: dict[str, Any], cone: dict[str, Any], length: int, held: dict[str, Any], point: dict[str, Any]
) -> dict[str, Any]:
    """Run SCS for at most ``length`` further iterations, and return its result."""
    import scs

    with only_the_solver():
        known = {key: data[key] for key in ("P", "A", "b", "c") if data.get(key) is not None}
        worker = scs.SCS(known, cone, max_iters=length, verbose=False, **held)
        found: dict[str, Any] = worker.solve(**_start(point))
    if int(found["info"]["status_val"]) == INTERRUPTED:  # SCS catches the signal itself
        raise KeyboardInterrupt
    return found


class SolverBroke(Exception):
    """An error of an external solver, in words; errors of this library and of callbacks are not converted."""


@contextmanager
def only_the_solver() -> Iterator[None]:
    """Convert any error of the block to `SolverBroke`; some solvers raise no ordinary exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise SolverBroke(f"{type(error).__name__}: {error}") from error


def _start(point: dict[str, Any]) -> dict[str, Any]:
    if not point or not all(np.isfinite(point[key]).all() for key in ("x", "y", "s")):
        return {"warm_start": False}
    return {"warm_start": True, "x": point["x"], "y": point["y"], "s": point["s"]}


def _as_solved(found: dict[str, Any]) -> dict[str, Any]:
    """Mark an unfinished point as finished, so that CVXPY returns the point to the library."""
    info = dict(found["info"])
    if info["status_val"] == INACCURATE:
        info["status_val"] = SOLVED
    return {**found, "info": info}
