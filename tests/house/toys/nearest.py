"""A formulation from outside: the kernel nearest to the signs of its pairs."""

from __future__ import annotations

import scipy.sparse as sp

from npkl_models.formulations.pair_terms import pair_terms
from npkl_models.linalg import Matrix
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem


def nearest(L: Matrix, pairs: Pairs, *, strength: float = 1.0) -> Problem:
    """The square of what misses the signs, and a small graph term."""
    terms = pair_terms(pairs, "square", pairs.sign, strength)
    return Problem(cost=sp.csr_array(L), terms=terms, name="nearest")
