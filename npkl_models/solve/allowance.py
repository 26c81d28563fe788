"""How much a run may do before another backend has its turn, in counted work.

Work is counted, not timed: an engine states what an iteration costs from sizes alone, in seconds of the
machine that the constants of `npkl_models.solve.cost` were measured on. So the same run ends at the same
iteration on any machine, alone or beside others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SHARES = (1 / 3, 2 / 3, 1.0)  # of the work so far, at which the objective is compared
AGAIN = 1.2  # times the work at the last look, before the next


@dataclass
class Allowance:
    """Ends a run that has done its share, or the rest of which would take longer than another as a whole.

    The second it asks once the run has done as much as the other would take. The objective at a third, at
    two thirds and at the end of the work so far tells its rate of fall, if it falls geometrically (Aitken
    1926), and with it the work to the tolerance. Where it does not fall so, nothing is concluded.

    Attributes
    ----------
    most : float
        Work that the run may do.
    other : float
        Work that the other backend is predicted to take.
    tol : float
        The relative gap that is asked for.
    reference : float
        What the gap is relative to besides the objective; see `Problem.reference`.
    used : bool
        Whether the run was ended by it.
    """

    most: float = float("inf")
    other: float = float("inf")
    tol: float = 1e-6
    reference: float = 0.0
    used: bool = False
    rows: list[tuple[float, float]] = field(default_factory=list)
    asked: float = 0.0

    def ends(self, work: float, objective: float) -> bool:
        """Whether the run should end after so much work, at this objective."""
        self.used = work > self.most or self._slow(work, objective)
        return self.used

    def _slow(self, work: float, objective: float) -> bool:
        if self.other == float("inf"):
            return False
        self.rows.append((work, objective))
        if work < max(self.other, AGAIN * self.asked):
            return False
        self.asked = work
        return self.left() > self.other

    def left(self) -> float:
        """Predicted work to the tolerance; 0 where it cannot be told."""
        work, objective = np.array(self.rows).T
        at = work[0] + (work[-1] - work[0]) * np.array(SHARES)
        first, second, last = (float(value) for value in np.interp(at, work, objective))
        one, two = first - second, second - last
        if not (np.isfinite([first, last]).all() and one > two > 0):
            return 0.0
        rate = two / one
        error, wanted = two * rate / (1 - rate), self.tol * (self.reference + 2 * abs(last))
        if error <= wanted:
            return 0.0
        return float((at[2] - at[1]) * np.log(wanted / error) / np.log(rate))
