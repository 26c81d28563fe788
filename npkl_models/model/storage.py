"""Problems and their answers as arrays and JSON in one .npz file, without pickle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError, chosen, unknown
from npkl_models.files import saved
from npkl_models.files.arrays import Archive
from npkl_models.files.fields import listed, mapping, text, whole
from npkl_models.files.saved import Header
from npkl_models.linalg import Matrix
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import SIDES, Constraint
from npkl_models.model.functionals import FUNCTIONALS, Functional
from npkl_models.model.losses import LOSSES, BoxLoss, Loss, get_loss, huber
from npkl_models.model.regularizers import REGULARIZERS, Regularizer
from npkl_models.model.terms import LossTerm

Arrays = dict[str, Any]
FEW = 2**20  # points or values that a file may declare even if it holds fewer numbers
WIDEST = 4  # most columns of a factor, over the number of points
HISTORY = "history."


def pack(
    cost: Matrix, terms: Sequence[LossTerm | Constraint], regularizer: Regularizer,
    basis: Basis | None, name: str,
) -> tuple[Header, Arrays]:  # fmt: skip
    """The parts of a problem as a JSON header and arrays."""
    coo = sp.coo_array(cost)
    arrays: Arrays = {"cost.row": coo.row, "cost.col": coo.col, "cost.data": coo.data}
    parts: list[Header] = []
    for k, part in enumerate(terms):
        if FUNCTIONALS.get(part.functional.kind) is not type(part.functional):
            raise ProblemError(f"only functionals in FUNCTIONALS can be saved, got {part.functional!r}")
        described: Header = {"kind": part.functional.kind, "name": part.name}
        arrays |= {f"part{k}.index{a}": index for a, index in enumerate(part.functional.indices)}
        arrays |= {f"part{k}.number.{name}": own for name, own in part.functional.numbers.items()}
        if isinstance(part, LossTerm):
            described["loss"] = _described(part.loss)
            arrays |= {f"part{k}.target": part.target, f"part{k}.weight": part.weight}
        else:
            described["constraint"] = part.kinds[0]
            arrays[f"part{k}.value"] = part.value
        parts.append(described)
    if REGULARIZERS.get(regularizer.name) is not type(regularizer):
        raise ProblemError(f"only regularisers in REGULARIZERS can be saved, got {regularizer!r}")
    if basis is not None:
        Q = sp.coo_array(basis.Q) if sp.issparse(basis.Q) else None
        if Q is None:
            arrays["basis"] = basis.Q
        else:
            arrays |= {"basis.row": Q.row, "basis.col": Q.col, "basis.data": Q.data}
            arrays["basis.shape"] = np.array(Q.shape)
        if basis.eigenvalues is not None:
            arrays["basis.eigenvalues"] = basis.eigenvalues
    kind = {"name": regularizer.name, **asdict(regularizer)}
    header = {"n": cost.shape[0], "name": name, "parts": parts, "regularizer": kind}
    return header, arrays


def unpack(header: Header, data: Arrays) -> Header:
    """The parts of a problem by their names, from the header and arrays of `pack`."""
    n = whole(header, "n", 1)
    cost = sp.coo_array((data["cost.data"], (data["cost.row"], data["cost.col"])), shape=(n, n))
    terms: list[LossTerm | Constraint] = []
    for k, part in enumerate(header["parts"]):
        cls = FUNCTIONALS[part["kind"]]
        head = f"part{k}.number."
        numbers = {name.removeprefix(head): own for name, own in data.items() if name.startswith(head)}
        functional = _functional(cls, n, tuple(data[f"part{k}.index{a}"] for a in range(cls.arity)), numbers)
        if "loss" in part:
            target, weight = data[f"part{k}.target"], data[f"part{k}.weight"]
            loss = _loss(mapping(part["loss"], "a loss"))
            terms.append(LossTerm(functional, loss, target, weight, text(part, "name")))
        else:
            side = {SIDES[chosen("constraint", text(part, "constraint"), SIDES)]: data[f"part{k}.value"]}
            terms.append(Constraint(functional, **side, name=text(part, "name")))
    Q = data.get("basis")
    if "basis.data" in data:
        ends = (data["basis.row"], data["basis.col"])
        Q = sp.coo_array((data["basis.data"], ends), shape=_basis_shape(data["basis.shape"].tolist(), n))
    basis = None if Q is None else Basis(Q, data.get("basis.eigenvalues"))
    return {
        "cost": cost, "terms": terms, "basis": basis, "name": text(header, "name"),
        "regularizer": _made(mapping(header["regularizer"], "a regulariser"), REGULARIZERS),
    }  # fmt: skip


def _functional(
    cls: type[Functional], n: int, indices: tuple[Any, ...], numbers: dict[str, Any]
) -> Functional:
    """A functional from its indices and numbers; a missing or superfluous number is an error."""
    try:
        made = cls.made(n, indices, numbers)
    except KeyError as missing:
        raise ProblemError(f"{cls.kind} must have numbers by the name {missing}, got none") from None
    if made.numbers.keys() != numbers.keys():
        raise ProblemError(f"{cls.kind} must have the numbers {[*made.numbers]}, got {[*numbers]}")
    return made


def _described(loss: Loss) -> Header:
    """The name of a loss, with its numbers if these alone make it."""
    if type(loss) is BoxLoss:
        return asdict(loss)
    if type(LOSSES.get(loss.name)) is not type(loss):
        raise ProblemError(f"only losses in LOSSES, and any BoxLoss, can be saved, got {loss!r}")
    return {"name": loss.name}


def _loss(described: Header) -> Loss:
    """The loss that `_described` describes; a wrong field is an error."""
    if described.keys() == {"name"}:
        return get_loss(text(described, "name"))
    wanted = asdict(huber())
    if described.keys() != wanted.keys():
        raise ProblemError(f"a loss must have the fields {', '.join(wanted)}, got {sorted(described)[:9]}")
    for name, example in wanted.items():
        if type(described[name]) is not type(example):
            raise ProblemError(
                f"field {name!r} of a loss must be {type(example).__name__}, got {described[name]!r:.60}"
            )
    return BoxLoss(**described)


def _made(described: Header, known: dict[str, Any]) -> Any:
    """A regulariser from its name and parameters; a wrong parameter is an error."""
    own = dict(described)
    name = text(own, "name")
    if name not in known:
        raise unknown("regulariser", name, known)
    del own["name"]
    made = known[name](**own)
    if json.dumps(asdict(made), sort_keys=True) != json.dumps(own, sort_keys=True):
        raise ProblemError(f"{name} must have the parameters {asdict(made)}, got {str(own)[:60]}")
    return made


def check(header: Header, archive: Archive) -> None:
    """Raise an error for arrays that the header does not describe, or that are too large for its parts."""
    n, shapes = whole(header, "n", 1), {**archive.shapes}
    if n > max(FEW, archive.numbers):
        raise ProblemError(f"field 'n' must be at most the numbers of the file, {archive.numbers}, got {n}")
    del shapes[saved.HEADER]
    _same(shapes, [f"cost.{part}" for part in ("row", "col", "data")], min(n**2, archive.numbers))
    sizes = []
    for k, part in enumerate(listed(header, "parts")):
        kind = text(mapping(part, f"part {k}"), "kind")
        if kind not in FUNCTIONALS:
            raise unknown("functional", kind, FUNCTIONALS)
        arity = FUNCTIONALS[kind].arity
        values = ("target", "weight") if "loss" in part else ("value",)
        names = [f"part{k}.{name}" for name in (*(f"index{a}" for a in range(arity)), *values)]
        sizes.append(_same(shapes, names, max(FEW, n**arity)))
        for name in [name for name in shapes if name.startswith(f"part{k}.number.")]:
            _same(shapes, [name], max(FEW, archive.numbers))
    _check_basis(shapes, n)
    _check_answer(shapes, n, sizes)
    if shapes:
        more = sorted(shapes)[:3]
        raise ProblemError(f"a file must hold the arrays of its header alone, got {more} as well")


def _same(shapes: dict[str, Any], names: Sequence[str], most: int) -> int:
    """Remove vectors of one length from the shapes, and return their length."""
    found = {shapes.pop(name, None) for name in names}
    shape = found.pop()
    if found or shape is None or len(shape) != 1 or shape[0] > most:
        raise ProblemError(f"{', '.join(names)} must be vectors of one length up to {most}, got {shape}")
    return int(shape[0])


def _check_basis(shapes: dict[str, Any], n: int) -> None:
    if "basis.data" in shapes:
        _same(shapes, ["basis.row", "basis.col", "basis.data"], n**2)
        shapes["basis"] = (n, 1) if shapes.pop("basis.shape", None) == (2,) else None
    _basis_shape(shapes.pop("basis", (n, 1)), n)
    if "basis.eigenvalues" in shapes:
        _same(shapes, ["basis.eigenvalues"], n)


def _basis_shape(shape: Sequence[int] | None, n: int) -> tuple[int, ...]:
    if shape is None or len(shape) != 2 or shape[0] != n or not 1 <= shape[1] <= n:
        raise ProblemError(f"a basis must have the shape (n, s) with 1 <= s <= n = {n}, got {shape}")
    return tuple(shape)


def _check_answer(shapes: dict[str, Any], n: int, sizes: Sequence[int]) -> None:
    V = shapes.pop("V", (n, 1))
    if len(V) != 2 or V[0] != n or not 1 <= V[1] <= WIDEST * n:
        raise ProblemError(f"V must have {n} rows and up to {WIDEST * n} columns, got shape {V}")
    for k, size in enumerate(sizes):
        if shapes.pop(f"y{k}", (size,)) != (size,):
            raise ProblemError(f"y{k} must have {size} numbers, got another shape")
    columns = [name for name in shapes if name.startswith(HISTORY)]
    if columns:
        _same(shapes, columns, FEW * 16)


def read(path: str | Path, what: str) -> tuple[Header, Arrays]:
    """Header and arrays of a file; ``what`` is a key that its header must have."""
    return saved.read(path, what, check)
