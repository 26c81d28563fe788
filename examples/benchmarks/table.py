"""A table of 20,000 rows and 500 pairs, from csv to labels.csv: time, memory, and what is proved.

``python table.py [ROWS] [PAIRS]`` writes a synthetic csv (five clusters of unequal size and width in ten
columns of different units) and pairs drawn from its classes into a temporary folder, then runs the command

    npkl cluster table.csv --labels class --pairs pairs.csv --k 5 --out labels.csv

and the same from a Pipeline, each in a process of its own, and prints a line of JSON for each: seconds, peak
memory, the status and the adjusted Rand index with the classes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score

import npkl_models as nm

COMMAND = (
    "cluster",
    "table.csv",
    "--labels",
    "class",
    "--pairs",
    "pairs.csv",
    "--k",
    "5",
    "--out",
    "labels.csv",
)
PIPELINE = """
import sklearn, numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from npkl_models.applications.estimators import NPKLClustering
sklearn.set_config(enable_metadata_routing=True)
table = np.loadtxt("table.csv", delimiter=",", skiprows=1)
i, j, sign = np.loadtxt("pairs.csv", delimiter=",", dtype=int).T
last = NPKLClustering(5).set_fit_request(pairs=True, y_pairs=True)
model = make_pipeline(StandardScaler(), last).fit(table[:, :-1], pairs=np.stack([i, j], 1), y_pairs=sign)
np.savetxt("labels.csv", model[-1].labels_, fmt="%d", header="cluster", comments="")
print(model[-1].solution_.summary())
"""
"""Ten lines from import to labels."""


def write(folder: Path, n: int, m: int) -> np.ndarray:
    """table.csv and pairs.csv; returns the classes."""
    rng = np.random.default_rng(0)
    y = rng.choice(5, size=n, p=(0.4, 0.25, 0.2, 0.1, 0.05))
    centres = 2.5 * rng.standard_normal((5, 10))
    X = centres[y] + rng.standard_normal((n, 10)) * (0.8 + 0.3 * y[:, None])
    X *= 10.0 ** rng.integers(-2, 4, size=10)
    header = ",".join([*(f"f{k}" for k in range(10)), "class"])
    np.savetxt(
        folder / "table.csv", np.column_stack([X, y]), delimiter=",", header=header, comments="", fmt="%.7g"
    )
    pairs = nm.Pairs.from_labels(y, m // 2, m - m // 2, random_state=0)
    rows = np.column_stack([pairs.i, pairs.j, pairs.sign])
    np.savetxt(folder / "pairs.csv", rows, delimiter=",", fmt="%d")
    return y


def run(folder: Path, words: list[str]) -> dict:
    """In a process of its own: seconds, peak memory, what it printed of the proof."""
    root = str(Path(nm.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root}
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    text = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    taken = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    lines = [line.strip() for line in text.splitlines() if "OPTIMAL" in line or "gap" in line]
    return {
        "exit": child.returncode, "seconds": round(taken, 1), "child_peak_gb": round(used.ru_maxrss / 1e6, 2),
        "said": lines[:3],
    }  # fmt: skip


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=20_000)
    parser.add_argument("pairs", nargs="?", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        y = write(folder, given.rows, given.pairs)
        (folder / "pipeline.py").write_text(PIPELINE, encoding="utf-8")
        ways = {"command": ["-m", "npkl_models", *COMMAND], "pipeline": ["pipeline.py"]}
        for way, words in ways.items():
            (folder / "labels.csv").unlink(missing_ok=True)
            found = run(folder, words)
            labels = np.loadtxt(folder / "labels.csv", skiprows=1, dtype=int)
            report(
                benchmark="table", way=way, rows=given.rows, pairs=given.pairs, **found,
                index=round(float(adjusted_rand_score(y, labels)), 3),
            )  # fmt: skip


if __name__ == "__main__":
    main()
