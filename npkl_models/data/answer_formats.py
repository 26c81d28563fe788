"""The answers of SDPA (.result) and SDPLR: the vector x, and the unknown matrix block by block."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from npkl_models.data.cells import number_of
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index

OF_SDPLR = "dual variable"
OF_SDPA = re.compile(r"^xVec\s*=", re.MULTILINE)
SECTIONS = re.compile(r"\b(xVec|xMat|yMat)\s*=")


def from_sdpa_result(
    path: str | Path, text: str, count: int, blocks: Index, kept: int
) -> tuple[Array, Array]:  # fmt: skip
    """The vector xVec and the matrix yMat of SDPA's result; a diagonal block is a list of numbers."""
    marks = list(SECTIONS.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    for name in ("xVec", "yMat"):
        if name not in parts:
            raise ProblemError(f"{path} must have a part {name} =, as SDPA writes it, got none")
    x = _numbers(path, "xVec", parts["xVec"], count)
    sizes = [abs(int(k)) if k < 0 else int(k) ** 2 for k in blocks]
    last = parts["yMat"][: parts["yMat"].rfind("}") + 1]
    found = np.split(_numbers(path, "yMat", last, sum(sizes)), np.cumsum(sizes)[:-1])
    return x, _stacked([
        np.diag(own) if k < 0 else own.reshape(abs(int(k)), -1)
        for k, own in zip(blocks[:kept], found[:kept], strict=True)
    ])  # fmt: skip


def from_sdplr(path: str | Path, text: str, count: int, blocks: Index, kept: int) -> tuple[Array, Array]:
    """The dual variables and the matrix RR' from SDPLR's file, whose R are written column by column."""
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
    return x, _stacked(out)


def _numbers(path: str | Path, what: str, text: str, count: int) -> Array:
    """So many finite numbers between braces and commas."""
    words = re.sub(r"[{},]", " ", text).split()
    found = [number_of(word) for word in words]
    if len(found) != count or None in found:
        wrong = next((w for w, one in zip(words, found, strict=True) if one is None), f"{len(found)} numbers")
        raise ProblemError(f"{path}: {what} must be {count} finite numbers, got {wrong[:60]}")
    return np.array(found, dtype=float)


def _stacked(blocks: list[Array]) -> Array:
    """One matrix with these blocks on its diagonal."""
    sizes = [len(block) for block in blocks]
    K, start = np.zeros((sum(sizes), sum(sizes))), 0
    for block in blocks:
        K[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return K
