"""A problem as a file in SDPA's sparse format, which CSDP, SDPA, DSDP, SDPLR, LoRADS and others read.

The file states the dual: minimise c'x with sum_k x_k F_k - F_0 positive semidefinite, block by block. The
first numbers of x are the multipliers y of all values: losses, constraints and tr K, in this order.
The multiplier of a linear loss is fixed and left out. The first block is S(y), and its dual matrix is K. For
each conjugate b y + q y^2 / 2 with q > 0, x has one more number s, with the cost s. The file then also has
the block [[1, a y], [a y, s]] with a^2 = q / 2. One diagonal block holds the bounds on the multipliers.

If equalities make points share a row, the file states the problem over the shared rows. As constraints they
would leave no positive definite K, and rounding errors would decide whether a solver converges.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from npkl_models.data.cells import number_of
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.feasibility.faces import Face, face_of
from npkl_models.files import saved
from npkl_models.files.atomic import written
from npkl_models.files.gate import gate, text_of
from npkl_models.linalg import Array, Index, Mask
from npkl_models.model import storage
from npkl_models.model.box import Box
from npkl_models.model.conjugates import parts_of, projected, quadratic_conjugates
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement, kind

MARK = "npkl_models problem"
WIDTH = 76  # characters in a line of comments
DENSE = "an orthonormal basis that does more than make points share a row"


@dataclass
class SDPAFile:
    """The numbers of a file.

    Attributes
    ----------
    c : ndarray
        The cost of each number of x.
    blocks : list of int
        Orders of the blocks, negative for diagonal blocks.
    moving : ndarray of bool
        Which multipliers of the problem are the first numbers of x.
    fixed : ndarray
        The values of the other multipliers.
    constant : float
        The minimum of c'x plus this constant is minus the optimum.
    entries : list of (ndarray of shape (nnz, 4), ndarray of shape (nnz,))
        Places (k, block, row, column) in the matrices F_k, from 1 (k = 0 for F_0), and the numbers there.
    comments : tuple of str
        Comments, which solvers ignore.
    face : Face or None
        The face over which the file states the problem; None for the problem as given.
    """

    c: Array
    blocks: list[int]
    moving: Mask
    fixed: Array
    constant: float
    entries: list[tuple[Index, Array]] = field(default_factory=list)
    comments: tuple[str, ...] = ()
    face: Face | None = None

    def add(self, k: Index | int, block: Index | int, i: Index, j: Index, value: Array | float) -> None:
        """Add entries of F_k at (i, j) and (j, i)."""
        places = np.stack(np.broadcast_arrays(k, block, np.minimum(i, j), np.maximum(i, j)), axis=1)
        self.entries.append((places.astype(np.intp), np.broadcast_to(value, len(places)).astype(float)))

    def write(self, path: Path) -> None:
        """Write the file, with all digits of the numbers; it is written completely or not at all."""
        places = np.concatenate([p for p, _ in self.entries])
        data = np.concatenate([d for _, d in self.entries])
        unique, where = np.unique(places, axis=0, return_inverse=True)
        total = np.bincount(where.ravel(), weights=data)
        with written(path) as file:
            file.writelines(f"*{line}\n" for line in self.comments)
            file.write(f"{self.c.size}\n{len(self.blocks)}\n{' '.join(map(str, self.blocks))}\n")
            file.write(" ".join(map(repr, self.c.tolist())) + "\n")
            for (k, block, i, j), value in zip(unique.tolist(), total.tolist(), strict=True):
                if value != 0:
                    file.write(f"{k} {block} {i} {j} {value!r}\n")

    def multipliers(self, problem: Statement, x: Array) -> Multipliers:
        """The multipliers of the problem from a solver's x, moved into their domains."""
        if self.face is not None:
            return self.face.unfold(replace(self, face=None).multipliers(self.face.problem, x))
        every = self.fixed.copy()
        every[self.moving] = x[: int(np.sum(self.moving))]
        return projected(problem, problem.split_multipliers(np.split(every, np.cumsum(problem.sizes)[:-1])))


def to_sdpa(problem: Statement, path: str | Path) -> Path:
    """Write the problem in SDPA's sparse format, usually with the suffix ``.dat-s``, and return the path.

    The comments of the file contain the problem itself, for `from_sdpa`. The minimum of c'x is minus the
    optimum of the problem, up to `SDPAFile.constant` (linear losses). If the format cannot express a part of
    the problem, an `UnsupportedError` names the part.
    """
    path = Path(path)
    file = as_sdpa(problem)
    file.comments = embedded(problem)
    file.write(path)
    return path


