"""The dual of the very problem, in words and in LaTeX, and what backends make of it."""

import re

import numpy as np
import pytest
from problems import KINDS, SEPARABLE
from scipy.special import xlogy

import npkl_models as nm
from npkl_models.model.losses import LOSSES
from npkl_models.show.page import mathml


@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_names_its_parts(small, kind):
    problem = small(kind)
    dual = problem.dual()
    assert str(problem.terms[0].functional.size) in dual.text
    assert dual.latex.startswith(r"\max_{")
    assert dual.latex.count("{") == dual.latex.count("}")
    assert (r"\nu \ge 0" in dual.latex) == bool(problem.constraints)
    assert dual.conditions[0][0] == "primal feasibility"
    assert problem.explain().dual.text == dual.text
    R = problem.regularizer
    primal = dual.conditions[0][1]
    assert R.latex in primal if R.constrains else R.latex not in primal
    assert ("Q U Q'" in primal) == (problem.basis is not None)
    page = dual._repr_latex_()
    assert page.startswith("$$")
    assert all(latex in page for _, latex in dual.conditions)


DOMAINS = {  # the printed domain, as a test of y
    r"y \in \mathbb R": lambda y, t, w: np.ones_like(y, dtype=bool),
    r"-w \le t y \le 0": lambda y, t, w: (-w <= t * y) & (t * y <= 0),
    r"0 \le y \le w": lambda y, t, w: (y >= 0) & (y <= w),
    r"-w \le y \le w": lambda y, t, w: np.abs(y) <= w,
    r"t y \le 0": lambda y, t, w: t * y <= 0,
    r"y \ge 0": lambda y, t, w: y >= 0,
    r"y \le 0": lambda y, t, w: y <= 0,
    "y = -w t": lambda y, t, w: y == -w * t,
}
CONJUGATES = {
    r"t y + \frac{y^2}{4 w}": lambda y, t, w: t * y + y**2 / (4 * w),
    "t y": lambda y, t, w: t * y,
    "0": lambda y, t, w: 0 * y,
    r"-t y \ln(\tfrac{-t y}{w}) + (w + t y) \ln(1 - \tfrac{-t y}{w})": lambda y, t, w: (
        xlogy(-t * y, -t * y / w) + xlogy(w + t * y, 1 + t * y / w)
    ),
}


@pytest.mark.parametrize("name", sorted(SEPARABLE))
def test_the_printed_conjugate_is_the_one_that_is_computed(name):
    loss = LOSSES[name]
    t, w = np.tile([1.0, -1.0], 50), np.repeat([0.5, 2.0], 50)
    y = np.random.default_rng(0).normal(size=100)
    np.testing.assert_array_equal(DOMAINS[loss.latex_domain](y, t, w), loss.in_domain(y, t, w))
    y = loss.project(y, t, w)
    assert DOMAINS[loss.latex_domain](y, t, w).all()
    np.testing.assert_allclose(CONJUGATES[loss.latex_conjugate](y, t, w), loss.conjugate(y, t, w))


def test_the_conditions_hold_at_an_optimum(small):
    problem = small("pcp")
    solution = problem.solve(tol=1e-9)
    y = solution.certificate.multipliers
    S = problem.slack(y)
    assert np.abs(S @ solution.K).max() <= 1e-4
    for term, own, z in zip(problem.terms, y.terms, problem.values(solution.V), strict=True):
        np.testing.assert_allclose(own, term.derivative(z), atol=1e-4)


def test_forms_say_what_is_solved_or_why_not(small):
    problem = small("pcp")
    rows = {name: what for name, _, what in problem.explain().forms}
    assert set(rows) == set(nm.backends())
    assert "PSD cone of order" in rows["sdp"]
    assert "basis" in rows["mfpc"]
    assert "<table>" in problem.explain().forms._repr_html_()


def test_a_loss_from_outside_has_a_conjugate_by_name(monkeypatch):
    logistic = type(LOSSES["logistic"])
    monkeypatch.setattr(logistic, "latex_conjugate", nm.Loss.latex_conjugate)
    monkeypatch.setattr(logistic, "latex_domain", nm.Loss.latex_domain)
    problem = nm.Problem(np.eye(3), [nm.LossTerm(nm.Entries(3, ([0], [1])), "logistic", 1.0)])
    assert "f^*(y_e)" in problem.dual().latex
    assert r"\operatorname{dom} f^*" in problem.dual().latex


