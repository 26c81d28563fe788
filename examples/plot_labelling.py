"""
A labelling loop
================

Ten pairs at a time are asked for and answered by the classes; the kernel is solved again from where it was.

What to see: the clusters after each round, for pairs that the kernel suggests and for random ones (one draw;
over ten draws random pairs are as good on wine); below, the sweeps of each warm round beside a cold solve.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

import npkl_models as nm
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.labelling import Labelling

data = nm.datasets.load("wine")
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
L = nm.laplacian(X, n_neighbors=10, shift=0.1)
begin, rounds, batch = nm.Pairs.from_labels(data.y, 10, 10, random_state=1), 8, 10


def followed(suggested: bool) -> np.ndarray:
    """Pairs, index, and iterations warm and cold, after each round."""
    rng, loop, rows = np.random.default_rng(0), Labelling(L, begin, backend="bcd"), []
    loop.solve()
    for _ in range(rounds):
        asked = loop.suggest(batch) if suggested else rng.permutation(data.n)[: 2 * batch].reshape(-1, 2)
        for i, j in asked.tolist():
            loop.answer(i, j, 1 if data.y[i] == data.y[j] else -1)
        warm = loop.solve()
        cold = nm.pcp(L, loop.pairs, gamma=100.0).solve("bcd")
        index = adjusted_rand_score(data.y, kernel_kmeans(warm, 3, n_init=4))
        rows.append((len(loop.pairs), index, warm.iterations, cold.iterations))
    return np.array(rows)


curves = {"suggested": followed(True), "at random": followed(False)}
figure, (above, below) = plt.subplots(2, 1, figsize=(6, 5.4), sharex=True, layout="constrained")
for (name, rows), color in zip(curves.items(), ("C0", "C1"), strict=True):
    print(name, rows[:, 1].round(2))
    above.plot(rows[:, 0], rows[:, 1], "o-", color=color, label=name)
    below.plot(rows[:, 0], rows[:, 2], "o-", color=color, label=f"{name}, warm")
    below.plot(rows[:, 0], rows[:, 3], "o:", color=color, label=f"{name}, cold")
above.set_ylabel("adjusted Rand index")
below.set(xlabel="pairs", ylabel="sweeps")
above.legend(frameon=False)
below.legend(frameon=False, fontsize="small")
plt.show()