def embedded(problem: Statement) -> tuple[str, ...]:
    """The bytes that `Problem.save` writes as lines in base 64; empty for a user's loss without a format."""
    try:
        data = saved.to_bytes(*problem.pack())
    except ProblemError:  # a user's loss, which no file can hold
        return ()
    text = base64.b64encode(data).decode()
    return (MARK, *(text[k : k + WIDTH] for k in range(0, len(text), WIDTH)))


def from_sdpa(path: str | Path) -> Statement:
    """The problem from a file that `to_sdpa` wrote.

    Any other file raises a `ProblemError`: SDPA's format does not tell losses from bounds.
    """
    with gate(path, "a file that to_sdpa wrote"):
        lines = []
        for line in text_of(Path(path)).split("\n"):
            if not line.startswith("*"):
                break
            lines.append(line[1:].strip())
        if not lines or lines[0] != MARK:
            raise ProblemError(
                f"{path} must be a file that to_sdpa wrote, got a file without a problem in its comments"
            )
        try:
            data = base64.b64decode("".join(lines[1:]), validate=True)
            return kind().unpack(*saved.read_from(data, path, "parts", storage.check))
        except (ValueError, KeyError) as error:
            words = f"got a damaged problem in its comments: {error}"
            raise ProblemError(f"{path} must be a whole file that to_sdpa wrote, {words}") from error


def read_solution(path: str | Path, problem: Statement) -> tuple[Array, Array]:
    """The vector x and the unknown matrix (order x order) from a file of CSDP, or of DSDP with -save.

    The first line of the file is x. Each further line is an entry (matrix, block, row, column, value). Matrix
    2 is the dual one, and its first block is K, or U if there is a basis.

    Raises
    ------
    ProblemError
        If the file has another form; the message names the line.
    """
    with gate(path, "a solution as CSDP writes it"):
        lines = text_of(Path(path)).split("\n")
        x, rows = _numbers_of(path, lines, 0), [k for k in range(1, len(lines)) if lines[k].strip()]
        rest = _entries(path, lines, rows)
        stated = as_sdpa(problem)
        count, order = stated.c.size, stated.blocks[0]
        if x.size != count:
            raise ProblemError(f"{path}, line 1: must have the {count} numbers of this problem, got {x.size}")
        mine = (rest[:, 0] == 2) & (rest[:, 1] == 1)
        own, at = rest[mine], np.asarray(rows, dtype=np.intp)[mine]
        outside = np.flatnonzero((own[:, 2:4] > order).any(axis=1))
        if outside.size:
            raise ProblemError(
                f"{path}, line {at[outside[0]] + 1}: must have a row and a column of this problem, of order "
                f"{order}, got {own[outside[0], 2:4].astype(int).tolist()}"
            )
        i, j = (own[:, k].astype(np.intp) - 1 for k in (2, 3))
        keys = np.minimum(i, j) * order + np.maximum(i, j)
        if np.unique(keys).size < keys.size:
            raise ProblemError(f"{path} must have each entry once, got some of the kernel twice")
        K = np.zeros((order, order))
        K[i, j] = K[j, i] = own[:, 4]
        if stated.face is not None:
            Q = stated.face.problem.Q
            K = Q @ K @ Q.T
        return x, K


def _numbers_of(path: str | Path, lines: list[str], k: int) -> Array:
    """The finite numbers of a line."""
    found = [number_of(word) for word in lines[k].split()]
    if None in found:
        raise ProblemError(f"{path}, line {k + 1}: must hold finite numbers, got {lines[k][:60]!r}")
    return np.array(found, dtype=float)


def _entries(path: str | Path, lines: list[str], rows: list[int]) -> Array:
    """Matrix, block, row, column and value of each of the given lines."""
    if not rows:
        return np.zeros((0, 5))
    try:
        found = np.loadtxt([lines[k] for k in rows], comments=None, ndmin=2)
    except ValueError:
        found = np.zeros((0, 5))
    if found.shape == (len(rows), 5) and _is_entry(found).all():
        return found
    every = [_numbers_of(path, lines, k) for k in rows]  # line by line, to find the wrong one
    wrong = next(
        k for k, one in zip(rows, every, strict=True) if one.size != 5 or not _is_entry(one[None])[0]
    )
    raise ProblemError(
        f"{path}, line {wrong + 1}: must be five numbers, the matrix (1 or 2), block, row and column from 1, "
        f"and a value, got {lines[wrong][:60]!r}"
    )


