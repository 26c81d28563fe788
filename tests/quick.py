"""Which tests the quick suite runs: five minutes on two cores for what a change breaks most often.

``python -m pytest -m slow`` runs all others, and a workflow does so every week.
"""

from __future__ import annotations

from collections import Counter

import pytest

THINNED = {
    "applications/test_estimators.py": 5,
    "applications/test_exact_unfolding.py": 3,
    "applications/test_unfolding.py": 4,
    "certify/test_certificate.py": 4,
    "certify/test_claims.py": 5,
    "certify/test_slater.py": 3,
    "conic/test_conic.py": 2,
    "conic/test_reduced.py": 3,
    "explore/test_browser_lecture.py": 4,
    "explore/test_failures.py": 3,
    "examples/test_notebooks.py": 3,
    "explore/test_refusals.py": 4,
    "formulations/test_conformal_eigenmaps.py": 3,
    "formulations/test_locally_rigid.py": 3,
    "formulations/test_psde.py": 3,
    "house/test_imports.py": 2,
    "interior/test_interior.py": 3,
    "lowrank/test_factor.py": 3,
    "lowrank/test_rows.py": 4,
    "lowrank/test_rows_of_distances.py": 4,
    "presolve/test_cliques.py": 3,
    "model/test_losses.py": 2,
    "papers/test_papers.py": 3,
    "presolve/test_presolve_steps.py": 3,
    "presolve/test_units.py": 3,
    "printed/test_bcdkl.py": 3,
    "printed/test_simple_npkl.py": 3,
    "show/test_html.py": 4,
    "spectral/test_dual.py": 4,
}
"""Of the cases of one test in these files the quick suite runs the first and every so many-th after it; ``-m slow`` runs
the others."""

LATER = (
    "adversary/test_adversary.py::test_no_solver_claims_what_is_not_so",
    "applications/test_exact_unfolding.py::test_the_printed_problem_is_optimal_where_no_kernel_could_be_shown",
    "certify/test_claims.py::test_rounding_when_the_slack_is_formed_is_paid_for",
    "cli/test_cli.py::test_default_command_adds_a_subset_for_the_interior_point",
    "conic/test_slack_cliques.py::test_small_cliques_are_taken_by_clarabel_and_agree_with_the_primal",
    "examples/test_notebooks.py::test_notebook_runs",
    "explore/test_browser.py::test_errors_stand_as_the_library_words_them",
    "explore/test_browser_lecture.py::test_steps_by_buttons_and_arrows",
    "explore/test_browser_tabs.py::test_a_reload_in_the_middle_of_a_run_finds_it_again",
    "explore/test_browser_tabs.py::test_all_by_the_keyboard",
    "explore/test_browser_tabs.py::test_two_tabs_leave_each_others_screens_alone",
    "explore/test_failures.py::test_the_hinge_stalls",
    "explore/test_failures.py::test_without_a_shift_the_solver_crawls",
    "house/test_imports.py::test_a_solver_loads_what_it_is_about",
    "house/test_imports.py::test_all_is_loaded_at_once_where_that_is_asked",
    "lowrank/test_factor.py::test_the_default_leaves_over_relaxation_where_it_swings",
    "lowrank/test_rows_of_distances.py::test_what_is_too_stiff_for_sweeps_is_not_called_optimal",
    "model/test_basis.py::test_a_sparse_basis_stays_sparse_and_means_the_same",
    "mutation/test_mutants.py::test_a_slot_can_be_warmed",
    "printed/test_bcdkl.py::test_the_printed_hinge_descends_and_is_not_called_optimal",
    "printed/test_bcdkl.py::test_the_printed_row_program_stalls_and_says_so",
    "test_task_cache.py::test_a_cluster_that_loses_a_worker_ends_the_sweep",
)
"""Tests of several seconds that wait for the long run."""


@pytest.hookimpl(tryfirst=True)  # before the marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests and the cases that wait for the long run."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0].removeprefix("tests/")
        every = THINNED.get(test.partition("::")[0], 1)
        if seen[test] % every or test in LATER:
            item.add_marker(pytest.mark.slow)
        seen[test] += 1
