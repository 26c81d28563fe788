"""Certified fast solvers against SCS (eps 1e-6) on iris, pcp, in one run: ``python against_scs.py``."""

from common import problem, report, seconds

P = problem("iris")
scs = seconds(lambda: P.solve("sdp", solver="SCS", eps=1e-6), 3)
found = {"scs_seconds": round(scs, 3)}
for label, backend, options in (
    ("bcd_numpy", "bcd", {"kernel": "numpy"}),
    ("bcd", "bcd", {}),
    ("burer_monteiro", "burer_monteiro", {}),
):
    assert P.solve(backend, **options).is_optimal(1e-6)
    taken = seconds(lambda b=backend, o=options: P.solve(b, **o), 5)
    found[f"{label}_times_faster"] = round(scs / taken, 1)
report(benchmark="against_scs", data="iris", **found)
