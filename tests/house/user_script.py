"""What a user may write, checked strictly by mypy in a test."""

import numpy as np

import npkl_models as nm


def progress(row: nm.Iterate) -> bool:
    return row.iteration > 1_000


X = np.random.default_rng(0).normal(size=(40, 3))
L = nm.laplacian(X, 5, shift=0.1)
pairs = nm.Pairs.from_labels(np.arange(40) % 2, 20, 20, 0)
problem: nm.Problem = nm.npkl(L, pairs, loss="hinge", gamma=2.0)
solution: nm.Solution = problem.solve("bcd", rank=4, tol=1e-5, callback=progress)
gap: float = solution.certificate.relative_gap
status: nm.Status = solution.status
table: nm.CrossCheck = nm.crosscheck(problem, ["bcd", "admm"], points={"mine": solution.K}, tol=1e-5)
bounded: nm.Problem = nm.simple_npkl(L, pairs, p=2, trace_bound=40.0)
program: nm.extend.Program = nm.compile(bounded, "simple_npkl", max_iter=50)
names: list[str] = [name for name, reason in problem.compatible_backends().items() if reason is None]
path: nm.Path = nm.regularization_path(bounded, "bound", [20.0, 40.0])
