"""The conjugates of all values of a problem; see `box`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from npkl_models.model.box import Box
from npkl_models.model.box_loss import BoxLoss
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm


def quadratic_conjugates(terms: Iterable[LossTerm]) -> str | None:
    """The reason why the conjugate of a loss is not quadratic on its domain; None if all are."""
    terms = tuple(terms)
    for term in terms:
        if term.loss.entropy:
            return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return boxed_conjugates(terms)


def boxed_conjugates(terms: Iterable[LossTerm]) -> str | None:
    """The reason why the conjugate of a loss is not that of a `Box`; None if all are."""
    for term in terms:
        if isinstance(term.loss, BoxLoss):
            continue
        t, w, box = term.target, term.weight, term.box
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.project(share * w)
            with np.errstate(over="ignore", invalid="ignore"):
                value = term.loss.conjugate(y, t, w)
                model = box.each(y)
            if not np.allclose(value, model, rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return None


def parts_of(problem: Statement) -> tuple[list[Incidence], list[Box]]:
    """The values of all terms, and their conjugates."""
    return [term.functional.incidence for term in problem.terms], [term.box for term in problem.terms]


def projected(problem: Statement, y: Multipliers) -> Multipliers:
    """The nearest multipliers in the domain of the conjugates."""
    parts = zip(problem.terms, y.terms, strict=True)
    return problem.split_multipliers(term.project(part) for term, part in parts)
