"""One certificate for every solver: a lower bound on the optimum, and how far a point is from it.

Let y be in the domain of the conjugates and S = C + sum_e y_e M_e. Then ``-sum f*(y) - nu'b - R*(-S)``
bounds the optimum from below. If R* is infinite because S is not quite PSD, y is repaired first. The way in
which the smallest eigenvalue of S is known decides the rigour of the bound.

A certificate says three things: the bound for the problem as written, how far the point misses the
constraints, and its gap in the problem whose targets it meets exactly (`targets`). All three are theorems.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from numbers import Real

import numpy as np

from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import Owner, owned
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.units import Units
from npkl_models.proof.eigenbound import CERTIFIED as CERTIFIED
from npkl_models.proof.eigenbound import Rigour


@dataclass(frozen=True, repr=False)
class Certificate(Owner):
    """The proved bound on the optimum, and the violation and gap of a given point.

    Attributes
    ----------
    objective : float
        Objective of the point.
    upper : float
        Upper bound on the optimum, with what rounding may hide; inf if the point is not proved to meet all
        constraints exactly, as no point meets equalities.
    bound : float
        Lower bound on the optimum of the problem as written; -inf if there is none.
    gap, relative_gap : float
        The objective minus the bound for the targets that the point meets exactly (rounding included), and
        this difference over ``|objective| + |bound| + faint``. Both are inf without a bound; the relative gap
        is also inf if the point is not feasible.
    faint : float
        What the unit of the relative gap has besides objective and bound: a thousandth of the size of their
        summands, which matters only where the optimum is next to zero.
    min_eigenvalue : float
        Best approximation of the smallest eigenvalue of the dual slack S before repair, plus the
        subgradient of a trace-power regulariser. It is negative at a stationary point that is not optimal.
    rigour : {"proved", "probable", "estimated", "none"}
        How the bound is known; only "proved" and "probable" count as certified.
    repair : str
        How y was made feasible: "none needed", names from `MEANING`, or why there is no bound. "bound above
        objective" is an alarm: a loss and its conjugate contradict each other; nothing is proved.
    failure_probability : float
        Probability that a "probable" bound fails.
    violation : float
        Violation of the constraints by the point, relative to their data; see `npkl_models.model.misses`.
    missed : str
        Name of the constraint with this violation; empty if nothing is missed.
    point_min_eigenvalue : float
        Smallest eigenvalue of a given kernel, if it is below zero by more than rounding.
    indefinite : float
        The absolute value of this eigenvalue, relative to the largest eigenvalue.
    source : {"given", "least norm", "a solve"}
        Where the multipliers came from: the caller or solver, the point, or a solve of the problem.
    feasibility : float
        Largest violation, and largest share of the negative part of a kernel, of a point that counts as
        feasible.
    seconds : float
        Time of the certificate in seconds.
    multipliers : Multipliers
        The repaired dual point, which anybody can check with `Problem.dual_bound`; if equalities leave no
        interior, that of the problem of `npkl_models.feasibility.faces.face_of`.
    point : ndarray of shape (n, r)
        Factor of the point; of a kernel that is not PSD, the factor of its PSD part.
    direction : ndarray of shape (n,)
        Unit vector whose Rayleigh quotient is `min_eigenvalue`; in the range of the basis if there is one.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> found = problem.solve().certificate
    >>> found.rigour, found.bound <= found.upper, found.certifies(1e-6)
    ('proved', True, True)
    """

    objective: float
    upper: float
    bound: float
    gap: float
    relative_gap: float
    faint: float
    min_eigenvalue: float
    rigour: Rigour
    repair: str
    failure_probability: float
    violation: float
    missed: str
    point_min_eigenvalue: float
    indefinite: float
    source: str
    feasibility: float
    seconds: float
    multipliers: Multipliers = field(repr=False)
    point: Array = field(repr=False)
    direction: Array = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("point", "direction"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, owned(array))
        object.__setattr__(self, "multipliers", self.multipliers.owned())

    @property
    def feasible(self) -> bool:
        """Whether violation and negative part are at most ``feasibility``."""
        return self.violation <= self.feasibility and self.indefinite <= self.feasibility

    def certifies(self, tol: float) -> bool:
        """Whether the point is feasible, and proved or probable to be optimal within ``tol``."""
        if not isinstance(tol, Real) or not 0 < tol < 1:
            raise UnsupportedError(f"tol must be between 0 and 1, got {tol!r}")
        return self.feasible and self.rigour in CERTIFIED and self.relative_gap <= tol

    def __repr__(self) -> str:
        return f"Certificate({self})"

    def _repr_html_(self) -> str:
        return f"<div>{bracket(self)}<div>{html.escape(str(self))}</div></div>"

    def __str__(self) -> str:
        return ", ".join(line.removeprefix("certificate: ") for line in self.lines())

    @property
    def plainly(self) -> str:
        """The result as a sentence for a reader who does not know certificates."""
        if not np.isfinite(self.bound):
            return "In plain words: nothing is proved about how good this kernel is."
        sure = {"proved": "This is proved", "probable": "This holds"}.get(self.rigour, "This is an estimate")
        if self.rigour == "probable":
            sure += f" except with probability {self.failure_probability:.0e}"
        if not self.feasible or not np.isfinite(self.gap):
            below = self.bound - 1e-7 * abs(self.bound)  # so that the rounded number is a bound
            whose = "" if self.feasible else " that meets the constraints"
            return f"In plain words: no kernel{whose} has an objective below {below:.8g}. {sure}."
        more = f"{1.05 * self.gap:.1e}"  # so that no digit is rounded down
        whose = ""
        if not np.isfinite(self.upper):
            whose = f" that misses the constraints as this one does (by {self.violation:.0e} at most)"
        words = (
            f"In plain words: no kernel{whose} has an objective lower than this one's by more than {more}."
        )
        return f"{words} {sure}."

    def lines(self) -> list[str]:
        """The result in two or three lines."""
        label: str = self.rigour
        if self.rigour == "probable":
            label += f" (fails with probability {self.failure_probability:.0e})"
        gap = f"relative gap {self.relative_gap:.1e}"
        if np.isfinite(self.upper):
            head = f"{self.bound:.8g} <= optimum <= {self.upper:.8g}"
        else:
            head = f"{self.bound:.8g} <= optimum, objective {self.objective:.8g}"
            gap = f"{gap} for the targets that the point meets exactly" if self.feasible else "no gap"
        how = "" if self.repair == "none needed" else f" ({in_words(self.repair)})"
        lines = [f"certificate: {head}", f"{gap}, {label}{how}"]
        if not np.isfinite(self.upper):
            small = "" if self.feasible else f", more than the {self.feasibility:.0e} that is feasible"
            what = f"violation {self.violation:.1e}" + (f" ({self.missed})" if self.missed else "")
            if self.point_min_eigenvalue < 0:
                what += f", smallest eigenvalue {self.point_min_eigenvalue:.1e}"
                what += f" ({self.indefinite:.1e} of the largest)"
            lines.append(what + small)
        return lines


WIDTH, HEIGHT, EDGE = 460, 58, 130  # of the drawing, in pixels
GOOD, OPEN = "#17692f", "#a15c00"


def bracket(found: Certificate) -> str:
    """Draw bound <= optimum <= upper as an SVG; without an upper bound, the bound and the objective."""
    gap = found.relative_gap
    color = GOOD if found.rigour in CERTIFIED and found.feasible and gap <= 1e-4 else OPEN
    share = np.clip((np.log10(max(gap, 1e-12)) + 12) / 12, 0.02, 1.0) if np.isfinite(gap) else 1.0
    half, middle = share * (WIDTH - 2 * EDGE) / 2, WIDTH / 2
    left, right = middle - half, middle + half
    low = f"{found.bound:.8g}" if np.isfinite(found.bound) else "no bound"
    dash = "" if np.isfinite(gap) else ' stroke-dasharray="4 4"'
    said = f"gap {gap:.1e}, {found.rigour}" if np.isfinite(gap) else f"no gap, {found.rigour}"
    if np.isfinite(found.upper):
        high = f"{found.upper:.8g}"
    else:
        high, said = f"objective {found.objective:.8g}", f"{said}, violation {found.violation:.1e}"
    return (
        f'<svg role="img" aria-label="{low} up to {high}, {said}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'style="max-width:{WIDTH}px;width:100%" font-family="system-ui, sans-serif" font-size="12" '
        'fill="currentColor">'
        f'<g stroke="{color}" stroke-width="2"><path d="M{left} 14v16M{right} 14v16"/>'
        f'<path d="M{left} 22H{right}"{dash}/></g>'
        f'<text x="{left}" y="46" text-anchor="end">{low}</text>'
        f'<text x="{right}" y="46" text-anchor="start">{high}</text>'
        f'<text x="{middle}" y="11" text-anchor="middle">{html.escape(said)}</text></svg>'
    )


MEANING = {
    "shift": "the multipliers of the diagonal were raised",
    "ray": "multipliers whose matrices add up to a positive definite one were raised",
    "scale": "all multipliers were scaled down",
    "Slater point": "the multipliers were mixed with a strictly feasible dual point",
    "positive multipliers": "only positive multipliers of squares were used, or none",
    "anchored points": "only multipliers of the anchored points were used",
    "rational numbers": "the slack was eliminated in rational numbers",
    "regulariser": "the regulariser absorbs the negative part of the slack",
}
"""What each repair did."""


def in_words(repair: str) -> str:
    """The name of a repair as a sentence."""
    parts = [part for part in re.split(r" \(|\)|, ", repair) if part and part != "none needed"]
    known = [MEANING.get(part, part) for part in parts]
    return " and ".join(known)


def outward(found: Certificate, units: Units) -> Certificate:
    """Convert a certificate from the problem's own units to those of the statement; bounds stay bounds."""
    if units.same:
        return found
    upper, bound = units.above(found.upper), units.below(found.bound)
    gap = upper - bound if np.isfinite(upper) and np.isfinite(bound) else units.above(found.gap)
    return _in_units(found, units, units.value(found.objective), upper, bound, gap)


