"""A labelling loop: pairs are asked for, answers are added, the kernel is solved again from where it was."""

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

GAMMA = 100.0  # weight of the pairs where only a cost is given: the estimators' own
TRIES = 50  # random pairs drawn for each that is wanted, before there is a kernel to ask

Answer = int | None
"""+1: the same; -1: different; 0 or None: not known."""


@dataclass(frozen=True)
class Round:
    """One solve of the loop.

    Attributes
    ----------
    pairs : int
        How many there were.
    seconds : float
        Of the solve, layout and certificate included.
    warm : bool
        Whether it began at the kernel before.
    status : Status
    relative_gap : float
        Certified; inf without a kernel.
    """

    pairs: int
    seconds: float
    warm: bool
    status: Status
    relative_gap: float


class Labelling:
    """Pairs that are asked for, answered and learnt from, a round at a time.

    Parameters
    ----------
    build : matrix of shape (n, n) or callable
        A graph Laplacian, for `pcp` with a weight of 100; or ``build(pairs)``, which makes a problem.
    pairs : Pairs or int
        Those that are known; or the number of points, where none is.
    backend : str
        As in `Problem.solve`. A start is handed over where the backend takes one.
    random_state : int
        Of the pairs that are asked for before there is a kernel, of those that are looked at where there are
        too many, and of the solve where the backend, asked for by name, takes a seed.
    **options
        More of `Problem.solve`.

    Attributes
    ----------
    solution : Solution or None
        The last kernel.
    rounds : list of Round
    skipped : list of (int, int)
        Pairs without an answer, which are not asked for again.

    Raises
    ------
    ProblemError
        If the pairs that are known contradict each other.

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
        self.n = int(pairs.n if isinstance(pairs, Pairs) else pairs)
        if self.n < 2:
            raise ProblemError(f"there must be at least two points to ask about, got {self.n}")
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
        """All that is known, what was given first; None where nothing is."""
        return self._pairs

    def suggest(self, k: int = 1) -> Index:
        """Pairs to ask for: of the last kernel by `suggest_pairs`, at random before there is one.

        Returns
        -------
        ndarray of int, shape (k, 2)
            Fewer where pairs run out.
        """
        k, known = whole_number(k, "k", 1), self.pairs
        if self.solution is None or self.solution.V is None or known is None:
            return self._drawn(k, known)
        return suggest_pairs(self.solution, k, random_state=self._rng(), known=known, exclude=self.skipped)

    def answer(self, i: int, j: int, sign: Answer) -> bool:
        """Add an answer.

        Parameters
        ----------
        i, j : int
        sign : {1, -1, 0, None}
            The same, different, or not known: such a pair is not asked for again.

        Returns
        -------
        bool
            Whether it says anything that was not known or implied.

        Raises
        ------
        ProblemError
            If it contradicts what is known; it is not added.
        """
        if sign not in (1, -1, 0, None):
            raise ProblemError(f"an answer must be 1, -1, or 0 where it is not known, got {sign!r}")
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
        """Solve with all that is known, from the last kernel where there is one.

        Raises
        ------
        ProblemError
            If nothing is known yet.
        """
        known = self.pairs
        if known is None:
            raise ProblemError("there must be an answer before there is a kernel, got none")
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
        """Ask an oracle: in each round a batch of pairs, then a solve.

        Parameters
        ----------
        oracle : callable
            ``oracle(i, j)`` returns an `Answer`.
        rounds, batch : int

        Returns
        -------
        Solution or None
            The last one; None where nothing was known and nothing was answered.
        """
        if self.solution is None and self._count():
            self.solve()
        for _ in range(rounds):
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
        """A generator of its own for each state of the loop, so that it can be gone on with."""
        return np.random.default_rng((self.random_state, self._count(), len(self.skipped)))

    def _with(self, pair: tuple[int, int], sign: int) -> Pairs:
        """What is known, and one pair more, whose weight is one."""
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
        """What follows of a pair from those that are known; 0 if nothing does."""
        known = self.pairs
        if known is None:
            return 0
        group = known.groups()[1]
        if group[i] == group[j]:
            return 1
        return 0 if open_pairs(np.array([[i, j]]), group, known.cannot_link)[0] else -1

    def _why_not(self, pair: tuple[int, int], sign: int) -> str:
        """A sentence with what stands against an answer."""
        known = self._pairs
        assert known is not None
        opposite = known.cannot_link if sign > 0 else known.must_link
        kind = "must-link" if sign > 0 else "cannot-link"
        if (opposite == pair).all(axis=1).any():
            other = "cannot-link" if sign > 0 else "must-link"
            return f"{pair[0]} - {pair[1]} must not be on both lists: it is a {other} already"
        chain = self._with(pair, sign).contradictions()[0]
        words = f"{pair[0]} - {pair[1]} must not be a {kind}: must-links"
        path = " - ".join(map(str, chain))
        if sign < 0:
            return f"{words} join {path}"
        return f"{words} would join {path}, and {chain[0]} - {chain[-1]} is a cannot-link"

    def _drawn(self, k: int, known: Pairs | None) -> Index:
        """Random pairs without a point in common, none of which is known, implied or was skipped."""
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
            f"pairs that are known must not contradict each other, got the cannot-link {chain[0]} - "
            f"{chain[-1]} and must-links that join {' - '.join(map(str, chain))}"
        )
