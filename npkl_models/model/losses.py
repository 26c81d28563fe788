"""The losses by name: rows of data, and two classes of their own.

Sources: Zhuang, Tsang & Hoi, JMLR 12 (2011), section 4; Hu & Kwok, IEEE TNNLS 26 (2015), fig. 1; Huber,
"Robust Estimation of a Location Parameter", Annals of Mathematical Statistics 35 (1964).
"""

from __future__ import annotations

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg.owned import positive_number
from npkl_models.model.box_loss import BoxLoss
from npkl_models.model.logistic import Logistic
from npkl_models.model.loss import Loss, refuse_false
from npkl_models.model.shared_slack import SharedSlack

__all__ = ["LOSSES", "BoxLoss", "Loss", "get_loss", "huber"]


def huber(delta: float = 0.5) -> BoxLoss:
    """The Huber loss: (z - t)^2 up to an error of ``delta``, and 2 delta abs(z - t) - delta^2 beyond it.

    Parameters
    ----------
    delta : float
        Error from which on the loss grows in proportion to the error; positive, in the units of the values.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.huber(delta=1.0).value(np.array([0.5, 3.0]), np.array([0.0, 0.0]))
    array([0.25, 5.  ])
    """
    end = 2 * positive_number(delta, "delta")
    return BoxLoss("huber", -end, end, q=0.5, latex=rf"\operatorname{{huber}}_{{{end / 2:g}}}(z - t)")


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        BoxLoss("square", q=0.5, latex="(z - t)^2"),
        BoxLoss("hinge", low=-1.0, high=0.0, signed=True, latex=r"\max(0, 1 - t z)"),
        BoxLoss("squared_hinge", high=0.0, q=0.5, signed=True, latex=r"\max(0, 1 - t z)^2"),
        Logistic(),
        BoxLoss("absolute", low=-1.0, high=1.0, latex=r"\lvert z - t \rvert"),
        huber(),
        BoxLoss("excess", low=0.0, high=1.0, latex=r"\max(0, z - t)"),
        BoxLoss("squared_excess", low=0.0, q=0.5, latex=r"\max(0, z - t)^2"),
        BoxLoss("squared_shortfall", high=0.0, q=0.5, latex=r"\max(0, t - z)^2"),
        BoxLoss("linear", low=-1.0, high=-1.0, signed=True, about=0.0, latex="-t z"),
        SharedSlack(),
    )
}
"""The losses by name. Targets of signed losses are +1 or -1."""

OWN = (BoxLoss, Logistic, SharedSlack)


def known_as(loss: Loss) -> str | None:
    """The name in `LOSSES` of the loss that this is, whatever it calls itself; None for others."""
    return next((name for name, own in LOSSES.items() if _same(loss, own)), None)


def _same(one: Loss, other: Loss) -> bool:
    if type(one) is BoxLoss and type(other) is BoxLoss:
        return one.row == other.row
    return type(one) is type(other)


def get_loss(loss: str | Loss) -> Loss:
    """The loss with the given name, or a `Loss` object itself; a user's class is tried on numbers."""
    if isinstance(loss, Loss):
        if type(loss) not in OWN:
            refuse_false(loss)
        return loss
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise ProblemError(
            f"a loss must be an instance, got the class {loss.__name__}; write {loss.__name__}()"
        )
    return get_loss(LOSSES[chosen("loss", loss, LOSSES)])
