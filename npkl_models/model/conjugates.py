"""The conjugates of all values of a problem; see `box`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npkl_models.model.box import Box
from npkl_models.model.functionals import Entries
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers


def quadratic_conjugates(problem: Statement) -> str | None:
    """The reason why the conjugate of a loss is not quadratic on its domain; None if all are."""
    for term in problem.terms:
        if term.loss.entropy:
            return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return boxed_conjugates(problem)


def boxed_conjugates(problem: Statement) -> str | None:
    """The reason why the conjugate of a loss is not that of a `Box`; None if all are."""
    for term in problem.terms:
        t, w = term.target, term.weight
        box = term.loss.box(t, w)
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.project(share * w)
            with np.errstate(over="ignore", invalid="ignore"):
                value = term.loss.conjugate(y, t, w)
                model = box.each(y)
            if not np.allclose(value, model, rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return None


def parts_of(problem: Statement) -> tuple[list[Incidence], list[Box]]:
    """The values of terms, equalities and row norms, in this order, and their conjugates."""
    n, radius = problem.n, problem.regularizer.row_radius
    incidences = [part.functional.incidence for part in problem.parts]
    boxes = [term.loss.box(term.target, term.weight) for term in problem.terms]
    for part in problem.equalities:
        zero = np.zeros_like(part.value)
        boxes.append(Box(part.value, zero, *part.domain, zero))
    if radius is not None:
        every = np.arange(n)
        incidences.append(Entries(n, (every, every)).incidence)
        boxes.append(Box.half_line(np.full(n, radius**2)))
    return incidences, boxes


def projected(problem: Statement, y: Multipliers) -> Multipliers:
    """The nearest multipliers in the domain of the conjugates."""
    terms = tuple(term.project(part) for term, part in zip(problem.terms, y.terms, strict=True))
    rows = None
    if problem.regularizer.row_multipliers:
        rows = np.maximum(np.zeros(problem.n) if y.rows is None else y.rows, 0.0)
    return replace(y, terms=terms, rows=rows)
