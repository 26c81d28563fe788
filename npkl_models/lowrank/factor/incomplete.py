"""An incomplete factorisation of the Hessian of the losses, as a preconditioner of Newton steps.

Loss e bends along the derivatives g of its value in the rows that it names. If it names two rows, it couples
them: beside a large weight the one can hardly move without the other. `HessianBlocks` has the blocks of
single rows and knows nothing of the couplings.

Here the points are eliminated in an order in which most of them have at most one neighbour left (reverse
Cuthill-McKee). The elimination of a point changes the own blocks of its neighbours; what it would add between
two neighbours is left out. So the factorisation is exact for a graph without cycles, and takes no more memory
than the blocks.

In exact arithmetic it always exists. Coupling e adds the positive semidefinite matrix
bend_e [g_i; g_j] [g_i; g_j]' to diagonal blocks. Eliminating row i replaces the couplings of i by
sum_ef T_ef g_e g_f' with a positive semidefinite T, and its diagonal, which is kept, is not negative. From
weights of 1e16 times the diagonal on, rounding may hide that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import Loop, worth
from npkl_models.lowrank.factor.preconditioners import HessianBlocks

FACTORISE = Loop("npkl_models.lowrank.factor.compiled_couplings", "factorise", 3.0)
SOLVE = Loop("npkl_models.lowrank.factor.compiled_couplings", "solve", 1.0)
ADD_BENDS = Loop("npkl_models.lowrank.factor.compiled_couplings", "add_bends", 1.0)
STEPS, PER_NUMBER = 300, 1e-7  # steps of conjugate gradients that are saved; seconds of one, for each number


class IncompleteHessian:
    """The couplings of an incidence in their order of elimination; `at` factorises the Hessian at a point."""

    def __init__(self, blocks: HessianBlocks) -> None:
        self.blocks = blocks
        first = np.flatnonzero(np.diff(blocks.value, prepend=-1, append=-1))  # the first slot of each value
        first = first[:-1][np.diff(first) == 2]
        i, j = blocks.point[first], blocks.point[first + 1]
        n = blocks.gather.shape[1]
        graph = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n)).tocsr()
        self.order = reverse_cuthill_mckee(sp.csr_matrix(graph + graph.T), True).astype(np.intp)
        place = np.empty(n, dtype=np.intp)
        place[self.order] = np.arange(n)
        of_slot = place[blocks.point]
        sequence = np.argsort(of_slot, kind="stable")
        number = np.empty(sequence.size, dtype=np.intp)
        number[sequence] = np.arange(sequence.size)
        self.value, self.gather = blocks.value[sequence], blocks.gather[sequence]
        swapped = place[i] > place[j]
        early, late = first + swapped, first + 1 - swapped
        by_place = np.argsort(of_slot[early], kind="stable")
        early, late = early[by_place], late[by_place]
        self.start = np.searchsorted(of_slot[early], np.arange(n + 1)).astype(np.intp)
        self.later: Index = np.ascontiguousarray(of_slot[late])
        starts = np.searchsorted(of_slot[sequence], np.arange(n + 1)).astype(np.intp)
        self.slots = starts, number[early], number[late]

    @staticmethod
    def worth(blocks: HessianBlocks, rank: int) -> bool:
        """Whether there are couplings, and enough of them for compiled loops."""
        coupled = blocks.point.size > blocks.gather.shape[1]
        work = STEPS * PER_NUMBER * blocks.gather.shape[1] * rank
        return coupled and worth(work)

    def at(self, V: Array, diagonal: Array, bend: Array) -> Callable[[Array], Array]:
        """The map of G (n x r) to the inverse factors applied to G; for the arguments see the blocks."""
        weight = np.maximum(bend, 0.0)[self.value]
        own = 2 * self.blocks.raised(diagonal)[self.order]
        g = np.ascontiguousarray(self.gather @ V)
        factors = FACTORISE(self.start, self.later, self.slots, weight, own, g)

        def inverse(G: Array) -> Array:
            out = np.array(G, order="C")
            SOLVE(self.order, self.start, self.later, factors, out)
            return out

        return inverse
