"""The registry of backends; `npkl_models.routes` fills it, and users may add backends."""

from __future__ import annotations

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend

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
