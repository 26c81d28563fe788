"""Everything that lists backends, formulations, losses or options is made from the registry, and is whole."""

import inspect
import re
import typing
from dataclasses import fields
from pathlib import Path

import pytest
from problems import KINDS

import npkl_models as nm
from npkl_models.cli.main import parser
from npkl_models.formulations import FORMULATIONS
from npkl_models.show.tables import support_rows
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.solve.options import describe_options

DOCS = Path(__file__).parents[2] / "docs"
BACKENDS = nm.backends()
PRINTED = nm.backends("printed")
EVERY = BACKENDS | PRINTED


QUESTIONS = ("What it does", "When to use it", "When not", "What it needs", "What you get")
"""That the first screen of a backend's page answers."""
FORMULATION_QUESTIONS = ("What it models", "When to use it", "When not", "What it needs", "What comes back")


def choices(option):
    """Choices of an option of ``npkl crosscheck``."""
    commands = next(a for a in parser()._actions if isinstance(a.choices, dict)).choices
    return next(a for a in commands["crosscheck"]._actions if option in a.option_strings)


def test_the_command_offers_every_formulation_loss_and_backend():
    assert set(choices("--formulation").choices) == set(FORMULATIONS)
    assert set(choices("--loss").choices) == set(nm.LOSSES)
    assert all(name in choices("--backends").help for name in EVERY)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_backend_has_its_page_with_its_options(name):
    page = (DOCS / "backends" / f"{name}.md").read_text()
    assert f"```{{include}} ../generated/options_{name}.md\n```" in page
    assert f"{name}" in (DOCS / "backends" / "index.md").read_text()
    first = page.split("## ")[0]
    assert all(f"**{question}.**" in first for question in QUESTIONS)
    assert re.search(r"^\*\*What (it|an iteration) costs\.\*\*", first, re.M)
    assert "## What differs from the source" in page


@pytest.mark.parametrize("name", PRINTED)
def test_every_printed_algorithm_has_its_options_in_the_documents(name):
    page = (DOCS / "lab" / "printed.md").read_text()
    assert f"```{{include}} ../generated/options_{name}.md\n```" in page
    assert f"`{name}`" in (DOCS / "backends" / "index.md").read_text()


@pytest.mark.parametrize("name", EVERY)
def test_every_option_is_described_once_and_typed(name):
    kind = EVERY[name].options
    described = describe_options(kind)
    assert [option.name for option in described] == [f.name for f in fields(kind)]
    assert all(option.kind and option.text for option in described), described
    assert [option.name for option in described] == list(EVERY[name].option_names)


@pytest.mark.parametrize("name", EVERY)
def test_choices_in_types_are_the_choices_of_the_options(name):
    """A Literal offers exactly the values that the option accepts; the types are written out of the options' words."""
    hints = typing.get_type_hints(AnyKeywords)
    for key in (one.name for one in fields(EVERY[name].options)):
        hint = hints[key]
        for part in typing.get_args(hint) if typing.get_origin(hint) is not typing.Literal else (hint,):
            if typing.get_origin(part) is typing.Literal:
                for value in typing.get_args(part):
                    EVERY[name].options(**{key: value})
                with pytest.raises(nm.UnsupportedError):
                    EVERY[name].options(**{key: "nonsense"})


def test_kinds_of_the_tests_cover_every_loss_and_regulariser(small):
    problems = [small(kind) for kind in KINDS]
    assert {term.loss.name for P in problems for term in P.losses} == set(nm.LOSSES)
    assert {P.regularizer.name for P in problems} == set(nm.REGULARIZERS)


def test_the_documents_include_the_table_of_support():
    assert "```{include}" in (DOCS / "backends" / "index.md").read_text()
    assert [row[0] for row in support_rows()] == list(BACKENDS)


def test_every_formulation_is_in_the_documents():
    text = (DOCS / "problem.md").read_text()
    for name, builder in FORMULATIONS.items():
        arguments = re.search(rf"`{name}\(([^)]*)\)", text)[1].split(", ")
        assert {*arguments} - {"*"} <= inspect.signature(builder).parameters.keys()
        page = (DOCS / "formulations" / f"{name}.md").read_text()
        assert f"```{{include}} ../generated/form_{name}.md\n```" in page
        assert all(part in page for part in ("Source", "## The dual", "![", "```python"))
        first = page.split("```python")[0].split("\n## ")[0]
        assert all(f"**{question}.**" in first for question in FORMULATION_QUESTIONS), name
