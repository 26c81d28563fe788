"""Which pair to ask next: a new pair, or one whose answer may be wrong, whichever answer says more.

With a model of wrong pairs, each pair has a probability q that its points are in one cluster, whether it was
asked before or not. The answer to a question is wrong at a rate that the model estimates. So an answer says
so much of the pair, in nats:

    I = H(q (1 - r1) + (1 - q) r2) - q H(r1) - (1 - q) H(r2),

where H is the entropy of a coin, r1 the rate of wrong answers about points of one cluster, and r2 that about
points of two clusters. It is 0 if the model is certain.

Source: Lindley, "On a Measure of the Information Provided by an Experiment", Annals of Mathematical
Statistics 27 (1956). What an answer says of further points is left out. On six sets random pairs were as good
as these questions (docs/lab/applications.md).
"""

from __future__ import annotations

import numpy as np

from npkl_models.applications.beliefs import LEAST
from npkl_models.applications.pair_noise import PairNoise
from npkl_models.applications.suggest import LISTED, first_apart
from npkl_models.errors import ProblemError, chosen, instance
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import Seed, generator, whole_number

KINDS = ("both", "new", "again")


def suggest_questions(
    noise: PairNoise, k: int, *, kind: str = "both", random_state: Seed = 0
) -> Index:  # fmt: skip
    """The pairs whose next answer says most; no two of them share a point.

    Parameters
    ----------
    noise : PairNoise
        What the model says, for example ``NPKLClustering.audit_.noise``.
    k : int
        Number of pairs. The result has fewer if not enough pairs without a shared point are left.
    kind : {"both", "new", "again"}
        Which pairs may be chosen: all, those that were not asked, or those that were asked. An answer to a
        pair that was asked counts as independent of the earlier answer; another annotator should give it.
    random_state : int or Generator
        Seed of the draw of two million pairs, which is made if there are more.

    Returns
    -------
    ndarray of int, shape (k, 2)
        The pairs, the one whose answer says most first.

    Raises
    ------
    ProblemError
        If ``k`` is no positive integer, or ``kind`` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.applications.pair_noise import pair_noise
    >>> from npkl_models.applications.questions import suggest_questions
    >>> X = np.repeat([[0.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 1))
    >>> together = [(0, 1), (2, 3), (4, 5), (6, 7), (20, 21), (23, 24), (5, 25)]  # the last one is wrong
    >>> pairs = nm.Pairs(40, together, [(0, 22), (4, 23), (7, 26), (8, 27)])
    >>> found = pair_noise(nm.laplacian(X, 5), pairs, [np.repeat([0, 1], 20)], 2)
    >>> suggest_questions(found, 1, kind="again").tolist()
    [[5, 25]]
    """
    instance(noise, PairNoise, "noise", "NPKLClustering.audit_.noise")
    k, kind = whole_number(k, "k", 1), chosen("kind", kind, KINDS)
    n = len(noise.beliefs)
    asked = noise.pairs
    parts = []
    if kind != "new":
        parts.append((asked, np.where(noise.must, 1 - noise.wrong, noise.wrong)))
    if kind != "again":
        ends = _unasked(n, asked, random_state)
        parts.append((ends, np.einsum("ec,ec->e", noise.beliefs[ends[:, 0]], noise.beliefs[ends[:, 1]])))
    ends = np.concatenate([part[0] for part in parts])
    value = information(np.concatenate([part[1] for part in parts]), noise.rates)
    order = np.argsort(-value, kind="stable")
    nothing: Index = np.zeros((0, 2), dtype=np.intp)
    return first_apart(ends[order], np.arange(n), nothing, k)


def information(q: Array, rates: tuple[float, float]) -> Array:
    """What an answer says of a pair, in nats, if its points are in one cluster with probability q (m,)."""
    if not all(0 <= rate <= 1 for rate in rates):
        raise ProblemError(f"rates must be from 0 to 1, got {rates}")
    one, two = rates
    said = q * (1 - one) + (1 - q) * two
    return np.asarray(_entropy(said) - q * _entropy(np.array(one)) - (1 - q) * _entropy(np.array(two)))


def _entropy(share: Array) -> Array:
    part = np.clip(share, LEAST, 1 - LEAST)
    return np.asarray(-part * np.log(part) - (1 - part) * np.log(1 - part))


def _unasked(n: int, asked: Index, random_state: Seed) -> Index:
    """The pairs that have no answer; of more than two million pairs, so many are drawn."""
    if n * (n - 1) // 2 <= LISTED:
        ends = np.stack(np.triu_indices(n, k=1), axis=1)
    else:
        ends = np.sort(generator(random_state).integers(0, n, size=(LISTED, 2)), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
    size = np.array([n, 1])
    return ends[~np.isin(ends @ size, asked @ size)]
