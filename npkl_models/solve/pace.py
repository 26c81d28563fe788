"""How fast an objective falls, and when another backend would be quicker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from npkl_models.answer.history import Iterate

Callback = Callable[[Iterate], bool | None]
SHARES = (1 / 3, 2 / 3, 1.0)  # of the time so far, at which the objective is compared


@dataclass
class Pace:
    """A callback that ends a run once the rest of it would take longer than another backend as a whole.

    It begins to look when the run has had as long as the other would take. The objective at a third, at two
    thirds and at the end of the time so far tells its rate of fall, if it falls geometrically (Aitken
    1926), and with it the time to the tolerance. Where it does not fall so, nothing is concluded.

    Attributes
    ----------
    other : float
        Seconds that the other backend would take.
    tol : float
        The relative gap that is asked for.
    callback : callable, optional
        The user's, asked first.
    slow : bool
        Whether the run was ended for its pace.
    reference : float
        What the gap is relative to besides the objective; see `Problem.reference`.
    """

    other: float
    tol: float
    callback: Callback | None = None
    slow: bool = False
    rows: list[tuple[float, float]] = field(default_factory=list)
    asked: float = 0.0
    reference: float = 0.0

    def __call__(self, row: Iterate) -> bool:
        if self.callback is not None and self.callback(row):
            return True
        self.rows.append((row.seconds, row.objective))
        if row.seconds < max(self.other, 1.2 * self.asked):
            return False
        self.asked = row.seconds
        self.slow = self.left() > self.other
        return self.slow

    def left(self) -> float:
        """Predicted seconds to the tolerance; 0 where they cannot be told."""
        seconds, objective = np.array(self.rows).T
        at = seconds[0] + (seconds[-1] - seconds[0]) * np.array(SHARES)
        first, second, last = (float(value) for value in np.interp(at, seconds, objective))
        one, two = first - second, second - last
        if not (np.isfinite([first, last]).all() and one > two > 0):
            return 0.0
        rate = two / one
        error, wanted = two * rate / (1 - rate), self.tol * (self.reference + 2 * abs(last))
        if error <= wanted:
            return 0.0
        return float((at[2] - at[1]) * np.log(wanted / error) / np.log(rate))
