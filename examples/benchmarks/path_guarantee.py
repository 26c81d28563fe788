"""A path with a guarantee over gamma from 0.01 to 100: its kernels, its time, and its true gaps.

``python path_guarantee.py [SET ...] --tol 1e-3 --draws 1000`` prints a line of JSON for each data set and
loss. It has the kernels of the path, CPU seconds, and the largest true gap at random gammas, each solved to a
certified gap of 1e-8. Beside it are the CPU seconds of twenty solves from scratch, to the tolerance of the
path. Sets with more points are cut to a random part of ``--points``.
"""

import argparse
import time

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.path import with_parameter

FORMS = (("pcp", {}), ("npkl", {"loss": "squared_hinge"}), ("npkl", {"loss": "hinge"}))
LOW, HIGH, SCRATCH, EXACT = 0.01, 100.0, 20, 1e-8


def seconds(task) -> tuple[float, object]:
    """CPU seconds, and the result."""
    started = time.process_time()
    found = task()
    return time.process_time() - started, found


def exact(problem, gamma: float):
    """The certified optimum at a gamma, by interior; by the default if interior does not reach 1e-8."""
    here = with_parameter(problem, "weight", gamma)
    found = here.solve("interior", tol=EXACT)
    if not found.certificate.certifies(EXACT):
        found = here.solve(tol=EXACT)
    return here, found.certificate


def true_gaps(problem, path, draws: int, seed: int) -> dict[str, float]:
    """The largest true gap at random gammas, the largest gap of the exact solves, and proofs that fail."""
    gaps, known, false = [0.0], [0.0], 0
    for gamma in np.exp(np.random.default_rng(seed).uniform(np.log(LOW), np.log(HIGH), draws)):
        found = path.at(float(gamma))
        here, proof = exact(problem, float(gamma))
        gaps.append((found.upper - proof.bound) / here.size(found.upper, proof.bound))
        known.append(proof.relative_gap)
        least = (found.upper - proof.upper) / here.size(found.upper, proof.upper)
        false += least > found.relative_gap
    return {"largest_true_gap": max(gaps), "exact_to": max(known), "false_proofs": int(false)}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "wine", "digits", "a1a"])
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        data = data.subset(min(given.points, data.n), random_state=given.seed)
        count = round(0.6 * data.n)
        L = nm.laplacian(data.X, 5, shift=0.1)
        pairs = nm.Pairs.from_labels(data.y, count, count, given.seed)
        for form, options in FORMS:
            problem = getattr(nm, form)(L, pairs, **options)
            for backend in ("bcd", "burer_monteiro", "interior"):
                problem.solve(backend)  # what is compiled is compiled now
            for tol in given.tol:
                cpu, path = seconds(
                    lambda p=problem, t=tol: nm.regularization_path(p, "weight", (LOW, HIGH), tol=t)
                )
                grid = np.geomspace(LOW, HIGH, SCRATCH)
                scratch = sum(
                    seconds(lambda g=g, p=problem, t=tol: with_parameter(p, "weight", g).solve(tol=t))[0]
                    for g in grid.tolist()
                )
                checked = true_gaps(problem, path, given.draws, given.seed)
                report(
                    benchmark="path_guarantee", data=name, n=data.n, form=form, **options, tol=tol,
                    backend=path.solutions[0].backend, kernels=path.kernels, cpu=round(cpu, 2),
                    proved=float(f"{path.guarantee:.2e}"), rigour=path.rigour, draws=given.draws,
                    twenty_from_scratch=round(scratch, 2),
                    **{key: float(f"{value:.2e}") for key, value in checked.items()},
                )  # fmt: skip


if __name__ == "__main__":
    main()
