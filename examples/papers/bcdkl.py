"""Hu & Kwok, Scalable Nonparametric Low-Rank Kernel Learning Using Block Coordinate Descent, TNNLS 26(9), 2015."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from common import (
    GAMMA,
    LIMIT,
    RESTARTS,
    SHIFT,
    SMALL,
    backend_of,
    drawn,
    graph,
    known,
    load,
    measured,
    seeds,
    timed,
)
from items import Cells, Item, Results, absent, exponent, of, spread, table

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans

SOURCE = "Hu & Kwok 2015"
LOSSES = ("hinge", "squared_hinge", "square", "linear")
ADULT = {"a1a": 3, "a2a": 2, "a4a": 1, "a5a": 1, "a6a": 1, "a7a": 1}
PATIENCE = 30.0  # seconds of the printed row programs, which stall with the hinge
METHODS = ("bcd, printed", "simple_npkl", "bcd")


LOST = "the cells of the paper's tables are lost in the text that we have; what its prose says is compared"


def problem_of(name: str, loss: str, seed: int, gamma: float = GAMMA) -> nm.Problem:
    """Their eq. (3); the linear loss with rows of norm at most one, eq. (29)."""
    pairs = drawn(name, seed)[1]
    return nm.npkl(
        graph(name, seed), pairs, loss=loss, gamma=gamma, row_norm=1.0 if loss == "linear" else None
    )


def run(name: str, loss: str, method: str, seed: int) -> dict[str, Any]:
    """One repetition."""
    data = drawn(name, seed)[0]
    options: dict[str, Any] = {"time_limit": LIMIT, "random_state": seed}
    problem, backend = problem_of(name, loss, seed), backend_of(method)
    if method == "bcd, printed":
        options["time_limit"] = PATIENCE
    elif method == "simple_npkl":
        problem = nm.Problem(problem.cost, problem.terms, regularizer=nm.TracePower(2, bound=100.0 * data.n))
        backend = "closed_form" if loss == "linear" else backend
        options = {"time_limit": LIMIT, "tol": 1e-4}
    return measured(problem, backend, data.y, seed, **options)


def table3(quick: bool) -> Cells:
    """The small sets."""
    return {
        f"{name}, {loss}, {method}, {seed}": partial(run, name, loss, method, seed)
        for name in (("iris", "soybean_small") if quick else SMALL) if known(name)
        for loss in LOSSES for method in METHODS
        for seed in seeds(quick, 10 if method == "bcd" else 3)
    }  # fmt: skip


def table5(quick: bool) -> Cells:
    """The adult sets; SimpleNPKL up to a2a."""
    return {
        f"{name}, {loss}, {method}, {seed}": partial(run, name, loss, method, seed)
        for name, most in ADULT.items() if known(name) and not (quick and name != "a1a")
        for loss in LOSSES for method in METHODS
        for seed in range(1 if quick or method == "simple_npkl" else most)
        if method != "simple_npkl" or (name == "a1a" and not quick)
    }  # fmt: skip


def show(found: Results, what: str, digits: int) -> str:
    """A row for each set and loss."""
    rows, names = [], dict.fromkeys(key.split(", ")[0] for key in found)
    for name in names:
        for loss in LOSSES:
            cells = [of(found, f"{name}, {loss}, {method}, ") for method in METHODS]
            if any(cells):
                rows.append((name, loss, *(spread([one[what] for one in cell], digits) for cell in cells)))
    return (
        table(("set", "loss", *METHODS), rows)
        + f"\n\ngamma = {GAMMA:g}, shift {SHIFT:g}; at most {PATIENCE:g} s as printed; {LOST}."
    )


def converge(name: str, loss: str) -> dict[str, Any]:
    """Objective against seconds and sweeps, as printed and by the other solvers."""
    problem, out = problem_of(name, loss, 0), {}
    for label in ("bcd, printed", "bcd", "burer_monteiro"):
        solution, _ = timed(problem, backend_of(label), time_limit=LIMIT)
        history = solution.history
        out[label] = {
            "seconds": history.seconds.tolist(), "objective": history.objective.tolist(),
            "iteration": history.iteration.tolist(), "final": float(solution.objective),
            "gap": float(solution.certificate.relative_gap),
        }  # fmt: skip
    return out


def figure23(quick: bool) -> Cells:
    """Soybean and a1a, four losses."""
    names = ("soybean_small",) if quick else ("soybean_small", "a1a")
    return {
        f"{name}, {loss}": partial(converge, name, loss) for name in names if known(name) for loss in LOSSES
    }


def show_convergence(found: Results) -> str:
    """Sweeps and seconds until within 0.1 percent of the best."""
    rows = []
    for key, one in found.items():
        best = min(run["final"] for run in one.values())
        cells = []
        for run in one.values():
            near = np.array(run["objective"]) - best <= 1e-3 * (1 + abs(best))
            k = int(np.argmax(near)) if near.any() else -1
            cells.append(f"{run['iteration'][k]:.0f}, {run['seconds'][k]:.2f} s" if k >= 0 else "not reached")
        rise = float(np.diff(one["bcd, printed"]["objective"]).max()) / (1 + abs(best))
        rows.append((key, *cells, f"{max(rise, 0.0):.0e}", f"{one['bcd, printed']['gap']:.0e}"))
    runs = next(iter(found.values()))
    note = (
        "Iterations and seconds until the objective is within 0.1 % of the best. Theorem 1 says that the printed "
        "algorithm descends monotonically where each row is minimised exactly: the largest rise from one sweep to the "
        "next, relative to the best, is zero with the smooth losses; the quadratic programs of the rows "
        "with the hinge are solved to a tolerance."
    )
    return table(("set, loss", *runs, "largest rise as printed", "gap as printed"), rows) + f"\n\n{note}"


def draw_convergence(found: Results, figure: Any, against: str) -> None:
    """A panel for each set and loss."""
    figure.set_size_inches(12, 3 * -(-len(found) // 4))
    for k, (key, one) in enumerate(found.items()):
        ax = figure.add_subplot(-(-len(found) // 4), 4, k + 1)
        best = min(run["final"] for run in one.values())
        for label, run in one.items():
            if against == "iteration" and label != "bcd, printed":
                continue
            ax.plot(
                run[against], np.maximum(np.array(run["objective"]) - best, 1e-12 * abs(best)), label=label
            )
        ax.set(title=key, xlabel=against, ylabel="objective above the best", yscale="log")
        ax.legend(fontsize="x-small")


def scale(n: int, loss: str, method: str) -> dict[str, Any]:
    """Some of a7a's points, 1,000 constraints."""
    data = load("a7a").subset(n)
    pairs = nm.Pairs.from_labels(data.y, 500, 500, 0)
    L = nm.laplacian(data.X, 5, shift=SHIFT)
    problem = nm.npkl(L, pairs, loss=loss, gamma=1.0, row_norm=1.0 if loss == "linear" else None)
    options: dict[str, Any] = {"time_limit": LIMIT}
    if method == "bcd, printed":
        options["time_limit"] = PATIENCE
    elif method == "simple_npkl":
        problem = nm.Problem(L, problem.terms, regularizer=nm.TracePower(2, bound=100.0 * n))
        options["tol"] = 1e-4
    backend = "closed_form" if (method, loss) == ("simple_npkl", "linear") else backend_of(method)
    solution, seconds = timed(problem, backend, **options)
    cut = solution.status is nm.Status.TIME_LIMIT
    return {"seconds": seconds, "gap": float(solution.certificate.relative_gap), "cut": cut}


