"""Hu & Kwok, Scalable Nonparametric Low-Rank Kernel Learning Using Block Coordinate Descent, TNNLS 26(9), 2015."""

from __future__ import annotations

from equations.row import CHECKS, WRONG, Paper, Row, counted

TESTS = "tests/printed/test_bcdkl.py"
RUN = "examples/papers/run.py"
PAGE = "docs/lab/papers/bcdkl.md"
PRINTED = 'solve("printed_bcdkl")'
ROWS_OF = "npkl_models.lowrank.rows.compiled.sweep"
BY_DUAL = "npkl_models.printed.rows.minimise_rows_by_dual"
FREE = "npkl_models.printed.rows.FreeRows"
PROBLEM = (f"{CHECKS}::test_npkl_is_equation_3_of_bcdkl_with_the_losses_of_figure_1",)
CLOSED = (
    f"{WRONG}::test_the_closed_form_in_equation_8_of_bcdkl_takes_the_other_sign_of_7",
    "tests/spectral/test_dual.py::test_closed_forms_are_optimal",
)
STEP = (f"{CHECKS}::test_spectral_radius_of_proposition_1_of_bcdkl",)
BLOCK = (f"{TESTS}::test_block_is_the_minimiser_and_steps_lead_there_downwards",)
HINGE = (f"{CHECKS}::test_hinge_rows_are_equations_21_to_25",)
SQUARE = (f"{CHECKS}::test_square_rows_are_equations_27_and_28",)
LINEAR = (f"{CHECKS}::test_linear_rows_are_equation_31",)
EXACT = ("tests/lowrank/test_rows.py::test_rows_of_entries_are_minimised_exactly",)
BELOW = (f"{CHECKS}::test_the_objective_is_bounded_below_as_33_says",)
MINIMA = (f"{WRONG}::test_limit_points_of_proposition_2_and_theorem_1_of_bcdkl_need_be_no_local_minima",)
ELIMINATED = (f"{TESTS}::test_the_reduced_problem_is_the_minimum_over_the_free_rows",)
LOST = "The cells of the paper's table are lost in the text that we have; what its prose says is compared."

