"""What each mechanism of the low-rank descent gains: ``python ablation.py [--sizes 2000] [--draws 3]``.

Each mechanism is switched off alone. The classes are three losses, two gammas and two shifts on two
Gaussians in 10 dimensions, or with ``--moons`` on two moons in the plane. A row of the table is a mechanism,
and a column a class: the median over the draws of the seconds of the processor without the mechanism over
those with it, and how many draws lose their certificate. A mechanism that gains less than a tenth on every
class and loses no certificate leaves the package.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from ledger import affinity

import npkl_models as nm
from npkl_models.lowrank import edges
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.factor import burer_monteiro, incomplete, minimisers, rank
from npkl_models.lowrank.factor.preconditioners import FlatPreconditioner
from npkl_models.lowrank.rows import engine, extrapolation, handover

LOSSES, GAMMAS, SHIFTS = ("square", "squared_hinge", "hinge"), (1.0, 100.0), (0.0, 0.1)
GAIN = 1.1  # a ratio below this is no gain


def _plain_model(problem, pairs, cold):
    return EdgeModel(pairs, beta=edges.BETA_FIRST * float(np.max(pairs.weight, initial=1.0)))


MECHANISMS: dict[str, list[tuple[object, str, object]]] = {
    "softened start": [(engine, "first_model", _plain_model)],
    "extrapolation": [(extrapolation.Extrapolation, "propose", lambda self, V: None)],
    "narrowing": [(engine.BCDEngine, "_narrow", lambda self: None)],
    "Newton steps": [(engine.BCDEngine, "_due", lambda self: False)],
    "prediction of the rest": [(handover.Handover, "shorter", lambda self, *given: False)],
    "closeness before Newton steps": [(handover, "CLOSE", np.inf)],
    "faint columns": [(engine, "drop_faint_columns", lambda V: V)],
    "longer inner solves": [(minimisers, "MORE", 1)],
    "incomplete factors": [(incomplete.IncompleteHessian, "worth", staticmethod(lambda blocks, rank: False))],
    "softer Newton steps": [(EdgeModel, "softer", lambda self, z: (self.beta, False))],
    "factors of a flat graph": [(FlatPreconditioner, "worth", staticmethod(lambda C: False))],
    "sharper multipliers": [(burer_monteiro, "sharpens", lambda f, point: False)],
    "columns by ln n": [(rank, "OF_LOSSES", 0)],
    "quasi-Newton steps first": [
        (burer_monteiro, "MINIMISERS", {"newton": minimisers.Newton, "lbfgs": minimisers.Newton})
    ],
}


@contextlib.contextmanager
def without(name: str) -> Iterator[None]:
    """The package with a mechanism switched off; the whole package for the name "all"."""
    with contextlib.ExitStack() as stack:
        for owner, attribute, value in MECHANISMS.get(name, []):
            stack.enter_context(mock.patch.object(owner, attribute, value))
        yield


def stated(
    n: int, draw: int, loss: str, gamma: float, shift: float, folder: Path | None, moons: bool = False
) -> nm.Problem:
    """The problem of a class and a draw."""
    pairs = nm.Pairs.from_labels(np.arange(n) % 2, int(0.6 * n), int(0.6 * n), draw)
    A = nm.knn_affinity(two_moons(n, draw)) if moons else affinity(n, draw, folder, False)
    L = nm.laplacian(A, shift=shift)
    return nm.pcp(L, pairs, gamma=gamma) if loss == "square" else nm.npkl(L, pairs, loss=loss, gamma=gamma)


def two_moons(n: int, draw: int) -> np.ndarray:
    """Points (n x 2) of two half circles with noise, each second one of the other half."""
    rng = np.random.default_rng(draw)
    angle, other = np.pi * rng.random(n), np.arange(n) % 2
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(other, -1, 1)[:, None]
    return X + other[:, None] * [1.0, 0.5] + 0.15 * rng.standard_normal((n, 2))


def measured(P: nm.Problem, backend: str, limit: float, seed: int) -> tuple[bool, float, int]:
    """Whether the answer is certified, the seconds of the processor and the iterations."""
    began = time.process_time()
    found = P.solve(backend, tol=1e-6, time_limit=limit, random_state=seed)
    return found.is_optimal(1e-6), time.process_time() - began, found.iterations


def table(rows: list[dict]) -> str:
    """The ratios of the medians as Markdown, and the largest of them; x counts lost certificates."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        groups.setdefault((row["without"], row["of"]), []).append(row)
    classes = list(dict.fromkeys(row["of"] for row in rows))
    out = ["| without | " + " | ".join(classes) + " | largest |", "|---" * (len(classes) + 2) + "|"]
    for name in dict.fromkeys(row["without"] for row in rows):
        cells, worst = [], 0.0
        for of in classes:
            own, all_ = groups.get((name, of)), groups.get(("all", of))
            if not own or not all_:
                cells.append("")
                continue
            whole = {row["draw"]: row for row in all_}
            ratio = statistics.median(row["seconds"] / whole[row["draw"]]["seconds"] for row in own)
            lost = sum(whole[row["draw"]]["certified"] and not row["certified"] for row in own)
            won = sum(row["certified"] and not whole[row["draw"]]["certified"] for row in own)
            worst = max(worst, np.inf if lost else ratio)
            cells.append(f"{ratio:.2f}" + f" x{lost}" * bool(lost) + f" +{won}" * bool(won))
        out.append(f"| {name} | " + " | ".join(cells) + f" | {worst:.2f} |")
    return "\n".join(out)


def main() -> None:
    """Run all classes, with and without each mechanism, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="2000")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--backend", default="bcd")
    parser.add_argument("--only", default="", help="mechanisms, separated by commas")
    parser.add_argument("--of", default="", help="classes whose name has this")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a case")
    parser.add_argument("--graphs", type=Path)
    parser.add_argument("--moons", action="store_true", help="two moons, not two Gaussians")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(MECHANISMS)
    rows = []
    for n, draw, of in itertools.product(
        map(int, options.sizes.split(",")), range(options.draws), itertools.product(LOSSES, GAMMAS, SHIFTS)
    ):
        if options.of not in "{} {:g} {:g}".format(*of):
            continue
        P = stated(n, draw, *of, options.graphs, options.moons)
        for name in ["all", *names]:
            with without(name):
                own = measured(P, options.backend, options.limit, draw)
            row = dict(zip(("certified", "seconds", "iterations"), own, strict=True))
            rows.append(row | {"of": "{} {:g} {:g}".format(*of), "draw": f"{n}:{draw}", "without": name})
            print(json.dumps(rows[-1]), flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