def figure4(quick: bool) -> Cells:
    """500 to 10,000 points."""
    if not known("a7a"):
        return {}
    sizes = (500, 1_000) if quick else (500, 1_000, 5_000, 10_000)
    return {
        f"{loss}, {method}, {n}": partial(scale, n, loss, method)
        for loss in LOSSES for method in METHODS for n in sizes if method != "simple_npkl" or n <= 1_000
    }  # fmt: skip


def show_scales(found: Results) -> str:
    """Seconds and the exponents of Table VII."""
    sizes, rows = sorted({int(key.rsplit(", ", 1)[1]) for key in found}), []
    for loss in LOSSES:
        for method in METHODS:
            every = {n: found.get(f"{loss}, {method}, {n}") for n in sizes}
            own = {n: one["seconds"] for n, one in every.items() if one and not one["cut"]}
            fit = f"{exponent([*own], [*own.values()]):.2f}" if len(own) > 1 else "-"
            cells = (
                "-" if one is None else "cut" if one["cut"] else f"{one['seconds']:.2f}"
                for one in every.values()
            )
            rows.append((loss, method, *cells, fit))
    note = f"CPU seconds; cut: not done in {PATIENCE:g} s as printed, {LIMIT:g} s by others; 1,000 pairs, gamma = 1. The paper finds exponents of one or less for BCDKL and often two for SimpleNPKL."
    return table(("loss", "method", *(f"{n:,}" for n in sizes), "exponent"), rows) + f"\n\n{note}"


def draw_scales(found: Results, figure: Any) -> None:
    """In logarithms."""
    for k, loss in enumerate(LOSSES):
        ax = figure.add_subplot(1, 4, k + 1)
        for method, mark in zip(METHODS, "os^", strict=True):
            own = {
                int(size): one["seconds"] for key, one in found.items()
                for own_loss, own_method, size in [(key.split(", ")[0], *key.split(", ", 1)[1].rsplit(", ", 1))]
                if (own_loss, own_method) == (loss, method) and not one["cut"]
            }  # fmt: skip
            ax.loglog([*own], [*own.values()], marker=mark, label=method)
        ax.set(title=loss, xlabel="points", ylabel="CPU seconds" if k == 0 else "")
        ax.legend(fontsize="x-small")


