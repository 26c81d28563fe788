"""Asking again or asking anew, with answers of which some are wrong: the clusters after as many answers.

``python questions.py [SET ...] [--draws 2] [--first 0] [--rounds 3] [--noise 0.1]`` begins with 0.2 n pairs
of each kind, and asks n / 10 questions in each round. Every answer is wrong with the given probability. The
policies are random new pairs, min-max, and `suggest_questions` among new pairs, among pairs that were asked,
and among both. Min-max (Mallapragada, Jin & Jain, ICPR 2008, section 2) takes the point whose largest
similarity to the points of the k largest groups of must-links is the smallest. It asks of it and the most
similar point of each group, the most similar group first, until the answer is must-link. It believes every
answer. Printed is a line of JSON for each set: the adjusted Rand index of NPKLClustering at first and after
the last round.
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
POLICIES = ("random", "minmax", "new", "again", "both")


def answered(y: np.ndarray, ends: np.ndarray, rng: np.random.Generator, noise: float) -> np.ndarray:
    """Answers, each wrong with probability ``noise``."""
    truth = np.where(y[ends[:, 0]] == y[ends[:, 1]], 1.0, -1.0)
    return np.where(rng.random(len(ends)) < noise, -truth, truth)


def minmax(S: np.ndarray, y, ends, said, count: int, rng, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """``count`` questions and their answers; S has the similarities of the points."""
    must = ends[said > 0]
    label = nm.Pairs(len(y), np.unique(np.sort(must, axis=1), axis=0), None).groups()[1]
    largest = np.argsort(-np.bincount(label), kind="stable")[: len(np.unique(y))]
    groups = [np.flatnonzero(label == group).tolist() for group in largest]
    open_points = np.ones(len(y), dtype=bool)
    open_points[np.concatenate(groups)] = False
    asked, answers = [], []
    while len(asked) < count and open_points.any():
        place = np.flatnonzero(open_points)
        point = place[S[place][:, np.concatenate(groups)].max(axis=1).argmin()]
        open_points[point] = False
        near = [max(group, key=lambda other: S[point, other]) for group in groups]
        for g in np.argsort([-S[point, other] for other in near], kind="stable"):
            if len(asked) == count:
                break
            asked.append([point, near[g]])
            answers.append(answered(y, np.array(asked[-1:]), rng, noise)[0])
            if answers[-1] > 0:
                groups[g].append(point)
                break
    return np.array(asked), np.array(answers)


def curve(X: np.ndarray, y: np.ndarray, policy: str, seed: int, given: argparse.Namespace) -> list[float]:
    """The index at first and after the last round."""
    rng, n, found = np.random.default_rng(seed), y.size, []
    count = round(0.2 * n)
    first = nm.Pairs.from_labels(y, count, count, random_state=seed)
    ends = np.stack([first.i, first.j], axis=1)
    said = answered(y, ends, rng, given.noise)
    for turn in range(given.rounds + 1):
        model = nm.NPKLClustering(len(np.unique(y)), tol=1e-4)
        model.fit(X, pairs=ends, y_pairs=said, annotator=np.zeros(said.size, dtype=int))
        found.append(float(adjusted_rand_score(y, model.labels_)))
        if turn == given.rounds:
            break
        if policy == "minmax":
            distance = ((X[:, None] - X) ** 2).sum(axis=2)
            more, new = minmax(-distance, y, ends, said, n // 10, rng, given.noise)
        else:
            if policy == "random":
                more = np.stack([rng.choice(n, size=2, replace=False) for _ in range(n // 10)])
            else:
                more = suggest_questions(model.audit_.noise, n // 10, kind=policy)
            new = answered(y, more, rng, given.noise)
        ends, said = np.concatenate([ends, more]), np.concatenate([said, new])
    return [found[0], found[-1]]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--noise", type=float, default=0.1)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        data = nm.datasets.load(name)
        X, y = StandardScaler().fit_transform(data.X), np.unique(data.y, return_inverse=True)[1]
        runs = [
            [curve(X, y, policy, seed, given) for policy in POLICIES]
            for seed in range(given.first, given.first + given.draws)
        ]
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
