"""The problems that a backend supports, as data; any other problem is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from npkl_models.errors import UnsupportedError, chosen, unknown
from npkl_models.model.facts import constrained
from npkl_models.model.functionals import FUNCTIONALS
from npkl_models.model.losses import LOSSES, Loss, known_as
from npkl_models.model.regularizer import Regularizer, TraceFace
from npkl_models.model.regularizers import REGULARIZERS
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

FACES: dict[str, Callable[[Loss], bool]] = {
    "any": lambda loss: loss.separable,
    "smooth": lambda loss: loss.smooth and loss.separable,
    "quadratic": lambda loss: loss.quadratic and loss.separable,
    "shared": lambda loss: not loss.separable,
}
"""Properties of losses by name; `Takes` may list them in place of the names of losses."""


@dataclass(frozen=True)
class Powers:
    """The powers p of tr K^p that a backend supports, in words and as a test."""

    words: str = "tr K^p"
    accepts: Callable[[TraceFace], bool] = lambda face: True
    why: str = ""  # the reason against other powers


@dataclass(frozen=True)
class Takes:
    """The problems that a backend supports, as data.

    Attributes
    ----------
    losses, diagonal : tuple of str
        Supported losses, and supported losses on K_ii: names in `LOSSES`, or properties in `FACES`. "any",
        "smooth" and "quadratic" mean losses that are sums over the values. "shared" means losses that tie
        the values together.
    regularizers : tuple of str
        Supported regularisers: "none", "trace power", a name in `REGULARIZERS`, or "any".
    powers : Powers
        Supported powers of a trace power.
    basis : {"no", "centred", "yes", "required"}
        Whether a basis is supported; "centred" supports only the basis of all centred vectors.
    constraints : {"no", "row norms", "yes"}
        Whether constraints are supported; "row norms" supports only one upper bound on all K_ii.
    functionals : tuple of str
        Supported kinds of functionals, or "any".
    beyond : callable
        Function Problem -> None or a reason, for conditions that the other attributes cannot express.
    """

    losses: tuple[str, ...] = ()
    diagonal: tuple[str, ...] = ("any",)
    regularizers: tuple[str, ...] = ()
    powers: Powers = Powers()
    basis: Literal["no", "centred", "yes", "required"] = "no"
    constraints: Literal["no", "row norms", "yes"] = "no"
    functionals: tuple[str, ...] = ("any",)
    beyond: Callable[[Statement], str | None] = lambda problem: None

    def __post_init__(self) -> None:
        known = {
            "losses": {*FACES, *LOSSES}, "diagonal": {*FACES, *LOSSES}, "functionals": {"any", *FUNCTIONALS},
            "regularizers": {"any", "none", "trace power", *REGULARIZERS},
        }  # fmt: skip
        chosen("kind of constraints", self.constraints, ("no", "row norms", "yes"))
        chosen("kind of basis", self.basis, ("no", "centred", "yes", "required"))
        for field, names in known.items():
            stated = getattr(self, field)
            if isinstance(stated, str) or not isinstance(stated, tuple):
                raise UnsupportedError(f"{field} must be a tuple of names, got {stated!r}")
            for name in stated:
                if name not in names:
                    raise unknown(f"name in {field}", name, names)

    def refusal(self, problem: Statement) -> str | None:
        """The reason why a problem is not supported, or None; the words continue the backend's name."""
        reason = self._of_basis(problem) or self._of_constraints(problem)
        if reason is not None:
            return reason
        for part in problem.terms:
            kind = part.functional.kind
            if not {"any", kind} & set(self.functionals):
                return f"needs {_listed(self.functionals)}, got {kind}"
        for term in problem.losses:
            reason = self._of_loss(term)
            if reason is not None:
                return reason
        return self._of_regularizer(problem.regularizer) or self.beyond(problem)

    def takes_loss(self, loss: Loss, diagonal: bool = False) -> bool:
        """Whether a loss is supported; with ``diagonal``, whether it is supported on K_ii."""
        stated = self.diagonal if diagonal else self.losses
        return any(FACES[name](loss) if name in FACES else name == known_as(loss) for name in stated)

    def takes_regularizer(self, R: Regularizer) -> bool:
        """Whether a regulariser is supported."""
        own = {R.name} if REGULARIZERS.get(R.name) is type(R) else set()
        if not ({"any", R.kind} | own) & set(self.regularizers):
            return False
        return R.spectral is None or self.powers.accepts(R.spectral)

    def _of_basis(self, problem: Statement) -> str | None:
        if self.basis == "required" and problem.basis is None:
            return "needs a basis, K = Q U Q'; see Problem.with_basis and eigenbasis"
        if self.basis == "no" and problem.basis is not None:
            return "works on the rows of V, not in a basis"
        if self.basis == "centred" and problem.basis is not None and not problem.basis.centring:
            return "works on the rows of V, and supports no basis except that of all centred vectors"
        return None

    def _of_constraints(self, problem: Statement) -> str | None:
        if problem.constraints and self.constraints == "no":
            return f"supports no constraints, got {problem.constraints[0].name}"
        if self.constraints == "row norms" and constrained(problem):
            return f"supports only one upper bound on all K_ii, got {problem.constraints[0].name}"
        return None

    def _of_loss(self, term: LossTerm) -> str | None:
        if not (term.loss.separable or self.takes_loss(term.loss)):
            return f"supports no loss that ties its values to each other, got {term.loss.name}"
        if not self.takes_loss(term.loss):
            return f"needs {_losses(self.losses)}, got {_called(term.loss, self.losses)}"
        if term.functional.on_diagonal.any() and not self.takes_loss(term.loss, diagonal=True):
            return f"needs {_losses(self.diagonal)} on the diagonal, got {_called(term.loss, self.diagonal)}"
        return None

    def _of_regularizer(self, R: Regularizer) -> str | None:
        if self.takes_regularizer(R):
            return None
        why = f"; {self.powers.why}" if R.spectral is not None and self.powers.why else ""
        verb = "takes" if "none" in self.regularizers else "needs"
        return f"{verb} {self.regularizers_in_words()}, got {R.label}{why}"

    def regularizers_in_words(self) -> str:
        """The supported regularisers in words."""
        words = {"none": "no regulariser", "trace power": self.powers.words}
        return _listed(tuple(words.get(name, name) for name in self.regularizers))

    def losses_in_words(self) -> str:
        """The supported losses in words."""
        plain = _losses(self.losses)
        return plain if set(self.losses) <= set(self.diagonal) or "any" in self.diagonal else (
            f"{plain}; on K_ii {_losses(self.diagonal)}"
        )  # fmt: skip


def _called(loss: Loss, stated: tuple[str, ...]) -> str:
    """The name of a loss that is not among the stated ones, but may have borrowed the name of one."""
    return f"another loss called {loss.name}" if loss.name in stated else loss.name


def _losses(names: tuple[str, ...]) -> str:
    words = {"quadratic": "square or linear"}
    return f"{_listed(tuple(words.get(name, name) for name in names))} losses" if names else "no losses"


def _listed(words: tuple[str, ...]) -> str:
    if len(words) < 2:
        return words[0] if words else "nothing"
    last = ", " if " or " in words[-1] else " or "
    return last.join([", ".join(words[:-1]), words[-1]])