def extend(loss: str, share: float, seed: int) -> dict[str, Any]:
    """Half of iris in the sample, the other half clustered by the printed and by the exact extension."""
    data = load("iris")
    order = np.random.default_rng(seed).permutation(data.n)
    inside, outside = np.sort(order[: data.n // 2]), np.sort(order[data.n // 2 :])
    X, y, count = data.X[inside], data.y[inside], max(2, round(share * data.n))
    pairs = nm.Pairs.from_labels(y, count, count, seed)
    problem = nm.npkl(
        nm.laplacian(X, 5, shift=SHIFT),
        pairs,
        loss=loss,
        gamma=GAMMA,
        row_norm=1.0 if loss == "linear" else None,
    )
    solution = problem.solve("bcd", time_limit=LIMIT)
    out = {}
    for label, steps in (("printed", 1), ("exact", None)):
        V = solution.extend_points(X, data.X[outside], shift=SHIFT, steps=steps)
        V = V[-len(outside) :]
        clusters = kernel_kmeans(V, 3, RESTARTS)
        out[label] = 100 * cluster_accuracy(data.y[outside], clusters)
    return out


SHARES = (0.05, 0.1, 0.5, 1.0, 1.5)


def figure5(quick: bool) -> Cells:
    """20 repetitions."""
    return {
        f"{loss}, {share}, {seed}": partial(extend, loss, share, seed)
        for loss in LOSSES for share in SHARES for seed in seeds(quick)
    }  # fmt: skip


def show_figure5(found: Results) -> str:
    """Accuracies of the points that were not there."""
    rows = []
    for loss in LOSSES:
        for label in ("printed", "exact"):
            cells = [of(found, f"{loss}, {share}, ") for share in SHARES]
            rows.append((loss, label, *(spread([one[label] for one in cell]) for cell in cells)))
    return table(("loss", "extension", *(f"{share:g} n" for share in SHARES)), rows)


def draw_figure5(found: Results, figure: Any) -> None:
    """Against the number of pairs."""
    for k, loss in enumerate(LOSSES):
        ax = figure.add_subplot(1, 4, k + 1)
        for label in ("printed", "exact"):
            means = [np.mean([one[label] for one in of(found, f"{loss}, {share}, ")]) for share in SHARES]
            ax.plot(SHARES, means, marker="o", label=label)
        ax.set(title=loss, xlabel="pairs / n", ylabel="accuracy, %" if k == 0 else "")
        ax.legend(fontsize="x-small")


def losses(quick: bool) -> Cells:
    """Figure 1 needs no run."""
    return {"losses": curves}


def curves() -> dict[str, Any]:
    """The four losses against t z."""
    z = np.linspace(-1, 2, 61)
    one = np.ones_like(z)
    return {"z": z.tolist()} | {name: nm.LOSSES[name].value(z, one).tolist() for name in LOSSES}


def show_losses(found: Results) -> str:
    """In words."""
    return "The four losses of z for a must-link (t = 1)."


def draw_losses(found: Results, figure: Any) -> None:
    """Four curves."""
    ax = figure.add_subplot()
    for name in LOSSES:
        ax.plot(found["losses"]["z"], found["losses"][name], label=name)
    ax.set(xlabel="z", ylabel="loss")
    ax.legend()


ITEMS = (
    Item("bcdkl.figure1", "Fig. 1: the losses", losses, show_losses, draw_losses),
    absent("bcdkl.table1", "Table I: complexities", "formulas, no measurement; ours are on the backends' pages"),
    absent("bcdkl.table2", "Table II: the sets", "its cells are lost in our text; the sets are those of kl_admm.table1"),
    Item("bcdkl.table3", "Table III: accuracy, small sets", table3, partial(show, what="accuracy", digits=1)),
    Item("bcdkl.table4", "Table IV: CPU time, small sets", table3, partial(show, what="seconds", digits=2)),
    Item("bcdkl.table5", "Table V: accuracy, adult sets", table5, partial(show, what="accuracy", digits=1)),
    Item("bcdkl.table6", "Table VI: CPU time, adult sets", table5, partial(show, what="seconds", digits=1)),
    Item("bcdkl.figure2", "Fig. 2: objective against CPU time", figure23, show_convergence,
         partial(draw_convergence, against="seconds")),
    Item("bcdkl.figure3", "Fig. 3: objective against iterations", figure23, show_convergence,
         partial(draw_convergence, against="iteration")),
    Item("bcdkl.figure4", "Fig. 4 and Table VII: CPU time against the number of points", figure4, show_scales, draw_scales),
    Item("bcdkl.figure5", "Fig. 5: points that were not in the sample", figure5, show_figure5, draw_figure5),
)  # fmt: skip
