"""Problems and what belongs to them as arrays and JSON in one .npz file, without pickle."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Matrix
from npkl_models.model.basis import Basis
from npkl_models.model.functionals import FUNCTIONALS, Functional
from npkl_models.model.losses import LOSSES
from npkl_models.model.regularizers import REGULARIZERS, Regularizer
from npkl_models.model.terms import Equality, LossTerm

FORMAT = 2
Header = dict[str, Any]
Arrays = dict[str, Any]


def pack(
    cost: Matrix, terms: Sequence[LossTerm], equalities: Sequence[Equality], regularizer: Regularizer,
    basis: Basis | None, name: str,
) -> tuple[Header, Arrays]:  # fmt: skip
    """The parts of a problem as a JSON header and arrays."""
    coo = sp.coo_array(cost)
    arrays: Arrays = {"cost.row": coo.row, "cost.col": coo.col, "cost.data": coo.data}
    parts: list[Header] = []
    every: tuple[LossTerm | Equality, ...] = (*terms, *equalities)
    for k, part in enumerate(every):
        if FUNCTIONALS.get(part.functional.kind) is not type(part.functional):
            raise ProblemError(f"only functionals in FUNCTIONALS can be saved, got {part.functional!r}")
        described: Header = {"kind": part.functional.kind, "name": part.name}
        arrays |= {f"part{k}.index{a}": index for a, index in enumerate(part.functional.indices)}
        if isinstance(part, LossTerm):
            if type(LOSSES.get(part.loss.name)) is not type(part.loss):
                raise ProblemError(f"only losses in LOSSES can be saved, got {part.loss!r}")
            described["loss"] = {"name": part.loss.name, **asdict(part.loss)}
            arrays |= {f"part{k}.target": part.target, f"part{k}.weight": part.weight}
        else:
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
    header = {"format": FORMAT, "n": cost.shape[0], "name": name, "parts": parts, "regularizer": kind}
    return header, arrays


def unpack(header: Header, data: Arrays) -> Header:
    """The parts of a problem by their names, from what `pack` made."""
    n = header["n"]
    cost = sp.coo_array((data["cost.data"], (data["cost.row"], data["cost.col"])), shape=(n, n))
    terms, equalities = [], []
    for k, part in enumerate(header["parts"]):
        cls = FUNCTIONALS[part["kind"]]
        functional: Functional = cls(n, tuple(data[f"part{k}.index{a}"] for a in range(cls.arity)))
        if "loss" in part:
            target, weight = data[f"part{k}.target"], data[f"part{k}.weight"]
            kind = dict(part["loss"])
            loss = type(LOSSES[kind.pop("name")])(**kind)
            terms.append(LossTerm(functional, loss, target, weight, part["name"]))
        else:
            equalities.append(Equality(functional, data[f"part{k}.value"], part["name"]))
    regularizer = dict(header["regularizer"])
    Q = data.get("basis")
    if "basis.data" in data:
        ends = (data["basis.row"], data["basis.col"])
        Q = sp.csr_array((data["basis.data"], ends), shape=tuple(data["basis.shape"]))
    basis = None if Q is None else Basis(Q, data.get("basis.eigenvalues"))
    return {
        "cost": cost, "terms": terms, "equalities": equalities, "basis": basis, "name": header["name"],
        "regularizer": REGULARIZERS[regularizer.pop("name")](**regularizer),
    }  # fmt: skip


def write(path: str | Path, header: Header, arrays: Arrays) -> Path:
    """Write header and arrays to one file; returns its path with the suffix .npz."""
    target = _with_suffix(path)
    np.savez_compressed(target, header=np.array(json.dumps(header)), **arrays)
    return target


def read(path: str | Path, what: str) -> tuple[Header, Arrays]:
    """Header and arrays of a file; ``what`` is a key that its header must have."""
    found = next((p for p in (Path(path), _with_suffix(path)) if p.is_file()), None)
    if found is None:
        raise ProblemError(f"a saved file must be named, got {path}: there is no file of that name")
    with opened(found) as file:
        data = {name: file[name] for name in file.files}
        header = json.loads(str(data["header"])) if "header" in data else {}
    if what not in header:
        raise ProblemError(f"{path} must be a file written by save, got one without {what!r} in its header")
    if header.get("format") != FORMAT:
        raise ProblemError(f"file format must be {FORMAT}, got {header.get('format')}")
    return header, data


@contextmanager
def opened(path: str | Path) -> Iterator[Any]:
    """The arrays of a .npz file, whatever else it is called.

    Raises
    ------
    ProblemError
        If it is none, or torn.
    """
    try:
        with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array")
            yield file
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ProblemError(f"{path} must be a whole .npz file of plain arrays: {error}") from error


def _with_suffix(path: str | Path) -> Path:
    """The path that is written to: with .npz at its end, whatever dots are in its name."""
    text = str(path)
    return Path(text if text.endswith(".npz") else f"{text}.npz")
