"""SDPLR (Burer & Monteiro 2003), the third method of Hu & Kwok 2015: run where ``NPKL_SDPLR`` names its binary.

The problem is written in SDPA's format, losses and all; SDPLR's default parameters hold (feasibility 1e-5, rank
by its own rule), and its factor is read back and judged like any other.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.data.sdpa import as_sdpa

BINARY = "NPKL_SDPLR"  # the environment variable
PARAMETERS = """Input type : 1
Feasibility tolerance : {tol}
Centrality tolerance : 1.0e-1
Penalty factor increase : 2.0
Rank reduction : 0
Time limit : {limit}
Print level : 0
Dimension threshold for dense matrices : 10
Density threshold for dense matrices : 0.75
Number of LBFGS vectors : 4
Rank tolerance : 2.2204460492503131e-16
Duality gap tolerance : 1.0e-3
Check dual bound : -1
Dual bound type : 1
"""


def binary() -> str | None:
    """Where SDPLR is, if anywhere."""
    return shutil.which(os.environ.get(BINARY, ""))


def answer_of(path: Path, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The factor (order x rank) of the first block, written column by column, and the multipliers before it."""
    with path.open() as file:
        x = np.array([float(file.readline()) for _ in range(int(file.readline().split()[-1]))])
        rank = int(file.readline().split()[-1])
        V = np.array([float(file.readline()) for _ in range(order * rank)]).reshape(rank, order).T
    return V, x


def run(problem: nm.Problem, y: np.ndarray, seed: int, limit: float, restarts: int) -> dict[str, Any]:
    """What a table says of a run; CPU seconds are those of SDPLR's process alone."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        as_sdpa(problem).write(folder / "p.dat-s")
        (folder / "parameters").write_text(PARAMETERS.format(tol="1.0e-5", limit=int(limit)))
        command = [str(binary()), "p.dat-s", "parameters", "none", "p.out"]
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, capture_output=True, timeout=4 * limit, check=False)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
        V = problem.lift(answer_of(folder / "p.out", problem.order)[0])
    found = nm.certify(problem, V, kind="factor")
    clusters = kernel_kmeans(V, int(y.max()) + 1, restarts, random_state=seed)
    return {
        "accuracy": 100 * cluster_accuracy(y, clusters), "seconds": seconds,
        "status": "TIME_LIMIT" if seconds >= 0.95 * limit else "ENDED",
        "gap": float(found.relative_gap), "objective": problem.objective_of_factor(V), "rank": V.shape[1],
    }  # fmt: skip
