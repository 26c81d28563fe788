"""Each line that makes a bound sound is broken alone, in a copy: the quick tests of its room notice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNEL, MISSES, SCALE = "kernel.py", "model/misses.py", "model/scale.py"
RATIONAL = "proof/rational.py"
FACTORS, JUDGE = "proof/factorisation.py", "solve/judge.py"
ROUNDING, TARGETS = "test_kernel_rounding.py", "certificates/test_targets.py"
LINES, OFF = "test_kernel_lines.py -k ", "model/test_off_basis.py"
PARTS, JUDGED = "proof/test_parts.py -k floor", "solve/test_judge.py"

MUTANTS = {
    # y in its boxes, and the slack
    "paid: rounding": (KERNEL, "total + SUM * UNIT * size + count", "total + count", ROUNDING),
    "paid: underflow": (KERNEL, "size + count * TINY", "size", LINES + "underflow"),
    "slack: rounding": (KERNEL, "rows = T * (within * sizes", "rows = T * (0 * sizes", ROUNDING),
    "slack: summands": (KERNEL, "numbers)[1] + 1", "numbers)[1] * 0", LINES + "summand"),
    "slack: defect of a basis": (KERNEL, "error += 2.5 * basis", "error += 0 * basis", LINES + "orthonormal"),
    "slack: tilt": (KERNEL, "tilted = 2.1 *", "tilted = 0 *", LINES + "lacks_of_centred"),
    "sizes": (KERNEL, "own = own + part.functional.row_sizes(numbers, x)[0]", "pass", ROUNDING),
    "floor: error of the slack": (KERNEL, "lower = found.lower - own.error", "lower = found.lower", LINES + "less_by"),
    "floor: rounding": (KERNEL, "lower - 2 * UNIT * abs(lower)", "lower", LINES + "less_by"),
    "floor: is proved from zero": (KERNEL, "self.lower >= 0 and self", "self", ROUNDING),
    # moves
    "anchor: is positive": (KERNEL, "if floor.lower > 0 and floor", "if floor", ROUNDING),
    "anchor: is proved": (KERNEL, 'if floor.lower > 0 and floor.found.rigour == "proved" else', "if floor.lower > 0 else", LINES + "no_centre"),
    "moved: not from what is raised": (KERNEL, "if floor.found.raised is not None or not 0", "if not 0", LINES + "raised_slack"),
    "moved: distance": (KERNEL, "np.abs(new - (kept * old + t * end)) + 4", "4", ROUNDING),
    "moved: rounding of the distance": (KERNEL, "t * end)) + 4 * UNIT * size", "t * end))", LINES + "moves_of"),
    "moved: share of 1 - t": (KERNEL, "away += 2 * UNIT *", "away += 0 *", LINES + "share"),
    "moved: units": (KERNEL, "mu = to.mu * float", "mu = to.mu or float", LINES + "moves_of"),
    "moved: sum": (KERNEL, "lower=lower - 8 * UNIT * (abs(floor.lower) + t * mu + away)", "lower=lower", LINES + "moves_of"),
    "raised: rounding": (KERNEL, "least = (rise - gamma", "least = (rise - 0 * gamma", LINES + "raises_of"),
    "raised: sum": (KERNEL, "lower -= 4 * UNIT *", "lower -= 0 *", LINES + "raises_of"),
    # rational numbers and signs
    "elimination: sign": (RATIONAL, "if pivot < 0 or (", "if (", ROUNDING),
    "elimination: zero pivot": (RATIONAL, " or (pivot == 0 and any(row[k:]))", "", ROUNDING),
    "bound: a proved floor": (KERNEL, "paid(problem, floor.y) if floor.proved else math.inf", "paid(problem, floor.y)", LINES + "floor_below"),
    "signs: none negative": (KERNEL, "(own < 0).any() or ", "", LINES + "signs"),
    "signs: squares alone": (KERNEL, " or (own[~squares(part.functional)] > 0).any()", "", LINES + "signs"),
    "signs: a cost that is PSD": (KERNEL, "if cost_floor(problem) + problem.regularizer.shift < 0", "if False", LINES + "signs"),
    "ray: PSD": (KERNEL, "owed < 0 and (_psd_by_parts(search, y) or exactly_psd(search, y))", "owed < 0", LINES + "a_ray"),
    "ray: positive": (KERNEL, "known = owed < 0 and (", "known = (", LINES + "a_ray"),
    "ray: parts of several points": (KERNEL, "near_definite(search.slack(y)[rest][:, rest], errors[rest])", "True", LINES + "a_ray"),
    # what is paid besides
    "anchored: loss": (KERNEL, "value = -paid(whole, y) - lost", "value = -paid(whole, y)", "certificates/test_anchored_bound.py"),
    "supported: defect": (KERNEL, "mu + eps + defect * top", "mu + eps", LINES + "regulariser_pays"),
    "supported: floor": (KERNEL, "max(0.0, -lower + error +", "max(0.0, error +", LINES + "regulariser_pays"),
    "supported: rounding": (KERNEL, "+ error + (8 * order + (mu.size + 8) ** 2) * UNIT * top", "+ error", LINES + "regulariser_pays"),
    "spectrum: doubt": (KERNEL, "support(doubt - values)", "support(-values)", "certificates/test_dual.py -k lapack"),
    "spectrum: error": (KERNEL, "2 * defect * size + error)", "2 * defect * size)", LINES + "regulariser_pays"),
    # the point and its gap
    "target: rounding": (KERNEL, "max(own, there) + rounding_of_objective(problem, V, there)", "max(own, there)", TARGETS),
    "target: a bound of the regulariser": (KERNEL, "exact = over == 0 and", "exact =", TARGETS),
    "target: the basis": (KERNEL, " and outside(problem, given) == 0", "", TARGETS),
    "target: constraints": (KERNEL, " and all(miss.share == 0 for miss in missed)", "", TARGETS),
    "kernel: share": (KERNEL, "share = max(0.0, doubt -", "share = 0 * max(0.0, doubt -", TARGETS),
    "gap: residuals": (KERNEL, "float(nu @ miss.residual) + ", "", TARGETS),
    "gap: doubts": (KERNEL, " + float(np.abs(nu) @ miss.doubt)", "", TARGETS),
    "gap: a regulariser's share": (KERNEL, "owed * (grown * grown - 1)", "0 * (grown * grown - 1)", TARGETS),
    "gap: negative eigenvalues": (KERNEL, "float(target.below @ least)", "0 * float(target.below @ least)", TARGETS),
    "off basis: distance": (KERNEL, "np.abs(V - problem.lift(W)) * (1 + 1e-9) +", "", OFF),
    "off basis: rounding": (KERNEL, " + gamma(steps + 2) * (abs(basis.Q) @ np.abs(W))", "", OFF),
    "objective: cost": (KERNEL, "error = gamma(steps + SUM) *", "error = 0 *", ROUNDING),
    "objective: losses": (KERNEL, "np.sum(slope * size)) * gamma(steps + 8)", "np.sum(slope * size)) * 0", LINES + "cancel"),
    "objective: losses off the basis": (KERNEL, "error = float(np.sum(slope * moved))", "error = 0 * float(np.sum(slope * moved))", LINES + "objective_pays_for_the_way"),
    # rays
    "falls: held exactly": (KERNEL, "if not np.isfinite(end).all()", "if False", "certificates/test_recession.py -k misses"),
    "falls: negative": (KERNEL, "return bool(rate < 0)", "return True", "certificates/test_recession.py -k closed"),
    # the other rooms
    "misses: own numbers": (MISSES, "        scale = b\n", "        scale = b.max(initial=0.0) + 0 * b\n", TARGETS),
    "misses: doubt": (MISSES, "doubt = rounding * size", "doubt = 0 * size", LINES + "doubts"),
    "misses: off the basis": (MISSES, "doubt = doubt + f.change_of_factor(V, off)", "pass", LINES + "doubts"),
    "scale: the least of A and B": (SCALE, "min(point, max(multipliers", "max(point, max(multipliers", LINES + "faint"),
    "scale: l at least": (SCALE, "max(multipliers, least)", "min(multipliers, least)", LINES + "faint"),
    "scale: theta": (SCALE, "FAINT = 1e-3", "FAINT = 1e-1", LINES + "faint"),
    "dense floor: Rump's margin": (FACTORS, "paid = gamma(n + 2) * trace", "paid = 0.0", PARTS),
    "floor of a shift: rounding": (FACTORS, "floor - shift - 2 * UNIT * (scale + abs(shift))", "floor - shift", LINES + "shifted"),
    "sparse floor: residual": (FACTORS, "np.max(R.sum(axis=1) * (1 + n * UNIT) +", "np.max(0 * R.sum(axis=1) +", PARTS),
    "sparse floor: its rounding": (FACTORS, "+ 2 * terms * UNIT * magnitude", "", PARTS),
    "judge: a gap that suffices": (JUDGE, "if case.found is None or not case.watch.suffices(case.found):", "if case.found is None:", JUDGED),
    "judge: a ray that is proved": (JUDGE, "if not infeasible(case.problem, case.V, ray):", "if False:", JUDGED),
    "judge: a direction that is proved": (JUDGE, " or not unbounded(case.problem, claim.V if said else case.V)", "", JUDGED),
    "judge: a word without proof": (JUDGE, "if case.claim.status not in (Status.INFEASIBLE, Status.UNBOUNDED):", "if True:", JUDGED),
    "judge: a point that misses": (JUDGE, "if case.found is None or case.found.feasible or case.claim.status in LIMITS:", "if True:", JUDGED),
    "judge: optimal without proof": (JUDGE, "Status.INACCURATE if case.claim.status is Status.OPTIMAL else case.claim.status", "case.claim.status", JUDGED),
}  # fmt: skip
"""A name: the file, a text that stands there once, what it is replaced by, and the tests that must fail."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_line_is_noticed(name, tmp_path):
    file, old, new, tests = MUTANTS[name]
    shutil.copytree(ROOT / "npkl_models", tmp_path / "npkl_models")
    path = tmp_path / "npkl_models" / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    selected, *options = tests.split()
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-o", "addopts=", "-p", "no:xdist", "-m", "not slow"]  # fmt: skip
    command += ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), str(ROOT / "tests" / selected)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
