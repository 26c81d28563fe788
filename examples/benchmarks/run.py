"""All benchmarks by one command, into one table; and two such tables compared.

``python run.py table.json [--quick]`` runs every script of this folder and keeps each line of JSON that it
prints; ``python run.py table.json --against other.json`` prints, for each number that both have, the ratio.
Sets that are not here are left out with the reason. A whole run takes an hour, a quick one some minutes.
"""

import argparse
import json
import platform
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
    "spectral.py": [["a1a"], ["a2a"], ["a4a"]],
    "sweep.py": [["100000"]],
    "thesis_tables.py": [["usps", "100"]],
}
QUICK = {
    "certified.py": [["xor", "200"], ["iris"]],
    "against_scs.py": [[]],
    "against_generic.py": [["iris", "8"]],
    "default.py": [["500"]],
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


def run(plan: dict[str, list[list[str]]], console: Console) -> list[dict]:
    """Every line that the scripts print, with the command that printed it."""
    rows = []
    for script, calls in plan.items():
        for arguments in calls:
            command = " ".join(["python", script, *arguments])
            console.print(f"[dim]{command}")
            found = subprocess.run(
                [sys.executable, HERE / script, *arguments], capture_output=True, text=True, cwd=HERE
            )
            if found.returncode:
                words = found.stderr.strip().splitlines()[-1:] or ["no word"]
                rows.append({"command": command, "failed": words[0]})
            for line in found.stdout.splitlines():
                rows.append({"command": command, **json.loads(line)})
    return rows


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
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    console = Console(width=140)
    if options.against is not None:
        new, old = (json.loads(path.read_text())["rows"] for path in (options.table, options.against))
        compare(new, old, console)
        return
    rows = run(QUICK if options.quick else FULL, console)
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
    options.table.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))
    table = Table("line", "measured", "gap", "status")
    for row in rows:
        found = "; ".join(f"{key} {value:.4g}" for key, value in measures(row).items())
        gap = "" if row.get("relative_gap") is None else f"{row['relative_gap']:.1e}"
        table.add_row(name(row), row.get("failed", found), gap, str(row.get("status", "")))
    console.print(table)


if __name__ == "__main__":
    main()
