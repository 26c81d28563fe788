"""mfpc: a start is where its steps begin."""


def test_mfpc_starts(small_reg_pcp):
    cold = small_reg_pcp.solve("mfpc")
    assert cold.is_optimal(1e-6)
    warm = small_reg_pcp.solve("mfpc", start=cold)
    assert warm.iterations < cold.iterations
