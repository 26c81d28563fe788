"""The positive part of a matrix by Lanczos."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import side_information

import npkl_models as nm
from npkl_models.proof import positive


def simple(loss, n=40, p=2.0, **how):
    L, pairs = side_information("iris", n)
    return nm.simple_npkl(L, pairs, loss=loss, p=p, **(how or {"trace_bound": float(n)}))


def test_lanczos_finds_the_same_positive_part(monkeypatch):
    problem = simple("linear", n=120, trace_bound=50.0)
    dense = problem.solve("closed_form")
    monkeypatch.setattr(positive, "FULL", 20)
    monkeypatch.setattr(positive, "LARGEST", 20)
    sparse = problem.solve("closed_form")
    assert sparse.message == dense.message
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-9)
    hinge = simple("squared_hinge", n=120, trace_bound=50.0)
    assert hinge.solve("simple_npkl").status is nm.Status.OPTIMAL
    short = problem.solve("closed_form", max_iter=3)
    assert "were not computed" in short.message
    assert short.status is nm.Status.INACCURATE
    assert short.objective > dense.objective
    part = positive.positive_part(-problem.slack(problem.derivatives(np.zeros((120, 1)))), most=5)
    assert not part.complete
    assert part.tail == part.values[-1] > 0


def test_many_eigenvalues_are_had_by_a_full_decomposition(monkeypatch):
    problem = simple("linear", n=120, trace_bound=50.0)
    A = -problem.slack(problem.derivatives(np.zeros((120, 1))))
    whole = positive.positive_part(A)
    monkeypatch.setattr(positive, "FULL", 20)
    asked = []
    monkeypatch.setattr(positive, "_upper_end", lambda *given: asked.append(given))
    part = positive.positive_part(A)
    assert part.complete
    assert not asked
    np.testing.assert_allclose(part.values, whole.values, rtol=1e-9)


def test_past_the_deadline_what_is_known_is_still_a_bound(monkeypatch):
    monkeypatch.setattr(positive, "FULL", 20)
    monkeypatch.setattr(positive, "LARGEST", 20)
    problem = simple("squared_hinge", n=120, trace_bound=50.0)
    A = -problem.slack(problem.derivatives(np.zeros((120, 1))))
    late = positive.positive_part(A, deadline=0.0)
    assert late.values.size == 0
    assert not late.complete
    assert late.tail >= np.linalg.eigvalsh(A.toarray())[-1]
    stopped = problem.solve("simple_npkl", time_limit=1e-9)
    assert stopped.status is nm.Status.TIME_LIMIT
    assert stopped.certificate.bound <= problem.solve("simple_npkl").objective


def test_wide_answers_are_judged_by_the_whole_spectrum(monkeypatch):
    from npkl_models.certificates import bounds

    problem = simple("squared_hinge", n=120, trace_bound=50.0)
    solution = problem.solve("simple_npkl")
    for name in ("FULL", "SHARE"):
        monkeypatch.setattr(bounds, name, 0)
    wide = nm.certify(problem, solution)
    assert wide.rigour == "proved"
    assert wide.relative_gap <= 1e-6
    assert wide.bound <= solution.objective


def test_a_zero_matrix_has_no_positive_part():
    for A in (np.zeros((5, 5)), sp.csr_array((5, 5))):
        found = positive.positive_part(A, most=2, lanczos=True)
        assert found.complete
        assert found.values.size == found.tail == 0
