"""The registry of backends: the table of routes fills it when it is first asked, and so may a user."""

from __future__ import annotations

from importlib import import_module

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.model.problem import Problem
from npkl_models.solve.backend import Backend

ROUTES = "npkl_models.routes"  # which stands above this room, and is imported by its name
_REGISTRY: dict[str, Backend] = {}


def _known() -> dict[str, Backend]:
    """All backends; whichever thread asks first waits until the routes are imported."""
    import_module(ROUTES)
    return _REGISTRY


def register(backend: Backend, *, replace: bool = False) -> Backend:
    """Make a backend known by its name, to `solve`, `crosscheck` and the rest.

    Parameters
    ----------
    backend : Backend
    replace : bool
        Whether it may take the place of another one of that name.

    Returns
    -------
    Backend
        The same.

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
    if backend.name in _known() and not replace:
        raise UnsupportedError(f"a backend {backend.name!r} exists already; use register(..., replace=True)")
    _REGISTRY[backend.name] = backend
    return backend


def unregister(name: str) -> None:
    """Forget a backend.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from dataclasses import replace
    >>> nm.register(replace(nm.backends()["bcd"], name="mine"))
    Backend(mine: block coordinate descent on the rows of V, certified)
    >>> nm.unregister("mine")
    >>> "mine" in nm.backends()
    False
    """
    get_backend(name)
    del _known()[name]


def backends() -> dict[str, Backend]:
    """All backends by name, in the order in which they are preferred.

    Examples
    --------
    >>> import npkl_models as nm
    >>> list(nm.backends())[:4]
    ['bcd', 'burer_monteiro', 'hybrid', 'admm']
    >>> nm.backends()["interior"].family
    'interior'
    """
    return dict(_known())


def get_backend(backend: str | Backend) -> Backend:
    """The backend of that name, or an error that lists them; a Backend is passed through."""
    if isinstance(backend, Backend):
        return backend
    known = _known()
    if not isinstance(backend, str) or backend not in known:
        raise unknown("backend", backend, ["auto", *known])
    return known[backend]


def compatible(problem: Problem) -> dict[str, str | None]:
    """None for each backend that takes the problem, else the reason why not."""
    return {name: backend.reason(problem) for name, backend in _known().items()}
