"""The public names, as types; `__init__.py` reads from here where each of them is to be found."""

from . import applications, extend, formulations
from .answer.history import History, Iterate
from .answer.solution import Status
from .applications.estimators import (
    Localisation,
    NPKLClustering,
    NPKLKernel,
    OrdinalEmbedding,
    PairFolds,
)
from .applications.metric import KernelMetricLearner
from .applications.unfolding import MVE, MVU, SPE, ColoredMVU
from .certificates.certificate import Certificate
from .crosscheck.run import crosscheck
from .crosscheck.table import CrossCheck
from .cvx.certificate import CvxpyCertificate
from .cvx.door import Certified, certificate_of, certify_cvxpy, into_cvxpy
from .cvx.solver import InteriorSolver
from .data import datasets
from .errors import (
    MissingDependencyError,
    NPKLError,
    ProblemError,
    SolverError,
    UnsupportedError,
    WriteError,
)
from .formulations import (
    colored_mvu,
    conformal_eigenmaps,
    distances,
    hard_pcp,
    kernel_completion,
    locally_rigid,
    mve,
    mvu,
    npkl,
    ordinal,
    pcp,
    psde,
    reg_mvu,
    reg_pcp,
    simple_npkl,
    spe,
)
from .model.basis import Basis
from .model.constraint import Constraint
from .model.eigenbasis import eigenbasis
from .model.functionals import (
    DistanceCombinations,
    DistanceDifferences,
    Entries,
    Functional,
    SparseMatrices,
    SquaredDistances,
    TotalSum,
    Trace,
)
from .model.graph import knn_affinity, laplacian
from .model.losses import (
    LOSSES,
    BoxLoss,
    Loss,
    huber,
)
from .model.multipliers import Multipliers
from .model.pairs import Pairs
from .model.regularizer import Regularizer
from .model.regularizers import REGULARIZERS, NoRegularizer, RowNormBound, TracePower
from .model.terms import LossTerm
from .path import Path, regularization_path
from .problem import Problem, Solution
from .routes import backends, register, unregister
from .solve.choice import choose_backend, compile, solve
from .solve.options import Options
from .solve.outside import certify
from .solve.portfolio import Portfolio
from .spectral.concave import equivalent_bound, equivalent_penalty

__version__: str

__all__ = [
    "LOSSES",
    "MVE",
    "MVU",
    "REGULARIZERS",
    "SPE",
    "Basis",
    "BoxLoss",
    "Certificate",
    "Certified",
    "ColoredMVU",
    "Constraint",
    "CrossCheck",
    "CvxpyCertificate",
    "DistanceCombinations",
    "DistanceDifferences",
    "Entries",
    "Functional",
    "History",
    "InteriorSolver",
    "Iterate",
    "KernelMetricLearner",
    "Localisation",
    "Loss",
    "LossTerm",
    "MissingDependencyError",
    "Multipliers",
    "NPKLClustering",
    "NPKLError",
    "NPKLKernel",
    "NoRegularizer",
    "Options",
    "OrdinalEmbedding",
    "PairFolds",
    "Pairs",
    "Path",
    "Portfolio",
    "Problem",
    "ProblemError",
    "Regularizer",
    "RowNormBound",
    "Solution",
    "SolverError",
    "SparseMatrices",
    "SquaredDistances",
    "Status",
    "TotalSum",
    "Trace",
    "TracePower",
    "UnsupportedError",
    "WriteError",
    "__version__",
    "applications",
    "backends",
    "certificate_of",
    "certify",
    "certify_cvxpy",
    "choose_backend",
    "colored_mvu",
    "compile",
    "conformal_eigenmaps",
    "crosscheck",
    "datasets",
    "distances",
    "eigenbasis",
    "equivalent_bound",
    "equivalent_penalty",
    "extend",
    "formulations",
    "hard_pcp",
    "huber",
    "into_cvxpy",
    "kernel_completion",
    "knn_affinity",
    "laplacian",
    "locally_rigid",
    "mve",
    "mvu",
    "npkl",
    "ordinal",
    "pcp",
    "psde",
    "reg_mvu",
    "reg_pcp",
    "register",
    "regularization_path",
    "simple_npkl",
    "solve",
    "spe",
    "unregister",
]
