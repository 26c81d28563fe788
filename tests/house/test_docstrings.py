"""Every public name has an example in its module, and every example prints what it says."""

import doctest
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import pytest

import npkl_models as nm
from npkl_models.formulations import FORMULATIONS

DOCS = Path(__file__).parents[2] / "docs"
DATA = ("LOSSES", "REGULARIZERS", "__version__")  # values, which have no docstring of their own
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def modules():
    names = (found.name for found in pkgutil.walk_packages(nm.__path__, "npkl_models."))
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def examples():
    """Once each, wherever it is imported."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in modules() for test in finder.find(module, globs={})]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", [name for name in nm.__all__ if name not in DATA])
def test_the_module_of_every_public_name_has_an_example(name):
    """Of its own, or of another name of the same module; a formulation has it on its page."""
    found = getattr(nm, name)
    if name in FORMULATIONS:
        assert "```python" in (DOCS / "formulations" / f"{name}.md").read_text()
        return
    assert "Examples\n--------\n" in inspect.getsource(
        sys.modules[found.__module__ if hasattr(found, "__module__") else found.__name__]
    ).replace("    ", "")


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example_prints_what_it_says(test, monkeypatch):
    monkeypatch.delenv(nm.datasets.FOLDER_VARIABLE, raising=False)
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not report, "".join(report)
