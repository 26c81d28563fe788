"""New points against a trained model: time and memory of predict and transform.

``python new_points.py [POINTS] [--training 10000] [--columns 10]`` trains on synthetic clusters of which one
point in fifty has a class, and asks NPKLClustering.predict and NPKLKernel.transform about new ones. It
prints a line of JSON for each: seconds, microseconds a point, the memory that the call added at its peak,
what a dense matrix of new by training points would take, and (predict) the agreement with the classes.
"""

import argparse
import resource
import time

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from npkl_models.applications.estimators import NPKLClustering, NPKLKernel

CLUSTERS = 5


def drawn(n: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and classes; the centres are the same for every seed."""
    centres = 2.5 * np.random.default_rng(0).standard_normal((CLUSTERS, columns))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLUSTERS, n)
    return centres[y] + rng.standard_normal((n, columns)), y


def peak() -> float:
    """Of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--training", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    given = parser.parse_args()
    X, y = drawn(given.training, given.columns, 1)
    scaler = StandardScaler().fit(X)
    X = scaler.transform(X)
    known = np.where(np.random.default_rng(2).random(y.size) < 0.02, y, -1)
    new, classes = drawn(given.points, given.columns, 3)
    new = scaler.transform(new)
    for model, method in ((NPKLClustering(CLUSTERS), "predict"), (NPKLKernel(), "transform")):
        began = time.perf_counter()
        model.fit(X, known)
        fitting, before, began = time.perf_counter() - began, peak(), time.perf_counter()
        found = getattr(model, method)(new)
        taken = time.perf_counter() - began
        more = {"index": round(float(adjusted_rand_score(classes, found)), 3)} if found.ndim == 1 else {}
        report(
            benchmark="new_points", method=method, points=given.points, training=given.training,
            columns=given.columns, rank=model.factor_.shape[1], status=model.solution_.status.name,
            gap=float(f"{model.certificate_.relative_gap:.1e}"), fit_seconds=round(fitting, 1),
            seconds=round(taken, 1), microseconds_a_point=round(1e6 * taken / given.points, 1),
            added_gb=round(peak() - before, 2),
            dense_gb=round(8e-9 * given.points * given.training, 1), **more,
        )  # fmt: skip


if __name__ == "__main__":
    main()
