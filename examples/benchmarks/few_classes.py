"""Classes from a few known points: a learnt kernel, the input's own kernel, and both together.

``python few_classes.py [SET ...] [--draws 10] [--known 3 10] [--points 300]`` draws that many known points of
each class, learns `NPKLKernel` from them and from all other points, and classifies the others. It prints a
line of JSON for each set and number, with the accuracy on the others, a mean over the draws: of a linear SVC
on the learnt rows, of an SVC with an RBF kernel and C = 10 on the standardised columns, of the mean of both
kernels, and of the share of the learnt kernel that cross-validation on the known points chooses.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import npkl_models as nm

SETS = ("iris", "wine", "glass", "heart", "sonar", "protein", "digits", "a1a")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the learnt kernel
C = 10.0


def points(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised points and classes."""
    data = nm.datasets.load(name)
    data = data.subset(most, 0) if data.n > most else data
    X = data.X[:, data.X.std(axis=0) > 0]
    return StandardScaler().fit_transform(X), np.unique(data.y, return_inverse=True)[1]


def drawn(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Positions of known points: so many of each class, and fewer of a class that would be left empty."""
    rng = np.random.default_rng(seed)
    parts = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    return np.concatenate([part[: max(min(count, part.size - 1), 1)] for part in parts])


def accuracy(K: np.ndarray, y: np.ndarray, known: np.ndarray, asked: np.ndarray) -> float:
    """Of an SVC with a kernel that is computed beforehand."""
    model = SVC(C=C, kernel="precomputed").fit(K[np.ix_(known, known)], y[known])
    return float(model.score(K[np.ix_(asked, known)], y[asked]))


def learnt(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The kernel of all points, learnt from the known classes; the mean of its diagonal is 1."""
    told = np.full(y.size, -1)
    told[known] = y[known]
    V = nm.NPKLKernel(tol=1e-4).fit(X, told).factor_
    return V @ V.T / np.mean(np.einsum("ir,ir->i", V, V))


def chosen(X: np.ndarray, y: np.ndarray, known: np.ndarray, own: np.ndarray) -> float:
    """The share with the best accuracy on held-out known points, whose classes the kernel does not know."""
    folds = min(3, int(np.bincount(y[known])[np.unique(y[known])].min()))
    if folds < 2:
        return 0.5
    found = np.zeros(len(SHARES))
    for train, held in StratifiedKFold(folds, shuffle=True, random_state=0).split(known, y[known]):
        K = learnt(X, y, known[train])
        found += [accuracy(share * K + (1 - share) * own, y, known[train], known[held]) for share in SHARES]
    best = np.flatnonzero(found >= found.max() - 1e-12)
    return SHARES[int(best[np.argmin(np.abs(best - len(SHARES) // 2))])]  # of equal ones, the most even


def one(X: np.ndarray, y: np.ndarray, count: int, seed: int) -> list[float]:
    """Accuracies of a draw, and the share that was chosen."""
    known = drawn(y, count, seed)
    asked = np.setdiff1d(np.arange(y.size), known)
    own, K = rbf_kernel(X), learnt(X, y, known)
    share = chosen(X, y, known, own)
    found = [accuracy(part * K + (1 - part) * own, y, known, asked) for part in (1.0, 0.0, 0.5, share)]
    return [*found, share]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--known", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--points", type=int, default=300)
    given = parser.parse_args()
    for count in given.known:
        rows = []
        for name in given.sets:
            X, y = points(name, given.points)
            found = np.mean([one(X, y, count, seed) for seed in range(given.draws)], axis=0)
            rows.append(found)
            names = ("learnt", "own", "even", "validated", "share")
            report(
                benchmark="few_classes", data=name, known=count, draws=given.draws,
                **{key: round(float(v), 3) for key, v in zip(names, found, strict=True)},
            )  # fmt: skip
        print(count, "mean:", " ".join(f"{v:.3f}" for v in np.mean(rows, axis=0)), flush=True)


if __name__ == "__main__":
    main()
