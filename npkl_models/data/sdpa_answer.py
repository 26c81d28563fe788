"""Answers to files in SDPA's sparse format, as CSDP, DSDP with -save, SDPA and SDPLR write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npkl_models.data.answer_formats import OF_SDPA, OF_SDPLR, from_sdpa_result, from_sdplr
from npkl_models.data.cells import number_of
from npkl_models.data.sdpa import MARK, S, as_sdpa, from_sdpa
from npkl_models.data.sdpa_reader import read_program
from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, text_of
from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

WRITTEN = "a solution as CSDP, DSDP, SDPA or SDPLR writes it"


def read_solution(path: str | Path, problem: Statement) -> tuple[Array, Array]:
    """The vector x and the unknown matrix (order x order) from the file of a solver.

    The first block of the solver's dual matrix is K, or U if there is a basis.

    Raises
    ------
    ProblemError
        If the file has another form; the message names the line.
    """
    with gate(path, WRITTEN):
        stated = as_sdpa(problem)
        x, K = _solution(path, text_of(Path(path)), stated.c.size, np.array(stated.blocks), 1)
        if stated.face is not None:
            Q = stated.face.problem.Q
            K = Q @ K @ Q.T
        return x, K


def read_answer(
    path: str | Path, source: str | Path, cls: type[S]
) -> tuple[S, Array, tuple[Multipliers, ...]]:
    """The problem of an SDPA file, and the kernel and multipliers that a solver has written for this file.

    Raises
    ------
    ProblemError
        If a file has another form; the message names the line.
    """
    problem = from_sdpa(source, cls)
    text = text_of(Path(source))
    if text.startswith(f"*{MARK}\n"):
        x, U = read_solution(path, problem)
        stated = as_sdpa(problem)
        K = U if problem.basis is None else problem.lift(problem.lift(U).T)
        return problem, K, tuple(stated.multipliers(problem, sign * x) for sign in (1.0, -1.0))
    program = read_program(Path(source), text)
    with gate(path, WRITTEN):
        x, K = _solution(
            path, text_of(Path(path)), program.c.size, np.array(program.blocks), len(program.blocks)
        )
    return problem, np.pad(K, (0, problem.n - len(K))), (Multipliers((), (x,)), Multipliers((), (-x,)))


def _solution(path: str | Path, text: str, count: int, blocks: Index, kept: int) -> tuple[Array, Array]:
    """The vector x, and the matrix with the first ``kept`` of these blocks.

    The first line of CSDP's file is x. Each further line is an entry (matrix, block, row, column, value), and
    matrix 2 is the dual one.
    """
    if text.lstrip().startswith(OF_SDPLR):
        return from_sdplr(path, text, count, blocks, kept)
    if OF_SDPA.search(text):
        return from_sdpa_result(path, text, count, blocks, kept)
    lines = text.split("\n")
    x, rows = _numbers_of(path, lines, 0), [k for k in range(1, len(lines)) if lines[k].strip()]
    if x.size != count:
        raise ProblemError(f"{path}, line 1: must have the {count} numbers of this problem, got {x.size}")
    rest, sizes = _entries(path, lines, rows), np.abs(blocks[:kept])
    mine = (rest[:, 0] == 2) & (rest[:, 1] <= kept)
    own, at = rest[mine], np.asarray(rows, dtype=np.intp)[mine]
    block = own[:, 1].astype(np.intp) - 1
    outside = np.flatnonzero((own[:, 2:4] > sizes[block][:, None]).any(axis=1))
    if outside.size:
        k = outside[0]
        raise ProblemError(
            f"{path}, line {at[k] + 1}: must have a row and a column of this problem, of order "
            f"{sizes[block[k]]}, got {own[k, 2:4].astype(int).tolist()}"
        )
    start, order = np.concatenate([[0], np.cumsum(sizes)])[block], int(sizes.sum())
    i, j = (start + own[:, k].astype(np.intp) - 1 for k in (2, 3))
    keys = np.minimum(i, j) * order + np.maximum(i, j)
    if np.unique(keys).size < keys.size:
        raise ProblemError(f"{path} must have each entry once, got some of the kernel twice")
    K = np.zeros((order, order))
    K[i, j] = K[j, i] = own[:, 4]
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
