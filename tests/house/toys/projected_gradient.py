"""A backend from outside the package: accelerated projected gradient steps on the kernel itself."""

from dataclasses import dataclass

import numpy as np

import npkl_models as nm
from npkl_models.extend import Backend, Claim, Takes
from npkl_models.linalg import psd_factor


@dataclass(frozen=True, kw_only=True)
class GradientOptions(nm.Options):
    """Options of projected_gradient.

    Parameters
    ----------
    look_every : int
        Steps between two certificates.
    """

    look_every: int = 50


@dataclass(frozen=True)
class GradientPlan:
    """K <- (K - gradient / L)+, with Nesterov's momentum (Beck & Teboulle 2009)."""

    problem: nm.Problem
    options: GradientOptions

    def run(self, watch):
        P, t = self.problem, 1.0
        L = max(float(np.max(term.loss.curvature * term.weight)) for term in P.terms)
        K = ahead = np.zeros((P.n, P.n))
        for k in range(1, (self.options.max_iter or 20_000) + 1):
            y = [term.derivative(term.functional.value(ahead)) for term in P.terms]
            V = psd_factor(ahead - P.slack(y).toarray() / L)
            V = V if V.shape[1] else np.zeros((P.n, 1))
            new, t, old = V @ V.T, (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            ahead, moved, K = new + (old - 1) / t * (new - K), np.linalg.norm(new - K), new
            watch.record(k, P.objective_of_factor(V), np.nan, moved, V.shape[1])
            if k % self.options.look_every == 0:
                found = watch.certify(P, V, P.derivatives(V))
                if watch.suffices(found):
                    return Claim(V, found.multipliers, nm.Status.OPTIMAL, iterations=k, certificate=found)
            status = watch.heed(V)
            if status is not None:
                return Claim(V, status=status, iterations=k)
        return Claim(V, status=nm.Status.ITERATION_LIMIT, iterations=k)

    def describe(self):
        return f"an eigendecomposition of order {self.problem.n} a step"


TAKES = Takes(losses=("smooth",), diagonal=("smooth",), regularizers=("none",), functionals=("entries",))
BACKEND = Backend(
    "projected_gradient", "toy", "projected gradient on K", TAKES, GradientPlan, GradientOptions
)
