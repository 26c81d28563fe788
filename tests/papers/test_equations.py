"""The page from equation to API: its names, options, scripts, tests and pages exist; no number is lacking."""

import dataclasses
import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import npkl_models as nm

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "papers"
PAGE = ROOT / "docs" / "lab" / "papers" / "equations.md"
SOLVE = re.compile(r'^solve\("(?P<backend>\w+)"(?P<options>(?:, \w+=[^,)]+)*)\)$')


@pytest.fixture(scope="module")
def equations():
    """The package, and the list of scripts; their short names are given back afterwards."""
    names, path = {one.stem for one in FOLDER.glob("*.py")}, list(sys.path)
    others = {name: sys.modules.pop(name) for name in names & set(sys.modules)}  # of other folders
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("equations"), importlib.import_module("run")
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name.split(".")[0] in names | {"equations"}]:
            del sys.modules[name]
        sys.modules.update(others)


def rows(equations):
    return [(paper.title, row) for paper in equations[0].PAPERS for row in paper.rows]


def resolve(name):
    """The thing of a dotted name: a module, or an attribute or a field of one."""
    words = name.split(".")
    for cut in range(len(words), 0, -1):
        try:
            thing = importlib.import_module(".".join(words[:cut]))
        except ModuleNotFoundError:
            continue
        for word in words[cut:]:
            thing = getattr(thing, word)
        return thing
    raise AssertionError(f"nothing is called {name}")


@cache
def defined_in(path):
    return frozenset(re.findall(r"^\s*def (test_\w+)\(", path.read_text(), re.MULTILINE))


def names_of_options(backend):
    return {field.name for field in dataclasses.fields(backend.options)}


def check_script(text, run):
    script, *names = text.split()
    assert (ROOT / script).is_file(), text
    if script.endswith("papers/run.py"):
        assert names, text
        assert set(names) <= set(run.ITEMS), text


def test_every_name_is_there(equations):
    backends = nm.backends() | nm.backends("printed")
    for title, row in rows(equations):
        for name in row.names:
            where, found = f"{title}, {row.number}: {name}", SOLVE.match(name)
            if found:
                assert found["backend"] in backends, where
                options = set(re.findall(r", (\w+)=", found["options"]))
                assert options <= names_of_options(backends[found["backend"]]), where
            elif name.startswith("examples/"):
                check_script(name, equations[1])
            else:
                assert name.startswith("npkl_models"), where
                assert resolve(name) is not None, where


def test_every_test_and_page_that_shows_it_is_there(equations):
    for title, row in rows(equations):
        for shown in row.shown:
            where = f"{title}, {row.number}: {shown}"
            path, _, test = shown.partition("::")
            if path.startswith("examples/"):
                check_script(path, equations[1])
                continue
            assert (ROOT / path).is_file(), where
            assert path.endswith((".md", ".py")), where
            assert not test or test in defined_in(ROOT / path), where
            assert test or path.endswith(".md"), where


def test_scripts_and_names_in_the_words_are_there(equations):
    for title, row in rows(equations):
        for text in (row.words, row.agreement, row.missing):
            for item in re.findall(r"run\.py ([\w.]+)", text):
                assert item in equations[1].ITEMS, f"{title}, {row.number}"
            assert "|" not in text, f"{title}, {row.number}"


def test_no_number_is_lacking_and_none_is_said_twice(equations):
    for paper in equations[0].PAPERS:
        assert not paper.lacking, paper.title
        said = [number for row in paper.rows for number in row.equations]
        assert len(said) == len(set(said)), paper.title
        assert set(said) == set(paper.numbers), paper.title
        numbers = [row.number for row in paper.rows]
        assert len(numbers) == len(set(numbers)), paper.title


def test_the_counts_are_those_of_the_papers(equations):
    """Read from the papers: (26), (32), (2.27) with (3.25), (37) and (28) are their last equations."""
    papers = equations[0].PAPERS
    assert [len(paper.numbers) for paper in papers] == [26, 32, 27 + 25, 37, 28]
    assert [len(paper.named) for paper in papers] == [9, 23, 15, 18, 8]


def test_what_is_not_here_is_said(equations):
    for title, row in rows(equations):
        where = f"{title}, {row.number}"
        if not row.names:
            assert row.missing.startswith(("Not ", "Step of a proof")), where
        assert row.shown or row.missing, where
        assert row.words.endswith("."), where


def test_ranks_of_the_thesis_are_above_its_number_of_rows(equations):
    """2,000 points, 20 pairs for each of ten digits and of 45 couples."""
    printed = equations[1].thesis.THEIRS["usps"]
    assert min(printed[s][4] for s in (80, 100)) > 2_000 + 20 * 10 + 20 * 45


def test_the_page_is_up_to_date(equations):
    """It is written by ``python examples/papers/run.py --docs``."""
    assert PAGE.read_text() == equations[0].page()


def test_what_is_wrong_is_found(equations):
    """The checks themselves: a name that is not there, a gap, a number twice."""
    Paper, Row = equations[0].Paper, equations[0].Row
    assert Paper("x", ("2.3",), ("Table 1",), (Row("(2.1), (2.3)", "y"),)).lacking == ["2.2", "Table 1"]
    assert Row("c (before (13)), (15)-(17)", "y").equations == ["13", "15", "16", "17"]
    with pytest.raises(AttributeError):
        resolve("npkl_models.pcp.nothing")
    assert SOLVE.match('solve("bcd", rank=3, tol=1e-3)')["options"] == ", rank=3, tol=1e-3"
