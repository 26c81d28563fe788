"""What the page asks for, as a problem and as the code that makes the same problem."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore import answers
from npkl_models.explore.form import Form

ASKED = [
    {"formulation": "pcp", "gamma": "2.5"},
    {"formulation": "npkl", "loss": "hinge", "n_basis": 8},
    {"formulation": "simple_npkl", "loss": "square", "p": 3, "trace_bound": "12"},
    {"formulation": "mvu", "n_neighbors": 4, "data": "swiss_roll", "n": 16},
]


def form_of(given):
    return Form.of({"n": 30, **given}, {})


def made_of(form):
    return form.made()


@pytest.mark.parametrize("given", ASKED, ids=lambda g: f"{g['formulation']}-{g.get('loss', '')}")
def test_the_code_runs_and_gives_the_same_objective(given):
    form = form_of(given)
    made = made_of(form)
    solution = made.problem.solve(form.recipe.backend, **form.recipe.solving())
    code, space = answers.solve_code(made, form), {}
    exec(code, space)
    assert space["solution"].objective == pytest.approx(solution.objective, rel=1e-6, abs=1e-6)
    assert repr(space["problem"]) == repr(made.problem)
    assert space["clusters"].shape == (made.problem.n,)


def test_the_code_of_a_path_and_of_a_comparison_runs():
    form = form_of({"formulation": "npkl", "gamma": 2, "backend": "burer_monteiro"})
    made = made_of(form)
    space = {}
    exec(answers.program("path", made, form, span=(0.5, 2.0, 3)), space)
    np.testing.assert_allclose(space["path"].values * form.recipe.gamma, [0.5, 1.0, 2.0])
    last = space["path"].solutions[-1].objective
    assert last == pytest.approx(made.problem.solve("interior").objective, rel=1e-5)
    exec(answers.program("compare", made, form, ["bcd", "interior"]), space)
    assert space["check"].agrees


def test_the_code_of_a_race_solves_before_it_measures(monkeypatch):
    form, ran, solve = form_of({"formulation": "npkl"}), [], nm.Problem.solve
    code = answers.program("race", form.made(), form, ["bcd", "interior"])
    monkeypatch.setattr(nm.Problem, "solve", lambda *all, **how: ran.append(all[1]) or solve(*all, **how))
    exec(code, {})
    assert ran == ["bcd", "bcd", "interior", "interior"]
    assert code.index("problem.solve(name") < code.index("time.process_time()")


def test_files_are_named_in_the_code_as_the_reader_has_them(tmp_path, monkeypatch):
    points, pairs = tmp_path / "mine.csv", tmp_path / "links.csv"
    rng = np.random.default_rng(0)
    points.write_text("a,b\n" + "\n".join(f"{x},{y}" for x, y in rng.normal(size=(20, 2))))
    pairs.write_text("0,1,must\n2,3,must\n0,4,cannot\n")
    uploads = {"1": points, "2": pairs}
    given = {"data_file": "1", "pairs_file": "2", "formulation": "npkl"}
    form = Form.of(given, uploads)
    made = made_of(form)
    code = answers.solve_code(made, form)
    assert "tables.read_points('mine.csv')" in code
    assert "tables.read_pairs('links.csv', data.n)" in code
    assert "cluster_accuracy" not in code
    assert form.command() == (
        "npkl solve --data mine.csv --pairs links.csv --formulation npkl --time-limit 60.0"
    )
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(code, space)
    assert space["problem"].n_pairs == 3
    assert made.labels is None
    assert str(tmp_path) not in made.title
    with pytest.raises(nm.ProblemError, match="pairs must be given for mine"):
        made_of(Form.of({"data_file": "1"}, uploads))
    with pytest.raises(nm.ProblemError, match="no longer here"):
        Form.of(given, {})
    with pytest.raises(nm.ProblemError, match="n must not be given with a file of pairs"):
        made_of(Form.of({**given, "n": 12}, uploads))
