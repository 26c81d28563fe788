"""scikit-learn transformers: unfolded coordinates of points, and of new ones by their neighbours.

Examples
--------
>>> from npkl_models.applications.unfolding import MVU
>>> MVU(n_neighbors=4)
MVU(n_neighbors=4)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.applications.structure import structure_preserving
from npkl_models.applications.unfolder import Unfolder
from npkl_models.applications.volume import minimum_volume
from npkl_models.formulations import colored_mvu, mvu
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.linalg import Array


@dataclass(eq=False, repr=False, kw_only=True)
class MVU(Unfolder):
    """Maximum variance unfolding: distances of neighbours kept, all else as far apart as they allow.

    Parameters
    ----------
    n_components : int
        Coordinates; those beyond the rank of the kernel are zero.
    n_neighbors : int
        Of the graph; all other points where there are fewer.
    nu : float
        Weight of the distances; ``numpy.inf`` keeps them exactly, which is ill-conditioned beyond a few
        hundred points. The multipliers grow with the square of the number of links from end to end, and a
        distance gives by its multiplier over 2 nu.
    components : {"connect", "refuse"}
        What becomes of a graph in parts, as in `mvu`; ``solution_.problem.name`` says if edges were added.
    angles : bool
        Whether distances between neighbours of one point are kept, too, as in `mvu`.
    metric : str
    backend : str
        As in `Problem.solve`.
    options : dict, optional
        Further options of `Problem.solve`, for example ``{"tol": 1e-4, "time_limit": 60}``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
    eigenvalues_ : ndarray
        Of the centred kernel, the largest first.
    solution_ : Solution
    certificate_ : Certificate
        A `ConvergenceWarning` says when it proves less than ``tol``.
    n_neighbors_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; for new points Saul & Roweis, JMLR 4, 2003, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import MVU
    >>> angle = np.linspace(0.0, 4.0, 40)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVU(1, n_neighbors=2, nu=1e4).fit(X[::2])
    >>> Z = model.transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Z, angle)[0, 1]) > 0.999)
    True
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    nu: float = 100.0
    components: str = "connect"
    angles: bool = False

    def _solved(self, X: Array, y: Any) -> Solution:
        problem = mvu(
            X, self.n_neighbors_, self.metric, components=self.components, weight=self.nu, angles=self.angles
        )
        return problem.solve(self.backend, **self._said())


@dataclass(eq=False, repr=False, kw_only=True)
class ColoredMVU(Unfolder):
    """Coloured maximum variance unfolding: places that say the labels, as far as neighbours let them.

    Parameters
    ----------
    n_components, n_neighbors, metric, backend, options
        As in `MVU`; a graph in parts is connected.
    C : float
        Weight of the distances, as in `colored_mvu`.
    bound : float, optional
        B of tr K^2 <= B; the graph alone bounds the kernel without one.
    label_kernel : callable, optional
        ``label_kernel(y)`` makes the kernel of the labels (n x n); by default y are classes, -1 none.

    Attributes
    ----------
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`.

    Notes
    -----
    Song, Smola, Borgwardt & Gretton, NIPS 20, 2008. The labels of the training points move them, those of new
    points are not asked for: judge a classifier that follows on points that were held out.

    Examples
    --------
    >>> from npkl_models.applications.unfolding import ColoredMVU
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.5], [5.0]]
    >>> model = ColoredMVU(1, n_neighbors=2).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.transform([[0.5], [4.75]]).shape
    (2, 1)
    """

    C: float = 1.0
    bound: float | None = None
    label_kernel: Callable[[ArrayLike], ArrayLike] | None = None

    def _solved(self, X: Array, y: Any) -> Solution:
        labels = y if self.label_kernel is None else self.label_kernel(y)
        problem = colored_mvu(
            X, labels, n_neighbors=self.n_neighbors_, C=self.C, bound=self.bound, metric=self.metric,
            components="connect",
        )  # fmt: skip
        return problem.solve(self.backend, **self._said())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class MVE(Unfolder):
    """Minimum volume embedding: the first eigenvalues grown, the others shrunk.

    Parameters
    ----------
    n_components : int
        d: the coordinates, and the eigenvalues that grow; fewer than there are points.
    n_neighbors, metric, backend, options
        As in `MVU`; a graph in parts is connected.
    C : float
        Weight of the distances, as in `mve`.
    max_steps : int
        Of `npkl_models.applications.volume.minimum_volume`.

    Attributes
    ----------
    run_ : VolumeRun
        All steps.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`; the certificate is that of the last step, with its directions held.

    Notes
    -----
    Shaw & Jebara, AISTATS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import MVE
    >>> angle = np.linspace(0.0, 4.0, 12)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVE(1, n_neighbors=2, C=100.0).fit(X)
    >>> bool(model.eigenvalues_[0] > 0.99 * model.eigenvalues_.sum())
    True
    """

    C: float = 100.0
    max_steps: int = 30

    def _solved(self, X: Array, y: Any) -> Solution:
        self.run_ = minimum_volume(
            X, self.n_components, max_steps=self.max_steps, backend=self.backend, options=self._said(),
            n_neighbors=self.n_neighbors_, C=self.C, metric=self.metric, components="connect",
        )  # fmt: skip
        return self.run_.solution


@dataclass(eq=False, repr=False, kw_only=True)
class SPE(Unfolder):
    """Structure preserving embedding of the graph of nearest neighbours: they are nearer than all others.

    Parameters
    ----------
    n_components, metric, backend, options
        As in `MVU`; the backend is one that takes `spe`.
    n_neighbors : int
        Of the graph, which must leave some points apart; a graph in parts is connected.
    C : float
        Weight of the slack, as in `spe`.
    bound : float, optional
        B of tr K^2 <= B; n by default.
    tol : float
        Relative gap of the whole problem at which the rounds end.

    Attributes
    ----------
    run_ : StructureRun
        What the rounds have found; its gap is that of all triplets.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`; the certificate is that of the triplets of the last round.

    Notes
    -----
    Shaw & Jebara, ICML 2009. Of the points the graph alone is used.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import SPE
    >>> angle = np.linspace(0.0, 4.0, 16)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = SPE(n_neighbors=2).fit(X)
    >>> model.run_.settled
    True
    """

    n_neighbors: int = 4
    C: float = 1.0
    bound: float | None = None
    tol: float = 1e-4
    backend: str = "simple_npkl"

    def _solved(self, X: Array, y: Any) -> Solution:
        W = neighborhood(X, self.n_neighbors_, self.metric, "connect").graph
        self.run_ = structure_preserving(
            W, C=self.C, bound=self.bound, tol=self.tol, backend=self.backend, options=self._said()
        )
        return self.run_.solution
