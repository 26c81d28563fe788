"""A problem as a file in SDPA's sparse format, which CSDP, SDPA, DSDP, SDPLR, LoRADS and others read.

The file states the dual: minimise c'x with sum_k x_k F_k - F_0 positive semidefinite, block by block. The
first numbers of x are the multipliers y of all values: losses, constraints and tr K, in this order.
The multiplier of a linear loss is fixed and left out. The first block is S(y), and its dual matrix is K. For
each conjugate b y + q y^2 / 2 with q > 0, x has one more number s, with the cost s. The file then also has
the block [[1, a y], [a y, s]] with a^2 = q / 2. One diagonal block holds the bounds on the multipliers.

A regulariser tr K^2 adds a symmetric Z to S(y), and a number t that is at least its norm or its square.

If equalities make points share a row, the file states the problem over the shared rows. As constraints they
would leave no positive definite K, and rounding errors would decide whether a solver converges.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from npkl_models.data.sdpa_reader import read_program, refuse_more
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.feasibility.faces import Face, face_of
from npkl_models.files import saved
from npkl_models.files.atomic import written
from npkl_models.files.gate import PACKED, gate, text_of
from npkl_models.files.machine import available_bytes
from npkl_models.linalg import Array, Index, Mask, dense
from npkl_models.model import storage
from npkl_models.model.box import Box
from npkl_models.model.conjugates import projected, quadratic_conjugates, stated
from npkl_models.model.constraint import Constraint
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

S = TypeVar("S", bound=Statement)
MARK = "npkl_models problem"
WIDTH = 76  # characters in a line of comments
PER_ENTRY = 200  # bytes of a number while the file is written


@dataclass
class SDPAFile:
    """The numbers of a file.

    ``entries`` are places (k, block, row, column) in the matrices F_k, from 1 (k = 0 for F_0), of shape
    (nnz, 4), and the numbers there.
    """

    c: Array  # the cost of each number of x
    blocks: list[int]  # orders of the blocks, negative for diagonal blocks
    moving: Mask  # which multipliers of the problem are the first numbers of x
    fixed: Array  # the values of the other multipliers
    constant: float  # the minimum of c'x plus this constant is minus the optimum
    entries: list[tuple[Index, Array]] = field(default_factory=list)
    comments: tuple[str, ...] = ()
    face: Face | None = None  # over which the file states the problem; None for the problem as given

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


def from_sdpa(path: str | Path, cls: type[S]) -> S:
    """The problem of a file in SDPA's sparse format, plain or packed (.gz).

    A file that `to_sdpa` wrote gives that problem again. Any other file gives its semidefinite program, as
    `sdpa_reader` tells: the optimum is minus the maximum of <F_0, K>. ``cls`` is the class of the problem.

    Raises
    ------
    ProblemError
        If the file has another form, or asks for whole numbers or matrices of rank 1 in its comments, as
        files of SCIP-SDP do. The message names the line.
    """
    path = Path(path)
    with gate(path, "a file in SDPA's sparse format"):
        text = text_of(path)
        refuse_more(path, text)
        if not text.startswith(f"*{MARK}\n"):
            if MARK.split()[0] in text[: 2 * len(MARK)] or re.match(rf"\*[A-Za-z0-9+/]{{{WIDTH}}}\s", text):
                raise ProblemError(f"{path} must be a whole file that to_sdpa wrote, got another first line")
            found = read_program(path, text)
            name = path.name.removesuffix(path.suffix if path.suffix in PACKED else "")
            return cls(
                found.cost, Constraint(found.F, equal=found.c, name="F"), name=name.removesuffix(".dat-s")
            )
        lines = []
        for line in text.split("\n")[1:]:
            if not line.startswith("*"):
                break
            lines.append(line[1:].strip())
        try:
            data = base64.b64decode("".join(lines), validate=True)
            return cls.unpack(*saved.read_from(data, path, "parts", storage.check))
        except (ValueError, KeyError) as error:
            words = f"got a damaged problem in its comments: {error}"
            raise ProblemError(f"{path} must be a whole file that to_sdpa wrote, {words}") from error


def as_sdpa(problem: Statement) -> SDPAFile:
    """The numbers of the file of a problem."""
    face = face_of(problem)
    basis = face.problem.basis
    if face.whole or problem.basis is not None or basis is None or basis.shared is None:
        return _as_stated(problem)
    return replace(_as_stated(face.problem), face=face)


def _as_stated(problem: Statement) -> SDPAFile:
    R, squared = problem.regularizer, _squared(problem)
    reason = quadratic_conjugates(problem.losses)
    if reason is not None:
        raise UnsupportedError(f"SDPA's format {reason}")
    bounded = R.spectral is not None and R.spectral.bound is not None and not squared
    incidence, box, moving, fixed, cost = stated(problem)
    if not (moving.any() or squared or bounded):
        raise UnsupportedError("SDPA's format needs a multiplier that is not fixed, got linear losses only")
    C = sp.coo_array(problem.restrict(cost))
    constant = box.conjugate(fixed)
    box = box.kept(moving)
    file = SDPAFile(box.b, [problem.order], moving, fixed, constant)
    upper = C.coords[0] <= C.coords[1]
    i, j = (ends[upper] + 1 for ends in C.coords)
    file.add(0, 1, i, j, -C.data[upper])
    every = np.arange(1, problem.order + 1)
    if R.shift:
        file.add(0, 1, every, every, -R.shift)
    _values(file, problem, incidence)
    if bounded:
        box = Box.join([box, Box.half_line(np.array([R.trace_bound(problem.order)]))])
        file.c = box.b
        file.add(box.b.size, 1, every, every, 1.0)
    _ends(file, box)
    _squares(file, box)
    if squared:
        _norm(file, problem)
    return file


def _squared(problem: Statement) -> bool:
    """Whether the regulariser is one of tr K^2; an UnsupportedError for other powers."""
    R = problem.regularizer
    if R.kind != "none" and (R.spectral is None or R.spectral.p not in (1, 2)):
        raise UnsupportedError(f"SDPA's format takes tr K and tr K^2 of the regularisers, got {R.label}")
    return R.spectral is not None and R.spectral.p == 2


def _values(file: SDPAFile, problem: Statement, incidence: Incidence) -> None:
    """Add M_e, or Q'M_e Q, for each multiplier."""
    number = np.cumsum(file.moving, dtype=np.intp) * file.moving
    if problem.basis is not None:
        if problem.basis.shared is None:
            return _over_basis(file, problem, number)
        incidence = incidence.contract(*problem.basis.shared, problem.order)
    kept = file.moving[incidence.owner]
    i, j, value = incidence.row[kept], incidence.column[kept], incidence.coefficient[kept]
    file.add(number[incidence.owner[kept]], 1, i + 1, j + 1, np.where(i == j, value, 0.5 * value))
    return None


