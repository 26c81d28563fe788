"""Fixed-point continuation: its stages and starts."""

import pytest


def test_mfpc_stages_and_starts(small_reg_pcp):
    plain = small_reg_pcp.solve("mfpc", continuation=False)
    staged = small_reg_pcp.solve("mfpc")
    assert plain.objective == pytest.approx(staged.objective, rel=1e-6)
    warm = small_reg_pcp.solve("mfpc", start=staged)
    assert warm.iterations < staged.iterations
