"""Problems in words."""

import pytest
from problems import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_explanation_names_the_parts(small, kind):
    problem = small(kind)
    explained = problem.explain()
    assert problem.terms[0].loss.name in explained.text
    assert str(problem.n) in str(explained)
    assert explained.latex.startswith(r"\min_{K}")
    assert problem._repr_latex_() == f"$${explained.latex}$$"
    assert problem.regularizer.latex in explained.latex