def _room(entries: float) -> None:
    """An UnsupportedError if so many numbers do not fit into memory."""
    if PER_ENTRY * entries > available_bytes():
        raise UnsupportedError(
            f"SDPA's format takes sparse matrices, got {entries:.1e} numbers, more than fit into memory; use "
            "fewer points or columns of the basis"
        )


def _over_basis(file: SDPAFile, problem: Statement, number: Index) -> None:
    """Add Q'M_e Q for each multiplier, as dense matrices."""
    Q, (i, j) = dense(problem.Q), np.triu_indices(problem.order)
    _room(float(number.size) * i.size)
    weight = np.where(i == j, 1.0, np.sqrt(0.5))
    rows = np.concatenate([part.functional.svec_operator(Q) for part in problem.terms]) * weight
    for k in np.flatnonzero(number):
        file.add(number[k], 1, i + 1, j + 1, rows[k])


def _norm(file: SDPAFile, problem: Statement) -> None:
    """Add Z to the first block, and [[t, z'], [z, t I]] or [[2 G, z'], [z, t I]] with z = svec(Z)."""
    face = problem.regularizer.spectral
    assert face is not None
    (i, j), block = np.triu_indices(problem.order), len(file.blocks) + 1
    size = i.size
    _room(float(size) ** 2)  # a solver holds the block as a dense matrix
    own, at = file.c.size + 1 + np.arange(size), 2 + np.arange(size)
    file.add(own, 1, i + 1, j + 1, np.where(i == j, 1.0, np.sqrt(0.5)))
    file.add(own, block, np.ones(size, dtype=np.intp), at, 1.0)
    t = int(own[-1]) + 1
    file.add(t, block, at, at, 1.0)
    first = np.ones(1, dtype=np.intp)
    if face.penalty is None:
        file.add(t, block, first, first, 1.0)
    else:
        file.add(0, block, first, first, -2 * face.penalty)
    cost = 1.0 if face.bound is None else np.sqrt(face.bound)
    file.blocks.append(size + 1)
    file.c = np.concatenate([file.c, np.zeros(size), [cost]])


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
