"""The choice of weight, graph and scaling by cross-validation on pairs, without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.held_out import PairFolds, ranked_rightly, share_met
from npkl_models.errors import ProblemError, SolverError, chosen
from npkl_models.formulations import pcp
from npkl_models.linalg import Array, Matrix
from npkl_models.linalg.owned import Seed
from npkl_models.model.graph import affinity, check_points, laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.task_cache import Failure, about, place_of, sweep


def _standard(X: Array) -> Array:
    from sklearn.preprocessing import StandardScaler

    return np.asarray(StandardScaler().fit_transform(X))


def _minmax(X: Array) -> Array:
    from sklearn.preprocessing import MinMaxScaler

    return np.asarray(MinMaxScaler().fit_transform(X))


SCALINGS: dict[str, Callable[[Array], Array]] = {"raw": lambda X: X, "standard": _standard, "minmax": _minmax}
TOLERATED = 0.05  # a setting fails if its kernel has a larger relative gap
RESTARTS = 5  # restarts of k-means for each score

Build = Callable[[Matrix, Pairs, float], Problem]


@dataclass(frozen=True)
class Setting:
    """The parameters of a problem: weight of the pairs, neighbours, shift of the Laplacian, scaling."""

    gamma: float
    n_neighbors: int
    shift: float
    scaling: str

    def problem(self, X: ArrayLike, pairs: Pairs, build: Build | None = None) -> Problem:
        """Build the problem of points and pairs with these parameters; `pcp` by default."""
        points = SCALINGS[self.scaling](check_points(X))
        L = laplacian(affinity(points, self.n_neighbors), shift=self.shift)  # the scaling is a choice
        return (build or _pcp)(L, pairs, self.gamma)


@dataclass(frozen=True)
class Selection:
    """Settings in the order of their scores, the best setting first.

    Attributes
    ----------
    settings : tuple of Setting
        The settings.
    scores : ndarray of shape (settings, folds)
        Score of each setting on the held-out pairs of each fold; NaN if the solve failed.
    """

    settings: tuple[Setting, ...]
    scores: Array

    @property
    def best(self) -> Setting:
        """The setting with the best mean score; of equal scores, the setting that comes first in the grid."""
        return self.settings[0]

    def cautious(self, usual: Setting) -> Setting:
        """The best setting if it is clearly better than the usual one, and the usual one otherwise.

        Clearly better means that the mean over the folds of the difference of their scores is above twice
        its standard error. A setting that failed in a fold loses.

        Parameters
        ----------
        usual : Setting
            The setting to stay with; it must be among ``settings``.

        Raises
        ------
        ProblemError
            If the usual setting was not scored.

        Notes
        -----
        Breiman et al., "Classification and Regression Trees" (1984), section 3.4.3, have such a rule, with
        one standard error.
        """
        if usual not in self.settings:
            raise ProblemError(f"usual must be among the settings that were scored, got {usual}")
        ahead = self.scores[0] - self.scores[self.settings.index(usual)]
        if np.isnan(ahead).any():  # the best is NaN only if all are
            return self.best
        error = ahead.std(ddof=1) / np.sqrt(ahead.size) if ahead.size > 1 else np.inf
        return self.best if ahead.mean() > 2 * error else usual

    def __str__(self) -> str:
        rows = [
            f"{mean:.4f} +- {spread:.4f}  {setting}"
            for setting, mean, spread in zip(
                self.settings, self.scores.mean(axis=1), self.scores.std(axis=1), strict=True
            )
        ]
        return "\n".join(rows)


@dataclass(frozen=True)
class Grid:
    """A grid of settings, which contains all combinations of the given values.

    Parameters
    ----------
    gammas, neighbors, shifts, scalings : sequences
        Values of each parameter. A scaling is "raw", "standard" or "minmax".
    build : callable, optional
        ``build(L, pairs, gamma)`` returns the problem; `pcp` by default.
    solving : dict
        Arguments of `Problem.solve`; ``{"tol": 1e-4}`` by default.

    Examples
    --------
    >>> from npkl_models.applications.selection import Grid
    >>> len(Grid(gammas=[1.0, 10.0]).settings())
    8
    """

    gammas: Sequence[float] = (1.0, 10.0, 100.0)
    neighbors: Sequence[int] = (5, 10)
    shifts: Sequence[float] = (0.1,)
    scalings: Sequence[str] = ("raw", "standard")
    build: Build | None = None
    solving: Mapping[str, Any] = field(default_factory=lambda: {"tol": 1e-4})

    def __post_init__(self) -> None:
        for name in self.scalings:
            chosen("scaling", name, SCALINGS)
        if not self.settings():
            raise ProblemError("a grid must have at least one value of each parameter, got an empty sequence")

    def settings(self) -> list[Setting]:
        """All settings of the grid, each once."""
        every = product(self.gammas, self.neighbors, self.shifts, self.scalings)
        return list(dict.fromkeys(Setting(*one) for one in every))


def select_setting(
    X: ArrayLike, pairs: Pairs, grid: Grid | None = None, *, n_clusters: int | None = None, folds: int = 3,
    random_state: Seed = 0, n_jobs: int = 1, folder: str | Path | None = None,
) -> Selection:  # fmt: skip
    """Choose a setting by cross-validation on the pairs.

    For each fold, the kernel is learnt from the pairs of the other folds. Held-out pairs that follow from
    these (by a chain of must-links with at most one cannot-link in it) do not count. The score is the area
    under the ROC curve of K_ij / sqrt(K_ii K_jj), by which must-links are told from cannot-links. With
    ``n_clusters``, k-means on the kernel is scored instead: the mean of the share of must-links within a
    cluster and the share of cannot-links across clusters.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    pairs : Pairs
        The pairs that are split into folds.
    grid : Grid, optional
        The settings to try; `Grid()` by default.
    n_clusters : int, optional
        Number of clusters; None scores the kernel instead of clusters.
    folds : int
        Number of folds.
    random_state : int or Generator
        Seed of the assignment of pairs to folds.
    n_jobs, folder
        Number of processes, and folder of the cache, as in `npkl_models.task_cache.sweep`. The cache depends
        on the points, the pairs, the folds, the arguments of the solve and the name of ``build``.

    Returns
    -------
    Selection
        The settings and their scores.

    Raises
    ------
    ProblemError
        If there are fewer must-links or cannot-links than folds.
    SolverError
        If no setting could be scored.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.selection import Grid, select_setting
    >>> iris = nm.datasets.load("iris")
    >>> pairs = nm.Pairs.from_labels(iris.y, 60, 60, random_state=0)
    >>> select_setting(iris.X, pairs, Grid(gammas=[0.01, 10.0], neighbors=[5])).best.gamma
    10.0
    """
    grid = grid or Grid()
    parts = list(PairFolds(folds, random_state).split(pairs))
    settings = grid.settings()
    judge = partial(_score, np.asarray(check_points(X)), grid, n_clusters)
    tasks = {
        f"{setting} fold {k}": partial(judge, setting, *part)
        for setting in settings for k, part in enumerate(parts)
    }  # fmt: skip
    place = None
    if folder is not None:  # the folder depends on everything that the scores depend on
        whole = _pcp(laplacian(affinity(X, 1), shift=1.0), pairs, 1.0)
        how = None if grid.build is None else f"{grid.build.__module__}.{grid.build.__qualname__}"
        place = place_of(
            folder, whole, folds=folds, seed=random_state, k=n_clusters, build=how, solving=dict(grid.solving)
        )
    return _ranked(settings, list(sweep(tasks, n_jobs, place, about=about(place)).values()))


def _ranked(grid: Sequence[Setting], found: Sequence[Any]) -> Selection:
    """The settings in the order of their mean scores; settings that failed in a fold come last."""
    failures = [one for one in found if isinstance(one, Failure)]
    if len(failures) == len(found):
        raise SolverError(f"no setting could be scored: {failures[0].error}")
    values = [np.nan if isinstance(one, Failure) else float(one) for one in found]
    scores = np.reshape(values, (len(grid), -1))
    order = np.argsort(-np.where(np.isnan(scores).any(axis=1), -1.0, scores.mean(axis=1)), kind="stable")
    return Selection(tuple(grid[k] for k in order), scores[order])


def _pcp(L: Matrix, pairs: Pairs, gamma: float) -> Problem:
    return pcp(L, pairs, gamma=gamma)


def _score(
    X: Array, grid: Grid, n_clusters: int | None, setting: Setting, train: Pairs, held: Pairs
) -> float:  # fmt: skip
    """The score of one fold with one setting."""
    solution = setting.problem(X, train, grid.build).solve(**grid.solving)
    if solution.V is None:
        raise SolverError(f"no kernel: {solution.status.value}")
    if not solution.certificate.relative_gap <= TOLERATED:
        raise SolverError(
            f"{setting} was solved only to a relative gap of {solution.certificate.relative_gap:.1e}"
        )
    if n_clusters is not None:
        return share_met(kernel_kmeans(solution, n_clusters, RESTARTS), held)
    return ranked_rightly(solution.V, held)
