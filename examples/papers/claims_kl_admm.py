"""Claims of Hu & Kwok 2013."""

from __future__ import annotations

from functools import partial

import numpy as np
from claim import Claim, Results, Verdict, beats, cases, level
from common import SMALL
from items import exponent


def within(found: Results, share: float, iterations: int) -> Verdict | None:
    """The printed algorithm is so near the optimum after so many iterations."""
    excess = {name: np.array(one["objective"]) / one["optimum"] - 1 for name, one in found.items()}
    figures = ", ".join(f"{name} {e[min(iterations, e.size) - 1]:+.0%}" for name, e in excess.items())
    held = sum(bool((e[:iterations] < share).any()) for e in excess.values())
    return Verdict(held, len(excess), f"after {iterations}: {figures}") if excess else None


def residuals_fall(found: Results) -> Verdict | None:
    """The primal residual of the end beside its largest."""
    ratios = {name: one["primal"][-1] / max(one["primal"]) for name, one in found.items()}
    figures = ", ".join(f"{name} {ratio:.0e}" for name, ratio in ratios.items())
    return (
        Verdict(sum(r < 1e-2 for r in ratios.values()), len(ratios), f"end over largest: {figures}")
        if ratios
        else None
    )


def seconds_by(found: Results, place: int) -> dict[str, dict[float, float]]:
    """Seconds of each method by number of points or of constraints."""
    out: dict[str, dict[float, float]] = {}
    for key, one in found.items():
        method, *size = key.rsplit(", ", 2)
        out.setdefault(method, {})[float(size[place])] = one["seconds"]
    return out


def fastest(found: Results, place: int, method: str) -> Verdict | None:
    """A method takes the least seconds of the paper's own at every size."""
    every = seconds_by(found, place)
    others = [own for name, own in every.items() if name in ("hybrid", "simple_npkl")]
    sizes = [x for x in every.get(method, {}) if any(x in own for own in others)]
    return cases((f"{x:,.0f}", all(every[method][x] <= own[x] for own in others if x in own)) for x in sizes)


def grows(found: Results, place: int, method: str, most: float) -> Verdict | None:
    """The exponent of its seconds is at most so much."""
    own = seconds_by(found, place).get(method, {})
    if len(own) < 2:
        return None
    power = exponent([*own], [*own.values()])
    return Verdict(int(power <= most), 1, f"exponent {power:.2f}")


def scales_best(found: Results, method: str) -> Verdict | None:
    """The exponent of its seconds in the points is less than those of the paper's other methods."""
    every = seconds_by(found, 0)
    powers = {
        name: exponent([*own], [*own.values()]) for name, own in every.items()
        if name in (method, "hybrid", "simple_npkl") and len(own) > 1
    }  # fmt: skip
    others = {name: power for name, power in powers.items() if name != method}
    figure = ", ".join(f"{name} {power:.2f}" for name, power in powers.items())
    held = sum(power > powers[method] for power in others.values()) if method in powers else 0
    return Verdict(held, len(others), f"exponents: {figure}") if others else None


def mfpc_is_worse(found: Results) -> Verdict | None:
    """The restriction to a basis costs accuracy."""
    return beats("admm, printed", "mfpc", "accuracy", found)


CLAIMS = (
    Claim("4.1", "KL-ADMM is as accurate as the hybrid method, which finds the optimum", "kl_admm.table2", partial(level, "admm, printed", "hybrid")),
    Claim("4.1", "KL-ADMM is more accurate than MFPC, whose basis is fixed", "kl_admm.table2", mfpc_is_worse),
    Claim("Table 2", "KL-ADMM is at least as accurate as SimpleNPKL", "kl_admm.table2", partial(level, "admm, printed", "simple_npkl")),
    Claim("4.1", "KL-ADMM is faster than SimpleNPKL", "kl_admm.table2", partial(beats, "admm, printed", "simple_npkl", "seconds")),
    Claim("4.1", "SimpleNPKL is faster than the hybrid method", "kl_admm.table2", partial(beats, "simple_npkl", "hybrid", "seconds")),
    Claim("4.1", "KL-ADMM is faster than the hybrid method", "kl_admm.table2", partial(beats, "admm, printed", "hybrid", "seconds")),
    Claim("Table 2", "MFPC is faster than KL-ADMM on the small sets but double_spiral", "kl_admm.table2", partial(beats, "mfpc", "admm, printed", "seconds", names=[name for name in SMALL if name != "double_spiral"])),
    Claim("Figure 1", "the objective has often converged after 25 iterations", "kl_admm.figure1", partial(within, share=1e-2, iterations=25), often=True),
    Claim("Figure 2", "the primal residual soon goes to zero", "kl_admm.figure2", residuals_fall),
    Claim("4.2, Figure 3", "KL-ADMM scales much better with the points than the others", "kl_admm.figure3", partial(scales_best, method="admm, printed")),
    Claim("4.2, Figure 3", "its time grows about linearly with the points", "kl_admm.figure3", partial(grows, place=0, method="admm, printed", most=1.3)),
    Claim("4.2, Figure 4", "KL-ADMM is the fastest at any number of constraints", "kl_admm.figure4", partial(fastest, place=1, method="admm, printed")),
)  # fmt: skip
