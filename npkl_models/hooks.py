"""Methods that a room above lends to a class of a room below, so that no import points downwards."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

LENT = {
    "Problem.compatible_backends": "npkl_models.solve.registry:compatible",
    "Problem.compile": "npkl_models.solve.choice:compile",
    "Problem.solve": "npkl_models.solve.choice:solve",
    "Problem.to_cvxpy": "npkl_models.conic.sdp:to_cvxpy",
    "Problem.to_sdpa": "npkl_models.data.sdpa:to_sdpa",
    "Problem.diagnose": "npkl_models.model.diagnosis:diagnose",
    "Problem.explain": "npkl_models.show.explain:explain",
    "Problem.dual": "npkl_models.show.dual:explain_dual",
    "Problem.html": "npkl_models.show.html:problem_html",
    "Problem.handout": "npkl_models.show.handout:write_handout",
    "Certificate.html": "npkl_models.show.html:certificate_html",
    "Solution.html": "npkl_models.show.html:solution_html",
    "CrossCheck.plot": "npkl_models.show.plots.tables:plot_crosscheck",
    "CrossCheck.report": "npkl_models.show.report:write_report",
}
"""Where the function stands that serves as a method; its module is imported when the method is called."""


def lent(method: str) -> Callable[..., Any]:
    """The function that serves as a method, such as "Problem.solve"."""
    module, name = LENT[method].split(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
