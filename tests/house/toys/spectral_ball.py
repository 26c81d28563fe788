"""A regulariser from outside the package: no eigenvalue of the kernel above b."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import npkl_models as nm


@dataclass(frozen=True)
class SpectralBall(nm.Regularizer):
    """lambda_max(K) <= b; R*(Z) = b tr Z+."""

    b: float = 1.0
    name = "spectral_ball"
    finite_support = True

    @property
    def latex(self):
        return rf"\lambda_{{\max}}(K) \le {self.b:g}"

    def violation(self, eigenvalues, more=0.0):
        return max(0.0, (float(np.max(eigenvalues, initial=0.0)) + more) / self.b - 1)

    def rescale(self, V):
        U, s, R = np.linalg.svd(V, full_matrices=False)
        return V if s[0] ** 2 <= self.b else (U * np.minimum(s, np.sqrt(self.b) * (1 - 1e-14))) @ R

    def trace_bound(self, n):
        return n * self.b

    def support(self, eigenvalues):
        return self.b * float(np.sum(np.maximum(eigenvalues, 0.0))) * (1 + 1e-13)

    def cvxpy_primal(self, K):
        return 0.0, [K << self.b * np.eye(K.shape[0])]

    def cvxpy_support(self, S):
        P = cp.Variable(S.shape, symmetric=True)
        return nm.extend.CvxSupport(self.b * cp.trace(P), S + P, [P >> 0])
