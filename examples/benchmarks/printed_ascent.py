"""SimpleNPKL's ascent as printed, beside the default: ``python printed_ascent.py``; iris, 90 + 90 pairs.

A line for each problem and way: the objective, the certified gap, evaluations, rank. What to see: the printed
steps end at 51 far from the optimum where B is large or p is one; Prop. 4's rank is below the optimum's.
"""

from common import report

import npkl_models as nm

WAYS = {
    "default": ("simple_npkl", {}),
    "printed, all": ("printed_simple_npkl", {"eigenpairs": "all"}),
    "printed, pataki": ("printed_simple_npkl", {}),
}
data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
L = nm.laplacian(data.X, n_neighbors=5, shift=0.1)
n = float(data.n)
PROBLEMS = [
    ("squared_hinge", {"p": 2, "bound": 1.0}), ("squared_hinge", {"p": 2, "bound": n}),
    ("squared_hinge", {"p": 2, "penalty": 1.0}), ("squared_hinge", {"p": 3, "bound": 1.0}),
    *((loss, {"p": 1, "bound": n}) for loss in ("square", "squared_hinge", "hinge")),
    *((loss, {"p": 1, "bound": n / 10}) for loss in ("square", "squared_hinge")),
]  # fmt: skip
for loss, given in PROBLEMS:
    problem = nm.simple_npkl(L, pairs, loss=loss, **given)
    for way, (backend, options) in WAYS.items():
        if given["p"] == 1 and "pataki" in way:
            continue
        solution = problem.solve(backend, time_limit=60.0, **options)
        report(
            benchmark="printed_ascent", loss=loss, **given, way=way, objective=solution.objective,
            relative_gap=solution.certificate.relative_gap, evaluations=solution.iterations,
            rank=solution.rank,
        )  # fmt: skip
