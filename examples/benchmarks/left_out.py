"""Values of pairs that are left out: one Newton step beside problems solved again, and what they find.

``python left_out.py [SET ...] [--draws 3]`` draws 25 pairs of each kind, turns one in ten round, and prints a
line of JSON for each set, loss and weight: the correlation with the exact values, the median and the largest
error, the median change of a value, CPU seconds of both ways, and the area under the precision-recall curve
of the turned pairs by the distance of the left-out value from the target (one step, exact) and by the score
of the audit. Problems whose Hessian is singular have no step; they are counted, and left out of all means.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from sklearn.metrics import average_precision_score
from wrong_pairs import NEIGHBORS, drawn, points

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs
from npkl_models.applications.left_out import left_out_values


def timed(work, *given, **how):
    """The result and CPU seconds."""
    began = time.process_time()
    found = work(*given, **how)
    return found, time.process_time() - began


def one(name: str, loss: str, gamma: float, seed: int) -> dict[str, float] | None:
    """The figures of one problem; None if its Hessian is singular."""
    X, y = points(name)
    pairs, _ = drawn(y, "50", "both", 0.1, seed)
    L, k = nm.laplacian(X, NEIGHBORS, shift=0.1), len(np.unique(y))
    problem = (
        nm.pcp(L, pairs, gamma=gamma, cannot=-1 / (k - 1)) if loss == "pcp"
        else nm.npkl(L, pairs, gamma=gamma, loss=loss)
    )  # fmt: skip
    solution = problem.solve("burer_monteiro", tol=1e-8)
    try:
        quick, soon = timed(left_out_values, solution, exact=False)
    except nm.SolverError:
        return None
    exact, late = timed(left_out_values, solution)
    wrong = (y[quick.pairs[:, 0]] == y[quick.pairs[:, 1]]) != quick.must
    target = np.where(quick.must, 1.0, -1 / (k - 1) if loss == "pcp" else -1.0)
    audit = audit_pairs(solution)
    score = dict(zip(map(tuple, audit.pairs.tolist()), audit.score, strict=True))
    scores = [score[tuple(pair)] for pair in quick.pairs.tolist()]
    error = np.abs(quick.left_out - exact.left_out)
    return {
        "correlation": np.corrcoef(quick.left_out, exact.left_out)[0, 1], "median": np.median(error),
        "largest": error.max(), "change": np.median(np.abs(exact.left_out - exact.value)),
        "step_s": soon, "exact_s": late,
        "by_step": average_precision_score(wrong, np.abs(quick.left_out - target)),
        "by_exact": average_precision_score(wrong, np.abs(exact.left_out - target)),
        "by_audit": average_precision_score(wrong, scores),
    }  # fmt: skip


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "wine", "glass", "sonar"])
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    for name in given.sets:
        for loss in ("pcp", "squared_hinge"):
            for gamma in (3.0, 100.0):
                made = [one(name, loss, gamma, seed) for seed in range(given.draws)]
                rows = [row for row in made if row]
                keys = rows[0] if rows else ()
                means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in keys}
                report(
                    benchmark="left_out", data=name, loss=loss, gamma=gamma, draws=given.draws,
                    refused=len(made) - len(rows), **means,
                )  # fmt: skip


if __name__ == "__main__":
    main()
