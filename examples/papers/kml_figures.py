"""Figures of Yeung, Chang & Dai 2008; their tables are in kml.py."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from cells import Notes, Row, draws, not_here, paragraphs, said
from items import Cells, Results, exponent, table
from kml_runs import (
    METHODS,
    NOISE,
    PAIRS,
    PAPER,
    UCI,
    cells_of,
    gamma_of,
    here,
    learned,
    less_input,
    repeated,
    run,
)
from linear_metrics import large_margin
from sklearn.decomposition import PCA

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner
from npkl_models.applications.scores import separation


def figure4(quick: bool) -> Cells:
    """Five of the six UCI sets, all points landmarks."""
    return {
        f"{name}, {method}, {seed}": partial(run, name, method, seed, count=UCI[name], landmarks=None, rand=True)
        for name in UCI if here(name) for method in METHODS for seed in repeated(method, quick)
    }  # fmt: skip


def show_figure4(found: Results) -> str:
    """J and Rand index."""
    rows, below, notes = [], 0, Notes()
    for name in UCI:
        row = Row(found, {method: f"{name}, {method}, " for method in METHODS}, notes, not_here)
        if not row:
            continue
        columns = (cells_of(row, "J", 2), cells_of(row, "rand", 3))
        for method, J, rand in zip(METHODS, *columns, strict=True):
            apart = less_input(row, method, "rand", 3)
            below += method == "paper's" and apart.startswith("-")
            rows.append((name, UCI[name], method, J, rand, apart))
    note = (
        "J; weighted Rand index of k-means. Standardised features, all points landmarks. Theirs are bars, which our text has lost; of the Rand index it says that the kernel is a little better "
        f"than LLMA, which has no code that could be run. Here the paper's kernel is below the input on {below} of {len(rows) // len(METHODS)} sets (the last column has the standard error). "
        "This library's defaults have a prior and dissimilar pairs. Ionosphere is not in the folder."
    )
    columns = ("set", "pairs", "method", "J", "Rand index", "Rand index less the input's")
    return paragraphs(table(columns, rows), notes.text(), note)


def draw_figure4(found: Results, figure: Any) -> None:
    """Bars."""
    for k, what in enumerate(("J", "rand")):
        ax = figure.add_subplot(1, 2, k + 1)
        names = [name for name in UCI if draws(found, f"{name}, input, ")]
        for j, method in enumerate(METHODS):
            cells = [[one[what] for one in draws(found, f"{name}, {method}, ").values()] for name in names]
            place = np.arange(len(names)) + (j - 2) * 0.14
            ax.bar(place, [np.mean(c) for c in cells], 0.14, yerr=[np.std(c) for c in cells], label=method)
        ax.set_xticks(np.arange(len(names)), [name.split("_")[0] for name in names])
        ax.set(ylabel="J" if k == 0 else "weighted Rand index")
    ax.legend(fontsize="x-small", loc="lower right")


COUNTS = (10, 20, 50, 100, 200)
AMONG = "paper's, 100 landmarks"
SINCE = {"paper's": "50", AMONG: "10"}  # the pairs from which the page takes the change
WAYS = {
    "RCA": 0,
    "paper's": 0,
    AMONG: 100,
    "this library's": 0,
}  # how many points the pairs are drawn among, 0 for all


def figure3(quick: bool) -> Cells:
    """J against the number of pairs."""
    return {
        f"{name}, {count}, {method}, {seed}": partial(
            run, name, method, seed, count=count, landmarks=100 if among else max(100, 2 * count), among=among
        )
        for name in (("13",) if quick else ("01", "13", "012", "3456")) if here(name)
        for count in (COUNTS[:3] if quick else COUNTS) for method, among in WAYS.items()
        for seed in repeated(method, quick)
    }  # fmt: skip


def few_pairs(count: str) -> str:
    """Of a number of pairs."""
    return not_here(f"{count} pairs")


def show_figure3(found: Results) -> str:
    """In numbers."""
    rows, notes = [], Notes()
    changes: dict[str, list[str]] = {"paper's": [], AMONG: []}
    for name in ("01", "13", "012", "3456"):
        for method in WAYS:
            row = Row(
                found, {str(count): f"{name}, {count}, {method}, " for count in COUNTS}, notes, few_pairs
            )
            if row:
                rows.append((name, method, *row.cells("J", 2)))
                if method in changes and all(row.runs.values()):
                    changes[method].append(f"{row.difference('200', SINCE[method], 'J', 2)} on {name}")
    grown, few = (", ".join(one) for one in changes.values())
    note = (
        "The paper's J usually rises with the number of pairs. It does not say whether the landmarks become more with them. If all points of the pairs are landmarks, as its "
        f"section 3.1 asks, max(100, 2 |S|) of them, J has a peak at about 50 pairs and falls from there to 200: {grown}. If the pairs are drawn among 100 landmarks, it rises from 10 to 200: {few} "
        "(differences draw by draw ± standard error). Eq. (6) weighs the axes by D alone, whatever their eigenvalues: each landmark "
        "adds an axis, most of them noise of nearly equal weight, and distances become more equal; among 100 landmarks more pairs only make D better known."
    )
    columns = ("digits", "method", *(f"{count} pairs" for count in COUNTS))
    return paragraphs(table(columns, rows), notes.text(), note if grown else "")


def draw_figure3(found: Results, figure: Any) -> None:
    """A panel for each set of digits."""
    names = list(dict.fromkeys(key.split(", ")[0] for key in found))
    for k, name in enumerate(names):
        ax = figure.add_subplot(1, len(names), k + 1)
        for method in WAYS:
            counts = [c for c in COUNTS if draws(found, f"{name}, {c}, {method}, ")]
            means = [
                np.mean([o["J"] for o in draws(found, f"{name}, {c}, {method}, ").values()]) for c in counts
            ]
            ax.plot(counts, means, marker="o", label=method)
        ax.set(
            title=f"digits {', '.join(name)}",
            xlabel="similar pairs",
            ylabel="J" if k == 0 else "",
            xscale="log",
        )
    ax.legend(fontsize="x-small")


def seconds(n: int, landmarks: int | None) -> dict[str, Any]:
    """CPU time on XOR, whose number of points is free."""
    data = nm.datasets.load("xor", n=n)
    pairs = nm.Pairs.from_labels(data.y, PAIRS, 0, 0)
    model = KernelMetricLearner(landmarks, **PAPER)
    began = time.process_time()
    model.fit(data.X, must_link=pairs.must_link)
    return {"seconds": time.process_time() - began}


SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
WHY = "all points as landmarks: the time grows with the cube of their number"
LANDMARKS = (100, 200, 400, 800)


def figure1(quick: bool) -> Cells:
    """Points, landmarks."""
    sizes = SIZES[:3] if quick else SIZES
    basic = {f"basic, {n}": partial(seconds, n, None) for n in sizes if n <= 4_000}
    many = {f"{m}, 4000": partial(seconds, 4_000, m) for m in (LANDMARKS[:2] if quick else LANDMARKS)}
    return basic | many | {f"100, {n}": partial(seconds, n, 100) for n in sizes}


def show_figure1(found: Results) -> str:
    """Seconds and the exponent in n."""
    sizes = [n for n in SIZES if f"100, {n}" in found]
    cells, notes = [[found.get(f"{m}, {n}") for n in sizes] for m in ("basic", 100)], Notes()
    rows = [
        (name, *(said([one["seconds"]], 2) if one else notes.empty(WHY) for one in row))
        for name, row in zip(("all points are landmarks", "100 landmarks"), cells, strict=True)
    ]
    large = [n for n in sizes if n >= 4_000] if max(sizes) > 4_000 else sizes
    power = exponent(large, [found[f"100, {n}"]["seconds"] for n in large])
    by_m = ", ".join(f"{m}: {found[f'{m}, 4000']['seconds']:.2f}" for m in LANDMARKS if f"{m}, 4000" in found)
    note = f"CPU seconds on XOR, {PAIRS} pairs. Exponent of n at 100 landmarks, from {min(large):,} on: {power:.2f}. By landmarks at n = 4,000: {by_m}."
    return table(("points", *(f"{n:,}" for n in sizes)), rows) + f"\n\n{notes.text()}\n\n{note}"


def draw_figure1(found: Results, figure: Any) -> None:
    """Both panels."""
    left, right = figure.subplots(1, 2)
    for key, label in (("basic", "all points"), ("100", "100 landmarks")):
        own = {n: found[f"{key}, {n}"]["seconds"] for n in SIZES if f"{key}, {n}" in found}
        left.loglog([*own], [*own.values()], marker="o", label=label)
    left.set(xlabel="points", ylabel="CPU seconds")
    left.legend()
    own = {m: found[f"{m}, 4000"]["seconds"] for m in LANDMARKS if f"{m}, 4000" in found}
    right.plot([*own], [*own.values()], marker="o")
    right.set(xlabel="landmarks", ylabel="CPU seconds")


def illustrate() -> dict[str, Any]:
    """Figure 2: 360 points of XOR and 40 new ones, in the plane of each metric."""
    data, new = (
        nm.datasets.load("xor", n=360, noise=NOISE),
        nm.datasets.load("xor", n=40, noise=NOISE, random_state=1),
    )
    pairs = nm.Pairs.from_labels(data.y, PAIRS, 0, 0)
    both = np.concatenate([data.X, new.X])
    out: dict[str, Any] = {"y": data.y.tolist(), "new": new.y.tolist()}
    views = {"input": both, "RCA": learned(both, nm.Pairs(400, pairs.must_link, None), "RCA", None, 0)}
    views["LMNN"] = both @ large_margin(data.X, data.y)
    for name, landmarks, side in (
        ("RBF", None, {}), ("all points", None, {"must_link": pairs.must_link}),
        ("40 landmarks", 40, {"must_link": pairs.must_link}),
    ):  # fmt: skip
        model = KernelMetricLearner(landmarks, gamma=gamma_of(data.X), **PAPER).fit(data.X, **side)
        views[name] = np.concatenate([model.embedding_, model.transform(new.X)])
    for name, Z in views.items():
        plane = PCA(2, random_state=0).fit(Z[:360]).transform(Z)
        out[name] = {
            "points": plane.round(4).tolist(),
            "J": separation(Z[:360], data.y),
            "J new": separation(Z[360:], new.y),
        }
    return out


VIEWS = ("input", "RCA", "LMNN", "RBF", "all points", "40 landmarks")


def figure2(quick: bool) -> Cells:
    """One run."""
    return {"xor": illustrate}


def show_figure2(found: Results) -> str:
    """J of each panel."""
    one = found["xor"]
    rows = [(name, f"{one[name]['J']:.2f} (1)", f"{one[name]['J new']:.2f} (1)") for name in VIEWS]
    note = "LLMA, the authors' earlier method, has no code that could be run; LMNN is an own reference and sees all labels."
    return table(("metric", "J of 360 points", "J of 40 new ones"), rows) + f"\n\n{note}"


def draw_figure2(found: Results, figure: Any) -> None:
    """Six panels; new points are large."""
    figure.set_size_inches(9, 6)
    one = found["xor"]
    y, new = np.array(one["y"]), np.array(one["new"])
    for k, name in enumerate(VIEWS):
        ax = figure.add_subplot(2, 3, k + 1)
        Z = np.array(one[name]["points"])
        for c, colour in ((0, "C0"), (1, "C1")):
            ax.plot(*Z[:360][y == c].T, ".", color=colour, ms=3)
            ax.plot(*Z[360:][new == c].T, "o", color=colour, mec="k", ms=6)
        ax.set(title=name, xticks=[], yticks=[])
