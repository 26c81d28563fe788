"""Python programs that reproduce what the page shows."""

from __future__ import annotations

from collections.abc import Sequence

from npkl_models.explore.answers import groups
from npkl_models.explore.form import Form
from npkl_models.recipe.made import Made

CLUSTERING = "from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans"
AUDIT = "from npkl_models.applications.audit import audit_pairs"


def solve_code(made: Made, form: Form) -> str:
    """The program that solves and clusters."""
    known = made.labels is not None
    imports = [CLUSTERING if known else CLUSTERING.replace("cluster_accuracy, ", "")]
    tail = [f"solution = problem.solve({_solving(form)})", "print(solution.summary())"]
    tail.append(f"clusters = kernel_kmeans(solution, {groups(made, form)})")
    if known:
        tail.append("print(cluster_accuracy(data.y, clusters))")
    if form.wrong:
        imports.append(AUDIT)
        tail.append("print(audit_pairs(solution))")
    return made.script.code(*tail, imports=tuple(imports))


def path_code(made: Made, form: Form, span: tuple[float, float, int]) -> str:
    """The program that follows gamma."""
    low, high, count = span
    return made.script.code(
        f"gammas = np.geomspace({low!r}, {high!r}, {count})",
        f"weights = gammas / {form.recipe.gamma!r}",
        f"path = nm.regularization_path(problem, 'weight', weights, {_solving(form)})",
        "print(path.objective, path.relative_gap, path.rank)",
        imports=("import numpy as np",),
    )


def compare_code(made: Made, form: Form, backends: Sequence[str]) -> str:
    """The program that compares backends."""
    return made.script.code(
        f"backends = {list(backends)!r}",
        f"check = nm.crosscheck(problem, backends, {form.solving_words(*backends)})",
        "print(check)",
    )


def steps_code(made: Made, form: Form) -> str:
    """The program that judges the iterates of a solver."""
    return made.script.code(
        "found = []",
        "",
        "",
        "def judge(iterate):",
        "    if iterate.V is not None:",
        "        proof = nm.certify(problem, iterate.V.copy(), kind='factor')",
        "        found.append((iterate.iteration, proof.objective, proof.bound, proof.min_eigenvalue))",
        "",
        "",
        f"solution = problem.solve({_solving(form)}, callback=judge)",
        "print(*found, sep='\\n')",
    )


def race_code(made: Made, form: Form, backends: Sequence[str]) -> str:
    """The program that solves with one backend after the other, and measures processor time."""
    return made.script.code(
        f"for name in {list(backends)!r}:",
        "    began = time.process_time()",
        f"    solution = problem.solve(name, {form.solving_words(*backends)})",
        "    print(name, time.process_time() - began, solution.status, solution.certificate)",
        imports=("import time",),
    )


def _solving(form: Form) -> str:
    return f"{form.recipe.backend!r}, {form.solving_words()}"
