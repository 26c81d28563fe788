"""How strong the prior of the kernel metric should be: J, and the adjusted Rand index of k-means.

``python metric.py [SETS...]``; standardised features, 60 similar pairs with and without 60 dissimilar ones.
"""

import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner
from npkl_models.applications.scores import separation

PRIORS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
DRAWS = 5
SETS = ("wine", "iris", "breast_cancer", "digits", "heart", "sonar", "xor")


def judged(Z: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """J, and the index of k-means."""
    found = KMeans(int(y.max()) + 1, n_init=5, random_state=0).fit_predict(Z)
    return separation(Z, y), float(adjusted_rand_score(y, found))


def main(names: list[str]) -> None:
    """A line for each set, number of dissimilar pairs and of landmarks: J/index by prior."""
    print(f"{'':34} {'input':>10}  " + "  ".join(f"{prior:>9g}" for prior in PRIORS))
    for name in names or SETS:
        data = nm.datasets.load(name, n=1_000) if name == "xor" else nm.datasets.load(name)
        X = StandardScaler().fit_transform(data.X)
        for apart in (0, 60):
            for landmarks in (100, 400):
                cells = []
                for prior in PRIORS:
                    draws = []
                    for seed in range(DRAWS):
                        pairs = nm.Pairs.from_labels(data.y, 60, apart, seed)
                        model = KernelMetricLearner(landmarks, prior=prior, random_state=seed)
                        model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
                        draws.append(judged(model.embedding_, data.y))
                    cells.append("{:.2f}/{:.2f}".format(*np.mean(draws, axis=0)))
                what = f"{name}, {apart} dissimilar, {landmarks} landmarks"
                shown = "  ".join(f"{cell:>9}" for cell in cells)
                print(f"{what:34} {'{:.2f}/{:.2f}'.format(*judged(X, data.y)):>10}  {shown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
