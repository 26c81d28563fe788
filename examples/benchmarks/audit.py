"""How many of the pairs that were turned round stand at the top of an audit.

``python audit.py [SET ...] [--draws 20] [--flipped 0.1] [--pairs 0.6]`` draws pairs of both kinds, each a
share of n, turns some of them round (a must-link becomes a cannot-link), and prints a line of JSON for each
set and weight: the share of the turned pairs among as many at the top, and the same by the loss alone.
"""

import argparse

import numpy as np
from common import report
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs

SETS, GAMMAS, FORMS = ("iris", "wine", "digits"), (1.0, 10.0, 100.0), ("pcp", "npkl")


def turned(pairs: nm.Pairs, share: float, seed: int) -> tuple[nm.Pairs, set]:
    """Pairs with a share of them turned round, and which ones."""
    rng, ends = np.random.default_rng(seed), np.stack([pairs.i, pairs.j], axis=1)
    chosen = rng.choice(len(pairs), size=round(share * len(pairs)), replace=False)
    sign = pairs.sign.copy()
    sign[chosen] *= -1
    return nm.Pairs(pairs.n, ends[sign > 0], ends[sign < 0]), set(map(tuple, ends[chosen].tolist()))


def shares(problem: nm.Problem, wrong: set) -> tuple[float, float]:
    """Of the turned pairs, those among as many at the top: by the score, by the loss."""
    found = audit_pairs(problem.solve(tol=1e-5))
    by_loss = found.pairs[np.argsort(-found.loss, kind="stable")]
    tops = (part[: len(wrong)].tolist() for part in (found.pairs, by_loss))
    score, loss = (len(wrong & set(map(tuple, top))) / len(wrong) for top in tops)
    return score, loss


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--flipped", type=float, default=0.1)
    parser.add_argument("--pairs", type=float, default=0.6)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        L = nm.laplacian(StandardScaler().fit_transform(data.X), 10, shift=0.1)
        count = round(given.pairs * data.n)
        drawn = [
            turned(nm.Pairs.from_labels(data.y, count, count, seed), given.flipped, seed)
            for seed in range(given.draws)
        ]
        for form in FORMS:
            for gamma in GAMMAS:
                problems = [(getattr(nm, form)(L, pairs, gamma=gamma), wrong) for pairs, wrong in drawn]
                found = np.array([shares(*one) for one in problems])
                report(
                    benchmark="audit", data=name, form=form, gamma=gamma, draws=given.draws,
                    pairs=2 * count, flipped=given.flipped, found=round(float(found[:, 0].mean()), 3),
                    spread=round(float(found[:, 0].std()), 3), by_loss=round(float(found[:, 1].mean()), 3),
                )  # fmt: skip


if __name__ == "__main__":
    main()
