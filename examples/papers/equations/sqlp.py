"""Wu, Fast Graph Laplacian Regularized Kernel Learning via Semidefinite-Quadratic-Linear Programming, CUHK 2011."""

from __future__ import annotations

from equations.row import CHECKS, Paper, Row, counted

TESTS = "tests/printed/test_sqlp.py"
REDUCED = "tests/conic/test_reduced.py"
EVERY = "tests/solve/test_every_formulation.py::test_every_backend_that_takes_it_finds_the_one_optimum"
RUN = "examples/papers/run.py"
PAGE = "docs/lab/papers/thesis.md"
PRINTED = 'solve("printed_sqlp")'
SMOOTH = (f"{CHECKS}::test_smoothness_is_the_trace_with_either_laplacian",)
HARD = ("tests/model/test_formulations.py::test_hard_pcp_is_solved_exactly",)
UNROLLED = ("tests/model/test_formulations.py::test_mvu_unrolls_an_arc_to_a_straight_line",)
SAME = (f"{TESTS}::test_the_program_in_vec_has_the_same_optimum",)
BACKGROUND = "Not needed: background. The library learns a matrix, not a function; new points come by `Solution.extend`."

ROWS = (
    Row("Definition 1", "Positive semidefinite matrices.", ("npkl_models.Certificate",), ("tests/certificates/test_certificate.py::test_every_rigour_on_every_problem",), "", "A certificate proves that its slack matrix is one, or says how far it can tell."),
    Row("Definition 2", "The Gram matrix of a kernel on points.", ("npkl_models.Solution",), ("tests/model/test_functionals.py::test_faces_of_a_functional_agree",), "1e-6", "Of the rows of a factor."),
    Row("(2.1)", "Its entries.", ("npkl_models.Entries",), ("tests/model/test_functionals.py::test_faces_of_a_functional_agree",), "1e-6"),
    Row("Definition 3", "Positive semidefinite kernel functions.", (), (), "", BACKGROUND),
    Row("Theorem 1", "The inequality of Cauchy and Schwarz for kernels.", (), (), "", BACKGROUND),
    Row("(2.2)", "That inequality.", (), (), "", BACKGROUND),
    Row("(2.3)-(2.8)", "Feature maps and the space that a kernel reproduces; the kernel trick.", (), (), "", BACKGROUND),
    Row("Definition 4", "The graph Laplacian.", ("npkl_models.laplacian",), SMOOTH, "1e-10", "With `normalized=False`."),
    Row("(2.9)", "Degrees less weights.", ("npkl_models.laplacian",), ("tests/model/test_graph.py::test_normalised_laplacian_has_its_null_vector_and_range",), "1e-12"),
    Row("Definition 5", "The normalised Laplacian.", ("npkl_models.laplacian",), SMOOTH, "1e-10", "The default."),
    Row("(2.10)", "Scaled by the roots of the degrees.", ("npkl_models.laplacian",), SMOOTH, "1e-10"),
    Row("Theorem 2", "Both Laplacians are symmetric and positive semidefinite.", ("npkl_models.laplacian",), (*SMOOTH, "tests/model/test_graph.py::test_normalised_laplacian_has_its_null_vector_and_range"), "1e-10"),
    Row("(2.11), (2.12)", "Their quadratic forms.", ("npkl_models.laplacian",), SMOOTH, "1e-10"),
    Row("(2.13), (2.14)", "Smoothness of a function, and of an eigenvector.", ("npkl_models.eigenbasis",), SMOOTH, "1e-10"),
    Row("(2.15)-(2.17)", "Optimisation, convexity.", (), (), "", "Not needed: background."),
    Row("(2.18), (2.19)", "Linear and conic programs.", ("npkl_models.conic",), (f"{REDUCED}::test_programs_show_their_cones_and_arrays",), "", "Background: CVXPY writes the cones."),
    Row("(2.20)-(2.23)", "Second-order cones and their programs.", ("npkl_models.conic.reduced.write_sqlp",), (f"{REDUCED}::test_programs_show_their_cones_and_arrays",), "", "Background; the one cone that is used is that of (3.24)."),
    Row("(2.24), (2.25)", "Semidefinite programs and linear matrix inequalities.", ('solve("sdp")', 'solve("sdp_dual")'), (EVERY,), "1e-5 of the exact program"),
    Row("(2.26), (2.27)", "A matrix in blocks and its Schur complement.", ("npkl_models.conic.reduced.write_scsdp", "npkl_models.printed.rows.FreeRows.reduced"),
        ("tests/printed/test_bcdkl.py::test_the_reduced_problem_is_the_minimum_over_the_free_rows",), "1e-12"),
    Row("Theorem 3", "Positive semidefinite by the block and its complement.", ('solve("scsdp")',), (f"{CHECKS}::test_schur_complements_of_theorems_3_and_4",), "60 random matrices",
        "The block must be regular, as (2.27) asks and the theorem does not repeat."),
    Row("Theorem 4", "The same with a positive block.", ('solve("scsdp")',), (f"{CHECKS}::test_schur_complements_of_theorems_3_and_4",), "60 random matrices", "As for Theorem 3."),
    Row("(3.1)", "Unfolding: the largest variance.", ("npkl_models.mvu", "npkl_models.applications.unfolding.MVU"), UNROLLED, "optimum of the other form to 1e-6"),
    Row("(3.2)", "Centred.", ("npkl_models.TotalSum", "npkl_models.mvu"), (*UNROLLED, f"{CHECKS}::test_regularised_problems_are_equations_3_11_and_3_12_of_the_thesis"), "1e-3; 1e-10 in a basis"),
    Row("(3.3)", "Distances of neighbours kept.", ("npkl_models.SquaredDistances", "npkl_models.mvu"), (*UNROLLED, "tests/model/test_functionals.py::test_distances_mean_what_they_say"), "optimum of the other form to 1e-6"),
    Row("(3.4)", "Positive semidefinite.", ("npkl_models.mvu",), UNROLLED, "by the factor"),
    Row("(3.5)", "Constraint propagation: the smoothest kernel.", ("npkl_models.hard_pcp",), HARD, "optimum of an exact solver to 2e-6"),
    Row("(3.6)-(3.8)", "Ones on the diagonal and for must-links, zeros for cannot-links.", ("npkl_models.hard_pcp", "npkl_models.Constraint"), HARD, "2e-6",
        "By default must-links share a row, which is the same problem with a strictly feasible kernel; `reduce=False` is as printed."),
    Row("(3.9)", "Positive semidefinite.", ("npkl_models.hard_pcp",), HARD, "by the factor"),
    Row("(3.10)", "Smoothness of the feature map.", ("npkl_models.laplacian",), SMOOTH, "1e-10"),
    Row("(3.11)", "Unfolding in a basis, with squares on the distances.", ("npkl_models.reg_mvu",), (f"{CHECKS}::test_regularised_problems_are_equations_3_11_and_3_12_of_the_thesis",), "1e-9", "Eigenvectors 2 to s + 1, so that every kernel is centred."),
    Row("(3.12)", "Constraint propagation in a basis, with squares.", ("npkl_models.reg_pcp",), (f"{CHECKS}::test_regularised_problems_are_equations_3_11_and_3_12_of_the_thesis",), "1e-10"),
    Row("(3.13), (3.14)", "Both as one convex quadratic over positive semidefinite matrices.", ("npkl_models.conic.quadratic.ReducedQuadratic", "npkl_models.printed.sqlp.quadratic_ranks", PRINTED),
        (f"{REDUCED}::test_svec_is_an_isometry_and_the_quadratic_is_the_objective", f"{TESTS}::test_ranks_of_entries"), "1e-6; ranks exact",
        "The unknown of the production solvers is the half of the matrix, scaled; `printed_sqlp` has all of it."),
    Row("section 3.1", "Other problems of that form that the thesis names: PSDE, Conformal Eigenmaps, Locally Rigid Embedding, Kernel Matrix Completion.",
        ("npkl_models.psde", "npkl_models.conformal_eigenmaps", "npkl_models.locally_rigid", "npkl_models.kernel_completion"),
        (EVERY,),
        "1e-5 of the exact program", "The thesis names them and gives no formulas: these are from the papers, with slack on distances that PSDE keeps. A fifth, Colored MVU, is `npkl_models.colored_mvu`."),
    Row("(3.15), (3.16)", "The older form, with a second semidefinite cone by a Schur complement.", ('solve("scsdp")', "npkl_models.conic.reduced.write_scsdp"), (f"{REDUCED}::test_reduced_programs_take_regularisers_and_equalities",), "the exact program to 1e-6",
        "For comparison; too large a cone is refused with its bytes."),
    Row("(3.17)-(3.20)", "The quadratic bounded by a number, with B'B = A.", ("npkl_models.conic.quadratic.rank_revealing_factor",), (f"{REDUCED}::test_factors_reveal_the_rank",), "1e-12", "A step to (3.21)."),
    Row("Theorem 5", "The bound as a second-order cone.", ("npkl_models.conic.reduced.write_sqlp",), (f"{CHECKS}::test_theorem_5_of_the_thesis_on_points_inside_and_outside",), "200 random points"),
    Row("(3.21)-(3.25)", "The semidefinite-quadratic-linear program.", (PRINTED, 'solve("sqlp")', "npkl_models.conic.reduced.write_sqlp"), (*SAME, f"{TESTS}::test_it_counts_the_unknowns_of_vec", f"{REDUCED}::test_reduced_programs_take_regularisers_and_equalities"),
        "printed and production form to 2e-6", "SDPT3 solves it in the thesis; here a solver of CVXPY. The production form is scaled."),
    Row("Table 3.1", "Time, iterations and rank of A, Swiss roll.", (f"{RUN} thesis.table3_1", "npkl_models.reg_mvu"), (PAGE, f"{TESTS}::test_ranks_of_squared_distances", "docs/lab/printed.md"), "ranks exact against brute force",
        "The printed ranks lie between ours in the whole and in the half matrix; the roll of the thesis is another sample. That is open."),
    Row("Table 3.2", "The same, USPS.", (f"{RUN} thesis.table3_2", "npkl_models.reg_pcp"), (PAGE, "tests/papers/test_equations.py::test_ranks_of_the_thesis_are_above_its_number_of_rows", f"{TESTS}::test_the_reference_optimum_on_usps", "tests/model/test_graph.py::test_the_width_of_the_thesis", "docs/lab/printed.md"), "reference optimum to 2e-3; rank 100 at s = 10",
        "At s = 60, 80 and 100 the printed ranks are 8 to 12 above ours; at 80 and 100 they are above the number of rows that A has."),
    Row("Figure 3.1", "The Swiss roll.", (f"{RUN} thesis.figure3_1", "npkl_models.data.synthetic.swiss_roll"), (PAGE,), "drawn on the page", "Another sample of it."),
    Row("Figure 3.2", "Time against size, Swiss roll.", (f"{RUN} thesis.table3_1",), (PAGE,), "exponents on the page"),
    Row("Figure 3.3", "Time against size, USPS.", (f"{RUN} thesis.table3_2",), (PAGE,), "exponents on the page"),
)  # fmt: skip

PAPER = Paper(
    "Wu 2011 (SQLP)",
    ("2.27", "3.25"),
    (*counted("Definition", 5), *counted("Theorem", 5), "Table 3.1", "Table 3.2", "Figure 3.1", "Figure 3.2", "Figure 3.3"),
    ROWS,
)  # fmt: skip
