"""The named problems of the literature, with the weights that the papers print.

Examples
--------
>>> import npkl_models as nm
>>> "mvu" in nm.formulations.FORMULATIONS
True
"""

from __future__ import annotations

from collections.abc import Callable

from npkl_models.formulations.colored import colored_mvu
from npkl_models.formulations.completion import kernel_completion
from npkl_models.formulations.conformal import conformal_eigenmaps
from npkl_models.formulations.distances import distances
from npkl_models.formulations.nonparametric import npkl, simple_npkl
from npkl_models.formulations.ordinal import ordinal
from npkl_models.formulations.propagation import hard_pcp, pcp, reg_pcp
from npkl_models.formulations.rigid import locally_rigid
from npkl_models.formulations.similarity import psde
from npkl_models.formulations.structure import spe
from npkl_models.formulations.unfolding import mvu, reg_mvu
from npkl_models.formulations.volume import mve
from npkl_models.problem import Problem

__all__ = [
    "FORMULATIONS",
    "colored_mvu",
    "conformal_eigenmaps",
    "distances",
    "hard_pcp",
    "kernel_completion",
    "locally_rigid",
    "mve",
    "mvu",
    "npkl",
    "ordinal",
    "pcp",
    "psde",
    "reg_mvu",
    "reg_pcp",
    "simple_npkl",
    "spe",
]

FORMULATIONS: dict[str, Callable[..., Problem]] = {
    builder.__name__: builder
    for builder in (
        colored_mvu,
        kernel_completion,
        conformal_eigenmaps,
        distances,
        npkl,
        simple_npkl,
        ordinal,
        pcp,
        hard_pcp,
        reg_pcp,
        locally_rigid,
        psde,
        spe,
        mvu,
        reg_mvu,
        mve,
    )
}
"""All formulations by name."""
