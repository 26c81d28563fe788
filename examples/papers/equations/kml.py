"""Yeung, Chang & Dai, A Scalable Kernel-Based Semi-Supervised Metric Learning Algorithm, Neural Computation 2008."""

from __future__ import annotations

from equations.row import CHECKS, Paper, Row, counted

TESTS = "tests/applications/test_metric.py"
RUN = "examples/papers/run.py"
PAGE = "docs/lab/papers/kml.md"
LEARNER = "npkl_models.applications.metric.KernelMetricLearner"
PAIR = "npkl_models.applications.metric"
ALL = (f"{TESTS}::test_with_all_points_as_landmarks_it_is_the_basic_algorithm",)
LANDMARKS = (f"{CHECKS}::test_the_landmark_form_is_equations_7_to_12_and_22_to_27",)
LOCAL = (f"{TESTS}::test_the_local_weights_are_those_of_the_gram_matrix",)
BARE = "With `prior=0, dissimilar=False, blend=False`; the defaults go beyond the paper."

ROWS = (
    Row("(1)", "The kernel by its eigenvectors.", ("npkl_models.applications.metric.weights.axes_of",), ALL, "1e-8", "Of the centred kernel; eigenvalues below a share of the largest are left out."),
    Row("(2)", "The family of kernels: other eigenvalues, the squares of beta.", (LEARNER,), ALL, "1e-8"),
    Row("(3)", "The mean squared distance of the similar pairs.", (LEARNER,), ALL, "1e-6", "Attribute `objective_`."),
    Row("(4)", "The diagonal matrix of that quadratic.", (f"{PAIR}.eigenvalue_weights",), (*ALL, f"{TESTS}::test_the_weights_are_the_minimiser_of_the_stated_problem"), "1e-5",
        "A small share of its mean is always added, which the paper does for a singular one alone."),
    Row("(5)", "The Lagrangian of the weights.", (), (f"{TESTS}::test_the_weights_are_the_minimiser_of_the_stated_problem",), "", "Not needed: step to (6); an independent solver has the minimum."),
    Row("(6)", "The weights in closed form.", (f"{PAIR}.eigenvalue_weights",), (f"{TESTS}::test_the_weights_are_the_minimiser_of_the_stated_problem", *ALL), "1e-5", BARE),
    Row("(7)", "The kernel of all points through that of landmarks.", (LEARNER,), LANDMARKS, "1e-6"),
    Row("(8)", "The landmarks' kernel by its eigenvectors.", ("npkl_models.applications.metric.weights.axes_of",), LANDMARKS, "1e-5"),
    Row("(9)", "The approximate kernel as a sum.", (LEARNER,), LANDMARKS, "1e-6"),
    Row("(10)", "The family for landmarks.", (LEARNER,), LANDMARKS, "1e-6"),
    Row("(11)", "The diagonal matrix for landmarks.", (f"{PAIR}.eigenvalue_weights",), LANDMARKS, "1e-5"),
    Row("(12)", "A landmark is its own and only neighbour.", (f"{PAIR}.local_weights",), LANDMARKS, "1e-9", "So is a point that coincides with a landmark."),
    Row("(13), (14)", "How well neighbours reproduce a point in feature space.", (f"{PAIR}.local_weights",), LOCAL, "", "The minimiser is checked, not the value."),
    Row("(15)", "The local Gram matrix.", (f"{PAIR}.local_weights",), LOCAL, "1e-4", "Written with the nearest landmark as origin, which needs no k(x, x)."),
    Row("(16)", "The Lagrangian of the local weights.", (), (), "", "Not needed: step to (17)."),
    Row("(17)-(19)", "The local weights, by one linear system and a scaling.", (f"{PAIR}.local_weights",), LOCAL, "1e-4 with a ridge of 1e-9",
        "A ridge is always added, 0.1 of the mean squared distance by default; the paper adds one where the matrix is singular and does not say how large."),
    Row("section 3.4", "The method, repeated with the kernel that was learnt.", (LEARNER,), (f"{TESTS}::test_points_of_similar_pairs_are_landmarks_and_further_rounds_keep_the_weights",), "weights equal to 1e-9",
        "What is repeated is left open in the paper; here the neighbours are found anew. The weights do not change after the first round, which the paper does not say."),
    Row("(20), (21)", "Principal directions of the landmarks in feature space.", (LEARNER,), LANDMARKS, "1e-8", "They are not formed: only the coordinates (22) are."),
    Row("(22), (23)", "Coordinates of the landmarks.", (LEARNER,), LANDMARKS, "1e-8"),
    Row("(24)", "Coordinates of the other points.", (LEARNER,), (*LANDMARKS, f"{TESTS}::test_new_points_go_where_training_points_would"), "1e-6", "Attribute `embedding_`, with beta."),
    Row("(25)", "Coordinates of a new point.", (f"{LEARNER}.transform",), (f"{TESTS}::test_new_points_go_where_training_points_would",), "1e-7"),
    Row("(26)", "Squared distance before learning.", (LEARNER,), (*LANDMARKS, f"{TESTS}::test_a_prior_without_end_and_no_pairs_leave_the_kernel_as_it_is"), "1e-6", "Without side information."),
    Row("(27)", "Squared distance after learning.", (f"{LEARNER}.pair_distance",), (*LANDMARKS, f"{TESTS}::test_pairs_are_measured_as_metric_learn_does"), "1e-4"),
    Row("(28)", "Mean distance between classes over that within them.", ("npkl_models.applications.scores.separation",), ("tests/applications/test_scores.py::test_separation_is_the_ratio_of_mean_distances",), "1e-6"),
    Row("section 5.3.2", "The Rand index with matched and mismatched pairs of equal weight (not numbered).", ("npkl_models.applications.scores.weighted_rand_index",),
        ("tests/applications/test_scores.py::test_pairs_of_one_and_of_two_parts_have_equal_chance",), "exact", "Which of the two partitions the weights are drawn from is not said; `drawn_from` has both."),
    Row("Table 1", "J on XOR by landmarks.", (f"{RUN} kml.table1", "npkl_models.data.synthetic.xor"), (PAGE,), "beside the paper's on the page", "Width, neighbours and the clouds are not stated."),
    Row("Table 2", "J on Isolet and digits.", (f"{RUN} kml.table2",), (PAGE,), "beside the paper's on the page", "Digits of the test images, about half as many."),
    Row("Table 3", "Rand index on the same.", (f"{RUN} kml.table3",), (PAGE,), "beside the paper's on the page", "Some differences are open; the page says which."),
    Row("Table 4", "Classification on the same.", (f"{RUN} kml.table4",), (PAGE,), "beside the paper's on the page", "The classifier is not stated; LMNN and RCA are references of our own."),
    Row("Figure 1", "CPU time by points and by landmarks.", (f"{RUN} kml.figure1",), (PAGE,), "exponent on the page", "On XOR in place of digits."),
    Row("Figure 2", "XOR through each metric.", (f"{RUN} kml.figure2",), (PAGE, f"{TESTS}::test_it_finds_what_no_linear_metric_can"), "drawn on the page",
        "Not implemented: LLMA, the authors' earlier method, of which no code could be run."),
    Row("Figure 3", "J by the number of constraints.", (f"{RUN} kml.figure3",), (PAGE,), "drawn on the page"),
    Row("Figure 4", "J and Rand index on six sets.", (f"{RUN} kml.figure4",), (PAGE,), "drawn on the page", "One set is not here; LLMA as in Figure 2."),
)  # fmt: skip

PAPER = Paper("Yeung, Chang & Dai 2008 (KML)", ("28",), (*counted("Table", 4), *counted("Figure", 4)), ROWS)
