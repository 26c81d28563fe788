"""Claims of Wu 2011."""

from __future__ import annotations

from functools import partial

from claim import Claim, Results, Verdict
from items import exponent
from thesis import CLARABEL


def pairs_of(found: Results, what: str) -> list[tuple[int, float, float]]:
    """Sizes at which both programs ended, and the figure of the SCSDP and of the SQLP."""
    out = []
    for key, one in found.items():
        size, program = key.split(", ")
        other = found.get(f"{size}, sqlp")
        if program == "scsdp" and other and one["gap"] < 1e-3 and other["gap"] < 1e-3:
            figures = [run["seconds"] / (run["iterations"] if what == "each" else 1) for run in (one, other)]
            out.append((int(size), figures[0], figures[1]))
    return out


def sqlp_is_faster(found: Results, what: str = "seconds") -> Verdict | None:
    """At each size."""
    every = pairs_of(found, what)
    ratios = [slow / fast for _, slow, fast in every]
    return (
        Verdict(
            sum(r > 1 for r in ratios),
            len(ratios),
            f"{min(ratios):.3g} to {max(ratios):.3g} times, s = {every[0][0]} to {every[-1][0]}",
        )
        if every
        else None
    )


def sqlp_grows_slower(found: Results) -> Verdict | None:
    """Exponents from s = 15 on."""
    every = [one for one in pairs_of(found, "seconds") if one[0] >= 15]
    if len(every) < 2:
        return None
    slow, fast = (exponent([one[0] for one in every], [one[k] for one in every]) for k in (1, 2))
    return Verdict(int(fast < slow), 1, f"exponents in s: {slow:.1f} and {fast:.1f}")


def few_iterations(found: Results) -> Verdict | None:
    """An interior-point method, as theirs is, needs about as many iterations at any size."""
    steps = [one["iterations"] for key, one in found.items() if key.endswith((f", {CLARABEL}", ", interior"))]
    return (
        Verdict(int(max(steps) <= 2 * min(steps)), 1, f"{min(steps)} to {max(steps)}, of interior points")
        if steps
        else None
    )


CLAIMS = tuple(
    Claim(f"3.4, Table 3.{k}", f"{words} ({name})", f"thesis.table3_{k}", judge)
    for k, name in ((1, "Swiss roll"), (2, "USPS"))
    for words, judge in (
        ("the SQLP is faster than the Schur-complement SDP at every size", sqlp_is_faster),
        ("an iteration of it takes less time", partial(sqlp_is_faster, what="each")),
        ("its time grows more slowly with s", sqlp_grows_slower),
        ("in the table its number of iterations hardly depends on s", few_iterations),
    )
)
