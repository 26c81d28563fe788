"""Semidefinite programs from files: status, digits, gap, violation and CPU seconds, beside CSDP.

``python sdplib.py FOLDER [NAME ...] [--out FILE] [--cap 600] [--csdp] [--backend auto]`` solves every file in
SDPA's sparse format in the folder, the smallest first, by the default, on one thread. With ``--out``, each
line is appended to a file, and a file that is there already is gone on with. With ``--csdp``, CSDP (Debian's
coinor-csdp, with whatever BLAS the system has) solves the same file right after, and its answer is judged as
it is. At the end, or of a finished FILE, a table is printed.
"""

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from common import report
from peers import cpu_of

import npkl_models as nm
from npkl_models.crosscheck.outside import judge_file


def ours(path: Path, backend: str, cap: float) -> dict:
    """The answer of this library, and the seconds from the file to the certificate."""
    began = time.process_time()
    problem = nm.Problem.from_sdpa(path)
    m = sum(part.functional.size for part in problem.constraints)
    try:
        found = problem.solve(backend, time_limit=cap)
    except nm.NPKLError as error:
        return {
            "m": m,
            "n": problem.n,
            "status": type(error).__name__,
            "seconds": time.process_time() - began,
        }
    seconds = time.process_time() - began
    out = {"m": m, "n": problem.n, "status": found.status.name, "backend": found.backend, "seconds": seconds}
    if found.V is None:
        return out
    known = found.certificate
    return out | {
        "optimum": -found.objective, "bound": -known.bound, "gap": known.relative_gap,
        "violation": known.violation, "rigour": known.rigour,
    }  # fmt: skip


def csdp(path: Path, cap: float) -> dict:
    """The answer of CSDP, judged as it is."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        (folder / "p.dat-s").write_bytes(raw)
        try:
            seconds, _ = cpu_of(["csdp", "p.dat-s", "p.sol"], cap, folder)
            found = judge_file(folder / "p.dat-s", folder / "p.sol")
        except Exception as error:  # the time limit, or no answer
            return {"csdp": type(error).__name__}
    known = found.certificate
    return {
        "csdp": found.status.name, "csdp_seconds": seconds, "csdp_gap": known.relative_gap,
        "csdp_violation": known.violation,
    }  # fmt: skip


def table(rows: list[dict]) -> str:
    """The rows as Markdown, and the sums."""
    lines = [
        "| file | m | n | status | optimum | gap | violation | CPU s | CSDP | CPU s |",
        "|---" * 10 + "|",
    ]
    for row in rows:
        digits = f"{row['optimum']:.7g}" if "optimum" in row else ""
        gap, missed = (f"{row[key]:.0e}" if key in row else "" for key in ("gap", "violation"))
        other = f"{row['csdp_seconds']:.2f}" if "csdp_seconds" in row else ""
        lines.append(
            f"| {row['file']} | {row['m']} | {row['n']} | {row['status']} | {digits} | {gap} | {missed} | "
            f"{row['seconds']:.2f} | {row.get('csdp', '')} | {other} |"
        )
    proved = sum(row["status"] in ("OPTIMAL", "INFEASIBLE", "UNBOUNDED") for row in rows)
    total = [sum(row.get(key, 0.0) for row in rows) for key in ("seconds", "csdp_seconds")]
    return "\n".join([*lines, f"{proved} of {len(rows)} proved; {total[0]:.1f} s, CSDP {total[1]:.1f} s"])


def main() -> None:
    """A line for each file, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cap", type=float, default=600.0)
    parser.add_argument("--csdp", action="store_true")
    parser.add_argument("--backend", default="auto")
    given = parser.parse_args()
    known = given.out.read_text().splitlines() if given.out is not None and given.out.exists() else []
    rows = [json.loads(line) for line in known]
    C = np.eye(4)  # what is imported and compiled late is so now
    nm.Problem(C, nm.Constraint(nm.SparseMatrices(4, [C]), equal=1.0)).solve()
    files = sorted(given.folder.glob("*.dat-s*"), key=lambda path: (path.stat().st_size, path.name))
    for path in files:
        name = path.name.split(".dat-s")[0]
        if (given.names and name not in given.names) or any(row["file"] == name for row in rows):
            continue
        row = {"file": name} | ours(path, given.backend, given.cap)
        row |= csdp(path, given.cap) if given.csdp else {}
        rows.append(row)
        report(**row)
        if given.out is not None:
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(table(sorted(rows, key=lambda row: row["file"])))


if __name__ == "__main__":
    main()
