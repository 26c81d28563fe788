"""What a program of the collection is, and how one is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Written:
    """A program of CVXPY, who has thought of it, and its optimum: a closed form, None, or a status."""

    name: str
    source: str
    problem: cp.Problem
    optimum: float | str | None


class Group(dict):
    """Builders by name; ``@group(source, "one; two")`` adds a function, once for each form."""

    def __call__(self, source: str, forms: str = "") -> Callable:
        def keep(build: Callable) -> Callable:
            for form in forms.split("; "):
                name = build.__name__.replace("_", " ") + (f", {form}" if form else "")
                assert name not in self, name
                self[name] = self.made(name, source, build, form)
            return build

        return keep

    @staticmethod
    def made(name: str, source: str, build: Callable, form: str) -> Callable[[], Written]:
        def made() -> Written:
            problem, optimum = build(form) if form else build()
            return Written(name, source, problem, optimum)

        return made


def least(objective, constraints=(), optimum=None):
    """Minimise, and what the minimum is."""
    return cp.Problem(cp.Minimize(objective), list(constraints)), optimum


def most(objective, constraints=(), optimum=None):
    """Maximise, and what the maximum is."""
    return cp.Problem(cp.Maximize(objective), list(constraints)), optimum
