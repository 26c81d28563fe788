"""A user's loss whose faces contradict each other is refused with the numbers that show it."""

from dataclasses import dataclass

import numpy as np
import pytest
from house.toys.absolute_loss import Absolute

import npkl_models as nm
from npkl_models.model.loss import refuse_false


@dataclass(frozen=True)
class Pinball(Absolute):
    """max(0.3 (z - t), 0.7 (t - z))."""

    name = "pinball"
    latex = r"\rho(z - t)"

    def value(self, z, t):
        return np.maximum(0.3 * (z - t), 0.7 * (t - z))

    def derivative(self, z, t):
        return np.where(z > t, 0.3, -0.7)

    def project(self, y, t, w):
        return np.clip(y, -0.7 * w, 0.3 * w)

    def prox(self, x, t, step):
        return t + np.maximum(x - t - 0.3 * step, 0.0) + np.minimum(x - t + 0.7 * step, 0.0)

    def prox_slope(self, x, t, step):
        return np.where((x - t < 0.3 * step) & (x - t > -0.7 * step), 0.0, 1.0)

    def cvxpy_value(self, z, t):
        raise NotImplementedError

    def cvxpy_conjugate(self, y, t, w):
        raise NotImplementedError


class Largest(Pinball):
    """The weight times the largest positive value."""

    name = "largest"
    separable = False

    def value(self, z, t):
        return np.full(z.shape, max(float(np.max(z - t)), 0.0) / z.size)

    def derivative(self, z, t):
        return np.where(np.arange(z.size) == np.argmax(z - t), float(np.max(z - t) > 0), 0.0)

    def project(self, y, t, w):
        return nm.LOSSES["shared_slack"].project(y, t, w)


FALSE = {
    "sign of the conjugate": {"conjugate": lambda self, y, t, w: -y * t},
    "no conjugate": {"conjugate": lambda self, y, t, w: np.zeros_like(y)},
    "conjugate without the weight": {"conjugate": lambda self, y, t, w: y * t / w},
    "conjugate a little too low": {"conjugate": lambda self, y, t, w: y * t - 1e-5 * w},
    "conjugate a little too high": {"conjugate": lambda self, y, t, w: y * t + 1e-5 * w},
    "domain too large": {"project": lambda self, y, t, w: y},
    "domain a little too large": {"project": lambda self, y, t, w: np.clip(y, -0.7 * w, 0.301 * w)},
    "domain too small": {"project": lambda self, y, t, w: np.clip(y, 0.0, 0.3 * w)},
    "domain without the weight": {"project": lambda self, y, t, w: np.clip(y, -0.7, 0.3)},
    "slope turned": {"derivative": lambda self, z, t: np.where(z > t, -0.7, 0.3)},
    "slope of another loss": {"derivative": lambda self, z, t: np.where(z > t, 0.1, -0.1)},
    "value twice": {"value": lambda self, z, t: 2 * Pinball.value(self, z, t)},
    "not convex": {"value": lambda self, z, t: -Pinball.value(self, z, t)},
    "wrong far away alone": {"value": lambda self, z, t: Pinball.value(self, z, t) * (np.abs(z) < 1e3)},
}


def term(loss):
    return nm.LossTerm(nm.Entries(3, ([0], [1])), loss, 0.5)


@pytest.mark.parametrize("what", FALSE)
def test_a_false_face_is_refused_with_its_numbers(what):
    false = type("False", (Pinball,), FALSE[what])()
    words = r"loss 'pinball' must have value \+ conjugate >?= z y.* got .* and .* at z = .*, y = .*weight"
    with pytest.raises(nm.ProblemError, match=words):
        term(false)
    with pytest.raises(nm.ProblemError, match="must have value"):
        nm.npkl(np.eye(3), nm.Pairs(3, [(0, 1)], [(1, 2)]), loss=false)


METHODS = ("value", "derivative", "second_derivative", "conjugate", "conjugate_derivative", "project",
           "prox", "prox_slope", "domain", "subdifferential")  # fmt: skip
RETURNED = {
    "one too many": (
        lambda out: np.append(out, 0.0),
        r"arrays? of real numbers of shape \(1,\), got one of float64 of shape \(2,",
    ),
    "a column": (lambda out: out[:, None], r"of shape \(1,\), got one of float64 of shape \(1, 1\)"),
    "a number": (lambda out: 1.0, r"arrays? of real numbers of shape \(1,\), got float"),
    "scalar of one": (lambda out: out[0] if out.size == 1 else out, "got float64"),
    "sum": (lambda out: np.sum(out, keepdims=True), r"got one of float64 of shape \(1,\)"),
    "list": (lambda out: out.tolist(), "got list"),
    "nothing": (lambda out: None, "got NoneType"),
    "texts": (lambda out: out.astype(str), "got one of <U"),
    "complex": (lambda out: out + 0j, "got one of complex128"),
    "NaN": (lambda out: out * np.nan, r"finite numbers, got nan for \("),
    "infinity": (lambda out: np.full_like(out, -np.inf), "finite numbers, got -inf for"),
    "an error": (
        lambda out: bool(out) if out.size > 1 else out,
        "for such arrays, got ValueError: The truth value",
    ),
}


@pytest.mark.parametrize("kind", RETURNED)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_returns_anything_else_is_named(method, kind):
    """Of one value and of many; a domain and slopes at the end of a domain may be infinite."""
    change, words = RETURNED[kind]

    def told(self, *given):
        out = getattr(Pinball, method)(self, *given)
        return tuple(map(change, out)) if isinstance(out, tuple) else change(out)

    wrong = type("Wrong", (Pinball,), {method: told})()
    if kind == "infinity" and method in ("domain", "conjugate_derivative"):
        refuse_false(wrong)
        return
    with pytest.raises(nm.ProblemError, match=f"^{method} of the loss 'pinball' must .*({words})"):
        term(wrong)


@pytest.mark.parametrize(
    "loss", [*nm.LOSSES.values(), nm.huber(1e-3), nm.huber(80.0), Pinball(), Largest()], ids=repr
)
def test_right_losses_are_taken(loss):
    refuse_false(loss)
    if not loss.sign_targets:
        assert term(loss).loss is loss


def test_a_loss_that_is_not_separable_is_tried_as_a_whole():
    false = type("False", (Largest,), {"project": lambda self, y, t, w: np.clip(y, 0.0, w)})()
    with pytest.raises(nm.ProblemError, match="loss 'largest' must have value"):
        term(false)


@pytest.mark.parametrize(("method", "backend", "told"), [
    ("cvxpy_value", "sdp", lambda self, z, t: sum(z)), ("cvxpy_value", "sdp", lambda self, z, t: None),
    ("cvxpy_conjugate", "sdp_dual", lambda self, y, t, w: y @ t),
])  # fmt: skip
def test_a_form_in_cvxpy_of_another_shape_is_named(method, backend, told):
    problem = nm.Problem(np.eye(3), term(type("Wrong", (Absolute,), {method: told})()))
    with pytest.raises(nm.ProblemError, match=f"^{method} of the loss 'absolute' must return an expression"):
        problem.solve(backend)
