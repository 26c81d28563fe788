"""How the floor of ADMM's penalty decides its speed.

What to see: the number of iterations grows in proportion to the floor. The default, 1.5 ||C||, is several
times smaller than the source's 10 on a normalised Laplacian.
"""

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, shift=0.1), pairs, loss="squared_hinge")

for floor in (None, 5.0, 10.0, 20.0):
    found = problem.solve("admm", rho_floor=floor, rho=floor or 10.0)
    name = "1.5 ||C||" if floor is None else f"{floor:g}"
    print(f"floor {name:10s} {found.iterations:5d} iterations, {found.status}")
