"""The failure probability of a whole solve, shared by all of its certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npkl_models.certify.certificate import Certificate

FAILURE = 1e-6  # that any of a solve's certificates is wrong


@dataclass
class Budget:
    """Look k may spend FAILURE / (k (k + 1)); the sum over all k is FAILURE."""

    looks: int = 0

    def next(self) -> float:
        """What the next certificate may spend."""
        self.looks += 1
        return FAILURE / (self.looks * (self.looks + 1))

    @staticmethod
    def stated(found: Certificate) -> Certificate:
        """The certificate with the probability that it shares with all others."""
        return replace(found, failure_probability=FAILURE) if found.rigour == "probable" else found
