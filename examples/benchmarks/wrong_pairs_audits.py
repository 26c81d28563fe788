"""Audits of pairs of which some are wrong, on twelve sets: what they find, and how true they are.

``python wrong_pairs_audits.py [SET ...] [--draws 10] [--first 10] [--folder DIR] [--jobs 2] [--known]`` draws
the pairs of ``wrong_pairs.py``. It prints a line of JSON with the calibration over all cases of each budget
together, and for each case the area under the precision-recall curve, Brier score and calibration. With
``--known`` the model is told the true rate, and must-links alone are never turned.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from functools import partial

import numpy as np
from common import report
from pckmeans import signed_spectral
from sklearn.metrics import average_precision_score
from wrong_pairs import NEIGHBORS, NOISE, drawn, options, points, seeds

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs
from npkl_models.task_cache import sweep


def audited(name: str, budget: str, kind: str, share: float, seed: int, known: bool) -> list[list[float]]:
    """The truth about each pair, its probability of being wrong by the model, and scores of other audits."""
    X, y = points(name)
    k, L = len(np.unique(y)), nm.laplacian(X, NEIGHBORS, shift=0.1)
    pairs, wrong = drawn(y, budget, kind, share, seed)
    solution = nm.pcp(L, pairs, gamma=3.0, cannot=-1 / (k - 1)).solve(tol=1e-4)
    said = audit_pairs(solution, k, noise=share if known else "auto").noise.wrong
    older = audit_pairs(nm.pcp(L, pairs, gamma=10.0).solve(tol=1e-4))
    place = {tuple(ends): score for ends, score in zip(older.pairs.tolist(), older.score, strict=True)}
    score = [place[i, j] for i, j in zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)]
    labels = signed_spectral(L, pairs, k, random_state=seed)
    broken = (labels[pairs.i] == labels[pairs.j]) != (pairs.sign > 0)
    return [wrong.astype(float).tolist(), said.tolist(), score, broken.astype(float).tolist()]


def deciles(said: np.ndarray, wrong: np.ndarray) -> list[tuple[float, float]]:
    """Mean probability and share of wrong pairs, for each tenth of the scale with at least 50 pairs."""
    place = np.minimum((10 * said).astype(int), 9)
    parts = [place == tenth for tenth in range(10)]
    return [(float(said[p].mean()), float(wrong[p].mean())) for p in parts if p.sum() >= 50]


def largest(parts: list[tuple[float, float]]) -> float:
    """The largest error of a decile; 0 if none has enough pairs."""
    return max((abs(said - true) for said, true in parts), default=0.0)


def audits(given: argparse.Namespace) -> None:
    """Print it. A table of what is said and true has an error even if the probabilities have none."""
    cases = [(kind, share) for kind, share in NOISE if share > 0 and not (given.known and kind == "must")]
    suffix = "_known" if given.known else ""
    tasks = {
        f"audit {name} {budget} {kind} {share} {seed}{suffix}":
        partial(audited, name, budget, kind, share, seed, given.known)
        for budget in given.budgets for kind, share in cases for name in given.sets
        for seed in seeds(given)
    }  # fmt: skip
    found = sweep(tasks, given.jobs, given.folder)
    for budget in (*given.budgets, None):
        chosen = [key for key in tasks if budget is None or f" {budget} " in key]
        every = np.concatenate([np.array(found[key])[:2] for key in chosen], axis=1)
        report(
            benchmark=f"wrong_pairs_calibration{suffix}", budget=budget or "all",
            sets=len(given.sets), draws=given.draws, first=given.first, pairs=every.shape[1],
            said_and_true=np.round(deciles(every[1], every[0]), 3).tolist(),
        )  # fmt: skip
    for budget in given.budgets:
        for kind, share in cases:
            runs = [
                np.array(found[f"audit {name} {budget} {kind} {share} {seed}{suffix}"])
                for name in given.sets for seed in seeds(given)
            ]  # fmt: skip
            areas = [[average_precision_score(run[0], score) for score in run[1:]] for run in runs]
            model, older, spectral = np.mean(areas, axis=0)
            every = np.concatenate(runs, axis=1)
            rng = np.random.default_rng(0)
            lucky = [deciles(every[1], rng.random(every[1].size) < every[1]) for _ in range(50)]
            perfect = np.mean([largest(part) for part in lucky])
            report(
                benchmark=f"wrong_pairs_audit{suffix}", budget=budget, turned=kind, noise=share,
                sets=len(given.sets), draws=given.draws, first=given.first,
                model=round(model, 3), score=round(older, 3),
                signed=round(spectral, 3), brier=round(float(np.mean((every[1] - every[0]) ** 2)), 3),
                said_and_true=np.round(deciles(every[1], every[0]), 2).tolist(),
                without_error=round(float(perfect), 2),
            )  # fmt: skip


def main() -> None:
    """Run it."""
    parser = options(__doc__)
    parser.add_argument("--known", action="store_true", help="tell the model the rate of wrong pairs")
    audits(parser.parse_args())


if __name__ == "__main__":
    main()
