"""Claims of Zhuang, Tsang & Hoi 2011."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from cells import Notes, Row, apart_of, draws
from claim import Claim, Results, Verdict, above, beats, cases, rows, sets_of

OWN = "B = 1"  # the printed setting


def table2(found: Results, one: Iterable[str], others: Iterable[str], setting: str = OWN) -> Verdict | None:
    """Each of the first methods is above each of the second on each set."""
    every = []
    for name in sets_of(found):
        for a in one:
            for b in others:
                row = Row(found, {m: f"{name}, {m}, {setting}, " for m in (a, b)}, Notes(), str)
                if row and all(row.runs.values()):
                    every.append((f"{name} ({a})", above(row, a, b, "accuracy")))
    return cases(every, "comparisons of sets and methods")


def speed2(found: Results, fast: str, slow: str, times: float) -> Verdict | None:
    """A method is so many times as fast as another on each set."""
    every = []
    for name in sets_of(found):
        row = Row(found, {m: f"{name}, {m}, {OWN}, " for m in (fast, slow)}, Notes(), str)
        if row and all(row.runs.values()):
            every.append((name, np.mean(row.values(slow, "seconds")) / np.mean(row.values(fast, "seconds"))))
    if not every:
        return None
    ratios = [ratio for _, ratio in every]
    held = sum(ratio >= times for ratio in ratios)
    return Verdict(held, len(ratios), f"{min(ratios):.1f} to {max(ratios):.1f} times, on {len(ratios)} sets")


def insensitive(found: Results) -> Verdict | None:
    """Means over B are within two points of each other."""
    every, figures = [], []
    for name in sets_of(found):
        keys = {key.split(", ")[1] for key in found if key.startswith(f"{name}, ")}
        means = [
            np.mean([one["accuracy"] for one in draws(found, f"{name}, {value}, ").values()])
            for value in keys
        ]
        every.append((name, float(np.ptp(means)) <= 2.0))
        figures.append(f"{name} {np.ptp(means):.1f}")
    return (
        Verdict(sum(h for _, h in every), len(every), f"range of the means over B: {', '.join(figures)}")
        if every
        else None
    )


def drops(found: Results) -> Verdict | None:
    """Below p = 2 the accuracy is lower."""
    out = []
    for name in sets_of(found):
        means = {
            value: np.mean([one["accuracy"] for one in draws(found, f"{name}, {value}, ").values()]) for value in ("1", "1.5", "2")
            if draws(found, f"{name}, {value}, ")
        }  # fmt: skip
        out += [
            (f"{name}, p = {value}", bool(means[value] < means["2"]))
            for value in ("1", "1.5")
            if len(means) == 3
        ]
    return cases(out)


def quickly(found: Results, most: int) -> Verdict | None:
    """The printed ascent ends after so many iterations."""
    steps = {name: len(one["as printed"]["bound"]) for name, one in found.items()}
    figures = ", ".join(f"{name} {count}" for name, count in steps.items())
    return (
        Verdict(sum(c <= most for c in steps.values()), len(steps), f"iterations as printed: {figures}")
        if steps
        else None
    )


def chosen(found: Results, less_than_all: bool = False) -> Verdict | None:
    """The margin beside chance, or half by the margin beside all."""
    out = []
    for fraction in ("0.1", "0.3", "0.5", "0.7"):
        if less_than_all and fraction != "0.5":
            continue
        first = draws(found, f"margin, {fraction}, ")
        other = draws(found, "margin, 1.0, " if less_than_all else f"random, {fraction}, ")
        seeds = sorted(set(first) & set(other))
        apart = [first[s]["accuracy"] - other[s]["accuracy"] for s in seeds]
        if apart:
            error = np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
            out.append(
                (fraction, bool(np.mean(apart) >= (-2 * error if less_than_all else 0.0)), apart_of(apart))
            )
    if not out:
        return None
    figures = ", ".join(f"{fraction}: {figure}" for fraction, _, figure in out)
    return Verdict(sum(h for _, h, _ in out), len(out), figures)


def fewer_is_faster(found: Results) -> Verdict | None:
    """Half of the pairs take less time than all."""
    half, whole = (
        np.mean([one["seconds"] for one in draws(found, f"margin, {f}, ").values()]) if draws(found, f"margin, {f}, ") else None
        for f in ("0.5", "1.0")
    )  # fmt: skip
    return (
        None
        if half is None or whole is None
        else Verdict(int(half < whole), 1, f"{half:.1f} s, all {whole:.1f} s")
    )


def embedding(found: Results, kind: str, what: str) -> Verdict | None:
    """The dual beside the exact program: as good, or faster."""
    pair = (f"{kind}, dual", f"{kind}, exact")
    every = rows(found, pair, sets_of(found))
    if what == "seconds":
        return cases(((name, above(row, pair[1], pair[0], "seconds")) for name, row in every), "sets")
    return cases(
        ((name, not above(row, pair[1], pair[0], what, 2.0)) for name, row in every),
        "sets: level, or less than two standard errors below",
    )


def basis_time(found: Results) -> Verdict | None:
    """The time over a basis grows with its size, and is beyond that of the whole kernel when it is large."""
    times = {int(key.split(", ")[1]): one["seconds"] for key, one in found.items()}
    sizes = sorted(size for size in times if size)
    if len(sizes) < 2 or 0 not in times:
        return None
    last = times[sizes[-1]]
    return Verdict(
        int(last > times[0]), 1, f"{last:.2f} s over {sizes[-1]} eigenvectors, whole kernel {times[0]:.2f} s"
    )


LINEAR, HINGED = "SimpleNPKL, linear", "SimpleNPKL, squared hinge"
CLAIMS = (
    Claim("7.2, Table 2", "all four ways of NPKL beat k-means (in the table but one, on protein)", "simple_npkl.table2",
          partial(table2, one=("NPKL, linear", "NPKL, hinge", LINEAR, HINGED), others=("k-means",))),
    Claim("7.2, Table 2", "and constrained k-means (but two, on protein)", "simple_npkl.table2",
          partial(table2, one=("NPKL, linear", "NPKL, hinge", LINEAR, HINGED), others=("ck-means",))),
    Claim("7.2, Table 2", "the squared hinge of SimpleNPKL is often better than its linear loss", "simple_npkl.table2",
          partial(table2, one=(HINGED,), others=(LINEAR,)), often=True),
    Claim("7.2, Table 2", "the hinge of NPKL is often better than its linear loss", "simple_npkl.table2",
          partial(table2, one=("NPKL, hinge",), others=("NPKL, linear",)), often=True),
    Claim("7.2, Table 3", "the linear loss usually takes less time than the squared hinge", "simple_npkl.table3", partial(speed2, fast=LINEAR, slow=HINGED, times=1.0), often=True),
    Claim("7.2, Table 3", "SimpleNPKL with the squared hinge is 5 to 10 times as fast as NPKL with the hinge by SDPT3 (here by `interior`)", "simple_npkl.table3",
          partial(speed2, fast=HINGED, slow="NPKL, hinge", times=5.0)),
    Claim("7.2, Table 4", "B hardly matters to the accuracy on iris and protein", "simple_npkl.table4", insensitive),
    Claim("7.2, Table 5", "below p = 2 the accuracy in general drops", "simple_npkl.table5", drops, often=True),
    Claim("7.3, Table 7", "on the adult sets SimpleNPKL beats k-means", "simple_npkl.table7", partial(beats, HINGED, "k-means", "accuracy")),
    Claim("7.3, Table 7", "and constrained k-means", "simple_npkl.table7", partial(beats, HINGED, "ck-means", "accuracy")),
    Claim("7.3, Table 7", "the squared hinge is a little better than the linear loss", "simple_npkl.table7", partial(beats, HINGED, LINEAR, "accuracy")),
    Claim("7.3, Table 7", "the linear loss is much faster", "simple_npkl.table7", partial(beats, LINEAR, HINGED, "seconds")),
    Claim("7.3, Figure 1", "the ascent often converges within ten iterations", "simple_npkl.figure1", partial(quickly, most=10), often=True),
    Claim("7.4, Figure 2", "pairs chosen by the margin usually do better than as many by chance", "simple_npkl.figure2", chosen, often=True),
    Claim("7.4, Figure 2", "half of the pairs often do as well as all", "simple_npkl.figure2", partial(chosen, less_than_all=True), often=True),
    Claim("7.4, Figure 2", "fewer pairs take less time", "simple_npkl.figure2", fewer_is_faster),
    Claim("7.5.1, Figure 4", "over a large basis coloured MVU takes longer than the dual over the whole kernel (news20)", "simple_npkl.figure4", basis_time),
    Claim("7.5.1, Figure 5", "the same of USPS", "simple_npkl.figure5", basis_time),
    Claim("7.5.2, Table 8", "MVE by the dual is generally as accurate as by the exact program", "simple_npkl.table8", partial(embedding, kind="MVE", what="accuracy"), often=True),
    Claim("7.5.2, Table 9", "and faster", "simple_npkl.table9", partial(embedding, kind="MVE", what="seconds")),
    Claim("7.5.2, Table 8", "SPE by the dual is generally as accurate as by the exact program", "simple_npkl.table8", partial(embedding, kind="SPE", what="accuracy"), often=True),
    Claim("7.5.2, Table 9", "and faster", "simple_npkl.table9", partial(embedding, kind="SPE", what="seconds")),
)  # fmt: skip
