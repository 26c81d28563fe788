"""Settings of sdp_dual's solvers on 24 draws of iris, against SCS with the scale that sdp holds.

``python dual_settings.py [DRAWS [SETTING ...]]`` prints a line of JSON for each setting: of how many
draws a gap of 1e-6 was certified, and median and largest CPU seconds over those of SCS at the scale 0.1
on the same draw (pcp, gamma = 1, 90 + 90 pairs, shift 0 and 0.1, a cap of 3,000 iterations).
``python dual_settings.py cliques NAME PAIRS [SOLVER]``: one larger set with few pairs, exactly.
"""

import sys
import time

import numpy as np
from common import report

import npkl_models as nm

MERGE, COMPACT = "chordal_decomposition_merge_method", "chordal_decomposition_compact"
CLARABEL = {
    "clarabel": {},
    "clarabel, not compact": {COMPACT: False},
    "clarabel, parent_child": {MERGE: "parent_child"},
    "clarabel, no merges": {MERGE: "none"},
    "clarabel, not completed": {"chordal_decomposition_complete_dual": False},
}
HELD = {"adaptive_scale": False}
SCS = {
    "scs": {"scale": 0.1} | HELD,
    "scs, default": {},
    **{f"scs, scale {scale}": {"scale": scale} | HELD for scale in (0.03, 0.3, 0.5, 1.0, 3.0, 10.0)},
    "scs, adapted": {"scale": 0.1, "adaptive_scale": True},
    "scs, adapted from 1": {"scale": 1.0, "adaptive_scale": True},
    "scs, scale 0.5, relaxed 1.8": {"scale": 0.5, "alpha": 1.8} | HELD,
    "scs, scale 0.5, no acceleration": {"scale": 0.5, "acceleration_lookback": 0} | HELD,
    "scs, scale 0.5, not normalised": {"scale": 0.5, "normalize": False} | HELD,
    "scs, scale 1.0, let go": {"scale": 1.0},
}


def problems(count: int) -> list[nm.Problem]:
    """So many draws for each of two shifts."""
    data = nm.datasets.load("iris")
    return [
        nm.pcp(nm.laplacian(data.X, 5, shift=shift), nm.Pairs.from_labels(data.y, 90, 90, seed))
        for shift in (0.0, 0.1)
        for seed in range(count)
    ]


def measured(draws: list[nm.Problem], label: str) -> tuple[list[float], list[float], list[int]]:
    """CPU seconds, gaps and iterations."""
    settings = CLARABEL.get(label, SCS.get(label))
    solver = "CLARABEL" if label in CLARABEL else "SCS"
    seconds, gaps, iterations = [], [], []
    for P in draws:
        started = time.process_time()
        found = P.solve("sdp_dual", solver=solver, max_iter=3_000, solver_options=settings)
        seconds.append(time.process_time() - started)
        gaps.append(found.certificate.relative_gap if found.V is not None else float("inf"))
        iterations.append(found.iterations)
    return seconds, gaps, iterations


def settings(count: int = 12, *labels: str) -> None:
    """A line for each setting."""
    draws = problems(count)
    measured(draws[:1], "scs")  # what is compiled is compiled now
    own = np.array(measured(draws, "scs")[0])
    for label in labels or (*SCS, *CLARABEL):
        seconds, gaps, iterations = measured(draws, label)
        ratio = np.array(seconds) / own
        report(
            benchmark="dual_settings", setting=label, draws=len(draws),
            certified=sum(g <= 1e-6 for g in gaps),
            worst_gap=float(f"{max(gaps):.1e}"), iterations=float(np.median(iterations)),
            median_ratio=round(float(np.median(ratio)), 2), largest_ratio=round(float(ratio.max()), 2),
        )  # fmt: skip


def cliques(name: str, count: int, solver: str | None = None) -> None:
    """One larger set."""
    data = nm.datasets.load(name)
    P = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, count, count, 0))
    started = time.process_time()
    program = P.compile("sdp_dual", solver=solver)
    found = program.solve()
    gap = float(f"{found.certificate.relative_gap:.1e}")
    report(
        benchmark="dual_settings", data=name, n=P.n, pairs=2 * count, program=program.describe(),
        seconds=round(time.process_time() - started, 1), relative_gap=gap, iterations=found.iterations,
    )  # fmt: skip


if __name__ == "__main__":
    what = sys.argv[1:] or ["12"]
    if what[0] == "cliques":
        cliques(what[1], int(what[2]), *what[3:])
    else:
        settings(int(what[0]), *what[1:])
