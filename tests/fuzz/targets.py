"""The readers, each with files that it takes, and what it must have read if it takes an altered one."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import npkl_models as nm
from fuzz import oracles
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.readers import read_libsvm
from npkl_models.data.sdpa_answer import read_answer
from npkl_models.data.sensors import read_anchors_csv, read_bounds_csv, read_distances_csv
from npkl_models.data.tables import read_pairs, read_points
from npkl_models.problem import Problem
from npkl_models.task_cache import sweep

RESULT = {"score": 0.25, "labels": [0, 1, 1], "name": "k"}
AGAIN = "done again"


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    name : str
    file : str
        What the file is called.
    kind : str
        Which mutations know its structure: npz, csv, libsvm, pairs, answer, json, sdpa.
    originals : list of bytes
    read : callable
        Path -> what was read; whatever is equal can be compared by ``==`` after `plain`.
    holds : callable
        (bytes, what was read, what is read of the originals) -> whether that is right.
    pack : callable
        Bytes -> the file's bytes: gzip or bzip2.
    """

    name: str
    file: str
    kind: str
    originals: list[bytes]
    read: Callable[[Path], Any]
    holds: Callable[[bytes, Any, list[Any]], bool]
    pack: Callable[[bytes], bytes] = bytes


def plain(value: Any) -> Any:
    """What was read, as something that can be compared: numbers by their bytes."""
    if isinstance(value, nm.Problem | nm.Solution):
        header, arrays = value.pack()
        return [json.dumps(header, sort_keys=True), {key: plain(arrays[key]) for key in sorted(arrays)}]
    if isinstance(value, nm.datasets.Dataset):
        return [plain(value.X), plain(value.y)]
    if isinstance(value, nm.Pairs):
        return [value.n, plain(value.i), plain(value.j), plain(value.sign)]
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, np.ascontiguousarray(value).tobytes()]
    return value


def of_originals(data: bytes, value: Any, originals: list[Any]) -> bool:
    """For files with a checksum: what is taken must be what was written."""
    return plain(value) in originals


def saved(data: bytes, value: Any, originals: list[Any]) -> bool:
    """The same; an altered file with its right checksum may be another, but must say what is so."""
    if of_originals(data, value, originals):
        return True
    if not oracles.is_signed(data):
        return False
    if isinstance(value, nm.Problem):
        return True
    if value.V is None:
        return value.status.name not in ("OPTIMAL", "LOCALLY_SOLVED", "INACCURATE")
    right = value.objective == value.problem.objective_of_factor(value.V)
    return right and (value.status is not nm.Status.OPTIMAL or value.certificate.certifies(1e-6))


def by(oracle: Callable[[bytes], Any]) -> Callable[[bytes, Any, list[Any]], bool]:
    """For text: a plain reader of the fuzzer's own must read the same from the same bytes."""

    def holds(data: bytes, value: Any, originals: list[Any]) -> bool:
        expected = oracle(data)
        return expected is not None and oracles.same(expected, value)

    return holds


def _resumed(path: Path) -> Any:
    return sweep({"k": partial(str, AGAIN)}, folder=path.parent)["k"]


def _solved(problem: nm.Problem, path: Path) -> Any:
    """What a sweep takes from the file, or that it does the task again."""
    return sweep({"s": partial(_again, problem)}, folder=path.parent)["s"]


def _again(problem: nm.Problem) -> str:
    return AGAIN


def _folder(name: str, path: Path) -> Any:
    return nm.datasets.load(name, path.parent)


