"""simple_npkl to a relative gap of 1e-4 in units of one full eigendecomposition: ``python spectral.py NAME``.

Squared hinge, tr K^2 <= n, C = 1, 0.6 n + 0.6 n pairs; the adult sets (50-NN) need NPKL_DATA_HOME. Beyond
order 3,000 there is no full eigendecomposition, and no unit.
"""

import sys
import time

import scipy.linalg
from common import NEIGHBORS, report, seconds

import npkl_models as nm
from npkl_models.proof.positive import FULL

name = sys.argv[1] if len(sys.argv) > 1 else "iris"
data = nm.datasets.load(name)
n = data.n
L = nm.laplacian(data.X, NEIGHBORS.get(name, 5), search="exact")
pairs = nm.Pairs.from_labels(data.y, int(0.6 * n), int(0.6 * n), 0)
problem = nm.simple_npkl(L, pairs, loss="squared_hinge", C=1.0, bound=float(n))
started = time.perf_counter()
solution = problem.solve("simple_npkl", tol=1e-4)
taken = time.perf_counter() - started
row = {}
if n <= FULL:
    A = problem.slack(solution.multipliers).toarray()
    one = seconds(lambda: scipy.linalg.eigh(A, driver="evd"), 3)
    row = {"eigh_seconds": round(one, 3), "units": round(taken / one, 1)}
report(
    benchmark="spectral", data=name, n=n, status=solution.status.name, seconds=round(taken, 2),
    eigendecompositions=solution.iterations, rank=solution.rank,
    relative_gap=solution.certificate.relative_gap, rigour=solution.certificate.rigour,
    **row,
)  # fmt: skip
