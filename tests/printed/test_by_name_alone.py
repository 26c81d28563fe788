"""The printed algorithms are taken by name, and nobody else takes or lists them."""

from dataclasses import replace

import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.show.tables import support_rows
from npkl_models.solve.registry import candidates

NAMES = ("printed_kl_admm", "printed_bcdkl", "printed_bcd_npkl", "printed_simple_npkl", "printed_sqlp")


def test_they_are_a_family_of_their_own():
    assert tuple(nm.backends("printed")) == NAMES
    assert not set(NAMES) & set(nm.backends())
    assert set(nm.backends("lowrank")) == {"bcd", "burer_monteiro", "hybrid", "admm"}
    assert nm.backends("nobody's") == {}


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "basis:pcp", "G2:linear"])
def test_no_default_takes_them_and_no_table_lists_them(small, kind):
    problem = small(kind)
    costs, declined = candidates(problem, {})
    told = [*costs, *(line.split(" ", 1)[0] for line in declined)]
    tables = [told, problem.compatible_backends(), [row[0] for row in nm.choose_backend(problem).rows]]
    tables += [[name for name, *_ in problem.explain().forms.rows], [row[0] for row in support_rows()]]
    assert [set(NAMES) & set(table) for table in tables] == [set()] * len(tables)


def test_an_option_of_theirs_is_none_of_the_default(small):
    with pytest.raises(nm.UnsupportedError, match="unknown option 'misprint'"):
        small("pcp").solve(misprint=True)


def test_a_crosscheck_has_them_by_name_and_not_unasked(small):
    problem = small("pcp")
    assert not set(NAMES) & {row.backend for row in nm.crosscheck(problem, max_iter=1, n_jobs=1).rows}
    rows = nm.crosscheck(problem, ["interior", "printed_kl_admm"], max_iter=500).rows
    assert [row.backend for row in rows] == ["interior", "printed_kl_admm"]
    assert rows[1].ran


def test_an_unknown_name_is_answered_with_theirs_too(small):
    with pytest.raises(nm.UnsupportedError, match="printed_bcd_npkl, printed_bcdkl, printed_kl_admm"):
        small("pcp").solve("printed_admm")


def test_so_is_a_backend_of_a_users_own_that_says_it_is_printed(small):
    mine = nm.register(replace(nm.backends()["bcd"], name="mine", family="printed"))
    try:
        assert mine.by_name
        assert "mine" not in nm.choose_backend(small("pcp")).reason
        assert small("pcp").solve("mine").status is nm.Status.OPTIMAL
    finally:
        nm.unregister("mine")


def test_the_command_shows_them_by_name(capsys):
    assert main(["backends", "printed_kl_admm"]) == 0
    assert "misprint" in capsys.readouterr().out
