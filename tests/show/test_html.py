"""What answers look like in a notebook, and how long their summaries are."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from problems import KINDS, side_information

import npkl_models as nm
from npkl_models.certificates.certificate import bracket


@pytest.mark.parametrize("kind", KINDS)
def test_summaries_have_at_most_eight_lines(small, kind):
    solution = small(kind).solve(time_limit=20)
    lines = solution.summary().splitlines()
    assert len(lines) <= 8
    assert max(map(len, lines)) <= 220
    assert str(solution.status) in lines[0]
    assert lines[-1].startswith("In plain words: no kernel has an objective")
    for shown in (solution, solution.certificate, solution.problem):
        assert shown._repr_html_().startswith("<div>")


def test_the_bracket_is_a_picture_that_says_its_numbers(small):
    found = small("pcp").solve().certificate
    picture = ET.fromstring(bracket(found))
    words = " ".join(text for text in picture.itertext())
    assert f"{found.bound:.8g}" in words
    assert "proved" in words
    assert f"{found.relative_gap:.1e}" in picture.attrib["aria-label"]


def test_the_bracket_of_equalities_has_the_objective_and_the_violation():
    L, pairs = side_information("iris", 24)
    problem = nm.hard_pcp(L, pairs)
    found = nm.certify(problem, 1.01 * problem.solve().V)
    words = " ".join(text for text in ET.fromstring(bracket(found)).itertext())
    assert f"objective {found.objective:.8g}" in words
    assert "violation 2.0e-02" in words
    assert "inf" not in words


def test_the_bracket_grows_with_the_gap(small):
    problem = small("pcp")
    rough = nm.certify(problem, np.ones((problem.n, 1)))
    assert _width(bracket(rough)) > _width(bracket(problem.solve().certificate))


def test_no_bound_is_said():
    L = nm.laplacian(np.random.default_rng(0).normal(size=(20, 2)), 3)
    problem = nm.npkl(L - 0.01 * np.eye(20), nm.Pairs(20, [(0, 1)], [(2, 3)]), loss="hinge")
    page = nm.certify(problem, np.eye(20))._repr_html_()
    assert "no bound" in page
    assert "stroke-dasharray" in page


def test_the_choice_is_a_table(small):
    choice = nm.choose_backend(small("pcp"))
    name, reason = choice
    assert (name, reason) == (choice[0], choice[1])
    rows = choice.cells()
    assert rows[0][0] == name
    assert {row[0] for row in rows} == set(nm.backends())
    assert str(choice).splitlines()[0].startswith(name)
    assert "<table>" in choice._repr_html_()


def _width(svg):
    line = svg.split('<path d="M')[2].split('"')[0]
    left, rest = line.split(" ", 1)
    return float(rest.split("H")[1]) - float(left)


HANDED_OUT = ("pcp", "npkl:hinge", "row:linear", "B2:squared_hinge", "B2:shared_slack", "basis:G2:linear")


@pytest.mark.parametrize("kind", HANDED_OUT)
def test_the_handout_has_all_on_one_page(small, kind, tmp_path):
    problem = small(kind)
    text = problem.handout(tmp_path / "page.html", problem.solve(time_limit=20)).read_text()
    for words in (
        "The problem",
        "Its dual",
        "Conditions of optimality",
        "What each backend makes of it",
        "An answer",
    ):
        assert f"<h2>{words}</h2>" in text
    assert text.count('class="formula"') == 3 + len(problem.dual().definitions + problem.dual().conditions)
    assert text.count("<figure>") >= 3
    assert "src=" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
