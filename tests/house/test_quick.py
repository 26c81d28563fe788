"""What the quick suite leaves for the long run exists, and is named once."""

import ast
from pathlib import Path

import pytest
from quick import LATER, WHOLE

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_run_as_a_whole_exists(name):
    assert (TESTS / name).exists()


@pytest.mark.parametrize("name", LATER)
def test_tests_that_wait_exist(name):
    path, _, function = name.partition("::")
    tree = ast.parse((TESTS / path).read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
