"""All benchmarks by one command, into one table; and two such tables compared.

``python run.py table.json [--quick]`` runs every script of this folder and keeps each line of JSON that it
prints; ``python run.py table.json --against other.json`` prints, for each number that both have, the ratio.
``python run.py table.json --beside CHECKOUT [--times 3]`` runs each script in turn here and in another
checkout of the library, which is the fair comparison of two versions, and prints the ratios of the medians.
Sets that are not here are left out with the reason. A whole run takes an hour, a quick one some minutes.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
FULL = {
    "certified.py": [["a1a"], ["a4a"], ["a7a"], ["digits"], ["two_gaussians", "100000"]],
    "against_scs.py": [[]],
    "against_generic.py": [["a1a", "8"], ["a4a", "8"], ["digits", "10"]],
    "default.py": [["2000", "20000", "100000"]],
    "interior.py": [["draws"], ["weights"], ["large", "digits", "square", "100", "0.1"]],
    "matrix.py": [[]],
    "spectral.py": [["a1a"], ["a2a"], ["a4a"]],
    "sweep.py": [["100000"]],
    "thesis_tables.py": [["usps", "100"]],
}
QUICK = {
    "certified.py": [["xor", "200"], ["iris"]],
    "against_scs.py": [[]],
    "against_generic.py": [["iris", "8"]],
    "default.py": [["500"]],
    "interior.py": [["draws", "2"], ["weights"]],
    "matrix.py": [["iris"]],
    "spectral.py": [["iris"]],
    "sweep.py": [["2000", "8"]],
    "thesis_tables.py": [["digits", "6"]],
}
RESULTS = (
    "relative_gap",
    "rigour",
    "status",
    "iterations",
    "rank",
    "peak_gb",
    "unit_ms",
    "benchmark",
    "command",
)


ROOT = HERE.parents[1]


def once(root: Path, script: str, arguments: list[str]) -> list[dict]:
    """Every line that a script of a checkout prints, with the command that printed it."""
    command = " ".join(["python", script, *arguments])
    here = root / "examples" / "benchmarks"
    found = subprocess.run(
        [sys.executable, here / script, *arguments],
        capture_output=True,
        text=True,
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    rows = [{"command": command, **json.loads(line)} for line in found.stdout.splitlines()]
    if found.returncode:
        words = found.stderr.strip().splitlines()[-1:] or ["no word"]
        rows.append({"command": command, "failed": words[0]})
    return rows


def run(plan: dict, roots: list[Path], times: int, console: Console) -> list[list[dict]]:
    """The lines of each checkout, its scripts run in turn with those of the others; medians of numbers."""
    tables: list[list[dict]] = [[] for _ in roots]
    for script, calls in plan.items():
        for arguments in calls:
            console.print(f"[dim]python {' '.join([script, *arguments])}")
            runs = [[once(root, script, arguments) for root in roots] for _ in range(times)]
            for k, table in enumerate(tables):
                table += [median(rows) for rows in zip(*(found[k] for found in runs), strict=False)]
    return tables


def median(rows: tuple[dict, ...]) -> dict:
    """One line with the medians of the measures of several."""
    return rows[0] | {key: statistics.median(row.get(key, 0.0) for row in rows) for key in measures(rows[0])}


def name(row: dict) -> str:
    """What tells a line from the others of its command."""
    parts = [str(v) for k, v in row.items() if isinstance(v, (str, int)) and k not in (*RESULTS, "units")]
    return f"{row['command']}: {' '.join(parts)}"


def measures(row: dict) -> dict[str, float]:
    """The numbers that are compared: all but those that are results rather than costs."""
    return {
        k: float(v) for k, v in row.items() if k == "units" or (isinstance(v, float) and k not in RESULTS)
    }


def compare(new: list[dict], old: list[dict], console: Console) -> None:
    """New over old, line by line."""
    before = {name(row): row for row in old}
    table = Table("line", "measure", "old", "new", "new / old")
    for row in new:
        other = measures(before.get(name(row), {}))
        for key, value in measures(row).items():
            if other.get(key):
                table.add_row(
                    name(row), key, f"{other[key]:.4g}", f"{value:.4g}", f"{value / other[key]:.2f}"
                )
    console.print(table)


def main() -> None:
    """Run, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--only", metavar="SCRIPT", help="one script of them")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    console = Console(width=140)
    if options.against is not None:
        new, old = (json.loads(path.read_text())["rows"] for path in (options.table, options.against))
        compare(new, old, console)
        return
    plan = QUICK if options.quick else FULL
    plan = {name: calls for name, calls in plan.items() if options.only in (None, name)}
    roots = [ROOT] if options.beside is None else [options.beside.resolve(), ROOT]
    tables = run(plan, roots, options.times, console)
    rows = tables[-1]
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
    options.table.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))
    if options.beside is not None:
        compare(rows, tables[0], console)
        return
    table = Table("line", "measured", "gap", "status")
    for row in rows:
        found = "; ".join(f"{key} {value:.4g}" for key, value in measures(row).items())
        gap = "" if row.get("relative_gap") is None else f"{row['relative_gap']:.1e}"
        table.add_row(name(row), row.get("failed", found), gap, str(row.get("status", "")))
    console.print(table)


if __name__ == "__main__":
    main()
