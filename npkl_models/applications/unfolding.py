"""scikit-learn transformers: unfolded coordinates of points, and of new points by their neighbours."""

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
    """Maximum variance unfolding: keep the distances of neighbours and maximise the variance.

    Parameters
    ----------
    n_components : int
        Number of coordinates; coordinates beyond the rank of the kernel are zero.
    n_neighbors : int
        Number of neighbours of each point in the graph; all other points if there are fewer.
    nu : float
        Weight of the distances. ``numpy.inf`` keeps the distances exactly; that problem is ill-conditioned
        beyond a few hundred points. With a finite weight, each squared distance is off by its multiplier
        over 2 nu. The multipliers grow with the square of the number of links from end to end.
    components : {"connect", "refuse"}
        Treatment of a disconnected graph, as in `mvu`: add edges between the components, or raise an error.
        ``solution_.problem.name`` tells whether edges were added.
    angles : bool
        Whether distances between neighbours of one point are kept, too, as in `mvu`.
    metric : str
        Metric of the graph, as in `mvu`; not "precomputed".
    backend : str
        Solver, as in `Problem.solve`.
    options : dict, optional
        Further options of `Problem.solve`, for example ``{"tol": 1e-4, "time_limit": 60}``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Coordinates of the training points.
    eigenvalues_ : ndarray
        Eigenvalues of the centred kernel, the largest first.
    solution_ : Solution
        The solution of the problem.
    certificate_ : Certificate
        The proved bounds on the optimum. `fit` issues a `ConvergenceWarning` unless the status is OPTIMAL.
    n_neighbors_ : int
        Number of neighbours that was used.
    n_features_in_, feature_names_in_
        Number and names of the features, as in scikit-learn.

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; for new points, Saul & Roweis, JMLR 4, 2003, section 6.

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
    """Coloured maximum variance unfolding: coordinates that depend on the labels, while neighbours stay near.

    Parameters
    ----------
    n_components, n_neighbors, metric, backend, options
        Same as in `MVU`. Components of a disconnected graph are always joined by added edges.
    C : float
        Weight of the distances, as in `colored_mvu`.
    bound : float, optional
        Number B of the constraint tr K^2 <= B. If None, only the graph limits the kernel.
    label_kernel : callable, optional
        ``label_kernel(y)`` returns the kernel of the labels (n x n). By default, y contains classes, and -1
        marks a point of unknown class.

    Attributes
    ----------
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        Same as in `MVU`.

    Notes
    -----
    Song, Smola, Borgwardt & Gretton, NIPS 20, 2008. The labels of training points influence their
    coordinates; new points are placed without labels. Judge a classifier that uses these coordinates on
    points that were held out.

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
    """Minimum volume embedding: increase the first eigenvalues of the kernel, and decrease the others.

    Parameters
    ----------
    n_components : int
        Number d of coordinates, which is also the number of eigenvalues that grow; less than n.
    n_neighbors, metric, backend, options
        Same as in `MVU`. Components of a disconnected graph are always joined by added edges.
    C : float
        Weight of the distances, as in `mve`.
    max_steps : int
        Largest number of steps, as in `npkl_models.applications.volume.minimum_volume`.

    Attributes
    ----------
    run_ : VolumeRun
        The record of all steps.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        Same as in `MVU`. Solution and certificate belong to the best step, whose directions were fixed.

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
    """Structure preserving embedding: each point's neighbours in the graph stay nearer than all other points.

    Parameters
    ----------
    n_components, metric, backend, options
        Same as in `MVU`; the backend must support `spe`.
    n_neighbors : int
        Number of neighbours of each point in the graph. Some points must be two edges apart. Components of
        a disconnected graph are joined by added edges.
    C : float
        Weight of the slack, as in `spe`.
    bound : float, optional
        Number B of the constraint tr K^2 <= B; n by default.
    tol : float
        Relative gap of the problem with all triplets at which the rounds end.

    Attributes
    ----------
    run_ : StructureRun
        The result of the rounds; its gap refers to the problem with all triplets.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        Same as in `MVU`. Solution and certificate belong to the best round and cover only its triplets.

    Notes
    -----
    Shaw & Jebara, ICML 2009. Only the graph of the points is used, not their distances.

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
