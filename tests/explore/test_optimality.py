"""Primal, dual and conditions with their numbers."""

import re

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore.form import Form
from npkl_models.explore.optimality import formulas, numbers

FORMS = [
    {},
    {"formulation": "npkl", "loss": "hinge"},
    {"formulation": "npkl", "loss": "linear", "row_norm": 1},
    {"formulation": "simple_npkl", "loss": "square"},
    {"formulation": "simple_npkl", "loss": "hinge", "penalty": 2},
    {"formulation": "hard_pcp"},
    {"formulation": "reg_pcp", "n_basis": 8},
]


def solved(given):
    form = Form.of({"n": 30, **given}, {})
    problem = form.made().problem
    return problem, problem.solve()


@pytest.mark.parametrize("given", FORMS, ids=lambda g: "-".join(map(str, g.values())) or "pcp")
def test_the_numbers_are_those_of_the_certificate(given):
    problem, solution = solved(given)
    found = solution.certificate
    point = numbers(problem, found.point, found.multipliers)
    told = formulas(problem)
    assert len(point["primal"]) == len(told["primal_terms"])
    assert len(point["dual"]) == len(told["dual_terms"])
    assert len(point["fenchel"]) == len(told["slopes"]) == len(problem.losses)
    size = 1 + abs(found.objective)
    assert sum(point["primal"]) == pytest.approx(found.objective, rel=1e-9, abs=1e-9)
    assert sum(point["dual"]) == pytest.approx(point["bound"], rel=1e-9, abs=1e-9)
    assert point["bound"] == pytest.approx(found.bound, abs=1e-5 * size)
    assert min(point["fenchel"], default=0.0) >= -1e-9 * size
    opened = sum(point["fenchel"]) + point["complementarity"]
    assert point["objective"] - point["bound"] == pytest.approx(opened, abs=1e-6 * size)
    assert abs(opened) <= 1e-4 * size
    assert point["violation"] <= 1e-8


def test_away_from_the_optimum_the_conditions_say_what_is_open():
    problem, solution = solved({"formulation": "npkl", "loss": "hinge"})
    point = numbers(problem, 2 * solution.V, solution.certificate.multipliers)
    assert point["objective"] > solution.objective + 1e-3
    assert sum(point["fenchel"]) + point["complementarity"] == pytest.approx(
        point["objective"] - point["bound"]
    )
    start = numbers(problem, np.random.default_rng(0).normal(size=(30, 2)))
    assert start["min_eigenvalue"] < 0
    assert start["bound"] == -np.inf


def test_formulas_are_mathml_without_latex_left_over():
    for given in FORMS:
        told = formulas(Form.of({"n": 30, **given}, {}).made().problem)
        texts = [told[name] for name in ("primal", "dual", "slack", "complementarity", "fenchel")]
        texts += [one["formula"] for name in ("primal_terms", "dual_terms", "slopes") for one in told[name]]
        for text in texts:
            assert "<math" in text
            assert "\\" not in re.sub(r'title="[^"]*"', "", text), text
    assert nm.pcp  # the set of formulations is the library's
