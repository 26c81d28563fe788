"""The statement of a problem: data that never change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError, instance
from npkl_models.files import saved
from npkl_models.files.gate import gate
from npkl_models.linalg import Array, Matrix, dense, gram_eigenvalues, norm_bound, symmetrize
from npkl_models.linalg.owned import Owner, frozen, owned_sparse, set_fields, shelled
from npkl_models.model import scale, storage
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.misses import misses, worst
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.reading import read_multipliers, read_terms, read_values, symmetric
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.regularizers import NoRegularizer, RowNormBound
from npkl_models.model.terms import LossTerm

NONE = NoRegularizer()


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Statement(Owner):
    r"""The data of a problem, checked for consistency, with its values, slacks and bounds.

    The parameters are the same as for `npkl_models.Problem`, the subclass with methods that solve and show
    the problem.
    """

    cost: Matrix
    terms: tuple[LossTerm | Constraint, ...]
    regularizer: Regularizer
    basis: Basis | None
    name: str

    def __init__(
        self, cost: Matrix, terms: LossTerm | Constraint | Iterable[LossTerm | Constraint],
        regularizer: Regularizer | RowNormBound = NONE, basis: Basis | None = None, name: str = "",
    ) -> None:  # fmt: skip
        cost, terms = owned_sparse(symmetric(cost, "cost matrix (Laplacian)", 1)), read_terms(terms)
        n = cost.shape[0]
        if isinstance(regularizer, RowNormBound):
            terms, regularizer = (*terms, regularizer.constraint(n)), NONE
        instance(regularizer, Regularizer, "regularizer", "TracePower(2, bound=1.0)")
        if not terms:
            raise ProblemError("a problem must have at least one loss term or constraint, got none")
        for part in terms:
            if part.functional.n != n:
                raise ProblemError(
                    f"{part.name} must be over the {n} points of the cost matrix, "
                    f"got a functional over {part.functional.n} points"
                )
        if not isinstance(name, str):
            raise ProblemError(f"a problem's name must be text, got {name!r}")
        if basis is not None:
            instance(basis, Basis, "basis", "Basis(Q)")
            if basis.n != n:
                raise ProblemError(f"basis must have {n} rows like the cost matrix, got {basis.n}")
        set_fields(self, cost, terms, regularizer, basis, name)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.__dict__["cost"].shape[0])  # without a shell

    @property
    def order(self) -> int:
        """Order of the PSD unknown: n, or the number of columns of the basis."""
        return self.n if self.basis is None else self.basis.size

    @property
    def Q(self) -> Array:
        """The basis (n x s) as a dense array; the identity if there is no basis."""
        return np.eye(self.n) if self.basis is None else self.basis.dense

    @cached_property
    def losses(self) -> tuple[LossTerm, ...]:
        """The loss terms, which stand first among the terms."""
        return tuple(term for term in self.terms if isinstance(term, LossTerm))

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, each of one kind."""
        return tuple(term for term in self.terms if isinstance(term, Constraint))

    @property
    def sizes(self) -> list[int]:
        """Number of values of each term."""
        return [part.functional.size for part in self.terms]

    @property
    def n_pairs(self) -> int:
        """Number of values in all loss terms."""
        return sum(term.functional.size for term in self.losses)

    def __repr__(self) -> str:
        terms = "".join(f", {t.functional.size} {t.name} {t.loss.name}" for t in self.losses)
        terms += "".join(f", {c.functional.size} {c.name} {' '.join(c.kinds)}" for c in self.constraints)
        basis = "" if self.basis is None else f", basis of {self.basis.size}"
        return (
            f"{type(self).__name__}({self.name or 'unnamed'}: n={self.n}{terms}, "
            f"regularizer={self.regularizer.name}{basis})"
        )

    @cached_property
    def facts(self) -> dict[Any, Any]:
        """Facts that were derived from the problem; `npkl_models.model.facts` stores them here."""
        return {}

    @cached_property
    def kernel_unit(self) -> float:
        """The unit of kernels: the largest target or bound of a value."""
        return scale.kernel_unit(self.losses, self.constraints, self.regularizer, self.n)

    @cached_property
    def cost_unit(self) -> float:
        """The unit of multipliers and slacks: usually the largest entry of C."""
        return scale.cost_unit(self.cost, scale.typical_loss(self.losses), self.kernel_unit)

    @cached_property
    def least_loss(self) -> float:
        """The least positive loss at K = 0; 0 if there is none."""
        return scale.least_loss(self.losses)

    @cached_property
    def typical(self) -> float:
        """A unit for steps of solvers where no loss gives one: a share of the units of cost and kernels."""
        return 0.0 if self.losses else scale.FAINT * self.cost_unit * self.kernel_unit

    def size(self, *values: float) -> float:
        """A denominator for steps of solvers: absolute values, and a share of the least loss at K = 0.

        The unit of a certificate asks point and multipliers, too; see `npkl_models.model.scale`.
        """
        return scale.FAINT * self.least_loss + sum(map(abs, values))

    def objective(self, K: Array) -> float:
        """The objective at a dense kernel K (n x n); constraints are ignored."""
        K = read_values(K, (self.n, self.n), "a kernel")
        linear = float(np.sum(self.cost.multiply(K)))
        total = linear + sum(term.value(term.functional.value(K)) for term in self.losses)
        if self.regularizer.vacuous or self.regularizer.bounds:
            return total
        return total + self.regularizer.value(np.linalg.eigvalsh(symmetrize(K)))

    def objective_of_factor(self, V: Array) -> float:
        """The objective at K = VV' for a factor V (n x r); K is never formed, and constraints are ignored."""
        V = read_values(V, (self.n, None), "a factor")
        linear = float(np.sum(V * (self.cost @ V)))
        total = linear + sum(term.value(z) for term, z in zip(self.losses, self.values(V), strict=True))
        if self.regularizer.vacuous or self.regularizer.bounds:
            return total
        return total + self.regularizer.value(gram_eigenvalues(V))

    def values(self, V: Array) -> tuple[Array, ...]:
        """The values z of each loss term at K = VV'."""
        V = read_values(V, (self.n, None), "a factor")
        return tuple(term.functional.value_of_factor(V) for term in self.losses)

    def values_in_basis(self, U: Array) -> tuple[Array, ...]:
        """The values z of each loss term at K = QUQ' for a symmetric U (s x s), PSD or not."""
        Q = self.Q
        left = Q @ U
        return tuple(term.functional.value_of_product(left, Q) for term in self.losses)

    def violation(self, V: Array) -> float:
        """The largest amount by which K = VV' misses a constraint, relative to the data of the constraint."""
        V = read_values(V, (self.n, None), "a factor")
        return worst(misses(self, V))[0] if np.isfinite(V).all() else float("inf")

    def derivatives(self, V: Array) -> Multipliers:
        """The multipliers y_e = f_e'(z_e) at K = VV'; multipliers of constraints are zero."""
        y = tuple(term.derivative(z) for term, z in zip(self.losses, self.values(V), strict=True))
        return Multipliers(y, self.no_multipliers.constraints)

    @property
    def no_multipliers(self) -> Multipliers:
        """Multipliers that are zero for all values."""
        return self.split_multipliers(map(np.zeros, self.sizes))

    def split_multipliers(self, parts: Iterable[Array]) -> Multipliers:
        """Make multipliers from one array for each term."""
        every, m = tuple(parts), len(self.losses)
        return Multipliers(every[:m], every[m:])

    def slack(self, y: Multipliers | Sequence[Array]) -> Matrix:
        """The slack S(y) = C + sum_e y_e M_e, sparse (n x n)."""
        y = self.as_multipliers(y)
        S = self.cost
        for part, own in zip(self.terms, y.terms, strict=True):
            S = S + part.functional.adjoint(own)
        return sp.csr_array(S)

    def restrict(self, S: Matrix) -> Matrix:
        """The matrix Q'SQ (s x s) if there is a basis, sparse if Q is sparse; otherwise S itself."""
        if self.basis is None:
            return S
        Q, transposed = self.basis.quick
        reduced = symmetrize(transposed @ (S @ Q))
        return sp.csr_array(reduced) if sp.issparse(self.basis.Q) else reduced

    def lift(self, W: Array) -> Array:
        """The factor V (n x r) of K from a factor W of the unknown: QW if there is a basis, otherwise W."""
        return W if self.basis is None else self.basis.quick[0] @ W

    def drop(self, V: Array) -> Array:
        """The matrix Q'V (s x r) if there is a basis, otherwise V itself."""
        return V if self.basis is None else self.basis.quick[1] @ V

    def conjugate_sum(self, y: Multipliers | Sequence[Array]) -> float:
        """The sum of f_e*(y_e) over all values; +inf outside the domain."""
        y = self.as_multipliers(y)
        return float(sum(term.conjugate(part) for term, part in zip(self.terms, y.terms, strict=True)))

    def dual_bound(self, y: Multipliers | Sequence[Array]) -> float:
        """The dual objective -sum f*(y) - R*(-S(y)), a lower bound on the optimum; it may be -inf.

        Negative eigenvalues of the slack within rounding count as zero: this is no proof, as `certify` has.
        """
        S = dense(self.restrict(self.slack(y)))
        if not np.isfinite(S).all():
            return float("-inf")
        values = np.linalg.eigvalsh(S)
        rounding = 1e-14 * self.order * norm_bound(S)
        spectrum = np.where(np.abs(values) <= rounding, 0.0, -values)
        return -self.conjugate_sum(y) - self.regularizer.support(spectrum)

    def as_multipliers(self, y: Multipliers | Sequence[Array] | Array) -> Multipliers:
        """The argument y as `Multipliers`: one array for each loss term (or one array for a single term)."""
        y = read_multipliers(y, self.losses, self.constraints)
        sizes, got = self.sizes, [part.size if part.ndim == 1 else part.shape for part in y.terms]
        if sizes != got or len(y.losses) != len(self.losses):
            raise ProblemError(f"multipliers must have sizes {sizes}, got {got}")
        if not y.finite:
            raise ProblemError("multipliers must be finite, got NaN or infinity")
        return y

    def like(self, cost: Matrix, terms: Iterable[LossTerm | Constraint], regularizer: Regularizer) -> Self:
        """The problem with other numbers in the same pattern; nothing is checked."""
        out = object.__new__(type(self))
        set_fields(out, frozen(cost), tuple(terms), regularizer, self.basis, self.name)
        return out

    def with_basis(self, basis: Basis) -> Self:
        """The same problem, with the kernel restricted to K = QUQ' by a basis."""
        return replace(self, basis=basis)

    def save(self, path: str | Path) -> Path:
        """Write the problem to one .npz file (arrays and JSON, no pickle); no partial file is ever left."""
        return saved.write(path, *self.pack())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a problem that `save` wrote, or the problem of a saved solution."""
        with gate(path, "a saved problem"):
            return cls.unpack(*storage.read(path, "parts"))

    def pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A JSON header and arrays from which `unpack` restores the problem."""
        return storage.pack(self.cost, self.terms, self.regularizer, self.basis, self.name)

    @classmethod
    def unpack(cls, header: dict[str, Any], data: dict[str, Any]) -> Self:
        """Restore a problem from the header and arrays of `pack`."""
        return cls(**storage.unpack(header, data))


shelled(Statement, "cost")
