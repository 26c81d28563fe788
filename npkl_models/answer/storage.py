"""Problems and solutions as arrays and JSON in one .npz file, without pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.answer.solution import History, Solution, Status
from npkl_models.errors import ProblemError
from npkl_models.model.basis import Basis
from npkl_models.model.functionals import FUNCTIONALS, Functional
from npkl_models.model.losses import LOSSES
from npkl_models.model.problem import Problem
from npkl_models.model.regularizers import REGULARIZERS
from npkl_models.model.terms import Equality, LossTerm, Multipliers

FORMAT = 1
_HISTORY = ("iteration", "seconds", "objective", "bound", "residual", "rank")
_SCALARS = (
    "objective", "reported_objective", "iterations", "build_time", "solve_time", "message",
    "kernel_min_eigenvalue",
)  # fmt: skip


def save(solution: Solution, path: str | Path) -> Path:
    """Write a solution and its problem; returns the path with its .npz suffix."""
    problem = solution.problem
    arrays: dict[str, Any] = {}
    cost = sp.coo_array(problem.cost)
    arrays |= {"cost.row": cost.row, "cost.col": cost.col, "cost.data": cost.data}
    parts: list[dict[str, Any]] = []
    for k, part in enumerate((*problem.terms, *problem.equalities)):
        described = {"kind": part.functional.kind, "name": part.name}
        for a, index in enumerate(part.functional.indices):
            arrays[f"part{k}.index{a}"] = index
        if isinstance(part, LossTerm):
            if part.loss.name not in LOSSES:
                raise ProblemError(f"only losses in LOSSES can be saved, got {part.loss!r}")
            described["loss"] = part.loss.name
            arrays |= {f"part{k}.target": part.target, f"part{k}.weight": part.weight}
        else:
            arrays[f"part{k}.value"] = part.value
        parts.append(described)
    if problem.basis is not None:
        arrays["basis"] = problem.basis.Q
        if problem.basis.eigenvalues is not None:
            arrays["basis.eigenvalues"] = problem.basis.eigenvalues
    if solution.V is not None:
        arrays["V"] = solution.V
    if solution.multipliers is not None:
        y = solution.multipliers
        arrays |= {f"y{k}": part for k, part in enumerate((*y.terms, *y.equalities))}
        if y.rows is not None:
            arrays["y.rows"] = y.rows
    arrays |= {f"history.{name}": getattr(solution.history, name) for name in _HISTORY}
    header = {
        "format": FORMAT,
        "n": problem.n,
        "name": problem.name,
        "parts": parts,
        "regularizer": {"name": problem.regularizer.name, **asdict(problem.regularizer)},
        "backend": solution.backend,
        "status": solution.status.name,
        **{name: getattr(solution, name) for name in _SCALARS},
    }
    target = _with_suffix(path)
    np.savez_compressed(target, header=np.array(json.dumps(header)), **arrays)
    return target


def load(path: str | Path) -> Solution:
    """Read a solution written by `save`."""
    if not (Path(path).is_file() or _with_suffix(path).is_file()):
        raise ProblemError(f"a saved solution must be named, got {path}: there is no file of that name")
    with np.load(path if Path(path).is_file() else _with_suffix(path), allow_pickle=False) as file:
        data = {name: file[name] for name in file.files}
    if "header" not in data:
        raise ProblemError(f"{path} must be a file written by Solution.save, got no header in it")
    header = json.loads(str(data["header"]))
    if header.get("format") != FORMAT:
        raise ProblemError(f"file format must be {FORMAT}, got {header.get('format')}")
    problem = _problem(header, data)
    m = len(problem.terms)
    multipliers = None
    if "y0" in data:
        y = [data[f"y{k}"] for k in range(m + len(problem.equalities))]
        multipliers = Multipliers(tuple(y[:m]), tuple(y[m:]), data.get("y.rows"))
    return Solution(
        problem=problem,
        backend=header["backend"],
        status=Status[header["status"]],
        V=data.get("V"),
        multipliers=multipliers,
        history=History(*(data[f"history.{name}"] for name in _HISTORY)),
        **{name: header[name] for name in _SCALARS},
    )


def _with_suffix(path: str | Path) -> Path:
    """The path that `save` writes to: with .npz at its end, whatever dots are in its name."""
    text = str(path)
    return Path(text if text.endswith(".npz") else f"{text}.npz")


def _problem(header: dict[str, Any], data: dict[str, Any]) -> Problem:
    n = header["n"]
    cost = sp.coo_array((data["cost.data"], (data["cost.row"], data["cost.col"])), shape=(n, n))
    terms, equalities = [], []
    for k, part in enumerate(header["parts"]):
        cls = FUNCTIONALS[part["kind"]]
        indices = tuple(data[f"part{k}.index{a}"] for a in range(cls.arity))
        functional: Functional = cls(n, indices)
        if "loss" in part:
            target, weight = data[f"part{k}.target"], data[f"part{k}.weight"]
            terms.append(LossTerm(functional, part["loss"], target, weight, part["name"]))
        else:
            equalities.append(Equality(functional, data[f"part{k}.value"], part["name"]))
    fields = dict(header["regularizer"])
    regularizer = REGULARIZERS[fields.pop("name")](**fields)
    basis = Basis(data["basis"], data.get("basis.eigenvalues")) if "basis" in data else None
    return Problem(cost, terms, equalities, regularizer, basis, header["name"])
