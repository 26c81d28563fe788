"""Write a problem, solve it fast, see it proved.

What to see: the fast solver's answer carries a lower bound that leaves a gap of less than one in a
million, and the exact SDP lands on the same objective.
"""

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
L = nm.laplacian(data.X, n_neighbors=5, shift=0.1)

problem = nm.npkl(L, pairs, loss="squared_hinge")
print(problem.explain())

solution = problem.solve()
print(solution.summary())

exact = problem.solve("sdp_dual")
print(f"exact SDP: {exact.objective:.8f}, difference {solution.objective - exact.objective:.1e}")
assert solution.is_optimal(1e-6)
