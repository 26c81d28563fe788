"""Asking again or asking anew, with answers of which some are wrong: the clusters after as many answers.

``python questions.py [SET ...] [--draws 2] [--rounds 3] [--noise 0.1]`` begins with 0.2 n pairs of each kind,
and asks n / 10 questions in each round. Every answer is wrong with the given probability. The policies are
random new pairs, `suggest_questions` among new pairs, among pairs that were asked, and among both. It prints
a line of JSON for each set: the adjusted Rand index of NPKLClustering at first and after the last round.
"""

import argparse
import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.questions import suggest_questions

SETS = ("iris", "wine", "glass", "heart", "sonar", "protein")
POLICIES = ("random", "new", "again", "both")


def curve(X: np.ndarray, y: np.ndarray, policy: str, seed: int, given: argparse.Namespace) -> list[float]:
    """The index at first and after the last round."""
    rng, n, found = np.random.default_rng(seed), y.size, []
    count = round(0.2 * n)
    first = nm.Pairs.from_labels(y, count, count, random_state=seed)
    ends, said = np.zeros((0, 2), dtype=int), np.zeros(0)
    more = np.stack([first.i, first.j], axis=1)
    for _ in range(given.rounds + 1):
        truth = np.where(y[more[:, 0]] == y[more[:, 1]], 1.0, -1.0)
        answers = np.where(rng.random(len(more)) < given.noise, -truth, truth)
        ends, said = np.concatenate([ends, more]), np.concatenate([said, answers])
        model = nm.NPKLClustering(len(np.unique(y)), tol=1e-4)
        model.fit(X, pairs=ends, y_pairs=said, annotator=np.zeros(said.size, dtype=int))
        found.append(float(adjusted_rand_score(y, model.labels_)))
        if policy == "random":
            more = np.stack([rng.choice(n, size=2, replace=False) for _ in range(n // 10)])
        else:
            more = suggest_questions(model.audit_.noise, n // 10, kind=policy)
    return [found[0], found[-1]]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--noise", type=float, default=0.1)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        data = nm.datasets.load(name)
        X, y = StandardScaler().fit_transform(data.X), np.unique(data.y, return_inverse=True)[1]
        runs = [[curve(X, y, policy, seed, given) for policy in POLICIES] for seed in range(given.draws)]
        found = np.mean(runs, axis=0)
        rows.append([found[0, 0], *found[:, 1]])
        report(
            benchmark="questions", data=name, draws=given.draws, noise=given.noise,
            first=round(float(found[0, 0]), 3),
            **{who: round(float(value), 3) for who, value in zip(POLICIES, found[:, 1], strict=True)},
        )  # fmt: skip
    print("mean:", " ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
