"""Answers to files in SDPA's sparse format, as CSDP, DSDP with -save, SDPA and SDPLR write them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy.linalg import block_diag

from npkl_models.data.cells import number_of
from npkl_models.data.sdpa import MARK, S, SDPAFile, as_sdpa, from_sdpa
from npkl_models.data.sdpa_reader import Program, Reader, check, entries, places, read_program
from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, text_of
from npkl_models.linalg import Array, Index
from npkl_models.model.multipliers import Multipliers

SECTIONS = re.compile(r"\b(xVec|xMat|yMat)\s*=")


def read_answer(
    path: str | Path, source: str | Path, cls: type[S]
) -> tuple[S, Array, tuple[Multipliers, ...]]:
    """The problem of an SDPA file, and the kernel and multipliers that a solver has written for this file.

    The kernel is the dual matrix of the solver: its first block if `to_sdpa` wrote the file, else all blocks.

    Raises
    ------
    ProblemError
        If a file has another form, or the answer the sizes of another problem; the message names the line.
    """
    problem, text = from_sdpa(source, cls), text_of(Path(source))
    own = text.startswith(f"*{MARK}\n")
    stated: SDPAFile | Program = as_sdpa(problem) if own else read_program(Path(source), text)
    with gate(path, "a solution as CSDP, DSDP, SDPA or SDPLR writes it"):
        answer = text_of(Path(path))
        read = _of_sdplr if answer.lstrip().startswith("dual variable") else _of_csdp
        read = _of_sdpa if re.search(r"^xVec\s*=", answer, re.MULTILINE) else read
        kept = 1 if own else len(stated.blocks)
        x, K = read(Path(path), answer, stated.c.size, np.array(stated.blocks), kept)
    signed = (x, -x)
    if not isinstance(stated, SDPAFile):
        return problem, K, tuple(Multipliers((), (y,)) for y in signed)
    if stated.face is not None:
        K = stated.face.problem.lift(stated.face.problem.lift(K).T)
    K = K if problem.basis is None else problem.lift(problem.lift(K).T)
    return problem, K, tuple(stated.multipliers(problem, y) for y in signed)


def _of_csdp(path: Path, text: str, count: int, blocks: Index, kept: int) -> tuple[Array, Array]:
    """The vector x of the first line; each further line is an entry, and matrix 2 is the dual one.

    Of each format, the first ``kept`` blocks of the dual matrix are returned as one matrix.
    """
    reader = Reader(path, text)
    x = [number_of(word) for word in reader.next_line("must be numbers")]
    if len(x) != count or None in x:
        raise reader.fail(f"must have the {count} numbers of this problem")
    found, at = entries(reader)
    check(reader, found, at, 1, 2, blocks)
    found = found[(found[:, 0] == 2) & (found[:, 1] <= kept)]
    (i, j), order = places(found, blocks), int(np.abs(blocks[:kept]).sum())
    K = np.zeros((order, order))
    K[i, j] = K[j, i] = found[:, 4]
    return np.array(x, dtype=float), K


def _of_sdpa(path: Path, text: str, count: int, blocks: Index, kept: int) -> tuple[Array, Array]:
    """The vector xVec and the matrix yMat of SDPA's result; a diagonal block is a list of numbers."""
    marks = list(SECTIONS.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    for name in ("xVec", "yMat"):
        if name not in parts:
            raise ProblemError(f"{path} must have a part {name} =, as SDPA writes it, got none")
    sizes = [abs(int(k)) if k < 0 else int(k) ** 2 for k in blocks]
    last = parts["yMat"][: parts["yMat"].rfind("}") + 1]
    found = np.split(_numbers(path, "yMat", last, sum(sizes)), np.cumsum(sizes)[:-1])
    each = zip(blocks[:kept].tolist(), found, strict=False)
    out = [np.diag(own) if k < 0 else own.reshape(k, k) for k, own in each]
    return _numbers(path, "xVec", parts["xVec"], count), block_diag(*out)


def _of_sdplr(path: Path, text: str, count: int, blocks: Index, kept: int) -> tuple[Array, Array]:
    """The dual variables and the matrices RR' from SDPLR's file, whose R are written column by column."""
    words = iter(text.split())

    def following(what: str, number: int) -> Array:
        return _numbers(path, what, " ".join(next(words, "") for _ in range(number)), number)

    def named(*expected: str) -> None:
        got = [next(words, "nothing") for _ in expected]
        if any(asked and asked != word for asked, word in zip(expected, got, strict=True)):
            raise ProblemError(f"{path} must have {' '.join(expected).strip()}, got {' '.join(got)}")

    named("dual", "variable", str(count))
    x, out = following("dual variables", count), []
    for k, size in enumerate(blocks[:kept].tolist()):
        kind, order = ("d", -size) if size < 0 else ("s", size)
        named("primal", "variable", str(k + 1), kind, str(order), "")
        rank = following("the rank of a block", 1)[0]
        if not (rank == int(rank) and 0 <= rank <= order):
            raise ProblemError(f"{path}: the rank of block {k + 1} must be from 0 to {order}, got {rank:g}")
        R = following(f"block {k + 1}", order * int(rank)).reshape(int(rank), order).T
        out.append(np.diag(np.square(R).sum(axis=1)) if kind == "d" else R @ R.T)
    return x, block_diag(*out)


def _numbers(path: Path, what: str, text: str, count: int) -> Array:
    """So many finite numbers between braces and commas."""
    words = re.sub(r"[{},]", " ", text).split()
    found = [number_of(word) for word in words]
    if len(found) != count or None in found:
        wrong = next((w for w, one in zip(words, found, strict=True) if one is None), f"{len(found)} numbers")
        raise ProblemError(f"{path}: {what} must be {count} finite numbers, got {wrong[:60]}")
    return np.array(found, dtype=float)
