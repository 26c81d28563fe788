"""Section 7.5 of Zhuang, Tsang & Hoi 2011: coloured MVU, MVE and SPE, by the exact program and by the dual."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from cells import Notes, Row, not_here, paragraphs, said
from common import GENERATED, LIMIT, known, load, seeds
from items import Cells, Item, Results, table
from sklearn.decomposition import PCA, KernelPCA
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.embedding import coordinates
from npkl_models.applications.structure import structure_preserving
from npkl_models.applications.volume import minimum_volume

POINTS, NEIGHBORS = 100, 5
SIZE = 10.0  # B = 10 n, the largest of theirs
STEPS = 5  # of MVE, the same for both routes
THEIRS8 = {  # KPCA, MVE, MVE+NPKL, SPE, SPE+NPKL
    "wine": "90.5±5.6 91.9±6.6 90.9±5.8 75.2±0.09 87.1±7.9", "heart": "65.6±8.4 62.4±9.8 62.9±9.8 54.9±10.2 62.2±11.1",
    "sonar": "58.2±12.4 59.2±10.2 59.8±12.2 57.4±11.1 59.4±11.4", "glass": "70.7±9.8 73.5±7.8 74.5±10.4 61.7±9.7 69.4±8.7",
    "double_spiral": "98.7±2.4 69.1±9.8 98.8±2.4 76.7±0.07 82.9±8.4",
    "breast_cancer": "91.9±5.4 92.9±4.6 92.4±5.8 93.4±0.07 94.4±5.5",
}  # fmt: skip
THEIRS9 = {  # seconds of MVE, MVE+NPKL, SPE, SPE+NPKL
    "wine": "2.92 0.34 47.72 0.51", "heart": "9.64 0.38 48.18 0.51", "sonar": "7.50 0.46 30.40 0.61",
    "glass": "11.08 0.39 29.10 0.53", "double_spiral": "18.28 0.46 47.91 0.48", "breast_cancer": "16.59 0.49 48.72 0.56",
}  # fmt: skip
EXACT = {"eps": 1e-7, "tol": 1e-5}
METHODS = {"MVE, exact": "sdp", "MVE, dual": "simple_npkl", "SPE, exact": "sdp", "SPE, dual": "simple_npkl"}
BASES = (5, 10, 20, 40, 80)
FIGURES = {"usps": "28.95 s", "news20": "120.4 s"}  # theirs, for the whole kernel
COLORED = 600  # points
IMAGES = 2  # coordinates that the pictures show


def along(problem, V):
    """The step of an `mve` problem with the cost -tr(K K0), K0 the centred kernel of V: eq. (32) as printed."""
    centred = V - V.mean(axis=0)
    return replace(problem, cost=sp.csr_array(-centred @ centred.T))


def sample(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """100 points of the two largest classes, features standardised, of mean square length one."""
    data = load(name, seed if name in GENERATED else 0)
    largest = np.argsort(-np.bincount(data.y), kind="stable")[:2]
    own = np.flatnonzero(np.isin(data.y, largest))
    chosen = np.random.default_rng(seed).permutation(own)[:POINTS]
    X = StandardScaler().fit_transform(data.X[chosen])
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1))), data.y[chosen]


def accuracy(Z: np.ndarray, y: np.ndarray, seed: int) -> float:
    """Percent of a fifth, by the k that is best on another fifth, the rest known."""
    order = np.random.default_rng(seed + 1_000).permutation(len(y))
    train, validation, test = np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])
    scores = {
        k: KNeighborsClassifier(k).fit(Z[train], y[train]).score(Z[validation], y[validation])
        for k in range(1, 12, 2)
    }
    best = max(scores, key=lambda k: scores[k])
    return 100 * KNeighborsClassifier(best).fit(Z[train], y[train]).score(Z[test], y[test])


def embed(name: str, method: str, seed: int) -> dict[str, Any]:
    """One repetition of Tables 8 and 9."""
    X, y = sample(name, seed)
    B, began = SIZE * len(X), time.process_time()
    if method == "KPCA":
        Z, found = KernelPCA(2, kernel="rbf", gamma=1.0).fit_transform(X), {}
    elif method.startswith("MVE"):
        run = minimum_volume(
            X, 2, n_neighbors=NEIGHBORS, C=1.0, trace_bound=B, components="connect", max_steps=STEPS, tol=1e-9,
            backend=METHODS[method], options=EXACT if "exact" in method else {"tol": 1e-5},
        )  # fmt: skip
        Z, gap = run.coordinates, run.solution.certificate.relative_gap
        found = {"objective": run.objectives[-1], "first": run.objectives[0], "gap": float(gap)}
    else:
        W = nm.knn_affinity(X, NEIGHBORS, sigma="binary")
        whole = structure_preserving(
            W, C=1.0, trace_bound=B, backend=METHODS[method], tol=1e-4,
            options={"eps": 1e-7, "tol": 1e-5} if "exact" in method else {"tol": 1e-5},
        )  # fmt: skip
        Z, found = whole.coordinates(), {"objective": whole.objective, "gap": whole.relative_gap}
    return found | {"seconds": time.process_time() - began, "accuracy": accuracy(Z, y, seed)}


def table8(quick: bool) -> Cells:
    """The sets that are here."""
    return {
        f"{name}, {method}, {seed}": partial(embed, name, method, seed)
        for name in (("wine",) if quick else THEIRS8) if known(name) for method in ("KPCA", *METHODS)
        for seed in seeds(quick, DRAWS)
    }  # fmt: skip


DRAWS = 10  # of all methods


def rows_of(found: Results, methods: Sequence[str], notes: Notes) -> Iterator[tuple[str, Row]]:
    """The sets that were run."""
    for name in THEIRS8:
        row = Row(found, {m: f"{name}, {m}, " for m in methods}, notes, not_here)
        if row:
            yield name, row


def show8(found: Results) -> str:
    """Accuracies, and how much the dual gains or loses on the same draws."""
    rows, methods, notes = [], ("KPCA", *METHODS), Notes()
    for name, row in rows_of(found, methods, notes):
        for method, theirs in zip(methods, THEIRS8[name].split(), strict=True):
            other = method.replace("dual", "exact")
            apart = row.difference(method, other, "accuracy") if other != method else "the other route"
            rows.append((name, method, theirs.replace("±", " ± "), row.cell(method, "accuracy"), apart))
    note = (
        "Percent, of a fifth of 100 points by k-NN on two coordinates, k chosen on another fifth. C = 1, B = 10 n, "
        "five neighbours; features standardised and scaled to a mean square length one, of which the paper says "
        "nothing and on which what B means depends. The last column has the standard error of the difference draw by draw. "
        "Ionosphere and Australian are not in the data folder."
    )
    return paragraphs(table(("set", "method", "theirs", "ours", "dual less exact"), rows), notes.text(), note)


def show9(found: Results) -> str:
    """CPU seconds, and how far the objectives of the two routes are apart."""
    rows, notes = [], Notes()
    for name, row in rows_of(found, [*METHODS], notes):
        theirs = dict(zip(METHODS, THEIRS9[name].split(), strict=True))
        for kind in ("MVE", "SPE"):
            exact, dual = f"{kind}, exact", f"{kind}, dual"
            values = [np.array(row.values(m, "objective")) for m in (exact, dual)]
            apart = np.abs(values[0] - values[1]) / (1 + np.abs(values[0]))
            times = [np.array(row.values(m, "seconds")) for m in (exact, dual)]
            rows.append((
                name, kind, theirs[exact], row.cell(exact, "seconds", 2), theirs[dual], row.cell(dual, "seconds", 2),
                said(times[0] / times[1], 0), f"{apart.max():.0e}",
            ))  # fmt: skip
    columns = (
        "set",
        "of",
        "exact, theirs",
        "exact",
        "dual, theirs",
        "dual",
        "times faster",
        "objectives apart, at most",
    )
    note = "CPU seconds. MVE: five steps of either route. SPE: rounds to a gap of 1e-4 over all triplets, with either."
    return paragraphs(table(columns, rows), notes.text(), note)


SOLVERS = {
    "interior": {},
    "SCS": {"solver": "SCS", "eps": 1e-7},
    "Clarabel": {"solver": "CLARABEL", "eps": 1e-9},
}


def first_step(name: str, solver: str) -> dict[str, Any]:
    """The first step of eq. (32) as printed: K0 the kernel of the points, distances held exactly."""
    X, _ = sample(name, 0)
    problem = along(nm.mve(X, 2, n_neighbors=NEIGHBORS, C=np.inf, components="connect"), X)
    began = time.process_time()
    backend = "interior" if solver == "interior" else "sdp"
    found = problem.solve(backend, time_limit=LIMIT, **SOLVERS[solver])
    return {
        "value": -float(found.objective), "gap": float(found.certificate.relative_gap), "status": found.status.name,
        "violation": float(found.certificate.violation), "seconds": time.process_time() - began,
    }  # fmt: skip


def exact_steps(quick: bool) -> Cells:
    """Three solvers on each set."""
    return {
        f"{name}, {solver}": partial(first_step, name, solver)
        for name in (("wine",) if quick else THEIRS8) if known(name) for solver in SOLVERS
    }  # fmt: skip


def show_exact(found: Results) -> str:
    """Who is certified."""
    rows = []
    for key, one in found.items():
        seconds = said([one["seconds"]], 2, int(one["status"] == "TIME_LIMIT"))
        rows.append(
            (*key.split(", "), f"{one['value']:.6g}", f"{one['gap']:.0e}", f"{one['violation']:.0e}", seconds)
        )
    note = (
        "The largest tr(K K0) over the kernels of these distances; one draw. Where the kernels of two solvers differ in the third digit, the certified one "
        "decides: a solver that misses the distances a little may be above the optimum, one that has not converged below it."
    )
    return table(("set", "solver", "tr(K K0)", "certified gap", "violation", "CPU s"), rows) + f"\n\n{note}"


def colored(name: str, size: int) -> dict[str, Any]:
    """Coloured MVU over so many eigenvectors of the graph (Song et al. 2008); over none, the whole kernel."""
    data = nm.datasets.load(name)
    largest = np.argsort(-np.bincount(data.y), kind="stable")[:5]
    own = np.flatnonzero(np.isin(data.y, largest))
    chosen = np.random.default_rng(0).permutation(own)[:COLORED]
    X = np.sqrt(data.X[chosen]) if name == "news20" else data.X[chosen]  # counts, evened out
    X, y = X / np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))), data.y[chosen]
    problem = nm.colored_mvu(X, y, n_neighbors=NEIGHBORS, trace_bound=float(len(X)), components="connect")
    began = time.process_time()
    if size:
        graph = nm.laplacian(nm.knn_affinity(X, NEIGHBORS, sigma="binary"), normalized=False)
        problem = problem.with_basis(nm.eigenbasis(graph, size, skip=1))
    solution = problem.solve("simple_npkl", tol=1e-5, time_limit=120)
    Z = coordinates(solution, IMAGES)
    return {
        "seconds": time.process_time() - began, "objective": solution.objective, "points": Z.tolist(),
        "gap": float(solution.certificate.relative_gap), "accuracy": _neighbours_right(Z, y),
        "labels": y.tolist(), "plain": _neighbours_right(PCA(2).fit_transform(X), y),
    }  # fmt: skip


def _neighbours_right(Z: np.ndarray, y: np.ndarray) -> float:
    """Leave-one-out accuracy of five neighbours, in percent."""
    return 100 * float(cross_val_score(KNeighborsClassifier(5), Z, y, cv=LeaveOneOut()).mean())


def figure(name: str, quick: bool) -> Cells:
    """Bases of growing size, and none."""
    if not known(name):
        return {}
    sizes = (0, 10) if quick else (0, *BASES)
    return {f"{name}, {size}": partial(colored, name, size) for size in sizes}


def figure4(quick: bool) -> Cells:
    """Of news20."""
    return figure("news20", quick)


def figure5(quick: bool) -> Cells:
    """Of USPS."""
    return figure("usps", quick)


def show_figure(found: Results, name: str) -> str:
    """Time and objective against the size of the basis."""
    rows = []
    for key, one in found.items():
        size = key.split(", ")[1]
        label = "the whole kernel" if size == "0" else f"{size} eigenvectors"
        rows.append(
            (
                label,
                f"{one['seconds']:.2f} (1)",
                f"{one['objective']:.4g} (1)",
                f"{one['gap']:.0e} (1)",
                f"{one['accuracy']:.1f} (1)",
            )
        )
    plain = next(iter(found.values()))["plain"]
    note = (
        f"{COLORED} points of the five largest classes, C = 1, B = n. Theirs, the whole kernel: {FIGURES[name]} at a size "
        f"that is not said. Accuracy: leave-one-out 5-NN on two coordinates, which have seen the labels; of two "
        f"principal components, which have not, {plain:.1f}."
    )
    return table(("over", "CPU s", "objective", "gap", "accuracy %"), rows) + f"\n\n{note}"


def draw_figure(found: Results, figure: Any) -> None:
    """Two embeddings, and time against the size of the basis."""
    whole = next(one for key, one in found.items() if key.endswith(", 0"))
    others = {int(key.split(", ")[1]): one for key, one in found.items() if not key.endswith(", 0")}
    shown = (("the whole kernel", whole), (f"{min(others)} eigenvectors", others[min(others)]))
    for k, (title, one) in enumerate(shown):
        ax = figure.add_subplot(1, 3, k + 1)
        ax.scatter(*np.array(one["points"]).T, c=one["labels"], cmap="tab10", s=4)
        ax.set(title=title, xticks=[], yticks=[])
    ax = figure.add_subplot(1, 3, 3)
    sizes = sorted(others)
    ax.loglog(sizes, [others[size]["seconds"] for size in sizes], marker="o", label="in a basis")
    ax.axhline(whole["seconds"], linestyle="--", label="the whole kernel")
    ax.set(xlabel="eigenvectors", ylabel="CPU s")
    ax.legend()


SENATE = "the votes of the senate that Song et al. used are not in the data folder"
ITEMS = (
    Item("simple_npkl.table8", "Table 8: k-NN on two coordinates", table8, show8),
    Item("simple_npkl.mve_exact", "Eq. (32): the first step of MVE with exact distances", exact_steps, show_exact),
    Item("simple_npkl.table9", "Table 9: time of MVE and SPE", table8, show9),
    Item(
        "simple_npkl.figure4", "Figure 4: coloured MVU of news20", figure4, partial(show_figure, name="news20"),
        draw_figure,
    ),
    Item(
        "simple_npkl.figure5", "Figure 5: coloured MVU of USPS", figure5, partial(show_figure, name="usps"),
        draw_figure,
    ),
    Item("simple_npkl.figure3", "Figure 3: coloured MVU of the senate", reason=SENATE),
)  # fmt: skip
