"""All backends of this package; only this module imports all of them, and registers them."""

from __future__ import annotations

from npkl_models.conic import reduced, sdp, sdp_dual
from npkl_models.interior import interior
from npkl_models.lowrank import admm
from npkl_models.lowrank.factor import burer_monteiro
from npkl_models.lowrank.rows import bcd
from npkl_models.printed import bcdkl, kl_admm, sqlp
from npkl_models.printed import simple_npkl as printed_simple_npkl
from npkl_models.solve.registry import backends as backends
from npkl_models.solve.registry import compatible as compatible
from npkl_models.solve.registry import get_backend as get_backend
from npkl_models.solve.registry import register as register
from npkl_models.solve.registry import unregister as unregister
from npkl_models.spectral import closed_form, mfpc, simple_npkl

ROUTES = (
    bcd.BACKEND,
    *burer_monteiro.BACKENDS,
    admm.BACKEND,
    simple_npkl.BACKEND,
    closed_form.BACKEND,
    mfpc.BACKEND,
    interior.BACKEND,
    *reduced.BACKENDS,
    sdp.BACKEND,
    sdp_dual.BACKEND,
)
"""The backends in the order of preference."""

PRINTED = (kl_admm.BACKEND, *bcdkl.BACKENDS, printed_simple_npkl.BACKEND, sqlp.BACKEND)
"""The papers' algorithms as printed, which run only if they are named."""


for _backend in (*ROUTES, *PRINTED):
    register(_backend, replace=True)  # an interrupted import may have registered it already
