"""A modelling layer for non-parametric kernel learning.

Write a problem once; solve it exactly or fast; see proved how good each answer is.
"""

from npkl_models import _first as _first  # before what takes time to import
from npkl_models import applications
from npkl_models._version import __version__
from npkl_models.answer.history import History, Iterate
from npkl_models.answer.solution import Solution, Status
from npkl_models.certify.certificate import Certificate
from npkl_models.certify.prove import certify
from npkl_models.crosscheck.run import crosscheck
from npkl_models.crosscheck.table import CrossCheck
from npkl_models.data import datasets
from npkl_models.data import sdpa as sdpa  # which lends Problem.to_sdpa
from npkl_models.errors import (
    MissingDependencyError,
    NPKLError,
    ProblemError,
    SolverError,
    UnsupportedError,
    WriteError,
)
from npkl_models.model import formulations
from npkl_models.model.basis import Basis
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.formulations import (
    colored_mvu,
    hard_pcp,
    mve,
    mvu,
    npkl,
    pcp,
    reg_mvu,
    reg_pcp,
    simple_npkl,
    spe,
)
from npkl_models.model.functionals import (
    DistanceDifferences,
    Entries,
    Functional,
    SquaredDistances,
    TotalSum,
)
from npkl_models.model.graph import knn_affinity, laplacian
from npkl_models.model.losses import LOSSES, Hinge, Linear, Loss, SharedSlack, Square, SquaredHinge
from npkl_models.model.pairs import Pairs
from npkl_models.model.problem import Problem
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.regularizers import REGULARIZERS, NoRegularizer, RowNormBound, TracePower
from npkl_models.model.terms import Equality, LossTerm, Multipliers
from npkl_models.model.trace_cones import CvxSupport
from npkl_models.path import Path, regularization_path
from npkl_models.routes import register_routes
from npkl_models.show import lend_methods
from npkl_models.solve.backend import Backend
from npkl_models.solve.choice import choose_backend, compile, solve
from npkl_models.solve.cost import Cost
from npkl_models.solve.engine import Engine, EnginePlan
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import IterativeOptions, Options
from npkl_models.solve.program import Plan, Program
from npkl_models.solve.registry import backends, register, unregister
from npkl_models.solve.takes import Powers, Takes
from npkl_models.solve.watch import Watch
from npkl_models.spectral.equivalence import equivalent_bound, equivalent_penalty

register_routes()
lend_methods()

__all__ = [
    "LOSSES",
    "REGULARIZERS",
    "Backend",
    "Basis",
    "Certificate",
    "Claim",
    "Cost",
    "CrossCheck",
    "CvxSupport",
    "DistanceDifferences",
    "Engine",
    "EnginePlan",
    "Entries",
    "Equality",
    "Functional",
    "Hinge",
    "History",
    "Iterate",
    "IterativeOptions",
    "Linear",
    "Loss",
    "LossTerm",
    "MissingDependencyError",
    "Multipliers",
    "NPKLError",
    "NoRegularizer",
    "Options",
    "Pairs",
    "Path",
    "Plan",
    "Powers",
    "Problem",
    "ProblemError",
    "Program",
    "Regularizer",
    "RowNormBound",
    "SharedSlack",
    "Solution",
    "SolverError",
    "Square",
    "SquaredDistances",
    "SquaredHinge",
    "Status",
    "Takes",
    "TotalSum",
    "TracePower",
    "UnsupportedError",
    "Watch",
    "WriteError",
    "__version__",
    "applications",
    "backends",
    "certify",
    "choose_backend",
    "colored_mvu",
    "compile",
    "crosscheck",
    "datasets",
    "eigenbasis",
    "equivalent_bound",
    "equivalent_penalty",
    "formulations",
    "hard_pcp",
    "knn_affinity",
    "laplacian",
    "mve",
    "mvu",
    "npkl",
    "pcp",
    "reg_mvu",
    "reg_pcp",
    "register",
    "regularization_path",
    "simple_npkl",
    "solve",
    "spe",
    "unregister",
]
