"""The interior-point method on draws of pairs, against SCS, and where weights are large.

``python interior.py draws`` (24 draws of iris, pcp, each also by SCS with eps = 1e-6 and a cap of 20 s),
``python interior.py clarabel`` (one draw by Clarabel through ``sdp``: minutes, 7 GB),
``python interior.py hard [DRAWS]`` (20 draws of hard pairs on each of ten sets, at most 450 points of each),
``python interior.py weights`` (hinge, gamma = 100, beside pcp at gamma = 1 of the same set),
``python interior.py large NAME FORM GAMMA SHIFT [TOL]`` (one large problem, in units of a dense product of
its order). CPU seconds.
"""

import sys
import time

import numpy as np
from common import report
from matrix import problem

import npkl_models as nm

HARD = (
    "iris", "wine", "glass", "heart", "sonar", "protein", "soybean_small", "ionosphere", "australian",
    "breast_cancer",
)  # fmt: skip


def measured(P: nm.Problem, backend: str, **options: float | str) -> tuple[nm.Solution, float]:
    """A solution and its CPU seconds."""
    started = time.process_time()
    return P.solve(backend, **options), time.process_time() - started


def gap(solution: nm.Solution) -> float:
    """Certified, to two digits."""
    return float(f"{solution.certificate.relative_gap:.1e}")


def draws(count: int = 12) -> None:
    """24 draws; both have run once before, so that neither pays for what is loaded then."""
    data = nm.datasets.load("iris")
    first = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, 20, 20, 0))
    for backend in ("interior", "sdp"):
        measured(first, backend)
    for shift in (0.0, 0.1):
        for seed in range(count):
            pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
            P = nm.pcp(nm.laplacian(data.X, 5, shift=shift), pairs)
            own, seconds = measured(P, "interior", tol=1e-8)
            other, scs = measured(P, "sdp", solver="SCS", eps=1e-6, tol=1e-8, max_iter=3_000, time_limit=20.0)
            report(
                benchmark="interior", part="draws", seed=seed, shift=shift, iterations=own.iterations,
                seconds=round(seconds, 3), relative_gap=gap(own), scs_seconds=round(scs, 3),
                scs_gap=gap(other), times_faster=round(scs / seconds, 1),
            )  # fmt: skip


def clarabel(seed: int = 0) -> None:
    """One draw by a generic interior-point method."""
    data = nm.datasets.load("iris")
    P = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, 90, 90, seed))
    own, seconds = measured(P, "interior", tol=1e-8)
    other, theirs = measured(P, "sdp", solver="CLARABEL", tol=1e-8)
    report(
        benchmark="interior", part="clarabel", seed=seed, seconds=round(seconds, 3), relative_gap=gap(own),
        clarabel_seconds=round(theirs, 1), clarabel_gap=gap(other), times_faster=round(theirs / seconds, 1),
    )  # fmt: skip


def hard(count: int = 20) -> None:
    """Draws of hard pairs, 0.6 n of each kind or a share between 0.2 and 1; a line for each set."""
    for name in HARD:
        try:
            data = nm.datasets.load(name)
        except nm.datasets.DatasetUnavailableError as error:
            report(benchmark="interior", part="hard", data=name, skipped=str(error)[:80])
            continue
        left, iterations, total = 0, 0, 0.0
        for seed in range(count):
            share = np.random.default_rng(1000 + seed).uniform(0.2, 1.0) if seed % 2 else 0.6
            own = data.subset(450, seed) if data.n > 450 else data
            pairs = nm.Pairs.from_labels(own.y, round(share * own.n), round(share * own.n), seed)
            found, seconds = measured(nm.hard_pcp(nm.laplacian(own.X, 5), pairs), "interior", time_limit=60.0)
            left += found.status is not nm.Status.OPTIMAL
            iterations, total = max(iterations, found.iterations), total + seconds
        report(
            benchmark="interior", part="hard", data=name, draws=count, not_certified=left,
            most_iterations=iterations, seconds=round(total, 2),
        )  # fmt: skip


def weights() -> None:
    """Large weights on the hinge."""
    for name in ("iris", "glass", "sonar", "heart"):
        unit = measured(problem(name, "pcp", 1.0, 0.1, 0), "interior", tol=1e-8)[1]
        for shift in (0.1, 0.01):
            own, seconds = measured(problem(name, "hinge", 100.0, shift, 0), "interior", tol=1e-8)
            report(
                benchmark="interior", part="weights", data=name, shift=shift, iterations=own.iterations,
                relative_gap=gap(own), times_pcp=round(seconds / unit, 2),
            )  # fmt: skip


def large(name: str, form: str, gamma: float, shift: float, tol: float = 1e-8) -> None:
    """One problem."""
    P = problem(name, form, gamma, shift, 0)
    A = np.random.default_rng(0).normal(size=(P.n, P.n))
    started = time.process_time()
    A @ A
    unit = time.process_time() - started
    own, seconds = measured(P, "interior", tol=tol)
    report(
        benchmark="interior", part="large", data=name, n=P.n, form=form, gamma=gamma, shift=shift,
        iterations=own.iterations, seconds=round(seconds, 1), units=round(seconds / unit, 1),
        relative_gap=gap(own), rigour=own.certificate.rigour, rank=own.rank,
    )  # fmt: skip


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["weights"]
    if what == "large":
        large(rest[0], rest[1], *map(float, rest[2:]))
    elif what == "clarabel":
        clarabel(*map(int, rest))
    elif what == "hard":
        hard(*map(int, rest))
    elif what == "draws":
        draws(*map(int, rest))
    else:
        weights()
