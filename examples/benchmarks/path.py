"""A certified path of twenty weights, warm-started, beside single solves.

``python path.py [SET ...]`` prints a line of JSON for each loss: CPU seconds of the path, of one solve of the
problem at
its hardest weight (the path's own first) and at weight 1, and of all twenty from scratch.
"""

import argparse
import time

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.path import with_parameter

FORMS = (("pcp", {}), ("npkl", {"loss": "squared_hinge"}), ("npkl", {"loss": "hinge"}))


def seconds(task) -> tuple[float, object]:
    """CPU seconds, and the result."""
    started = time.process_time()
    found = task()
    return time.process_time() - started, found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["a1a"])
    given = parser.parse_args()
    grid = np.geomspace(0.01, 100.0, 20)
    for name in given.sets:
        data = nm.datasets.load(name)
        count = round(0.6 * data.n)
        L, pairs = nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, count, count, 0)
        for form, options in FORMS:
            problem = getattr(nm, form)(L, pairs, **options)
            for backend in ("bcd", "burer_monteiro"):
                problem.solve(backend)  # what is compiled is compiled now
            path, found = seconds(lambda p=problem: nm.regularization_path(p, "weight", grid))
            name_of = found.solutions[0].backend
            singles = [
                seconds(lambda g=g, p=problem, b=name_of: with_parameter(p, "weight", float(g)).solve(b))[0]
                for g in grid
            ]
            report(
                benchmark="path", data=name, form=form, **options, backend=name_of, path=round(path, 2),
                hardest=round(singles[-1], 2), at_one=round(float(np.interp(0, np.log(grid), singles)), 2),
                from_scratch=round(sum(singles), 2), in_hardest=round(path / singles[-1], 1),
                certified=sum(s.status is nm.Status.OPTIMAL for s in found.solutions),
                largest_gap=float(f"{max(found.relative_gap):.1e}"),
            )  # fmt: skip


if __name__ == "__main__":
    main()
