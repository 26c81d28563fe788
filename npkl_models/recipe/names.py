"""The choices of the fields as plain names: the parser needs no heavy import.

Written by ``python tests/house/derived.py``.
"""

from __future__ import annotations

DATASETS = (
    "iris", "wine", "breast_cancer", "digits", "glass", "heart", "sonar", "soybean_small", "protein",
    "ionosphere", "australian", "usps", "isolet", "boston_housing", "news20", "mnist", "a1a", "a2a", "a3a",
    "a4a", "a5a", "a6a", "a7a", "a8a", "a9a", "two_gaussians", "chessboard", "double_spiral", "xor",
    "swiss_roll",
)  # fmt: skip
"""The names of `npkl_models.data.datasets`, in its order."""

FOLDER_VARIABLE = "NPKL_DATA_HOME"
"""The variable that names the data folder."""

FORMULATIONS = (
    "colored_mvu", "conformal_eigenmaps", "distances", "hard_pcp", "kernel_completion", "locally_rigid",
    "mve", "mvu", "npkl", "ordinal", "pcp", "psde", "reg_mvu", "reg_pcp", "simple_npkl", "spe",
)  # fmt: skip
"""The names in `npkl_models.formulations`, sorted."""

ESTIMATED = ("hard_pcp", "npkl", "pcp", "simple_npkl")
"""The formulations of the estimators."""

LOSSES = (
    "absolute", "excess", "hinge", "huber", "linear", "logistic", "shared_slack", "square",
    "squared_excess", "squared_hinge", "squared_shortfall",
)  # fmt: skip
"""The names in `npkl_models.LOSSES`, sorted."""

BACKENDS = (
    "bcd", "burer_monteiro", "hybrid", "admm", "simple_npkl", "closed_form", "mfpc", "interior", "sqlp",
    "qsdp", "scsdp", "sdp", "sdp_dual",
)  # fmt: skip
"""The names in `npkl_models.routes`, by preference."""

PRINTED = (
    "printed_kl_admm", "printed_bcdkl", "printed_bcd_npkl", "printed_simple_npkl", "printed_sqlp",
)  # fmt: skip
"""The papers' algorithms, which run only if named."""

PATH_PARAMETERS = ("bound", "penalty", "p", "weight")
"""The parameters of `regularization_path`."""

BASIS = 20
"""Size of the basis of a formulation that needs one."""