def inward(found: Certificate, units: Units) -> Certificate:
    """Convert a certificate from the units of the statement to the problem's own units."""
    if units.same:
        return found
    back = replace(units, cost=1 / units.cost, root=1 / units.root)
    numbers = (units.inner_value(x) for x in (found.objective, found.upper, found.bound, found.gap))
    return _in_units(found, back, *numbers)


def _in_units(
    found: Certificate, units: Units, objective: float, upper: float, bound: float, gap: float
) -> Certificate:
    return replace(
        found, objective=objective, upper=upper, bound=bound, gap=gap, faint=units.value(found.faint),
        min_eigenvalue=found.min_eigenvalue * units.cost,
        point_min_eigenvalue=found.point_min_eigenvalue * units.root * units.root,
        multipliers=units.multipliers(found.multipliers), point=units.point(found.point),
    )  # fmt: skip


def relative_gap(objective: float, bound: float, faint: float, gap: float | None = None) -> float:
    """The relative gap, ``gap / (|objective| + |bound| + faint)``; gap is their difference by default.

    ``faint`` speaks only where the optimum is next to zero; see `npkl_models.model.scale.faint_unit`.
    """
    gap = objective - bound if gap is None else gap
    if not (np.isfinite(objective) and np.isfinite(bound) and np.isfinite(gap)):
        return float("inf")
    size = abs(objective) + abs(bound) + faint
    if size == 0.0:  # there is no scale: both numbers are 0
        return 0.0 if gap <= 0 else float("inf")
    return gap / size


