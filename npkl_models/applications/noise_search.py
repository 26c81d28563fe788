"""The search for the rates of wrong answers and for the weight of the neighbours' word, on a grid.

It takes steps to better neighbours; results near the best place are averaged by their evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.special import expit, logit

from npkl_models.applications.annotators import counted_misled, counted_rates
from npkl_models.applications.beliefs import Answers, Beliefs
from npkl_models.linalg import Array

RATES = (0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4)
# The neighbours' word is the mean belief w of the neighbours of a point (n x k). The point's evidence is
# ((1 - doubt) w + doubt / k) ** trust, scaled to the sum 1.
TRUST = tuple(np.exp(np.arange(-1.0, 1.25, 0.25)))
DOUBT = tuple(1 / (1 + np.exp(np.arange(4.0, -2.5, -0.5))))
SPREAD_TRUST, SPREAD_DOUBT = 1.0, 1.5  # standard deviations of log trust and of doubt's log-odds beforehand
MEAN_DOUBT = -2.0  # mean of doubt's log-odds beforehand
SPREAD_OWN = 1.5  # standard deviation of an annotator's log-odds of a wrong answer about the common rate
ENOUGH = 20  # with fewer answers there is one rate, and its price is that of so many
ANEW = 5  # number of times that the share of misleading pairs is counted again
NEAR = ((-2, -1, 0, 1, 2), (0,), (-2, 0, 2))  # steps from the best parameters that are averaged over


@dataclass(frozen=True)
class Place:
    """Positions of rate, trust and doubt in their lists; a second rate if it differs from the first."""

    at: tuple[int, int, int]
    other: int | None


USUAL = Place((6, 4, 4), None)  # where the search begins: a rate of 0.1, a power of 1, a doubt of 0.12


@dataclass(frozen=True, eq=False)
class Averaged:
    """Means over the parameters near the best ones."""

    points: Array  # n x k: probability of each cluster at each point
    together: Array  # m: probability that the two points of each pair are in one cluster
    rates: Array  # 2: of wrong answers about points of one cluster, and of two
    own: Array  # annotators x 2: what is added to the log-odds of the common rates
    own_rates: Array  # annotators x 2
    value: float  # the number by which the best place was chosen
    accuses: bool  # whether Schwarz's criterion accepts rates above the smallest one
    trust: float | None  # power of the neighbours' word; None for a partition that is kept as it is
    misled: float = 0.0  # share of the pairs with several answers that mislead all annotators


class Search:
    """The search for the parameters that make the answers most probable, given the neighbours' word.

    ``word`` (n x k) is the mean belief of each point's neighbours, ``fixed`` the rate of wrong answers if it
    is known, and ``own`` (annotators x 2) what is added to the log-odds of the common rates for each
    annotator.
    """

    def __init__(self, word: Array, answers: Answers, fixed: float | None, own: Array) -> None:
        self.word, self.answers, self.fixed, self.own = word, answers, fixed, own
        self.price = float(np.log(max(len(answers), ENOUGH))) / 2  # Schwarz's price of a parameter
        self.known: dict[Place, float] = {}
        self.last: tuple[Place, Beliefs] | None = None

    def rates(self, place: Place) -> Array:
        """The common rates of wrong answers, about one cluster and about two."""
        if self.fixed is not None:
            return np.full(2, max(self.fixed, RATES[0]))
        one = RATES[place.at[0]]
        return np.array([one, one if place.other is None else RATES[place.other]])

    def own_rates(self, place: Place) -> Array:
        """The rates of each annotator (annotators x 2)."""
        return with_own(self.rates(place), self.own)

    def beliefs(self, place: Place) -> Beliefs:
        """What the messages say with the parameters of a place; they begin with those of the last place."""
        if self.last is None or self.last[0] != place:
            trust, doubt = TRUST[place.at[1]], DOUBT[place.at[2]]
            said = ((1 - doubt) * self.word + doubt / self.word.shape[1]) ** trust
            evidence = said / said.sum(axis=1, keepdims=True)
            first = None if self.last is None else self.last[1].messages
            self.last = place, self.answers.propagate(evidence, self.own_rates(place), first=first)
        return self.last[1]

    def value(self, place: Place) -> float:
        """Log evidence, with what is known of the parameters beforehand and Schwarz's price of a rate."""
        if place not in self.known:
            _, trust, doubt = place.at
            share = DOUBT[doubt]
            known = (np.log(TRUST[trust]) / SPREAD_TRUST) ** 2
            known += ((logit(share) - MEAN_DOUBT) / SPREAD_DOUBT) ** 2
            known += float(np.sum((self.own / SPREAD_OWN) ** 2))
            price = 0.0 if place.other is None else self.price
            self.known[place] = self.beliefs(place).log_evidence - float(known) / 2 - price
        return self.known[place]

    def learnt(self, place: Place) -> tuple[Array, Answers]:
        """What the answers say of each annotator's rates, and of the share of misleading pairs.

        The rates (annotators x 2) are relative to the common ones.
        """
        answers, common = self.answers, self.rates(place)
        before, rates = self.beliefs(place).before, self.own_rates(place)
        seen, misled = answers.seen(rates, before)
        for _ in range(ANEW if self.fixed != 0 and answers.several.any() else 0):
            answers = answers.misleading(counted_misled(misled[answers.several]))
            seen, misled = answers.seen(rates, before)
        if len(self.own) == 1:  # its rates are the common ones
            return self.own, answers
        every = np.tile(common, (len(self.own), 1))
        found = counted_rates(answers.must, seen[answers.pair], answers.who, every)
        return np.asarray(logit(found) - logit(common)), answers

    def climb(self, place: Place, whole: bool = True) -> Place:
        """Steps of one parameter at a time until none is better.

        If ``whole``, it climbs from the smallest rate, too, and tries two rates instead of one.
        """
        place = self._ascend(place, self._steps)
        if not whole:
            return place
        if self.fixed is None:
            place = max(place, self._ascend(_without(place), self._steps), key=self.value)
        if self.fixed is None and place.other is None and len(self.answers) >= ENOUGH:
            two_rates = replace(place, other=place.at[0])
            better = self._ascend(two_rates, self._steps)
            if self.value(better) > self.value(place):
                return better
        return place

    def _ascend(self, place: Place, steps: Callable[[Place], list[Place]]) -> Place:
        """Take the first step that is better, until none is."""
        while True:
            now = self.value(place)
            better = next((one for one in steps(place) if self.value(one) > now), None)
            if better is None:
                return place
            place = better

    def _steps(self, place: Place, first: int = 0) -> list[Place]:
        """Neighbouring places; with ``first=2`` the rate stays."""
        moves = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
        found = [self._moved(place, move) for move in moves[first if self.fixed is None else 2 :]]
        if place.other is not None:
            for step in (-1, 1):
                if 0 <= place.other + step < len(RATES):
                    found.append(replace(place, other=place.other + step))
        return [one for one in found if one is not None]

    def _moved(self, place: Place, move: tuple[int, ...]) -> Place | None:
        first, second, third = (a + b for a, b in zip(place.at, move, strict=True))
        at = first, second, third
        inside = all(0 <= a < len(values) for a, values in zip(at, (RATES, TRUST, DOUBT), strict=True))
        return replace(place, at=at) if inside else None

    def averaged(self, best: Place) -> Averaged:
        """The means over parameters near the best ones, each weighted by its evidence."""
        near = NEAR if self.fixed is None else ((0,), *NEAR[1:])
        places = [place for move in product(*near) if (place := self._moved(best, move)) is not None]
        found = [(self.value(place), self.beliefs(place)) for place in places]
        values = np.array([value for value, _ in found])
        share = np.exp(values - values.max())
        share /= share.sum()
        points = np.sum([part * one.points for part, (_, one) in zip(share, found, strict=True)], axis=0)
        together = share @ np.array([one.together for _, one in found])
        rates = share @ np.array([self.rates(place) for place in places])
        if self.fixed is not None:
            rates[:] = self.fixed
        accuses = self.fixed is None and max(best.at[0], best.other or 0) > 0
        if accuses:
            right = self._ascend(_without(best), partial(self._steps, first=2))
            accuses = self.value(best) - self.value(right) > self.price
        own = self.own, self.own_rates(best)
        trust = float(TRUST[best.at[1]])
        return Averaged(points, together, rates, *own, self.value(best), accuses, trust, self.answers.misled)


def with_own(rates: Array, own: Array) -> Array:
    """The rates of each annotator (annotators x 2), from the common rates (2) and what is added."""
    return np.clip(expit(logit(rates) + own), RATES[0], 1 - RATES[0])


def _without(place: Place) -> Place:
    """The same trust and doubt, with the smallest rate of wrong answers."""
    return Place((0, *place.at[1:]), None)
