"""The cross-check and its table."""

import json
import re

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.crosscheck.table import COLUMNS, cells


def test_the_headline_names_an_upper_bound_only_where_one_is_proved(small):
    free, hard = small("pcp"), nm.hard_pcp(*side_information("iris", 24))
    table = nm.crosscheck(free, ["interior"])
    assert f"{table.bound:.9g} <= optimum <= {table.upper:.9g}" in str(table)
    assert json.loads(table.to_json())["bracket"] == [table.bound, table.upper]
    table = nm.crosscheck(hard, ["interior"])
    assert f"{table.bound:.9g} <= optimum, best objective {table.objective:.9g}" in str(table)
    written = json.loads(table.to_json())
    assert written["bracket"] == [table.bound, None]
    assert written["objective"] == table.objective


def test_a_wrong_answer_is_caught(small, monkeypatch):
    """A backend with a worse point, one with an impossible bound, and one that breaks."""
    problem = small("pcp")
    good = problem.solve("bcd")
    worse = problem.solve("admm", rank=1, max_iter=50)
    table = nm.crosscheck(problem, ["bcd"])
    assert table.agrees
    import sys

    from npkl_models import crosscheck as _  # noqa: F401  # the function shadows the module

    module = sys.modules["npkl_models.crosscheck.run"]
    answers = {"bcd": good, "admm": worse, "sdp": "failed: broken", "sdp_dual": good}
    monkeypatch.setattr(module, "_solve", lambda problem, backend, options: answers[backend.name])
    table = module.crosscheck(problem, list(answers))
    verdicts = {row.backend: row.verdict for row in table.rows}
    assert verdicts["bcd"] == "agrees"
    assert verdicts["admm"].startswith("worse by")
    assert verdicts["sdp"] == "failed: broken"
    assert not table.agrees
    assert not module.crosscheck(problem, ["bcd", "sdp"]).agrees  # a break alone is a disagreement
    f = good.objective
    assert module._verdict(good, f, 0.0, f + 1, 1e-5).startswith("the objective is below the proved bound")
    assert module._verdict(good, f, 0.0, -np.inf, 1e-5) == "no backend proved a bound to compare it with"


def test_forms_of_the_table(small, tmp_path):
    problem = small("B2:hinge")
    table = nm.crosscheck(problem, ["bcd", "sdp[SCS]", "sdp[CLARABEL]"], reference="sdp[SCS]")
    assert table.reference == "sdp[SCS]"
    data = json.loads(table.to_json())
    assert data["problem"]["n"] == 24
    assert data["versions"]["npkl_models"] == nm.__version__
    rows = {row["backend"]: row for row in data["rows"]}
    assert rows["bcd"]["objective"] is None
    assert rows["bcd"]["verdict"] == f"not run: {problem.compatible_backends()['bcd']}"
    columns = "backend status objective bound relative_gap rigour rank seconds verdict"
    assert set(columns.split()) <= set(rows["sdp[SCS]"])
    markdown = table.to_markdown().splitlines()
    assert len(markdown) == 2 + 3
    assert all(len(re.findall(r"(?<!\\)\|", line)) == len(COLUMNS) + 1 for line in markdown)
    assert "optimum" in str(table)
    frame = table.to_frame()
    assert list(frame.index) == ["bcd", "sdp[SCS]", "sdp[CLARABEL]"]
    ax = table.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["sdp[SCS]", "sdp[CLARABEL]"]
    page = table.report(tmp_path / "page.html").read_text()
    assert "trace_power" in page
    assert page.count("<tr") == 4
    assert all(len(cells(row)) == len(COLUMNS) for row in table.rows)


def test_a_problem_without_a_scale():
    """No objective of zero is near a positive one, however small it is."""
    excess = nm.LossTerm(nm.Trace(3), "squared_excess", 1e-4)
    problem = nm.Problem(np.zeros((3, 3)), excess, nm.TracePower(1.5, penalty=1.0))
    points = {"zero": np.zeros((3, 1)), "more": np.full((3, 1), 1e-3)}
    rows = nm.crosscheck(problem, [], points=points).rows
    assert [row.verdict for row in rows] == ["agrees", "worse by 1.0e+00"]


def test_processes_give_the_same_table(small):
    alone = nm.crosscheck(small("npkl:square"), ["bcd", "admm"])
    together = nm.crosscheck(small("npkl:square"), ["bcd", "admm"], n_jobs=2)
    assert [r.objective for r in alone.rows] == [r.objective for r in together.rows]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backends": ["nope"]}, nm.UnsupportedError, "unknown backend 'nope'"),
        ({"backends": []}, nm.ProblemError, "at least one backend"),
        ({"backends": ["bcd[SCS]"]}, nm.ProblemError, "bcd accepts no solver in brackets"),
        ({"backends": ["bcd"], "reference": "sdp"}, nm.UnsupportedError, "unknown reference"),
        ({"colour": 3}, nm.UnsupportedError, "unknown option 'colour'"),
        ({"tol": -1}, nm.UnsupportedError, "tol must be between"),
    ],
)
def test_bad_calls(small, arguments, error, message):
    with pytest.raises(error, match=message):
        nm.crosscheck(small("pcp"), **arguments)
