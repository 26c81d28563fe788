"""How much work a run may do before it hands over.

Work is counted from sizes alone, in seconds of the machine on which the constants of `npkl_models.solve.cost`
were measured. So the same run ends at the same iteration on any machine, whatever else the machine does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Allowance:
    """A limit on the work of a run."""

    most: float = float("inf")  # work that the run may do
    used: bool = False  # whether the allowance has ended the run

    def ends(self, work: float) -> bool:
        """Whether the run should end after so much work."""
        self.used = work > self.most
        return self.used
