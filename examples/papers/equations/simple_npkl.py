"""Zhuang, Tsang & Hoi, A Family of Simple Non-Parametric Kernel Learning Algorithms, JMLR 12, 2011."""

from __future__ import annotations

from equations.row import CHECKS, WRONG, Paper, Row, counted

PRINTED_TESTS = "tests/printed/test_simple_npkl.py"
DUAL_TESTS = "tests/spectral/test_dual.py"
RUN = "examples/papers/run.py"
PAGE = "docs/lab/papers/simple_npkl.md"
PRINTED = 'solve("printed_simple_npkl")'
DUAL = "npkl_models.spectral.concave.Dual"
TRACE_POWER = "npkl_models.TracePower"
EVERY = "tests/solve/test_every_formulation.py::test_every_backend_that_takes_it_finds_the_one_optimum"
PROPS = (f"{CHECKS}::test_lemma_5_and_proposition_6_along_the_printed_steps",)

ROWS = (
    Row("(1)", "Multiple kernel learning: a classifier and a mixture of given kernels at once.", (), (), "",
        "Not implemented: background. The library learns whole kernels from pairs; no classifier is in its problems."),
    Row("(2)", "Learning from an indefinite kernel, near it.", (), (), "", "Not implemented: background, another problem."),
    Row("(3)", "Alignment of a kernel with labels.", (), (), "", "Not implemented: background, a ratio, which is no problem of this form; the linear loss is the alignment without its norm."),
    Row("(4)", "The log-determinant divergence from a known kernel.", (), (), "", "Not implemented: background. It asks for a kernel of full rank, which none of the problems here has."),
    Row("(5)", "A semidefinite program with linear equations.", ("npkl_models.Problem", "npkl_models.Constraint", 'solve("sdp")'),
        (EVERY,), "1e-5 of the exact program"),
    Row("(6)", "Its dual.", ('solve("sdp_dual")', "npkl_models.Problem.slack"), (f"{WRONG}::test_the_dual_in_equation_6_of_simple_npkl_has_its_sign_turned", EVERY), "1e-5 of the exact program",
        "Wrong in print: for the maximum in (5) the sum of the multipliers' matrices less C must be positive semidefinite; the sign is turned."),
    Row("(7)", "Plus one for must-links, minus one for cannot-links.", ("npkl_models.Pairs.sign",), (f"{CHECKS}::test_simple_npkl_is_equations_12_21_and_26",), "exact"),
    Row("(8)", "Smoothness of rows on the graph, as a trace.", ("npkl_models.laplacian",), (f"{CHECKS}::test_smoothness_is_the_trace_with_either_laplacian",), "1e-10"),
    Row("(9)", "The normalised Laplacian.", ("npkl_models.laplacian",), (f"{CHECKS}::test_smoothness_is_the_trace_with_either_laplacian",
        "tests/model/test_graph.py::test_normalised_laplacian_has_its_null_vector_and_range"), "1e-10", "Of Gaussian affinities by default; the paper's graph is that of section 5.1."),
    Row("(10)", "Kernel learning from pairs: smoothness and a loss, without a bound.", ("npkl_models.npkl",), (f"{CHECKS}::test_npkl_is_equation_3_of_bcdkl_with_the_losses_of_figure_1",), "1e-12",
        "With the linear loss it may be unbounded below, which the paper does not say; `npkl` refuses it without a row norm."),
    Row("(11)", "The trace of a power of K, as a bound or in the objective.", (TRACE_POWER,), ("tests/model/test_regularizers.py::test_support_is_attained_by_the_maximiser_and_by_nothing_better",), "1e-10",
        "The power may be any number from 1 on."),
    Row("(12)", "The linear loss with the trace bounded.", ("npkl_models.simple_npkl", 'solve("closed_form")'),
        (f"{CHECKS}::test_simple_npkl_is_equations_12_21_and_26", f"{DUAL_TESTS}::test_closed_forms_are_optimal"), "objective 1e-10; optimum of an exact solver to 1e-6"),
    Row("Proposition 1", "The best kernel of a linear objective with the trace bounded, in closed form.", (f"{TRACE_POWER}.maximiser", 'solve("closed_form")'),
        (f"{CHECKS}::test_closed_forms_are_equations_14_and_20", f"{DUAL_TESTS}::test_closed_forms_are_optimal", f"{DUAL_TESTS}::test_ties_share_the_trace_equally", f"{WRONG}::test_proposition_1_of_simple_npkl_at_p_equal_1_needs_a_positive_eigenvalue"), "1e-12",
        "Wrong in print for p = 1 where no eigenvalue is positive: zero is better, and is taken."),
    Row("(13)", "The linear objective of that proposition.", (f"{TRACE_POWER}.support",), ("tests/model/test_regularizers.py::test_support_is_attained_by_the_maximiser_and_by_nothing_better",), "1e-10"),
    Row("(14)", "Its solution for p above 1.", (f"{TRACE_POWER}.maximiser",), (f"{CHECKS}::test_closed_forms_are_equations_14_and_20",), "1e-12"),
    Row("(15)-(18)", "Conditions on the eigenvalues.", (), (), "", "Not needed: steps of a proof; that the kernel is optimal is tested instead."),
    Row("Proposition 2", "The same with the power in the objective.", (f"{TRACE_POWER}.maximiser", "npkl_models.equivalent_bound", "npkl_models.equivalent_penalty"),
        (f"{CHECKS}::test_closed_forms_are_equations_14_and_20", f"{DUAL_TESTS}::test_bound_and_penalty_are_one_family"), "1e-12", "The G that belongs to a B, which the text has, is tested too."),
    Row("(19)", "The linear objective with a penalty.", ('solve("closed_form")', "npkl_models.simple_npkl"), (f"{DUAL_TESTS}::test_closed_forms_are_optimal",), "optimum of an exact solver to 1e-6"),
    Row("(20)", "Its solution.", (f"{TRACE_POWER}.maximiser",), (f"{CHECKS}::test_closed_forms_are_equations_14_and_20",), "1e-12", "At p = 1 the penalty is linear and there is no closed form; `compatible_backends` says so."),
    Row("(21), (22)", "The squared hinge with the trace bounded.", ("npkl_models.simple_npkl",), (f"{CHECKS}::test_simple_npkl_is_equations_12_21_and_26",
        f"{DUAL_TESTS}::test_dual_ascent_closes_its_gap"), "objective 1e-10; certified gap 1e-8", "The loss is a half of the squared hinge in print: C weighs C / 2."),
    Row("(23)", "The partial Lagrangian.", (), (), "", "Not needed: step to (24)."),
    Row("(24)", "The dual: maximise over multipliers the smallest value over kernels.", (f"{DUAL}.at", "npkl_models.Problem.dual_bound"),
        (f"{CHECKS}::test_the_dual_is_equation_24_and_its_gradient_25",), "1e-9", "Signs: the multiplier here is minus T times the paper's alpha."),
    Row("Lemma 3", "An optimal value is differentiable where the minimiser is unique.", (), (f"{DUAL_TESTS}::test_the_dual_has_the_gradient_it_says",), "differences to 1e-5",
        "Not needed as a name: a general lemma. At p = 1 the minimiser need not be unique and the dual has kinks."),
    Row("(25)", "The gradient of the dual.", (f"{DUAL}.gradient",), (f"{CHECKS}::test_the_dual_is_equation_24_and_its_gradient_25", f"{DUAL_TESTS}::test_the_dual_has_the_gradient_it_says"), "1e-9",
        "The text that we have shows a minus before B in the kernel that follows it; (14) has none."),
    Row("(26)", "The squared hinge with a penalty.", ("npkl_models.simple_npkl",), (f"{CHECKS}::test_simple_npkl_is_equations_12_21_and_26",), "1e-10"),
    Row("Algorithm 1", "SimpleNPKL: closed form, gradient, step, and so on.", (PRINTED, 'solve("simple_npkl")'), (f"{PRINTED_TESTS}::test_the_steps_of_prop_6_lead_to_the_optimum_and_never_down",
        f"{PRINTED_TESTS}::test_truncated_kernels_are_feasible_and_bounded_from_below", "docs/lab/printed.md"), "optimum to 1e-4; bounds on the right side, 1e-9",
        "The criterion is not stated: 51 steps, where its tables end. The production solver ascends otherwise and closes the gap."),
    Row("Proposition 4", "Rank of some solution of a linear semidefinite program.", ('solve("printed_simple_npkl", eigenpairs="pataki")', "npkl_models.spectral.concave.printed_rank"),
        (f"{PRINTED_TESTS}::test_the_rank_of_prop_4", f"{PRINTED_TESTS}::test_a_rank_that_is_too_small_leaves_the_gap_open", f"{WRONG}::test_the_rank_of_proposition_4_of_simple_npkl_is_not_that_of_a_bounded_trace_of_squares"), "exact",
        "It holds of some solution of a linear program, not of all. The paper takes it as a suggestion for the bounded trace of a power, which is no linear constraint: there the rank may be 6 where the rule gives 3. What holds there is one for each active pair, as section 5.2 says."),
    Row("Lemma 5", "A Lipschitz constant of the gradient.", ('solve("printed_simple_npkl", eigenpairs="all")',), PROPS, "on 50 random pairs of points", "For p = 2 and a penalty alone, as the paper has it."),
    Row("Proposition 6", "Each step of that length ascends, and the gap falls as one over the steps.", ('solve("printed_simple_npkl", eigenpairs="all")',),
        (*PROPS, f"{PRINTED_TESTS}::test_the_steps_of_prop_6_lead_to_the_optimum_and_never_down"), "both inequalities along 39 steps, to 1e-9",
        "The letter eta is a step in the algorithm and the inverse of one here. For the hinge, which has no 1 / C, ascent is not promised."),
    Row("(27)", "A quadratic bound on the dual from below.", (), PROPS, "every step, to 1e-10", "Step of a proof."),
    Row("(28)-(30)", "The step as a minimiser, its condition, and a sum that telescopes.", (), PROPS, "", "Not needed: steps of a proof, whose result is checked."),
    Row("section 4.4", "The square loss, its dual and gradient (not numbered).", ("npkl_models.simple_npkl", f"{DUAL}.at"), (f"{CHECKS}::test_the_dual_is_equation_24_and_its_gradient_25",), "1e-9"),
    Row("section 4.5", "The hinge, its dual and gradient (not numbered).", ("npkl_models.simple_npkl", f"{DUAL}.project"), (f"{CHECKS}::test_the_dual_is_equation_24_and_its_gradient_25",), "1e-9"),
    Row("section 5.1", "The graph: binary, neighbours of each other.", ("npkl_models.knn_affinity",), ("tests/model/test_graph.py::test_the_mutual_binary_graph_of_simple_npkl",), "exact",
        "Not implemented: graphs by B-matching, which the paper itself leaves aside; neighbours are found by other trees than a cover tree, with the same result."),
    Row("section 5.3", "Choice of constraints by the margin of their points.", ("npkl_models.Pairs.select",), ("tests/model/test_selection.py::test_selected_pairs_are_those_of_uncertain_points",), "exact",
        "The kernel that the margin asks is not named in the paper; one must be given."),
    Row("section 5.4", "The kernel in a fixed basis.", ("npkl_models.Problem.with_basis",), (f"{CHECKS}::test_with_basis_is_section_5_4_of_simple_npkl",), "1e-12"),
    Row("(31)", "Coloured unfolding, its dual and kernel.", ("npkl_models.colored_mvu", "npkl_models.applications.unfolding.ColoredMVU"),
        ("tests/model/test_colored.py::test_the_kernel_is_the_closed_form_of_its_multipliers", f"{CHECKS}::test_embeddings_are_the_problems_of_section_6_of_simple_npkl"), "objective 1e-9; kernel 1e-5"),
    Row("(32)", "Minimum volume embedding: a step, and the steps.", ("npkl_models.mve", "npkl_models.applications.volume.minimum_volume"),
        (f"{CHECKS}::test_embeddings_are_the_problems_of_section_6_of_simple_npkl", "tests/applications/test_volume.py::test_steps_fall_to_a_fixed_point", f"{WRONG}::test_the_kernel_itself_is_no_direction_of_minimum_volume_embedding"), "cost 1e-10",
        "Taken literally, the next step in print has the last kernel itself for K0; its definition, which is taken here, asks for the projectors on its eigenvectors. On centred vectors, where the paper's constraint puts the kernel."),
    Row("section 6.3", "Structure preserving embedding (not numbered).", ("npkl_models.spe", "npkl_models.applications.structure.structure_preserving"),
        (f"{CHECKS}::test_embeddings_are_the_problems_of_section_6_of_simple_npkl", "tests/applications/test_structure.py::test_the_slope_of_the_dual_and_its_sign"), "objective 1e-9",
        "Centred by default, which the paper's form is not; triplets are found as they are violated, where the paper has them all."),
    Row("Table 1", "The nine small sets.", (f"{RUN} simple_npkl.table1", "npkl_models.datasets.load"), (PAGE, "tests/papers/test_papers.py::test_simple_npkl_on_the_nine_sets"), "certified gap 1e-8 on each (hinge 1e-6)"),
    Row("Table 2", "Clustering accuracy.", (f"{RUN} simple_npkl.table2",), (PAGE,), "beside the paper's on the page", "How the features were scaled is not stated, which decides heart and wine."),
    Row("Table 3", "CPU time of the same.", (f"{RUN} simple_npkl.table3",), (PAGE,), "beside the paper's on the page", "Other machine, other general solver than SDPT3."),
    Row("Table 4", "B varied.", (f"{RUN} simple_npkl.table4",), (PAGE,), "beside the paper's on the page"),
    Row("Table 5", "p varied.", (f"{RUN} simple_npkl.table5",), (PAGE,), "beside the paper's on the page"),
    Row("Table 6", "The adult sets.", (f"{RUN} simple_npkl.table1",), (PAGE,), "sizes on the page"),
    Row("Table 7", "The adult sets, accuracy and CPU time.", (f"{RUN} simple_npkl.table7", "examples/papers/cop_kmeans.py"), (PAGE,), "beside the paper's on the page"),
    Row("Table 8", "Neighbours' classification on two coordinates.", (f"{RUN} simple_npkl.table8",),
        (PAGE,), "beside the paper's on the page", "Two of its eight sets are not here."),
    Row("Table 9", "CPU time of two embeddings.", (f"{RUN} simple_npkl.table9",), (PAGE,), "beside the paper's on the page"),
    Row("Figure 1", "Convergence on two sets.", (f"{RUN} simple_npkl.figure1",), (PAGE,), "drawn on the page"),
    Row("Figure 2", "Chosen constraints against random ones.", (f"{RUN} simple_npkl.figure2", "npkl_models.Pairs.select"), (PAGE,), "drawn on the page"),
    Row("Figure 3", "Coloured unfolding of the senate.", (), (), "", "Not re-run: the votes that were used are not here (`examples/papers/run.py simple_npkl.figure3`). The method is that of (31)."),
    Row("Figure 4", "Coloured unfolding of news20.", (f"{RUN} simple_npkl.figure4",), (PAGE,), "drawn on the page", "The size is not stated; 600 points of the five largest classes."),
    Row("Figure 5", "Coloured unfolding of USPS.", (f"{RUN} simple_npkl.figure5",), (PAGE,), "drawn on the page", "As for Figure 4."),
    Row("Figure 6", "Photographs of two groups.", (), (), "", "Not re-run: the photographs were never published, as far as could be found."),
    Row("Figure 7", "Embedding of the users of these groups.", (), (), "", "Not re-run: as for Figure 6. The methods are those of (32) and section 6.3."),
)  # fmt: skip

PAPER = Paper(
    "Zhuang, Tsang & Hoi 2011 (SimpleNPKL)",
    ("32",),
    (
        "Algorithm 1", "Proposition 1", "Proposition 2", "Lemma 3", "Proposition 4", "Lemma 5", "Proposition 6",
        *counted("Table", 9), *counted("Figure", 7),
    ),
    ROWS,
)  # fmt: skip
