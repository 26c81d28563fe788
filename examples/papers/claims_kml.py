"""Claims of Yeung, Chang & Dai 2008."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from cells import draws
from claim import Claim, Results, Verdict, above, cases, rows, sets_of
from items import exponent
from kml_figures import AMONG
from kml_runs import UCI


def kml_above(found: Results, what: str, names: Iterable[str] | None = None) -> Verdict | None:
    """The paper's kernel above the input, the RBF kernel and RCA on each set."""
    out = []
    for name in names or sets_of(found):
        runs = {m: draws(found, f"{name}, {m}, ") for m in ("input", "RBF", "RCA", "paper's")}
        means = {
            m: np.mean([one[what] for one in own.values() if what in one])
            for m, own in runs.items()
            if any(what in one for one in own.values())
        }
        if len(means) == 4:
            out.append((name, bool(means["paper's"] >= max(means.values()))))
    return cases(out, "sets")


def rises(found: Results, keys: Iterable[str], method: str = "paper's") -> Verdict | None:
    """J at the last of the keys above J at the first."""
    means = [
        np.mean([one["J"] for one in draws(found, f"{key}, {method}, ").values()])
        for key in keys
        if draws(found, f"{key}, {method}, ")
    ]
    return (
        Verdict(int(means[-1] > means[0]), 1, f"J {means[0]:.2f} to {means[-1]:.2f}")
        if len(means) > 1
        else None
    )


def rises_with_pairs(found: Results, method: str) -> Verdict | None:
    """From 10 to 200 pairs on each set."""
    out = []
    for name in sets_of(found):
        own = rises(found, [f"{name}, {count}" for count in (10, 20, 50, 100, 200)], method)
        if own:
            out.append((f"{name} ({own.figure})", own.held == 1))
    return cases(out, "sets, from the fewest pairs to the most")


def best_classifier(found: Results) -> Verdict | None:
    """The learned kernel above RCA and LMNN at each share of the labels."""
    out = []
    for name in sets_of(found):
        for share in dict.fromkeys(key.split(", ")[1] for key in found if key.startswith(f"{name}, ")):
            every = rows(found, ("RCA", "LMNN", "paper's"), (name,), f"{share}, ")
            out += [
                (
                    f"{name} {float(share):.0%}",
                    above(row, "paper's", "RCA", "accuracy") and above(row, "paper's", "LMNN", "accuracy"),
                )
                for _, row in every
            ]
    return cases(out, "rows")


def separates(found: Results) -> Verdict | None:
    """Linear methods do not separate XOR, the kernel does, for new points too."""
    one = next(iter(found.values()))
    held = one["all points"]["J new"] > 1.5 * max(one["RCA"]["J new"], one["LMNN"]["J new"])
    return Verdict(
        int(held),
        1,
        f"J of new points: {one['all points']['J new']:.2f}; RCA {one['RCA']['J new']:.2f}, LMNN {one['LMNN']['J new']:.2f}",
    )


def landmarks_scale(found: Results) -> Verdict | None:
    """Exponents of both methods in n."""
    powers = []
    for key in ("basic", "100"):
        own = {
            float(k.split(", ")[1]): one["seconds"] for k, one in found.items() if k.startswith(f"{key}, ")
        }
        powers.append(exponent([*own], [*own.values()]) if len(own) > 1 else np.nan)
    return (
        Verdict(
            int(powers[1] < 1.3 < powers[0]),
            1,
            f"exponents in n: all points {powers[0]:.2f}, 100 landmarks {powers[1]:.2f}",
        )
        if np.isfinite(powers).all()
        else None
    )


CLAIMS = (
    Claim("3.5, Figure 1", "with landmarks the time is far less, about linear in n", "kml.figure1", landmarks_scale),
    Claim("5.2, Figure 2", "the kernel separates XOR, for new points too; linear metrics do not", "kml.figure2", separates),
    Claim("5.3.1, Table 1", "on XOR J generally rises with the landmarks", "kml.table1", partial(rises, keys=[str(m) for m in range(100, 900, 100)])),
    Claim("5.3.1, Table 2", "J is above that of the input, of the RBF kernel and of RCA", "kml.table2", partial(kml_above, what="J")),
    Claim("5.3.1, Figure 3", "J usually rises with the number of pairs (all of their points landmarks)", "kml.figure3", partial(rises_with_pairs, method="paper's"), often=True),
    Claim("5.3.1, Figure 3", "the same of pairs among 100 landmarks", "kml.figure3", partial(rises_with_pairs, method=AMONG), often=True),
    Claim("5.3.2, Table 3", "k-means generally has the best Rand index with it", "kml.table3", partial(kml_above, what="rand"), often=True),
    Claim("5.4, Table 4", "its nearest neighbours classify better than those of RCA and LMNN", "kml.table4", best_classifier),
    Claim("5.5, Figure 4", "J is the largest on the UCI sets", "kml.figure4", partial(kml_above, what="J", names=UCI)),
)  # fmt: skip
