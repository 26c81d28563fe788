"""Wu, Fast Graph Laplacian Regularized Kernel Learning via SQLP, thesis, 2011."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cells import said
from common import known, load, timed
from items import Cells, Item, Results, exponent, table

import npkl_models as nm
from npkl_models.printed.sqlp import quadratic_ranks

SOURCE = "Wu 2011"
SIZES = (10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100)
CLARABEL, PRINTED = "sqlp by Clarabel", "printed_sqlp by Clarabel"  # of interior points, as SDPT3
PROGRAMS = ("scsdp", "sqlp", CLARABEL, PRINTED, "interior", "qsdp", "mfpc", "burer_monteiro")
NU = 100.0
MOST = {"scsdp": 35, CLARABEL: 30, PRINTED: 30}  # sizes
LIMIT, LONG, LARGE = 120.0, 900.0, 80  # seconds; those of the sqlp from this size on
THEIRS: dict[str, dict[int, tuple[Any, ...]]] = {  # seconds and iterations of SCSDP and of the SQLP, rank(A)
    "swiss_roll": {
        10: (3.84, 29, 0.96, 32, 64), 15: (60.36, 30, 1.75, 31, 153), 20: (557.79, 32, 4.48, 35, 264),
        25: (2821.76, 34, 7.84, 37, 403), 30: (13039.3, 37, 13.39, 35, 537), 35: (38559.5, 33, 29.74, 35, 670),
        40: ("-", "-", 74.01, 35, 852), 50: ("-", "-", 213.26, 35, 1152), 60: ("-", "-", 467.9, 35, 1451),
        80: ("-", "-", 1729.65, 39, 2062), 100: ("-", "-", 3988.31, 36, 2623),
    },
    "usps": {
        10: (2.84, 21, 0.47, 16, 100), 15: (42.96, 22, 1.26, 17, 225), 20: (461.38, 27, 3.35, 17, 400),
        25: (2572.72, 31, 5.97, 14, 625), 30: (10576.01, 30, 15.72, 19, 900), 35: (35173.6, 30, 44.53, 17, 1225),
        40: ("-", "-", 133.58, 20, 1600), 50: ("-", "-", 362.24, 16, 2379), 60: ("-", "-", 936.58, 19, 2938),
        80: ("-", "-", 1784.12, 17, 3112), 100: ("-", "-", 2900.44, 17, 3111),
    },
}  # fmt: skip


def problem_of(name: str, s: int) -> nm.Problem:
    """RegMVU on the Swiss roll (4-NN), RegPCP on USPS (20-NN, the width the mean distance to the 20th)."""
    if name == "swiss_roll":
        return nm.reg_mvu(nm.datasets.load("swiss_roll", n=2000, random_state=2).X, 4, s, NU)
    data = load(name)
    first = np.concatenate([np.flatnonzero(data.y == c)[:200] for c in range(10)])
    L = nm.laplacian(data.X[first], 20, sigma="last")
    return nm.reg_pcp(nm.eigenbasis(L, s), nm.Pairs.per_class(data.y[first], 20, 20, random_state=0))


def run(name: str, s: int, program: str) -> dict[str, Any]:
    """Seconds, iterations and the gap."""
    backend, *solver = program.split(" by ")
    limit = LONG if backend == "sqlp" and s >= LARGE else LIMIT
    options: dict[str, Any] = {"solver": "CLARABEL", "eps": 1e-8} if solver else {}
    solution, seconds = timed(problem_of(name, s), backend, time_limit=limit, **options)
    gap = float(solution.certificate.relative_gap) if solution.V is not None else float("nan")
    return {
        "seconds": seconds, "iterations": solution.iterations, "gap": gap, "status": solution.status.name,
        "objective": float(solution.objective),
    }  # fmt: skip


def ranks(name: str, s: int) -> dict[str, Any]:
    """Of A."""
    return quadratic_ranks(problem_of(name, s))._asdict()


def sizes(name: str, quick: bool) -> Cells:
    """All sizes and programs."""
    if not known(name):
        return {}
    cells: dict[str, Any] = {}
    for s in (10, 20) if quick else SIZES:
        for program in PROGRAMS:
            if s <= (15 if quick and program == "scsdp" else MOST.get(program, 100)):
                cells[f"{s}, {program}"] = partial(run, name, s, program)
        if s <= 60:
            cells[f"{s}, ranks"] = partial(ranks, name, s)
    return cells


def table31(quick: bool) -> Cells:
    """Swiss roll."""
    return sizes("swiss_roll", quick)


def table32(quick: bool) -> Cells:
    """USPS."""
    return sizes("usps", quick)


def solved(found: Results, s: int, program: str) -> bool:
    """Whether a run is there and has not ended at its limit with nothing."""
    one = found.get(f"{s}, {program}")
    return one is not None and one["gap"] < 1e-3


def show(found: Results, name: str) -> str:
    """Seconds, seconds an iteration, ranks; and the exponents."""
    rows = []
    for s in SIZES:
        for program in PROGRAMS:
            one = found.get(f"{s}, {program}")
            if one is None:
                continue
            place = 0 if program == "scsdp" else 2 if "sqlp" in program else None
            theirs = ("-", "-") if place is None else THEIRS[name][s][place : place + 2]
            each = one["seconds"] / max(one["iterations"], 1)
            time = said([one["seconds"]], 2, int(one["status"] == "TIME_LIMIT"))
            rows.append(
                (
                    s,
                    program,
                    theirs[0],
                    time,
                    theirs[1],
                    one["iterations"],
                    f"{each:.2g}",
                    f"{one['gap']:.0e}",
                )
            )
    columns = (
        "s",
        "program",
        "s, theirs",
        "CPU s",
        "iterations, theirs",
        "iterations",
        "s an iteration",
        "certified gap",
    )
    ranked = [
        (s, THEIRS[name][s][4], found[f"{s}, ranks"]["svec"], found[f"{s}, ranks"]["vec"])
        for s in SIZES if f"{s}, ranks" in found
    ]  # fmt: skip
    of_a = table(("s", "rank(A), theirs", "of svec(U)", "of vec(U)"), ranked)
    fits = []
    for program, bound in (("scsdp", 9.0), ("sqlp", 6.5)):
        own = {s: found[f"{s}, {program}"]["seconds"] for s in SIZES if s >= 20 and solved(found, s, program)}
        place = 0 if program == "scsdp" else 2
        printed = {s: row[place] for s, row in THEIRS[name].items() if row[place] != "-" and s >= 20}
        fit = f"{exponent([*own], [*own.values()]):.1f}" if len(own) > 1 else "-"
        fits.append(
            f"{program} {fit} (theirs {exponent([*printed], [*printed.values()]):.1f}; the bound of the thesis is {bound:g})"
        )
    worst = max((one["gap"] for key, one in found.items() if "by Clarabel" in key), default=0.0)
    note = (
        "One draw; CPU seconds, to a certified gap of 1e-6. The thesis takes SDPT3 and CSDP, which are of interior points, to a relative gap of 1e-8; scsdp, sqlp and qsdp "
        f"are SCS's here, a first-order method with many cheap iterations, not to be compared with theirs. {steps_of(found, name)} "
        "The printed form, in vec(U), takes nearly as many as in print; scaled, in half of the unknowns, it takes fewer. "
        f"Clarabel runs to its own tolerance of 1e-8, which leaves certified gaps of up to {worst:.0e}. "
        f"Cut at {LIMIT:g} s by the clock, the sqlp from s = {LARGE} on at {LONG:g} s. "
        f"Exponents of the time in s, from s = 20 on: {'; '.join(fits)}."
    )
    return f"{table(columns, rows)}\n\n{note}\n\n{of_a}"


def steps_of(found: Results, name: str) -> str:
    """The interior points' steps beside those in print."""
    own = {
        program: [(s, found[f"{s}, {program}"]) for s in SIZES if f"{s}, {program}" in found]
        for program in (CLARABEL, PRINTED, "interior")
    }
    words = [
        f"{program} {', '.join(str(one['iterations']) for _, one in runs)} for s = {runs[0][0]} to {runs[-1][0]}"
        for program, runs in own.items() if runs
    ]  # fmt: skip
    printed = ", ".join(str(THEIRS[name][s][3]) for s in SIZES)
    return (
        f"Steps of interior points: {'; '.join(words)}; in print {printed} for s = {SIZES[0]} to {SIZES[-1]}."
    )


