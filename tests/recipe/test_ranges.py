"""What command line and page refuse, they refuse in the same words."""

import pytest
from commands import status

import npkl_models as nm
from npkl_models.explore.form import OWN, SHOWN, Form, controls, formulations
from npkl_models.recipe.fields import FIELDS
from npkl_models.recipe.recipe import Recipe, fields_of

ON_PAGE = {field.name for field in SHOWN}
OF = {
    "p": "simple_npkl",
    "trace_bound": "simple_npkl",
    "penalty": "simple_npkl",
    "nu": "reg_mvu",
    "cannot": "pcp",
}
OF |= {"anchors": "distances", "distances": "distances", "comparisons": "ordinal"}

IN_BASIS = ("conformal_eigenmaps", "locally_rigid", "reg_mvu", "reg_pcp")

BAD = [
    ("n", "1", "n must be an integer >= 2, got 1"),
    ("n", "2.5", "n must be an integer, got '2.5'"),
    ("n_neighbors", "0", "n_neighbors must be an integer >= 1, got 0"),
    ("n_neighbors", "many", "n_neighbors must be an integer, got 'many'"),
    ("shift", "-0.1", "shift must be a finite number >= 0, got -0.1"),
    ("pairs", "0", "pairs must be positive and finite, got 0.0"),
    ("pairs", "inf", "pairs must be a finite number, got 'inf'"),
    ("anchors", "1", "anchors must be an integer >= 2, got 1"),
    ("seed", "-1", "seed must be an integer >= 0, got -1"),
    ("gamma", "-1", "gamma must be positive and finite, got -1.0"),
    ("gamma", "nan", "gamma must be a finite number, got 'nan'"),
    ("gamma", "much", "gamma must be a finite number, got 'much'"),
    ("cannot", "1", "cannot must be from -1 to 0, got 1.0"),
    ("cannot", "-1.5", "cannot must be from -1 to 0, got -1.5"),
    ("row_norm", "0", "row_norm must be positive and finite, got 0.0"),
    ("p", "0.5", "p must be a finite number >= 1, got 0.5"),
    ("trace_bound", "-2", "trace_bound must be positive and finite, got -2.0"),
    ("penalty", "0", "penalty must be positive and finite, got 0.0"),
    ("nu", "0", "nu must be positive and finite, got 0.0"),
    ("n_basis", "0", "n_basis must be an integer >= 1, got 0"),
    ("tol", "1", "tol must be between 0 and 1, got 1.0"),
    ("tol", "0", "tol must be between 0 and 1, got 0.0"),
    ("feasibility", "2", "feasibility must be between 0 and 1, got 2.0"),
    ("time_limit", "0", "time_limit must be positive and finite, got 0.0"),
    ("formulation", "pcq", "unknown formulation 'pcq' (did you mean 'pcp'?); known are: colored_mvu"),
    ("loss", "hing", "unknown loss 'hing' (did you mean 'hinge'?); known are: absolute, excess, hinge"),
    ("scaling", "log", "unknown scaling 'log'; known are: minmax, raw, standard"),
    ("rigour", "some", "unknown rigour 'some'; known are: probable, proved"),
    ("backend", "bcq", "unknown backend 'bcq' (did you mean 'bcd'?); known are: admm"),
    ("data", "irs", "unknown data set 'irs' (did you mean 'iris'?); known are: a1a"),
]


def refused_by_the_command(capsys, name, value):
    assert status("solve", f"{FIELDS[name].option}={value}") == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("name", "value", "words"), BAD)
def test_command_line_and_page_refuse_in_the_same_words(capsys, name, value, words):
    assert words in refused_by_the_command(capsys, name, value)
    if name in ON_PAGE:
        with pytest.raises(nm.NPKLError) as error:
            Form.of({name: value}, {})
        assert words in str(error.value)


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_is_accepted(capsys, name):
    formulation = OF.get(name, "npkl")
    recipe = Recipe(formulation=formulation)
    value = getattr(recipe, name)
    assert FIELDS[name].read(value) == value
    more = {"data": "swiss_roll"} if formulation == "reg_mvu" else {}
    if name in ON_PAGE and name in recipe.used:  # the others are idle
        given = {"formulation": formulation, name: "" if value is None else str(value)}
        limit = None if name == "time_limit" else 60
        n = None if name == "n" else 60
        assert Form.of(given, {}).recipe == Recipe(formulation=formulation, time_limit=limit, n=n)
    if value is not None:
        command = "solve" if FIELDS[name].part == "solver" else "explain"
        given = {"formulation": formulation, "n": 30} | more | {name: value}
        words = [word for key, one in given.items() for word in (FIELDS[key].option, str(one))]
        assert status(command, *words) == 0, capsys.readouterr().err


def test_every_field_with_a_range_is_tried():
    ranged = {name for name, field in FIELDS.items() if field.choices or field.whole or "float" in field.kind}
    assert ranged <= {name for name, _, _ in BAD}


def test_idle_fields_are_refused_in_the_same_words(capsys):
    said = refused_by_the_command(capsys, "loss", "hinge")
    with pytest.raises(nm.ProblemError) as error:
        Form.of({"loss": "hinge"}, {})
    assert str(error.value) in said


def test_the_page_asks_for_what_the_formulation_uses():
    shown = {one["name"]: one for one in controls()}
    for name, about in formulations().items():
        of_page = {field.name for field in OWN}
        assert set(about["fields"]) - of_page == {*fields_of(name, ""), "labels", "ids"}
        assert ("wrong" in about["fields"]) == ("pairs" in fields_of(name, ""))
        assert about["basis"] == ("20" if name in IN_BASIS else "none")
    assert shown["gamma"]["default"] == 1.0
    assert shown["time_limit"]["default"] == 60.0
    assert all(one["label"] for one in shown.values())
