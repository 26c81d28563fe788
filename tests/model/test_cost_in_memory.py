"""The cost is kept with indices of 32 bits where they suffice."""

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models.linalg.owned import owned_sparse
from npkl_models.model import reading


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_indices_of_a_cost_have_32_bits(kind):
    A = sp.random_array((30, 30), density=0.2, rng=0, format="csr")
    given = sp.csr_array((A.data, A.indices.astype(kind), A.indptr.astype(kind)), shape=A.shape)
    C = owned_sparse(reading.symmetric(given + given.T, "a cost"))
    assert C.indices.dtype == C.indptr.dtype == np.int32
    np.testing.assert_array_equal(C.toarray(), (A + A.T).toarray())
    assert given.indices.dtype == kind
