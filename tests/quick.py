"""Which tests the quick suite runs: four minutes on two cores for what a change breaks most often.

Of a test with many cases it runs some, spread evenly; ``python -m pytest -m slow`` runs all others, and a workflow
does so every week.
"""

from __future__ import annotations

from collections import Counter

import pytest

CASES = 3
"""Of a test with more cases the quick suite runs so many, or the root of their number if that is more."""

WHOLE = ("checker/", "house/test_house.py", "house/test_kernel.py", "house/test_docstrings.py", "house/test_lid.py", "house/test_quick.py", "prose/", "adversary/test_inputs.py", "crosscheck/test_verdicts.py",
         "cvx/test_doors.py", "certificates/test_alarm.py", "examples/", "solve/test_backends.py")  # fmt: skip
"""Here every case is a promise of its own, and takes next to no time."""

LATER = (
    "adversary/test_adversary.py::test_comparisons_and_sensors_are_drawn_for_the_solvers_that_take_them",
    "adversary/test_adversary.py::test_no_solver_claims_what_is_not_so",
    "applications/test_annotators.py::test_clusters_are_better_if_the_annotators_are_known",
    "applications/test_audit.py::test_seven_in_ten_of_the_wrong_pairs_are_in_the_top_tenth",
    "applications/test_exact_unfolding.py::test_the_printed_problem_is_optimal_where_no_kernel_could_be_shown",
    "applications/test_kept_pairs.py::test_a_broken_pair_is_named",
    "applications/test_kept_pairs.py::test_pairs_without_noise_are_kept",
    "applications/test_localisation.py::test_what_is_unique_does_not_hang_on_the_random_start",
    "applications/test_localisation.py::test_what_is_unique_without_anchors",
    "applications/test_misled.py::test_a_table_that_is_read_three_times_is_not_believed_more",
    "applications/test_misled.py::test_pairs_that_mislead_everybody_do_not_decide_the_clusters",
    "applications/test_pair_noise.py::test_probabilities_are_calibrated",
    "applications/test_pair_noise.py::test_the_rate_of_wrong_pairs_is_found",
    "applications/test_structure.py::test_rounds_end_at_the_optimum_over_all_triplets",
    "applications/test_unfolding.py::test_angles_hold_a_sheet_flat_that_neighbours_alone_let_bend",
    "certificates/test_beyond_dense.py::test_a_network_is_certified_without_dense_matrices",
    "certificates/test_bounded_multipliers.py::test_units_of_length_leave_certificate_and_optimum",
    "certificates/test_bounded_multipliers.py::test_weights_and_a_spread_leave_the_certificate",
    "certificates/test_claims.py::test_a_basis_that_cannot_meet_small_equalities_is_infeasible",
    "certificates/test_claims.py::test_a_conic_solver_keeps_its_time_and_its_caller_informed",
    "certificates/test_claims.py::test_an_almost_invariant_subspace_is_no_proof",
    "certificates/test_claims.py::test_bounded_by_a_hair_is_not_unbounded",
    "certificates/test_claims.py::test_every_backend_says_infeasible_and_none_breaks",
    "certificates/test_claims.py::test_identical_cliques_are_solved",
    "certificates/test_claims.py::test_rounding_when_the_slack_is_formed_is_paid_for",
    "certificates/test_claims.py::test_the_word_of_a_solver_is_not_repeated",
    "certificates/test_claims.py::test_two_values_for_one_entry_are_a_contradiction_above_the_allowed_violation",
    "certificates/test_fresh.py::test_bounds_hold_at_a_fixed_seed",
    "certificates/test_large_graphs.py::test_a_certificate_that_raises_holds",
    "cli/test_cli.py::test_the_default_command_takes_every_backend",
    "cli/test_cli.py::test_report_is_one_page",
    "cli/test_cluster.py::test_a_picture_shows_the_clusters_and_the_pairs",
    "cli/test_said.py::test_an_option_that_is_not_said_is_not_refused",
    "conic/test_conic.py::test_general_powers_go_through_majorisation",
    "conic/test_slack_cliques.py::test_small_cliques_are_taken_by_clarabel_and_agree_with_the_primal",
    "cover/test_guarantee.py::test_fewer_kernels_than_one_over_tol",
    "cover/test_guarantee.py::test_processes_share_the_interval",
    "cover/test_guarantee.py::test_units_do_not_matter",
    "cover/test_penalty_of_cost.py::test_no_gap_is_larger_than_its_proof",
    "differential/test_differential.py::test_comparisons_and_sensors_agree_whoever_solves_them",
    "examples/test_examples.py::test_every_table_and_figure_of_the_papers_is_named",
    "examples/test_notebooks.py::test_notebook_runs",
    "explore/test_browser.py::test_errors_stand_as_the_library_words_them",
    "explore/test_browser_lecture.py::test_steps_by_buttons_and_arrows",
    "explore/test_browser_tabs.py::test_a_reload_in_the_middle_of_a_run_finds_it_again",
    "explore/test_browser_tabs.py::test_all_by_the_keyboard",
    "explore/test_browser_tabs.py::test_two_tabs_leave_each_others_screens_alone",
    "explore/test_failures.py::test_the_hinge_stalls",
    "explore/test_failures.py::test_without_a_shift_the_solver_crawls",
    "feasibility/test_dependence.py::test_it_is_infeasible_for_every_regulariser",
    "formulations/test_conformal_eigenmaps.py::test_flat_points_cost_nothing_over_all_centred_vectors",
    "house/test_alone.py::test_each_in_a_process_of_its_own",
    "house/test_alone.py::test_each_is_whole_in_a_process_that_has_done_nothing_else",
    "house/test_derived.py::test_command_and_names_have_what_was_added",
    "house/test_derived.py::test_types_and_documents_have_what_was_added",
    "house/test_imports.py::test_a_function_of_a_script_can_be_sent_to_other_processes",
    "house/test_imports.py::test_a_solver_loads_what_it_is_about",
    "house/test_imports.py::test_all_is_loaded_at_once_where_that_is_asked",
    "house/test_imports.py::test_functions_keep_their_names_beside_rooms_of_the_same_name",
    "house/test_loops.py::test_a_stranger_s_first_problem_compiles_nothing",
    "house/test_repeatable.py::test_the_same_for_any_number_of_workers",
    "interior/test_interior.py::test_a_cost_that_is_small_against_the_weights",
    "interrupts/test_page.py::test_an_interrupt_ends_the_page_and_what_it_does",
    "lowrank/test_factor.py::test_the_default_leaves_over_relaxation_where_it_swings",
    "lowrank/test_restored.py::test_stiff_distances_are_certified",
    "lowrank/test_rows.py::test_points_that_only_pairs_hold_are_certified",
    "lowrank/test_rows_of_distances.py::test_what_is_too_stiff_for_sweeps_is_not_called_optimal",
    "lowrank/test_saddles_of_kinks.py::test_a_matrix_is_refused_exactly_where_it_is_not_definite_over_centred_directions",
    "lowrank/test_saddles_of_kinks.py::test_absolute_losses_without_anchors_are_certified",
    "machines/test_machines.py::test_the_arithmetic_of_another_processor",
    "model/test_basis.py::test_a_sparse_basis_stays_sparse_and_means_the_same",
    "model/test_colouring.py::test_a_search_that_is_too_long_says_nothing",
    "model/test_neighbors.py::test_single_precision_does_not_blur_what_is_far_from_the_median",
    "model/test_pairs.py::test_pairs_from_labels_are_uniform",
    "papers/test_papers.py::test_fast_solvers_prove_themselves_on_bundled_sets",
    "feasibility/test_anchored.py::test_a_split_does_not_keep_its_problem_alive",
    "presolve/test_presolve_steps.py::test_of_many_parts_the_small_ones_are_one",
    "printed/test_bcdkl.py::test_the_printed_row_program_stalls_and_says_so",
    "proof/test_bounds.py::test_a_sparse_factorisation_proves_where_fill_is_small",
    "show/test_html.py::test_the_handout_has_all_on_one_page",
    "show/test_report.py::test_a_figure_that_cannot_be_drawn_says_why",
    "show/test_report.py::test_the_report_is_one_whole_page",
    "solve/test_portfolio.py::test_where_no_gap_is_known_the_point_that_meets_the_equalities_best_is_kept",
    "test_task_cache.py::test_a_path_in_chunks_is_the_same_path",
    "test_task_cache.py::test_results_come_back_in_order_and_failures_are_kept",
)
"""Tests of several seconds that wait for the long run."""


@pytest.hookimpl(tryfirst=True)  # before the marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests and the cases that wait for the long run."""
    names = [item.nodeid.partition("[")[0].removeprefix("tests/") for item in items]
    able = [name for item, name in zip(items, names, strict=True) if not item.get_closest_marker("slow")]
    cases, seen = Counter(able), Counter[str]()
    for item, name in zip(items, names, strict=True):
        if item.get_closest_marker("slow"):
            continue
        count, k = cases[name], seen[name]
        seen[name] += 1
        kept = count if name.startswith(WHOLE) else min(count, max(CASES, round(count**0.5)))
        if k * kept // count == (k - 1) * kept // count or name in LATER:
            item.add_marker(pytest.mark.slow)
