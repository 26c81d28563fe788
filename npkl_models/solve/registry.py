"""The registry of backends, which of them can solve a problem, and their predicted costs.

`npkl_models.routes` fills the registry, and users may add backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.feasibility.faces import face_of
from npkl_models.files.machine import available_bytes
from npkl_models.linalg.compile import WORTH
from npkl_models.model.statement import Statement
from npkl_models.model.units import binary_units
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.options import Options

START = "start"
MAY_IGNORE = (START, "random_state")  # options that a backend may ignore: a run without chance has every seed
FAR = 3.0  # a prediction above this many times the time limit counts as too long

_REGISTRY: dict[str, Backend] = {}


def register(backend: Backend, *, replace: bool = False) -> Backend:
    """Register a backend under its name, so that `solve`, `crosscheck` and all other functions know it.

    Parameters
    ----------
    backend : Backend
        The backend.
    replace : bool
        Whether it may replace another backend of the same name.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from dataclasses import replace
    >>> mine = replace(nm.backends()["bcd"], name="mine")
    >>> nm.register(mine)
    Backend(mine: block coordinate descent on the rows of V, certified)
    >>> "mine" in nm.backends()
    True
    >>> nm.unregister("mine")
    """
    if not isinstance(backend, Backend):
        raise UnsupportedError(f"register takes a Backend, got {type(backend).__name__}")
    if backend.name == "auto" or not str(backend.name).isidentifier():
        raise UnsupportedError(
            f"a backend's name must be an identifier other than 'auto', got {backend.name!r}"
        )
    if backend.name in _REGISTRY and not replace:
        raise UnsupportedError(f"a backend {backend.name!r} exists already; use register(..., replace=True)")
    _REGISTRY[backend.name] = backend
    return backend


def unregister(name: str) -> None:
    """Remove a backend from the registry."""
    get_backend(name)
    del _REGISTRY[name]


def backends(family: str | None = None) -> dict[str, Backend]:
    """The registered backends by name, in the order of preference.

    ``family`` selects one; by default all except "printed": the papers' algorithms as they are in print,
    which are used only if they are named.
    """
    if family is None:
        return {name: backend for name, backend in _REGISTRY.items() if not backend.by_name}
    return {name: backend for name, backend in _REGISTRY.items() if backend.family == family}


def get_backend(backend: str | Backend) -> Backend:
    """The backend with the given name, or an error that lists all names; a Backend is returned unchanged."""
    if isinstance(backend, Backend):
        return backend
    known = _REGISTRY
    if not isinstance(backend, str) or backend not in known:
        raise unknown("backend", backend, [*known] if str(backend) == "auto" else ["auto", *known])
    return known[backend]


def compatible(problem: Statement) -> dict[str, str | None]:
    """For each backend, None if it supports the problem, else the reason why it does not."""
    return {name: backend.reason(problem) for name, backend in backends().items()}


def candidates(problem: Statement, options: Mapping[str, Any]) -> tuple[dict[str, Cost], list[str]]:
    """The costs of the backends that support problem and options, and the reasons against the others."""
    costs: dict[str, Cost] = {}
    declined: list[str] = []
    every = {name for backend in backends().values() for name in backend.option_names}
    for key in options:
        if key not in every:
            raise unknown("option", key, every)
    free, inner = available_bytes(), binary_units(problem).problem
    face = face_of(inner)
    for name, backend in backends().items():
        reason = backend.reason_on(face)
        strange = [key for key in options if key not in backend.option_names and key not in MAY_IGNORE]
        if reason is None and strange:
            reason = f"has no option {', '.join(strange)}"
        if reason is None:
            cost = predicted(backend, inner, free)
            reason = cost.hopeless
            if not reason:
                costs[name] = cost
                continue
        declined.append(f"{name} {reason}")
    return costs, declined


def predicted(backend: Backend, problem: Statement, free: float) -> Cost:
    """The cost of a backend with ``free`` bytes of memory, for a problem in binary units."""
    try:
        return backend.cost(problem).within_memory(free)
    except Exception as error:
        return Cost(float("inf"), 0.0, f"has a cost that raises {type(error).__name__}: {error}")


def first_of(costs: Mapping[str, Cost], options: Mapping[str, Any]) -> str:
    """The quickest sure backend if it is soon ready; else the backend with the shortest predicted time.

    A tolerance below the default needs digits that a factor reaches more easily, so there the time decides.

    If there is a start, only backends with a warm start count, provided there are any. If the prediction is
    far above the time limit, the quickest anytime backend comes first, provided there is one.
    """
    able = list(costs)
    if options.get(START) is not None:
        able = [name for name in costs if START in backends()[name].option_names] or able
    first = min(able, key=lambda name: costs[name].seconds)
    sure = min(
        (name for name in able if costs[name].sure), key=lambda name: costs[name].seconds, default=first
    )
    usual = Options(tol=options.get("tol", Options.tol)).tol >= Options.tol  # a factor reaches more digits
    if usual and options.get(START) is None and costs[sure].seconds <= WORTH:  # no wait for a compilation
        first = sure
    limit = Options(time_limit=options.get("time_limit")).time_limit
    if limit is None or costs[first].seconds <= FAR * limit:
        return first
    return min(
        (name for name in able if costs[name].anytime), key=lambda name: costs[name].seconds, default=first
    )


def usable(backend: Backend, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, without those that the backend ignores."""
    own = backend.option_names
    return {key: value for key, value in options.items() if key not in MAY_IGNORE or key in own}