def test_a_letter_with_two_superscripts_is_braced(small):
    """TeX refuses y^{(1)}_e^2."""
    latex = small("pcp").dual().latex
    assert r"{y^{(1)}_e}^2" in latex
    assert "}_e^2" not in latex


def test_equalities_have_their_values():
    iris = nm.datasets.load("iris")
    L = nm.laplacian(iris.X, n_neighbors=5, shift=0.1)
    problem = nm.hard_pcp(L, nm.Pairs.from_labels(iris.y, 60, 60, random_state=0))
    dual = problem.dual()
    assert "K_{ii} = 1" in dual.conditions[0][1]
    assert "K_{ij} = 0" in dual.conditions[0][1]
    assert r"- \sum_e \nu^{(1)}_e \quad" in dual.latex
    assert not [finding for finding in problem.diagnose() if finding.kind == "isolation"]


def test_the_trace_condition_holds_at_an_optimum():
    """T = S + kappa K with T K = 0 and T positive semidefinite, kappa by least squares."""
    iris = nm.datasets.load("iris")
    L = nm.laplacian(iris.X, n_neighbors=5)
    pairs = nm.Pairs.from_labels(iris.y, 30, 30, random_state=1)
    problem = nm.simple_npkl(L, pairs, p=2, trace_bound=100.0, loss="squared_hinge")
    assert r"T = S + \kappa K \succeq 0" in problem.dual().conditions[-1][1]
    solution = problem.solve(tol=1e-9)
    K, S = solution.K, problem.slack(solution.certificate.multipliers).toarray()
    kappa = -np.sum(S * K) / np.sum(K * K)
    T = S + kappa * K
    assert kappa > 0
    assert np.abs(T @ K).max() <= 1e-4 * np.abs(S).max() * np.abs(K).max()
    assert np.linalg.eigvalsh(T)[0] >= -1e-4 * np.abs(S).max()


@pytest.mark.parametrize("target", [10.0, -20.0, 1.0, 0.0])
@pytest.mark.parametrize("weight", [1.0, 0.5, 1e-5, 100.0])
def test_the_printed_conjugate_has_the_right_numbers(target, weight):
    """The text of the sum, read as arithmetic, is what is computed."""
    term = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", target, weight)
    text = nm.Problem(np.eye(3), [term]).dual().text
    formula = text.split("sum_e (")[1].split(") for")[0].replace("^", "**").replace(" * ", "*")
    formula = re.sub(r"(\d) y_e", r"\1*y_e", formula)
    y = 0.7
    assert eval(formula, {"y_e": y}) == pytest.approx(term.conjugate(np.array([y])), rel=1e-5)


@pytest.mark.parametrize(("kind", "end"), [("must", "y_e = -2"), ("cannot", "y_e = 2")])
def test_a_linear_loss_of_one_kind_has_its_sign(kind, end):
    links = (
        {"must_link": [(0, 1)], "cannot_link": None}
        if kind == "must"
        else {"must_link": None, "cannot_link": [(0, 1)]}
    )
    problem = nm.npkl(np.eye(3) * 2, nm.Pairs(3, **links), loss="linear", gamma=2.0, row_norm=1.0)
    dual = problem.dual()
    assert end in dual.latex
    assert end in dual.text
    assert "nu >= 0" in dual.text
    assert ("-2" if kind == "must" else "2 z") in dict(dual.definitions)["loss of the pairs"]


@pytest.mark.parametrize(
    "options",
    [
        {"trace_bound": 1e6},
        {"trace_bound": 2.5e-5},
        {"p": 1.001, "penalty": 10.0},
        {"p": 1.01, "penalty": 1e4},
        {"p": 1.0, "penalty": 1e-5},
    ],
)
def test_numbers_of_any_size_can_be_set(options, tmp_path):
    problem = nm.simple_npkl(np.eye(3) * 2, nm.Pairs(3, [(0, 1)], [(1, 2)]), loss="square", **options)
    formulas = [
        problem.explain().latex,
        problem.dual().latex,
        *(latex for _, latex in problem.dual().conditions),
    ]
    for latex in formulas:
        assert "e+" not in latex
        assert "e-" not in latex
        assert "}^{" not in latex.replace("}^{(", "")
        mathml(latex)


def test_names_are_written_such_that_tex_takes_them():
    term = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0, name="must_link")
    dual = nm.Problem(np.eye(3), [term]).dual()
    assert r"\text{must\_link}" in dual.slack
    assert "(must_link)" in dual.text