def draw(found: Results, figure: Any, name: str) -> None:
    """Solution time against s, ours and theirs."""
    ax = figure.add_subplot()
    for program, mark in zip(PROGRAMS, "os+x*^Dv", strict=True):
        own = {s: found[f"{s}, {program}"]["seconds"] for s in SIZES if f"{s}, {program}" in found}
        if own:
            ax.loglog([*own], [*own.values()], marker=mark, label=program)
    for place, label in ((0, "SCSDP, theirs"), (2, "SQLP, theirs")):
        theirs = {s: row[place] for s, row in THEIRS[name].items() if row[place] != "-"}
        ax.loglog([*theirs], [*theirs.values()], ls="--", color="0.5" if place else "0.2", label=label)
    ax.set(xlabel="s", ylabel="seconds")
    ax.legend(fontsize="small")


def roll(quick: bool) -> Cells:
    """No run: the points are drawn."""
    return {"points": points}


def points() -> dict[str, Any]:
    """The Swiss roll."""
    data = nm.datasets.load("swiss_roll", n=2000, random_state=2)
    return {"X": data.X.round(3).tolist(), "y": data.y.tolist()}


def show_roll(found: Results) -> str:
    """In words."""
    return f"{len(found['points']['y']):,} points of the roll, coloured by bands along it."


def draw_roll(found: Results, figure: Any) -> None:
    """In three dimensions."""
    X = np.array(found["points"]["X"])
    ax = figure.add_subplot(projection="3d")
    ax.scatter(*X.T, c=found["points"]["y"], s=3, rasterized=True)


ITEMS = (
    Item("thesis.figure3_1", "Figure 3.1: the Swiss roll", roll, show_roll, draw_roll),
    Item("thesis.table3_1", "Table 3.1 and Figure 3.2: Swiss roll", table31,
         partial(show, name="swiss_roll"), partial(draw, name="swiss_roll")),
    Item("thesis.table3_2", "Table 3.2 and Figure 3.3: USPS", table32,
         partial(show, name="usps"), partial(draw, name="usps")),
)  # fmt: skip