ALARM = "bound above objective"  # the name of a repair: nothing is proved
FAILURE = 1e-6  # the probability that any certificate of a solve is wrong, at most
EQUAL = 20  # so many certificates share half of it equally


@dataclass
class Budget:
    """A budget of failure probability, whose sum over all certificates is at most FAILURE.

    Half of it is shared equally by the first EQUAL certificates, so that rounding in Lanczos runs does not
    hide their shares. Of the other half certificate k may spend the share 1 / (k (k + 1)).
    """

    looks: int = 0

    def next(self) -> float:
        """The failure probability that the next certificate may spend."""
        self.looks += 1
        equal = 1 / EQUAL if self.looks <= EQUAL else 0.0
        return 0.5 * FAILURE * (equal + 1 / (self.looks * (self.looks + 1)))

    @staticmethod
    def stated(found: Certificate) -> Certificate:
        """The certificate with the failure probability of all certificates together."""
        return replace(found, failure_probability=FAILURE) if found.rigour == "probable" else found


def together(certificates: Iterable[Certificate]) -> tuple[float, float]:
    """The largest certified bound and the smallest feasible objective of points; -inf and inf if none."""
    every = list(certificates)
    bounds = (one.bound for one in every if one.rigour in CERTIFIED)
    objectives = (one.objective for one in every if one.feasible)
    return max(bounds, default=-np.inf), min(objectives, default=np.inf)
