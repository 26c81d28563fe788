"""Hu & Kwok, Efficient Kernel Learning from Side Information Using ADMM, IJCAI 2013."""

from __future__ import annotations

from equations.row import CHECKS, WRONG, Paper, Row, counted

TESTS = "tests/printed/test_kl_admm.py"
RUN = "examples/papers/run.py"
PAGE = "docs/lab/papers/kl_admm.md"
PRINTED = 'solve("printed_kl_admm")'
LAGRANGIAN = "npkl_models.printed.kl_admm"

ROWS = (
    Row("(1)", "Pairwise constraint propagation: smoothness on the graph and squares on the pairs and the diagonal.", ("npkl_models.pcp",),
        (f"{CHECKS}::test_pcp_is_equation_1_of_kl_admm_with_the_targets_of_2",), "1e-12",
        "The paper's set holds each pair in both orders; here a pair is stored once and weighs gamma, a diagonal entry gamma / 2."),
    Row("(2)", "Targets: one on the diagonal and for must-links, zero for cannot-links.", ("npkl_models.pcp", "npkl_models.Pairs"),
        (f"{CHECKS}::test_pcp_is_equation_1_of_kl_admm_with_the_targets_of_2",), "exact"),
    Row("(3)", "A bi-convex problem with a bi-affine constraint, to which alternating directions apply.", (), (), "",
        "Not needed: the general scheme, of which (5) to (8) are the case that is solved. An algorithm for other problems of this kind is not offered."),
    Row("(4)", "The kernel as the product of a factor with itself.", ("npkl_models.Solution", "npkl_models.Problem.objective_of_factor"),
        (f"{TESTS}::test_the_lagrangian_at_v_equal_u_is_the_objective",), "1e-6", "The factor has a row for each point, in print a column."),
    Row("(5)", "Two factors that must be equal.", (f"{LAGRANGIAN}.Lagrangian", PRINTED),
        (f"{TESTS}::test_the_lagrangian_at_v_equal_u_is_the_objective", f"{TESTS}::test_a_small_epsilon_ends_at_the_optimum"), "optimum of an exact solver to 1e-5"),
    Row("(6)", "The augmented Lagrangian.", (f"{LAGRANGIAN}.Lagrangian.value",),
        (f"{TESTS}::test_the_lagrangian_at_v_equal_u_is_the_objective",), "1e-6",
        "Half of the loss stands on either order of a pair, which for squares is the same."),
    Row("(7), (8)", "The two steps: minimise over one factor, the other held; then the multiplier.", (PRINTED, "npkl_models.printed.kl_admm.KLADMMEngine.iterate"),
        (f"{CHECKS}::test_rows_of_kl_admm_are_equations_7_to_13",), "1e-9"),
    Row("(9), (10)", "Derivatives of the Lagrangian in a row.", (f"{LAGRANGIAN}.Lagrangian.slopes",),
        (f"{CHECKS}::test_rows_of_kl_admm_are_equations_7_to_13", f"{WRONG}::test_d_of_equation_13_of_kl_admm_has_v_j"), "zero after each step, to 1e-9 rho",
        "In print the row on the right bears the old iteration number; it is the unknown."),
    Row("(11), (12)", "The matrices of the rows' linear systems.", ("npkl_models.lowrank.admm.ADMMEngine.solve_rows",),
        (f"{CHECKS}::test_rows_of_kl_admm_are_equations_7_to_13",), "1e-9", "Their set of neighbours holds the point itself, whose own row of the other factor stands in the sum."),
    Row("(13)", "The rows in closed form, with the right-hand sides c and d above it.", (PRINTED, 'solve("printed_kl_admm", misprint=True)', 'solve("admm")'),
        (f"{CHECKS}::test_rows_of_kl_admm_are_equations_7_to_13", f"{WRONG}::test_d_of_equation_13_of_kl_admm_has_v_j", f"{TESTS}::test_the_printed_d_does_not_lead_to_a_stationary_point"), "1e-9, either reading",
        "Wrong in print: d has v_i where the derivative has v_j. As printed the run ends at more than 1.5 times the optimum."),
    Row("(14)", "Primal and dual residual, by which the run ends.", ('solve("printed_kl_admm", epsilon=1e-3)', "npkl_models.lowrank.admm.ADMMEngine.residuals"),
        (f"{TESTS}::test_residuals_are_what_they_are_called", f"{TESTS}::test_it_stops_by_equation_14_and_no_sooner"), "1e-6",
        "The general method takes the change of the factor that is updated last, U; the paper takes that of V, and so does this. The tolerance is not stated; here it is 1e-3."),
    Row("(15)", "The penalty doubles or halves as the residuals ask, not below ten.", ("npkl_models.lowrank.admm.ADMMEngine.balance", 'solve("printed_kl_admm", rho=100.0, rho_floor=10.0)'),
        (f"{CHECKS}::test_the_penalty_moves_as_equation_15_says",), "exact", "Not in print: where the objective grows a thousandfold the floor is doubled and the run begun again."),
    Row("Algorithm 1", "KL-ADMM.", (PRINTED, "npkl_models.printed.kl_admm"),
        (f"{TESTS}::test_a_small_epsilon_ends_at_the_optimum", "tests/printed/test_to_the_digit.py::test_the_iterates_are_those_of_the_papers_pages", "docs/lab/printed.md"),
        "optimum of an exact solver to 1e-5 at epsilon 1e-7", "The production solver `admm` differs in start, penalty, relaxation and end."),
    Row("Lemma 1", "Steps go to zero if the multipliers are bounded and have a finite path.", ('solve("printed_kl_admm", checks=True)', f"{LAGRANGIAN}.Checks"),
        (f"{TESTS}::test_lemma_1_holds_with_half_its_constant_and_not_with_the_printed_one",), "its inequality at every iterate, to 1e-9",
        "Its conclusion stands; the constant in its proof is twice too large, see (17)."),
    Row("(16)", "The multipliers' path is finite.", ('solve("printed_kl_admm", checks=True)',), (f"{TESTS}::test_proposition_1_kkt_goes_to_zero_with_the_steps",),
        "less than 1 % is added in the second half of a run", "A hypothesis: it is watched along a run, not proved."),
    Row("(17)", "Strong convexity of the Lagrangian in a row.", (f"{LAGRANGIAN}.Checks.step",), (f"{WRONG}::test_the_modulus_rho_of_equation_17_of_kl_admm_gives_half_of_rho",),
        "", "Wrong in print by a factor of two: the modulus rho gives rho / 2. Derived twice: by rises, and by the curvature of a row."),
    Row("(18)", "A row is a minimiser where no direction goes down.", (), (), "", "Not needed: step of a proof."),
    Row("(19), (20)", "By how much each step lowers the Lagrangian.", (f"{LAGRANGIAN}.Checks.step",), (f"{TESTS}::test_lemma_1_holds_with_half_its_constant_and_not_with_the_printed_one",),
        "with rho / 2 at every iterate, to 1e-9", "As for (17): with the printed rho at none of them."),
    Row("Proposition 1", "Every limit point satisfies the optimality conditions of (5).", ('solve("printed_kl_admm", checks=True)', f"{LAGRANGIAN}.Checks"),
        (f"{TESTS}::test_proposition_1_kkt_goes_to_zero_with_the_steps",), "residual from above 1 to below 1e-2 at epsilon 1e-3",
        "A stationary point need not be an optimum; the certificate decides that."),
    Row("(21)-(23)", "What a step changes, in terms of the residuals of the conditions.", (f"{LAGRANGIAN}.Checks.step",), (f"{TESTS}::test_proposition_1_kkt_goes_to_zero_with_the_steps",),
        "", "Steps of a proof. Column `steps` of the history is the size of the steps of both factors, without the matrices of (21) and (22)."),
    Row("(24)", "These residuals go to zero.", (f"{LAGRANGIAN}.Checks.step",), (f"{TESTS}::test_proposition_1_kkt_goes_to_zero_with_the_steps",), "column `kkt`, below 1e-2 at the end"),
    Row("(25)", "The inverse of a row's matrix through a smaller one (Sherman-Morrison-Woodbury).", ("npkl_models.lowrank.admm.shifted_solve",),
        (f"{CHECKS}::test_the_inverse_by_equation_25_of_kl_admm_and_by_27_of_bcdkl",), "1e-12", "Where a point has at least as many pairs as the factor has columns, the system of the factor's size is solved directly."),
    Row("(26)", "Operations of an iteration.", ("npkl_models.lowrank.admm.ADMMEngine.count_work", f"{RUN} kl_admm.figure3"), (f"{WRONG}::test_the_count_of_equation_26_of_kl_admm_leaves_out_the_product_of_25", PAGE), "exponent of the measured time in n, on the page",
        "Wrong in print: it leaves out the product that forms the small matrix, r times the square of the number of pairs of a point. It takes the graph's product as r n. Counted twice: product by product, and by numpy."),
    Row("Table 1", "The data sets, their constraints and the rank.", (f"{RUN} kl_admm.table1", "npkl_models.lowrank.factor.rank.starting_factor", 'solve("printed_kl_admm", rank="pataki")'),
        ("tests/printed/test_pataki_rank.py::test_table_1_of_hu_and_kwok_2013", PAGE), "ranks equal on every set that is here",
        "adult-a3a is not here. Three counts of constraints differ by two, by how 0.6 n is rounded. The paper's average of 2.2 has each of the 2.2 n pairs once, diagonal ones too; its set T of 340 has 3.4 a point, 2.4 of them other points, as here."),
    Row("Table 2", "Clustering accuracy and CPU time.", (f"{RUN} kl_admm.table2", f"{RUN} kl_admm.ratios", "npkl_models.applications.clustering.cluster_accuracy"),
        (PAGE, "tests/applications/test_clustering.py::test_kernel_kmeans_and_the_papers_accuracy"), "beside the paper's figures on the page",
        f"gamma is not stated. The row of adult-a3a is not re-run (`{RUN} kl_admm.table2_a3a` says why). Times are of another machine; the ratios of one run are comparable."),
    Row("Figure 1", "The objective of two sets falls to the optimum.", (f"{RUN} kl_admm.figure1", f"{RUN} kl_admm.stops"), (PAGE,), "optimum certified",
        "The iterations that it takes here stand on the page, against the 25 that the paper speaks of."),
    Row("Figure 2", "The residuals of the same runs.", (f"{RUN} kl_admm.figure2", "examples/plot_admm_residuals.py"), (PAGE,), "drawn on the page"),
    Row("Figure 3", "CPU time against the number of points.", (f"{RUN} kl_admm.figure3", "npkl_models.data.synthetic.two_gaussians"), (PAGE, "tests/data/test_datasets.py::test_two_gaussians_are_the_papers"),
        "exponents on the page"),
    Row("Figure 4", "CPU time against the number of constraints.", (f"{RUN} kl_admm.figure4",), (PAGE,), "exponents on the page"),
)  # fmt: skip

PAPER = Paper(
    "Hu & Kwok 2013 (KL-ADMM)",
    ("26",),
    ("Algorithm 1", "Lemma 1", "Proposition 1", *counted("Table", 2), *counted("Figure", 4)),
    ROWS,
)
