"""The search for the rates of wrong answers and the weight of the neighbours' word, by steps on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from npkl_models.applications.annotators import counted_misled, counted_rates
from npkl_models.applications.beliefs import Answers, Beliefs
from npkl_models.linalg import Array

RATES = (0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4)
# The neighbours' word is the mean belief w of the neighbours of a point (n x k). The point's evidence is
# ((1 - doubt) w + doubt / k) ** trust, scaled to the sum 1.
TRUST = tuple(np.exp(np.arange(-1.0, 1.25, 0.25)))
DOUBT = 0.12
ENOUGH = 20  # with fewer answers there is one rate, and its price is that of so many
ANEW = 10  # number of times that the share of misleading pairs is counted again


@dataclass(frozen=True)
class Place:
    """Positions of rate and trust in their lists; a second rate if it differs from the first."""

    rate: int
    trust: int
    other: int | None = None


USUAL = Place(6, 4)  # where the search begins: a rate of 0.1, a power of 1


@dataclass(frozen=True, eq=False)
class Part:
    """The result of one set of first clusters, at the best parameters."""

    points: Array  # n x k: probability of each cluster at each point
    together: Array  # m: probability that the two points of each pair are in one cluster
    rates: Array  # 2: of wrong answers about points of one cluster, and of two
    own_rates: Array  # annotators x 2
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
        self.known: dict[Place, Beliefs] = {}

    def rates(self, place: Place) -> Array:
        """The common rates of wrong answers, about one cluster and about two."""
        if self.fixed is not None:
            return np.full(2, max(self.fixed, RATES[0]))
        return np.array([RATES[place.rate], RATES[place.rate if place.other is None else place.other]])

    def own_rates(self, place: Place) -> Array:
        """The rates of each annotator (annotators x 2), from the common ones and what is added."""
        return np.clip(expit(logit(self.rates(place)) + self.own), RATES[0], 1 - RATES[0])

    def beliefs(self, place: Place) -> Beliefs:
        """What the messages say with the parameters of a place."""
        if place not in self.known:
            said = ((1 - DOUBT) * self.word + DOUBT / self.word.shape[1]) ** TRUST[place.trust]
            evidence = said / said.sum(axis=1, keepdims=True)
            self.known[place] = self.answers.propagate(evidence, self.own_rates(place))
        return self.known[place]

    def value(self, place: Place) -> float:
        """Log evidence, with Schwarz's price of a second rate."""
        return self.beliefs(place).log_evidence - (0.0 if place.other is None else self.price)

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

    def climb(self, place: Place, whole: bool) -> Place:
        """Steps of one parameter at a time until none is better; if ``whole``, also with two rates."""
        if self.fixed is not None:
            return self._ascend(place, "trust")
        place = self._ascend(place, "rate", "trust")
        if not whole or len(self.answers) < ENOUGH:
            return place
        two = self._ascend(replace(place, other=place.rate), "rate", "trust", "other")
        return max(place, two, key=self.value)

    def _ascend(self, place: Place, *names: str) -> Place:
        """Take the first step of one of these parameters that is better, until none is."""
        while True:
            now = self.value(place)
            near = (
                replace(place, **{name: getattr(place, name) + step}) for name in names for step in (-1, 1)
            )
            better = next((one for one in near if _inside(one) and self.value(one) > now), None)
            if better is None:
                return place
            place = better

    def part(self, best: Place) -> Part:
        """The result at the best parameters."""
        found, common = self.beliefs(best), self.rates(best)
        rates = common if self.fixed is None else np.full(2, self.fixed)
        accuses = self.fixed is None and max(best.rate, best.other or 0) > 0
        if accuses:
            right = self._ascend(Place(0, best.trust), "trust")
            accuses = self.value(best) - self.value(right) > self.price
        own, trust = self.own_rates(best), float(TRUST[best.trust])
        return Part(found.points, found.together, rates, own, accuses, trust, self.answers.misled)


def _inside(place: Place) -> bool:
    """Whether the positions are in their lists."""
    rates = place.rate, place.other or 0
    return min(rates) >= 0 and max(rates) < len(RATES) and 0 <= place.trust < len(TRUST)
