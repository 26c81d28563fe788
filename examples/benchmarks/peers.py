"""Beside other solvers: export, run, certify what they return, and solve to the same certified gap.

``python peers.py [SET ...] [--forms ...] [--peers csdp ...] [--draws 3] [--cap 60] [--sdplr PATH] [--lorads
PATH]`` (iris, digits, a1a). CSDP, SDPA and DSDP are Debian's coinor-csdp, sdpa and dsdp; who is absent, or
takes longer than the cap, is reported with the reason. The peers take whatever BLAS the system has: install
libopenblas0-pthread, Debian's reference BLAS is several times slower. CPU seconds, one thread, and the cap is
on CPU seconds; each peer's run is followed by one of ours to the gap that the peer has reached, in a warm
process; ``times`` is the peer's over ours (more is better for ours). LoRADS writes no solution: its gap is
the one it states itself, not certified. A form may end with a weight: pcp:100.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from common import report
from matrix import problem

import npkl_models as nm
from npkl_models.data.sdpa import SDPAFile, as_sdpa

sys.path.append(str(Path(__file__).parents[1] / "papers"))  # last: its other modules have namesakes here
import sdplr

FORMS = (
    "hard_pcp", "min_trace", "row_linear", "pcp", "pcp:100", "hinge", "hinge:100", "squared_hinge:100", "mvu",
)  # fmt: skip


def stated(name: str, form: str, draw: int) -> nm.Problem:
    """The problem of a row of the table."""
    loss, _, weight = form.partition(":")
    if loss in ("pcp", "hinge", "squared_hinge"):
        return problem(name, loss, float(weight or 1.0), 0.1, draw)
    data = nm.datasets.load(name)
    count = round(0.6 * data.n)
    pairs = nm.Pairs.from_labels(data.y, count, count, draw)
    if form == "min_trace":  # of the kernels that meet the pairs of 100 points at most
        some = data.subset(min(100, data.n), draw)
        few = nm.Pairs.from_labels(some.y, 60, 60, draw)
        return nm.hard_pcp(sp.eye_array(some.n, format="csr"), few)
    if form == "mvu":
        X = np.unique(data.subset(min(100, data.n), draw).X, axis=0)
        return nm.mvu(X, 4, components="connect", reduce=False)
    if form == "hard_pcp":
        return nm.hard_pcp(nm.laplacian(data.X, 5), pairs)
    return nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss="linear", row_norm=1.0)


def cpu_of(command: list[str], cap: float, folder: Path) -> tuple[float, str]:
    """CPU seconds of a child that runs in a folder (some write there unasked), and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")

    def capped() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cap) + 1, int(cap) + 2))

    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | one,
        check=False,
        cwd=folder,
        preexec_fn=capped,
    )
    if done.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(command, cap)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def kernel_and_x(path: Path, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a solution as CSDP and DSDP write it: the first block of the dual matrix, and x."""
    with path.open() as file:
        x = np.array(file.readline().split(), dtype=float)
        rest = np.loadtxt(file, ndmin=2)
    own = rest[(rest[:, 0] == 2) & (rest[:, 1] == 1)]
    return _symmetric(own[:, 2:], order), x


def of_sdpa(path: Path, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Of SDPA's report."""
    text = path.read_text()
    x = np.array(re.search(r"xVec = \s*\{([^}]*)\}", text).group(1).split(","), dtype=float)
    numbers = re.findall(r"[-+]?\d\.\d+e[-+]\d+", text[text.index("yMat") :], re.IGNORECASE)
    return np.array(numbers[: order**2], dtype=float).reshape(order, order), x


def _symmetric(entries: np.ndarray, order: int) -> np.ndarray:
    K = np.zeros((order, order))
    i, j = entries[:, 0].astype(int) - 1, entries[:, 1].astype(int) - 1
    K[i, j] = K[j, i] = entries[:, 2]
    return K


def factor(K: np.ndarray) -> np.ndarray:
    """V with the positive part of K."""
    values, vectors = scipy.linalg.eigh(K)
    keep = values > 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def gap_of(P: nm.Problem, file: SDPAFile, W: np.ndarray, x: np.ndarray) -> float:
    """The certified gap of what a peer returned: with its own multipliers, or with recovered ones."""
    V = P.lift(W)
    certificates = [nm.certify(P, V, file.multipliers(P, sign * x), kind="factor") for sign in (1, -1)]
    certificates.append(nm.certify(P, V, kind="factor"))
    return min(c.relative_gap for c in certificates)


def runs(folder: Path, given: argparse.Namespace) -> dict[str, tuple]:
    """Peers: what to call, and how to read what it wrote."""
    data, out = str(folder / "p.dat-s"), folder / "p.out"
    dense = lambda read: lambda order: (lambda K, x: (factor(K), x))(*read(out, order))  # noqa: E731
    found = {
        "csdp": (["csdp", data, str(out)], dense(kernel_and_x)),
        "dsdp": (["dsdp5", data, "-save", str(out)], dense(kernel_and_x)),
        "sdpa": (["sdpa", "-ds", data, "-o", str(out), "-numThreads", "1"], dense(of_sdpa)),
    }
    for tol in ("1e-4", "1e-5", "1e-6", "1e-7"):
        parameters = folder / f"sdplr{tol}"
        parameters.write_text(sdplr.PARAMETERS.format(tol=tol, limit=int(given.cap)))
        command = [given.sdplr, data, str(parameters), "none", str(out)]
        found[f"sdplr {tol}"] = (command, lambda order: sdplr.answer_of(out, order))
    found["lorads"] = ([given.lorads, data], None)
    return found


def ours(P: nm.Problem, tol: float, cap: float) -> dict:
    """The default, to a gap."""
    started = time.process_time()
    found = P.solve(tol=tol, time_limit=cap)
    seconds = time.process_time() - started
    return {
        "ours": found.backend,
        "seconds": round(seconds, 3),
        "gap": float(f"{found.certificate.relative_gap:.1e}"),
    }


def compare(name: str, form: str, draw: int, given: argparse.Namespace) -> None:
    """A problem by all peers."""
    P = stated(name, form, draw)
    P.solve(max_iter=3)  # what is imported late is imported now
    row = {"benchmark": "peers", "data": name, "form": form, "draw": draw}
    for tol in (1e-4, 1e-6):
        report(**row, tol=tol, **ours(P, tol, given.cap))
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        try:
            file = as_sdpa(P)
        except nm.NPKLError as error:
            report(**row, skipped=str(error)[:80])
            return
        file.write(folder / "p.dat-s")
        known = runs(folder, given).items()
        for peer, (command, read) in ((k, v) for k, v in known if not given.peers or k in given.peers):
            if not command[0] or shutil.which(command[0]) is None:
                report(**row, peer=peer, skipped="not installed, or no path given")
                continue
            (folder / "p.out").unlink(missing_ok=True)
            try:
                seconds, printed = cpu_of(command, given.cap, folder)
                if read is None:
                    gap = float(re.search(r"Primal Dual Gap\s*:\s*(\S+)", printed).group(1))
                else:
                    gap = gap_of(P, file, *read(P.order))
            except subprocess.TimeoutExpired:
                report(**row, peer=peer, skipped=f"not within {given.cap:g} s")
                continue
            except (OSError, ValueError, AttributeError, IndexError, nm.NPKLError) as error:
                report(**row, peer=peer, skipped=f"no solution: {str(error)[:60]}")
                continue
            same = ours(P, max(gap, 1e-8) if gap < 1 else 1e-4, given.cap)
            report(
                **row, peer=peer, peer_seconds=round(seconds, 3), peer_gap=float(f"{gap:.1e}"),
                certified=read is not None, **same, times=round(seconds / same["seconds"], 2),
            )  # fmt: skip


def main() -> None:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "digits", "a1a"])
    parser.add_argument("--forms", nargs="+", default=FORMS)
    parser.add_argument("--peers", nargs="+", default=[])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--cap", type=float, default=60.0)
    parser.add_argument("--sdplr", default="")
    parser.add_argument("--lorads", default="")
    given = parser.parse_args()
    for name in given.sets:
        for form in given.forms:
            try:
                for draw in range(given.draws):
                    compare(name, form, draw, given)
            except nm.datasets.DatasetUnavailableError as error:
                report(benchmark="peers", data=name, skipped=str(error)[:80])
                break


if __name__ == "__main__":
    main()
