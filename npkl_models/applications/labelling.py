"""A labelling loop: it suggests pairs, adds the answers, and learns the kernel again with a warm start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.suggest import first_apart, open_pairs, suggest_pairs
from npkl_models.errors import ProblemError
from npkl_models.formulations import pcp
from npkl_models.linalg import Index, Matrix
from npkl_models.linalg.owned import generator, whole_number
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

GAMMA = 100.0  # weight of the pairs if ``build`` is a Laplacian, as in the estimators
TRIES = 50  # random pairs that are drawn for each wanted pair before the first kernel

Answer = int | None
"""An answer about two points: +1 (they belong together), -1 (they do not), 0 or None (not known)."""


@dataclass(frozen=True)
class Round:
    """The record of one solve of a labelling loop.

    Attributes
    ----------
    pairs : int
        Number of known pairs.
    seconds : float
        Time of the solve in seconds, layout and certificate included.
    warm : bool
        Whether the solve was a warm start from the last kernel.
    status : Status
        Status of the solution.
    relative_gap : float
        Certified relative gap; inf if there is no kernel.
    """

    pairs: int
    seconds: float
    warm: bool
    status: Status
    relative_gap: float


class Labelling:
    """A labelling loop: suggest pairs, take the answers, and learn the kernel again, round by round.

    Parameters
    ----------
    build : matrix of shape (n, n) or callable
        A graph Laplacian, from which `pcp` is built with a weight of 100; or a callable ``build(pairs)`` that
        returns a `Problem`.
    pairs : Pairs or int
        The known pairs, or the number of points if no pair is known.
    backend : str
        Solver, as in `Problem.solve`. If the solver supports it, each solve is a warm start.
    random_state : int
        Seed of the random pairs before there is a kernel, and of the candidates of `suggest_pairs`. A
        backend that was named and takes a seed gets it, too.
    **options
        Further options of `Problem.solve`.

    Attributes
    ----------
    solution : Solution or None
        The last solution that has a kernel.
    rounds : list of Round
        The record of all solves.
    skipped : list of (int, int)
        Pairs whose answer was "not known"; they are not suggested again.

    Raises
    ------
    ProblemError
        If the known pairs contradict each other.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.labelling import Labelling
    >>> X = [[0.0], [1.0], [2.0], [6.0], [10.0], [11.0], [12.0]]
    >>> known = nm.Pairs(7, must_link=[(0, 1), (4, 5)], cannot_link=[(2, 4)])
    >>> loop = Labelling(nm.laplacian(X, n_neighbors=2, shift=0.1), known)
    >>> loop.solve().is_optimal()
    True
    >>> i, j = loop.suggest(1)[0]
    >>> loop.answer(i, j, 1)
    True
    >>> loop.solve().is_optimal(), loop.rounds[-1].warm, loop.pairs
    (True, True, Pairs(n=7, 3 must-links, 1 cannot-links))
    """

    def __init__(
        self, build: Matrix | Callable[[Pairs], Problem], pairs: Pairs | int, *, backend: str = "auto",
        random_state: int = 0, **options: Any,
    ) -> None:  # fmt: skip
        self._build = build
        self._pairs = pairs if isinstance(pairs, Pairs) else None
        given = pairs.n if isinstance(pairs, Pairs) else pairs
        self.n = whole_number(given, "the number of points to ask about", 2)
        if backend != "auto":
            get_backend(backend)
        if not isinstance(random_state, (int, np.integer)) or isinstance(random_state, bool):
            raise ProblemError(f"random_state must be an integer >= 0, got {random_state!r}")
        generator(random_state)
        self.backend, self.options, self.random_state = backend, options, random_state
        self.skipped: list[tuple[int, int]] = []
        self.solution: Solution | None = None
        self.rounds: list[Round] = []
        if self._pairs is not None:
            _refuse_contradictions(self._pairs)

    def __repr__(self) -> str:
        return f"Labelling(n={self.n}, {self._count()} pairs, {len(self.rounds)} rounds)"

    @property
    def pairs(self) -> Pairs | None:
        """The known pairs, those given at the start first; None if no pair is known."""
        return self._pairs

    def suggest(self, k: int = 1) -> Index:
        """Suggest k pairs: by `suggest_pairs` with the last kernel, or at random before the first kernel.

        Returns
        -------
        ndarray of int, shape (k, 2)
            The pairs; fewer than k if not enough pairs are left.
        """
        k, known = whole_number(k, "k", 1), self.pairs
        if self.solution is None or self.solution.V is None or known is None:
            return self._drawn(k, known)
        return suggest_pairs(self.solution, k, random_state=self._rng(), known=known, exclude=self.skipped)

    def answer(self, i: int, j: int, sign: Answer) -> bool:
        """Add the answer for a pair.

        Parameters
        ----------
        i, j : int
            The two points.
        sign : {1, -1, 0, None}
            1: the points belong together. -1: they do not. 0 or None: not known; the pair is not suggested
            again.

        Returns
        -------
        bool
            Whether the answer is new, that is, neither known nor implied by known pairs.

        Raises
        ------
        ProblemError
            If the answer contradicts the known pairs; it is then not added.
        """
        if sign not in (1, -1, 0, None):
            raise ProblemError(f"an answer must be 1, -1, or 0 (not known), got {sign!r}")
        if not all(isinstance(end, (int, np.integer)) for end in (i, j)):
            raise ProblemError(f"a pair must be of two integers, got {i!r} and {j!r}")
        pair = (min(int(i), int(j)), max(int(i), int(j)))
        if pair[0] < 0 or pair[1] >= self.n or pair[0] == pair[1]:
            raise ProblemError(f"a pair must be of two different points 0 to {self.n - 1}, got {pair}")
        if not sign:
            self.skipped += [] if pair in self.skipped else [pair]
            return False
        told = self._told(*pair)
        if told == sign:
            return False
        if told:
            raise ProblemError(self._why_not(pair, sign))
        self._pairs = self._with(pair, sign)
        return True

    def solve(self) -> Solution:
        """Solve the problem with all known pairs; if the solver supports it, start at the last kernel.

        Raises
        ------
        ProblemError
            If no pair is known yet.
        """
        known = self.pairs
        if known is None:
            raise ProblemError("at least one pair must be known before a solve, got none; call answer first")
        problem = self._build(known) if callable(self._build) else pcp(self._build, known, gamma=GAMMA)
        options, last = dict(self.options), self.solution
        takes = () if self.backend == "auto" else get_backend(self.backend).option_names
        if "random_state" in takes:
            options.setdefault("random_state", self.random_state)
        warm = last is not None and (self.backend == "auto" or "start" in takes)
        if warm:
            options["start"] = last
        found = problem.solve(self.backend, **options)
        gap = found.certificate.relative_gap if found.V is not None else float("inf")
        seconds = found.build_time + found.solve_time
        self.rounds.append(Round(len(known), seconds, warm, found.status, gap))
        self.solution = found if found.V is not None else last
        return found

    def run(self, oracle: Callable[[int, int], Answer], rounds: int = 1, batch: int = 10) -> Solution | None:
        """Let an oracle answer: each round asks for a batch of pairs, then solves.

        Parameters
        ----------
        oracle : callable
            ``oracle(i, j)`` returns an `Answer`.
        rounds, batch : int
            Number of rounds, and number of pairs in a round.

        Returns
        -------
        Solution or None
            The last solution; None if no pair was known and the oracle answered none.
        """
        if self.solution is None and self._count():
            self.solve()
        for _ in range(whole_number(rounds, "rounds", 0)):
            asked = self.suggest(batch)
            new = [self.answer(i, j, oracle(i, j)) for i, j in asked.tolist()]
            if any(new):
                self.solve()
            if not len(asked):
                break
        return self.solution

    def _count(self) -> int:
        return 0 if self._pairs is None else len(self._pairs)

    def _rng(self) -> np.random.Generator:
        """A generator that depends only on the loop's state, so that an interrupted loop can continue."""
        return np.random.default_rng((self.random_state, self._count(), len(self.skipped)))

    def _with(self, pair: tuple[int, int], sign: int) -> Pairs:
        """The known pairs and one more pair, whose weight is one."""
        known = self._pairs
        if known is None:
            return Pairs(self.n, [pair] if sign > 0 else None, [pair] if sign < 0 else None)
        must, cannot, weights = known.must_link, known.cannot_link, known.weights
        if weights is not None:
            weights = np.insert(weights, len(must) if sign > 0 else len(weights), 1.0)
        if sign > 0:
            return Pairs(self.n, np.concatenate([must, [pair]]), cannot, weights)
        return Pairs(self.n, must, np.concatenate([cannot, [pair]]), weights)

    def _told(self, i: int, j: int) -> int:
        """The sign of a pair that follows from the known pairs; 0 if no sign follows."""
        known = self.pairs
        if known is None:
            return 0
        group = known.groups()[1]
        if group[i] == group[j]:
            return 1
        return 0 if open_pairs(np.array([[i, j]]), group, known.cannot_link)[0] else -1

    def _why_not(self, pair: tuple[int, int], sign: int) -> str:
        """A sentence that names the known pairs that an answer contradicts."""
        known = self._pairs
        assert known is not None
        opposite = known.cannot_link if sign > 0 else known.must_link
        kind = "must-link" if sign > 0 else "cannot-link"
        if (opposite == pair).all(axis=1).any():
            other = "cannot-link" if sign > 0 else "must-link"
            return f"{pair[0]} - {pair[1]} must not be on both lists: the pair is a {other} already"
        chain = self._with(pair, sign).contradictions()[0]
        words = f"{pair[0]} - {pair[1]} must not be a {kind}: must-links"
        path = " - ".join(map(str, chain))
        if sign < 0:
            return f"{words} join {path}"
        return f"{words} would join {path}, and {chain[0]} - {chain[-1]} is a cannot-link"

    def _drawn(self, k: int, known: Pairs | None) -> Index:
        """Random pairs without a shared point; known, implied and skipped pairs are left out."""
        ends = np.sort(self._rng().integers(0, self.n, size=(TRIES * k + TRIES, 2)), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        group = np.arange(self.n) if known is None else known.groups()[1]
        cannot = np.zeros((0, 2), dtype=np.intp) if known is None else known.cannot_link
        return first_apart(ends, group, cannot, k, self.skipped)


def _refuse_contradictions(pairs: Pairs) -> None:
    bad = pairs.contradictions()
    if bad:
        chain = bad[0]
        raise ProblemError(
            f"known pairs must not contradict each other, got the cannot-link {chain[0]} - "
            f"{chain[-1]} and must-links that join {' - '.join(map(str, chain))}"
        )
