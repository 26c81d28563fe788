"""SCS a stretch at a time, each begun where the last one ended.

CVXPY compiles the program to SCS's data and reads SCS's answers back; in between SCS is called directly,
so that its factorisation and its scaling are kept from one stretch to the next.
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

FIRST, GROWTH, LONGEST = 100, 1.5, 2_000  # iterations of a stretch
ALWAYS = 0.1  # seconds within which the point is certified, whatever the limit
SHORTEST = 1e-3  # seconds of a stretch
CALIBRATION = 5  # iterations of the first stretch where there is a time limit
SHARE = 0.5  # of the time that is left: what a stretch may take
LET_GO = 600  # iterations in which the gap is not halved, after which SCS may adapt the scale
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
"""The scale 0.1 that SCS begins with; what it adapts it to stands still at gaps of 1e-4 to 1e-2."""


def in_chunks(
    program: cp.Problem,
    limit: int,
    settings: dict[str, Any],
    look: Callable[[int], Status | None],
    time_limit: float | None,
    waited: Callable[[], int] = lambda: 0,
) -> tuple[Status, int, str]:
    """Run SCS until it says that it is done, ``look`` says so, or a limit is reached.

    The program's variables and duals hold SCS's point whenever ``look`` is called; ``limit`` is of the
    iterations in all, ``settings`` are for SCS, and ``waited`` says for how many iterations the gap has stood
    still. Returns the status, the iterations and a message.
    """
    from cvxpy.reductions.solvers.conic_solvers.scs_conif import SCS, dims_to_solver_dict

    started = time.perf_counter()
    with only_the_solver():
        data, chain, inverse = program.get_problem_data("SCS", solver_opts=dict(settings))
    cone = dims_to_solver_dict(data["dims"])
    rest = STEADY | SCS.parse_solver_options({k: value for k, value in settings.items() if k != "verbose"})
    length, done = min(FIRST if time_limit is None else CALIBRATION, limit), 0
    point: dict[str, Any] = {}
    while True:
        before = time.perf_counter()
        held = rest | _carried(point) | _clock(time_limit, before - started)
        found = _stretch(data, cone, length, held, point)
        done += int(found["info"]["iter"])
        point = found
        took = time.perf_counter() - before
        status = int(found["info"]["status_val"])
        with only_the_solver():
            program.unpack_results(_as_solved(found), chain, inverse)
        elapsed = time.perf_counter() - started
        if not done and time_limit is not None and elapsed > max(time_limit, ALWAYS):
            return Status.TIME_LIMIT, 0, f"no iteration was done in {elapsed:.2g} s"
        stop = look(done)
        if stop is not None:
            return stop, done, f"stopped by us after {done} iterations, it says {found['info']['status']}"
        if waited() >= LET_GO and "adaptive_scale" not in settings:
            rest["adaptive_scale"] = True
        if status not in UNFINISHED or done >= limit:
            return STATUSES.get(status, Status.FAILED), done, str(found["info"]["status"])
        if status != INACCURATE:  # a suspicion of infeasibility, after a stretch that is too short to tell
            point, length = {}, int(GROWTH * length)
        length = min(int(GROWTH * max(length, FIRST)), LONGEST, limit - done)
        if time_limit is not None and np.isfinite(time_limit):
            left = SHARE * (time_limit - (time.perf_counter() - started))
            length = int(np.clip(left / max(took, 1e-9) * found["info"]["iter"], 1, length))


def _stretch(
    data: dict[str, Any], cone: dict[str, Any], length: int, held: dict[str, Any], point: dict[str, Any]
) -> dict[str, Any]:
    """What SCS has after so many iterations more."""
    import scs

    with only_the_solver():
        known = {key: data[key] for key in ("P", "A", "b", "c") if data.get(key) is not None}
        worker = scs.SCS(known, cone, max_iters=length, verbose=False, **held)
        found: dict[str, Any] = worker.solve(**_start(point))
    if int(found["info"]["status_val"]) == INTERRUPTED:  # it catches the signal itself
        raise KeyboardInterrupt
    return found


class SolverBroke(Exception):
    """What a solver of others raised, in words; errors of ours and of a callback pass as they are."""


@contextmanager
def only_the_solver() -> Iterator[None]:
    """Turn whatever the block raises into `SolverBroke`; some solvers panic with no common exception."""
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


def _clock(time_limit: float | None, elapsed: float) -> dict[str, float]:
    """What is left; SCS looks at its clock after each iteration, so that one cannot be cut."""
    return {} if time_limit is None else {"time_limit_secs": max(time_limit - elapsed, SHORTEST)}


def _carried(point: dict[str, Any]) -> dict[str, float]:
    """The scale that SCS has found for itself."""
    scale = point.get("info", {}).get("scale", 0.0)
    return {"scale": scale} if scale > 0 else {}


def _as_solved(found: dict[str, Any]) -> dict[str, Any]:
    """An unfinished point under the name of a finished one, so that CVXPY hands it out to be judged."""
    info = dict(found["info"])
    if info["status_val"] == INACCURATE:
        info["status_val"] = SOLVED
    return {**found, "info": info}