ROWS = (
    Row("(1)", "The normalised Laplacian with a shift delta.", ("npkl_models.laplacian",), ("tests/model/test_graph.py::test_normalised_laplacian_has_its_null_vector_and_range",), "1e-12", "Option `shift`; delta is not stated in the experiments."),
    Row("(2)", "Plus one for must-links, minus one for cannot-links.", ("npkl_models.Pairs.sign",), PROBLEM, "exact"),
    Row("(3)", "Kernel learning from pairs, with any of four losses.", ("npkl_models.npkl", "npkl_models.LOSSES"), PROBLEM, "1e-12"),
    Row("(4)", "Positive semidefinite.", ("npkl_models.npkl",), (f"{TESTS}::test_the_printed_algorithm_descends_to_the_optimum",), "by the factor"),
    Row("(5)", "The trace of a power bounded, for SimpleNPKL.", ("npkl_models.TracePower",), ("tests/model/test_regularizers.py::test_support_is_attained_by_the_maximiser_and_by_nothing_better",), "1e-10"),
    Row("(6)", "The linear loss with that bound.", ("npkl_models.simple_npkl", 'solve("closed_form")'), (*CLOSED, f"{CHECKS}::test_simple_npkl_is_equations_12_21_and_26"), "1e-9"),
    Row("(7)", "Its cost.", ("npkl_models.Problem.slack",), CLOSED, "1e-9"),
    Row("(8)", "Its solution in closed form.", ("npkl_models.TracePower.maximiser", 'solve("closed_form")'), CLOSED, "1e-9", "Wrong in print: with the cost of (7) the positive part must be that of minus A; with that of A itself zero would be better."),
    Row("(9)", "The kernel as the product of a factor with itself.", ("npkl_models.Solution",), (f"{TESTS}::test_the_printed_algorithm_descends_to_the_optimum",), "", "The factor has a row for each point, in print a column."),
    Row("(10)", "The problem in the factor.", ("npkl_models.Problem.objective_of_factor",), PROBLEM, "1e-9"),
    Row("(11)", "Minimise over one row, the others held.", (PRINTED, "npkl_models.printed.rows.ShuffledSweeper"), (*EXACT, f"{TESTS}::test_levels_of_rows_give_what_row_after_row_gives"), "1e-9 between levels and rows"),
    Row("(12)", "The row problem of a point without pairs.", (ROWS_OF,), EXACT, "against a general minimiser"),
    Row("(13)", "Its solution.", ('solve("printed_bcdkl", unlabelled="rows")', ROWS_OF), (*EXACT, f"{TESTS}::test_the_printed_algorithm_descends_to_the_optimum"), "optimum to 1e-4 at epsilon 1e-5"),
    Row("(14)", "The Laplacian in its diagonal and the rest.", (f"{FREE}.step",), STEP, "1e-12"),
    Row("(15), (16)", "All rows without pairs as one block.", (f"{FREE}.block",), BLOCK, "1e-12"),
    Row("(17)", "The block by an iteration.", ('solve("printed_bcdkl", unlabelled="step")', f"{FREE}.step"), (*STEP, *BLOCK), "1e-12 a step; 1e-6 to its limit"),
    Row("Proposition 1", "The spectral radius of that iteration is below one.", (f"{FREE}.step",), (*STEP, "tests/answer/test_printed_extension.py::test_steps_of_equation_17_contract_to_it"), "at most 1 / (1 + delta), to 1e-12"),
    Row("Corollary 1", "The iteration converges.", ('solve("printed_bcdkl", unlabelled="block")', f"{FREE}.block"), BLOCK, "1e-6 after 2,000 steps", "Its fixed point is one sparse solve here; that the objective never rises on the way is shown too, which the paper does not say."),
    Row("(18)", "The row problem of a point with pairs.", ("npkl_models.printed.rows.RowPrograms",), (*SQUARE, *LINEAR, *HINGE), "1e-7", "In print a half of the part of (10); the minimiser is the same."),
    Row("(19), (20)", "With the hinge: slacks, and the Lagrangian.", (BY_DUAL,), ("tests/lowrank/test_rows.py::test_row_program_of_the_source_by_its_dual",), "1e-9", "Steps to (22)."),
    Row("(21)", "The row from its multipliers.", (BY_DUAL,), HINGE, "1e-7"),
    Row("(22)", "The quadratic program of the multipliers.", (BY_DUAL, PRINTED), HINGE, "1e-6", "By coordinate ascent, where the paper takes a general solver. Exact for a row, and yet the sweeps stop above the optimum: see Theorem 1."),
    Row("(23)", "Its matrix and vector.", (BY_DUAL,), HINGE, "1e-6", "They are not formed."),
    Row("(24)", "The row problem with the squared hinge.", (ROWS_OF,), (*HINGE, *EXACT), "1e-7"),
    Row("(25)", "Its dual.", (ROWS_OF,), HINGE, "1e-6", "Not solved: the row is found by Newton steps on the row itself; that its multipliers solve (25) is checked."),
    Row("(26)", "The row problem with squares.", (ROWS_OF,), SQUARE, "1e-9"),
    Row("(27)", "Its matrix, and the inverse through a smaller one.", ("npkl_models.lowrank.admm.shifted_solve",), (*SQUARE, f"{CHECKS}::test_the_inverse_by_equation_25_of_kl_admm_and_by_27_of_bcdkl"), "1e-12"),
    Row("(28)", "Its solution.", (ROWS_OF,), SQUARE, "1e-9", "A square on the diagonal, which the paper holds to be out of reach, is a secular equation here."),
    Row("(29)", "A bound on the norm of a row, for the linear loss.", ("npkl_models.RowNormBound",), ("tests/model/test_constraints.py::test_every_backend_reaches_the_optimum_of_cvxpy", *LINEAR), "1e-9"),
    Row("(30)", "The row problem with the linear loss.", (ROWS_OF,), LINEAR, "1e-7"),
    Row("(31)", "Its solution.", (ROWS_OF,), LINEAR, "1e-7"),
    Row("Algorithm 1", "BCDKL.", (PRINTED, "npkl_models.printed.bcdkl"), (f"{TESTS}::test_the_printed_algorithm_descends_to_the_optimum", f"{TESTS}::test_each_sweep_has_a_new_order_with_labelled_rows_first_or_alone",
        "tests/printed/test_to_the_digit.py::test_the_iterates_are_those_of_the_papers_pages", "docs/lab/printed.md"), "optimum to 1e-4 at epsilon 1e-5", "The production solver `bcd` differs in order, rank, extrapolation and, for the hinge, in method."),
    Row("Definition 1", "Strictly quasi-convex in a variable.", (), (), "", "Not needed: a hypothesis of Proposition 2."),
    Row("Proposition 2", "Limit points of block coordinate descent, from another paper.", (), (*MINIMA, "docs/certificate.md"), "",
        "Not needed as a name: a statement. Wrong in print: limit points need not be local minima. Its source promises critical points, of a continuously differentiable function. Derived twice: on grids, and by subgradients and the Hessian."),
    Row("Theorem 1", "The algorithm descends and converges to a local minimum.", (PRINTED,), (f"{TESTS}::test_the_printed_algorithm_descends_to_the_optimum", f"{TESTS}::test_the_printed_row_program_stalls_and_says_so", *MINIMA),
        "descent to 1e-12; with the hinge to what its row programs are solved to", "Descent holds. Wrong in print: limits need not be local minima. From V = 0 no row moves, with squares; with the hinge, which is not differentiable, runs stop where two rows together go down, 0.5 % and more above the optimum."),
    Row("(32)", "The cost is at least the smallest eigenvalue times the squared norm.", ("npkl_models.laplacian",), BELOW, "", "Step of a proof."),
    Row("(33)", "So the objective is bounded below.", ("npkl_models.npkl",), BELOW, "", "Step of a proof. The certificate gives a far better bound."),
    Row("(34)", "So it is with the linear loss and the rows bounded.", ("npkl_models.RowNormBound",), (f"{WRONG}::test_of_34_of_bcdkl_the_ends_hold_and_the_middle_does_not",), "", "Step of a proof. The bound holds, and half of it is enough. Wrong in print: its middle lacks the squared norm of the factor beside the eigenvalue. Derived twice: at zero, and by degrees in the factor."),
    Row("section III-E", "New points: (13) or (17) with the old rows held (not numbered).", ("npkl_models.Solution.extend_points", "npkl_models.answer.extension.extend_points"),
        ("tests/answer/test_printed_extension.py::test_it_minimises_the_cost_with_the_old_rows_held", "tests/answer/test_printed_extension.py::test_steps_of_equation_17_contract_to_it"), "1e-10",
        "One sparse solve by default; `steps` takes (17)."),
    Row("(35), (36)", "BCD-NPKL: the points without pairs eliminated by a Schur complement.", ('solve("printed_bcd_npkl")', f"{FREE}.reduced"), (*ELIMINATED, f"{TESTS}::test_elimination_reaches_the_optimum_of_the_whole_problem"), "1e-12; optimum to 1e-5"),
    Row("(37)", "The kernel of all points from the smaller one.", (f"{FREE}.expand",), (*ELIMINATED, f"{TESTS}::test_elimination_reaches_the_optimum_of_the_whole_problem"), "1e-12"),
    Row("Table I", "Operations of a sweep, by loss.", (f"{RUN} bcdkl.table1",), (PAGE,), "", "Formulas in print; what is measured stands on the page."),
    Row("Table II", "The data sets.", (f"{RUN} kl_admm.table1",), (PAGE,), "", f"Not re-run: its cells are lost in the text that we have (`{RUN} bcdkl.table2`); the sets are those of the other paper."),
    Row("Table III", "Clustering accuracy, small sets.", (f"{RUN} bcdkl.table3",), (PAGE,), "", LOST),
    Row("Table IV", "CPU time, small sets.", (f"{RUN} bcdkl.table4",), (PAGE,), "", LOST),
    Row("Table V", "Clustering accuracy, adult sets.", (f"{RUN} bcdkl.table5",), (PAGE,), "", LOST),
    Row("Table VI", "CPU time, adult sets.", (f"{RUN} bcdkl.table6",), (PAGE,), "", LOST),
    Row("Table VII", "Exponents of the time in n.", (f"{RUN} bcdkl.figure4",), (PAGE,), "exponents on the page", LOST),
    Row("Figure 1", "The losses.", (f"{RUN} bcdkl.figure1", "npkl_models.LOSSES"), (PAGE, *PROBLEM), "exact"),
    Row("Figure 2", "Objective against CPU time.", (f"{RUN} bcdkl.figure2",), (PAGE,), "drawn on the page", "SDPLR is run where its binary is named."),
    Row("Figure 3", "Objective against iterations.", (f"{RUN} bcdkl.figure3",), (PAGE,), "drawn on the page"),
    Row("Figure 4", "CPU time against the number of points.", (f"{RUN} bcdkl.figure4",), (PAGE,), "exponents on the page"),
    Row("Figure 5", "Accuracy on points that were not in the sample.", (f"{RUN} bcdkl.figure5",), (PAGE,), "drawn on the page"),
)  # fmt: skip

PAPER = Paper(
    "Hu & Kwok 2015 (BCDKL)",
    ("37",),
    (
        "Algorithm 1", "Proposition 1", "Corollary 1", "Definition 1", "Proposition 2", "Theorem 1",
        *(f"Table {k}" for k in ("I", "II", "III", "IV", "V", "VI", "VII")), *counted("Figure", 5),
    ),
    ROWS,
)  # fmt: skip