def _is_entry(found: Array) -> Mask:
    """Which rows are entries: matrix, block, row and column as whole numbers, and a finite value."""
    places = found[:, :4]
    whole = np.isfinite(found).all(axis=1) & (places == np.floor(places)).all(axis=1)
    return whole & (places >= 1).all(axis=1) & (places < 2**31).all(axis=1) & (found[:, 0] <= 2)


def as_sdpa(problem: Statement) -> SDPAFile:
    """The numbers of the file of a problem."""
    face = face_of(problem)
    basis = face.problem.basis
    if face.whole or problem.basis is not None or basis is None or basis.shared is None:
        return _as_stated(problem)
    return replace(_as_stated(face.problem), face=face)


def _as_stated(problem: Statement) -> SDPAFile:
    R = problem.regularizer
    if R.kind != "none" and (R.spectral is None or R.spectral.p != 1):
        raise UnsupportedError(f"SDPA's format takes tr K of the regularisers, got {R.label}")
    reason = quadratic_conjugates(problem.losses)
    if reason is not None:
        raise UnsupportedError(f"SDPA's format {reason}")
    incidences, boxes = parts_of(problem)
    incidence, box = Incidence.stack(incidences), Box.join(boxes)
    moving = box.lower < box.upper
    if not moving.any() and (R.spectral is None or R.spectral.bound is None):
        raise UnsupportedError("SDPA's format needs a multiplier that is not fixed, got linear losses only")
    fixed = np.where(moving, 0.0, box.lower)
    C = sp.coo_array(problem.restrict(problem.cost + incidence.adjoint(fixed)))
    number = np.cumsum(moving, dtype=np.intp) * moving
    constant = box.conjugate(fixed)
    box = box.kept(moving)
    file = SDPAFile(box.b, [problem.order], moving, fixed, constant)
    upper = C.coords[0] <= C.coords[1]
    i, j = (ends[upper] + 1 for ends in C.coords)
    file.add(0, 1, i, j, -C.data[upper])
    if R.shift:
        every = np.arange(1, problem.order + 1)
        file.add(0, 1, every, every, -R.shift)
    if problem.basis is not None:
        if problem.basis.shared is None:
            raise UnsupportedError(f"SDPA's format takes sparse matrices, got {DENSE}")
        incidence = incidence.contract(*problem.basis.shared, problem.order)
    kept = moving[incidence.owner]
    i, j, value = incidence.row[kept], incidence.column[kept], incidence.coefficient[kept]
    file.add(number[incidence.owner[kept]], 1, i + 1, j + 1, np.where(i == j, value, 0.5 * value))
    if R.spectral is not None and R.spectral.bound is not None:
        box = Box.join([box, Box.half_line(np.array([R.trace_bound(problem.order)]))])
        file.c = box.b
        every = np.arange(1, problem.order + 1)
        file.add(box.b.size, 1, every, every, 1.0)
    _ends(file, box)
    _squares(file, box)
    return file


def _ends(file: SDPAFile, box: Box) -> None:
    """Add a diagonal block with y - lower and upper - y."""
    below, above = np.flatnonzero(box.below), np.flatnonzero(box.above)
    if not box.count:
        return
    file.blocks.append(-box.count)
    at = np.arange(1, box.count + 1)
    first, second = at[: below.size], at[below.size :]
    block = len(file.blocks)
    for where, places, end, sign in ((below, first, box.lower, 1.0), (above, second, box.upper, -1.0)):
        file.add(where + 1, block, places, places, sign)
        file.add(0, block, places, places, sign * end[where])


def _squares(file: SDPAFile, box: Box) -> None:
    """Add a number s >= q y^2 / 2 for each y with q > 0."""
    curved = np.flatnonzero(box.q > 0)
    one = np.ones(curved.size, dtype=np.intp)
    block = len(file.blocks) + 1 + np.arange(curved.size)
    file.blocks += [2] * curved.size
    file.add(0, block, one, one, -1.0)
    file.add(curved + 1, block, one, 2 * one, np.sqrt(0.5 * box.q[curved]))
    file.add(box.b.size + 1 + np.arange(curved.size), block, 2 * one, 2 * one, 1.0)
    file.c = np.concatenate([file.c, np.ones(curved.size)])
