"""How much work a run may do before it hands over.

Work is counted from sizes alone, in seconds of the machine on which the constants of `npkl_models.solve.cost`
were measured. So the same run ends at the same iteration on any machine, whatever else the machine does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SHARES = (1 / 3, 2 / 3, 1.0)  # shares of the work so far at which the objective is compared
AGAIN = 1.2  # the rest is predicted again when the work has grown by this factor


@dataclass
class Allowance:
    """A limit on the work of a run, and a rule that ends a slow run earlier.

    The rule applies once the run has done as much work as the other backend is predicted to take. It ends
    the run if the rest of the run is predicted to take longer than the other backend. The prediction uses
    the objective at one third, two thirds and the end of the work so far. It assumes that the objective
    falls geometrically (Aitken 1926). If the objective does not fall so, the run goes on.
    """

    most: float = float("inf")  # work that the run may do
    other: float = float("inf")  # work that the other backend is predicted to take
    tol: float = 1e-6  # target for the relative gap
    reference: float = 0.0  # reference value of the relative gap; see `Problem.reference`
    used: bool = False  # whether the allowance has ended the run
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
        """Predicted work until the tolerance is met; 0 if no prediction is possible."""
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