def targets(folder: Path) -> list[Target]:
    """All readers, with originals that are made in a folder."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    L, pairs = nm.laplacian(X, n_neighbors=2, shift=0.1), nm.Pairs(6, [(0, 1), (3, 4)], [(2, 3)])
    problems = [nm.pcp(L, pairs), nm.npkl(L, pairs, loss="hinge", row_norm=1.0), nm.hard_pcp(L, pairs)]
    problems.append(nm.simple_npkl(L, pairs, trace_bound=4.0))
    solutions = [problem.solve() for problem in problems[:2]]
    written = [problem.save(folder / f"p{k}").read_bytes() for k, problem in enumerate(problems)]
    answers = [solution.save(folder / f"s{k}").read_bytes() for k, solution in enumerate(solutions)]
    sdpa = [problem.to_sdpa(folder / "p.dat-s").read_bytes() for problem in problems[:2]]
    keep = folder / "keep"
    sweep({"k": partial(dict, RESULT)}, folder=keep)
    sweep({"s": partial(_solve, problems[0])}, folder=keep)
    resumed = (keep / "k.json").read_bytes()
    kept = (keep / "s.npz").read_bytes()
    np.savez(folder / "x.npz", X=np.hstack([X, X**2]), y=np.array([0, 0, 0, 1, 1, 1]))
    np.savez_compressed(folder / "y.npz", X=X, y=np.array(["a", "b", "a", "b", "a", "b"]))
    points = [(folder / name).read_bytes() for name in ("x.npz", "y.npz")]
    tables, table, libsvm = [text.encode() for text in TABLES], TABLES[0].encode(), LIBSVM.encode()
    csp = [CSDP.encode()]
    of_csv, of_libsvm = by(oracles.table), by(oracles.libsvm)
    labelled, gz = by(oracles.labelled), partial(gzip.compress, compresslevel=1, mtime=0)
    return [
        Target("Problem.load", "a.npz", "npz", written, nm.Problem.load, saved),
        Target("Solution.load", "a.npz", "npz", answers, nm.Solution.load, saved),
        Target("sweep, solution", "s.npz", "npz", [kept], partial(_solved, problems[0]), saved),
        Target("sweep, value", "k.json", "json", [resumed], _resumed, of_originals),
        Target("points.npz", "a.npz", "npz", points, read_points, by(oracles.arrays)),
        Target("points.csv", "a.csv", "csv", tables, read_points, of_csv),
        Target("points.csv.gz", "a.csv.gz", "csv", [table], read_points, by(oracles.packed(oracles.table)), gz),
        Target("points.libsvm", "a.libsvm", "libsvm", [libsvm], read_points, of_libsvm),
        Target("set.csv", "glass.csv", "csv", [table], partial(_folder, "glass"), labelled),
        Target(
            "set.csv.gz", "glass.csv.gz", "csv", [table], partial(_folder, "glass"),
            by(oracles.packed(oracles.labelled)), gz,
        ),
        Target(
            "set.libsvm.gz", "a1a.libsvm.gz", "libsvm", [libsvm], partial(_folder, "a1a"),
            by(oracles.packed(partial(oracles.libsvm, width=123))), gz,
        ),
        Target("libsvm.bz2", "a.bz2", "libsvm", [libsvm], read_libsvm, by(oracles.packed(oracles.libsvm)), bz2.compress),
        Target("pairs.csv", "p.csv", "pairs", [PAIRS.encode()], partial(read_pairs, n=6), by(oracles.pairs)),
        Target("comparisons.csv", "c.csv", "csv", [COMPARISONS.encode()], _comparisons, within(oracles.comparisons)),
        Target("distances.csv", "d.csv", "csv", [DISTANCES.encode()], _distances, within(oracles.distances)),
        Target("anchors.csv", "a.csv", "csv", [ANCHORS.encode()], _anchors, within(oracles.anchors)),
        Target("bounds.csv", "b.csv", "csv", [BOUNDS.encode()], _bounds, within(oracles.bounds)),
        Target("from_sdpa", "p.dat-s", "sdpa", sdpa, Problem.from_sdpa, of_originals),
        Target(
            "answer of CSDP", "p.sol", "answer", csp, partial(_answered, _program(folder)),
            by(partial(oracles.csdp, order=6)),
        ),
    ]  # fmt: skip


def within(oracle: Callable[[bytes], list[Any]]) -> Callable[[bytes, Any, list[Any]], bool]:
    """For text whose first line may be a header: one of the readings of a plain reader."""
    return lambda data, value, originals: value in oracle(data)


def _comparisons(path: Path) -> Any:
    found = read_comparisons_csv(path)
    return [tuple(found.names[k] for k in row) for row in found.rows.tolist()]


def _distances(path: Path) -> Any:
    found = read_distances_csv(path)
    weight = np.zeros(found.d.size) if found.weight is None else found.weight
    return _sorted(found.names, found.i, found.j, found.d, weight)


def _anchors(path: Path) -> Any:
    points, positions = read_anchors_csv(path)
    return [tuple(row) for row in positions[np.argsort(points)].tolist()]


def _bounds(path: Path) -> Any:
    return _sorted("abc", *read_bounds_csv(path, ("a", "b", "c")))


def _sorted(names: Any, i: Any, j: Any, *numbers: Any) -> Any:
    ends = (sorted((names[a], names[b])) for a, b in zip(i, j, strict=True))
    return sorted((*pair, *row) for pair, row in zip(ends, np.stack(numbers, axis=1).tolist(), strict=True))


def _program(folder: Path) -> Path:
    """A file in SDPA's format with a block and nine constraints."""
    entries = "".join(f"{k} 1 1 {k} 1.0\n" if k < 7 else f"{k} 1 {k - 5} {k - 5} 1.0\n" for k in range(1, 10))
    (folder / "foreign.dat-s").write_text(f"9\n1\n6\n{'1.0 ' * 9}\n{entries}")
    return folder / "foreign.dat-s"


def _answered(source: Path, path: Path) -> Any:
    _, K, (y, _) = read_answer(path, source, Problem)
    return y.constraints[0], K


def _solve(problem: nm.Problem) -> nm.Solution:
    return problem.solve("bcd")


TABLES = (
    "height,width,class\n1.5,2,0\n3,4e-1,1\n5,6,1\n-7,8,0\n",
    "1 2 3\n4 5 6\n7 8 9\n",
    "a;b;label\n1,5;2;x\n2,5;3;y\n",
    '"a","b","y"\n"r1",1,2,"u"\n"r2",3,4,"v"\n',
    "a\tb\tclass\n1\t2\t0\n3\t4\t1\n",
)
LIBSVM = "+1 1:0.5 3:1\n-1 2:1 5:0.25\n+1 1:1 4:2 # words\n"
COMPARISONS = "anchor,near,far\na,b,c\nb,a,c\nc,b,a\n"
DISTANCES = "i,j,distance,weight\na,b,1.5,1\nb,c,2,0.5\nc,a,2e-1,3\n"
ANCHORS = "sensor,x,y\na,0,0.5\nb,1,-2\nc,0,1e1\n"
BOUNDS = "i,j,lower,upper\na,b,1,2\nb,c,,3\na,c,0.5,\n"
PAIRS = "i,j,kind\n0,1,must\n3,4,must\n2,3,cannot\n"
CSDP = (
    "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9\n1 1 1 1 1.0\n2 1 1 1 1.0\n2 1 1 2 0.5\n2 1 2 2 1.0\n2 1 6 6 1.0\n"
)
