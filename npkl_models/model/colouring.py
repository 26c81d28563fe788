"""Whether k clusters can keep all pairs: colours for the groups of must-links, apart where cannot-links are.

Groups with fewer than k neighbours can always be coloured last, so they are left out one after the other. The
rest is searched with backtracking; the group with the fewest colours left comes first (DSATUR: Brélaz,
"New Methods to Color the Vertices of a Graph", Communications of the ACM 22, 1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npkl_models.linalg import Index
from npkl_models.model.mistakes import SHOWN, Finding
from npkl_models.model.pairs import Pairs

WORK = 200_000  # groups that the search may look at: about a second


def of_pairs(pairs: Pairs, n_clusters: int | None = None) -> Iterator[Finding]:
    """What pairs contradict: chains of must-links, or a number of clusters."""
    chains = pairs.contradictions()
    if chains:
        ways = ((chain[0], chain[-1], "-".join(map(str, chain))) for chain in chains[:SHOWN])
        named = ", ".join(f"{one}-{two} the chain {way}" for one, two, way in ways)
        more = f" and {len(chains) - SHOWN} more" if len(chains) > SHOWN else ""
        yield Finding("contradiction", f"cannot-links contradict must-links: {named}{more}")
    elif n_clusters is not None and len(pairs.cannot_link):
        near, link = neighbours(pairs)
        if coloured(near, n_clusters) == (None, True):
            many = f"{n_clusters} cluster{'s' * (n_clusters != 1)}"
            why = _conflict(near, link, n_clusters)
            beside = " beside the must-links" if why and len(pairs.must_link) else ""
            said = f"{many} cannot keep the {len(pairs.cannot_link)} cannot-links{why}{beside}"
            yield Finding("clusters", said)


def _conflict(near: Sequence[set[int]], link: dict[tuple[int, int], list[int]], k: int) -> str:
    """A clique of k + 1 groups, or an odd cycle, by its cannot-links; an empty text if none was found."""
    found, why = _clique(near, k + 1), "all apart"
    ends = [(a, b) for at, a in enumerate(found) for b in found[at + 1 :]]
    if not found and k == 2:
        found, why = _odd_cycle(near), "an odd cycle"
        ends = [*zip(found, [*found[1:], *found[:1]], strict=True)]
    links = [link[min(a, b), max(a, b)] for a, b in ends]
    named = ", ".join(f"{i}-{j}" for i, j in (sorted(links) if why == "all apart" else links))
    return f": {named} {'is' if len(links) == 1 else 'are'} {why}" if links else ""


def neighbours(pairs: Pairs) -> tuple[list[set[int]], dict[tuple[int, int], list[int]]]:
    """The groups that each group of must-links must not be with, and a cannot-link for each two of them."""
    count, group = pairs.groups()
    near: list[set[int]] = [set() for _ in range(count)]
    link: dict[tuple[int, int], list[int]] = {}
    for one, (a, b) in zip(pairs.cannot_link.tolist(), group[pairs.cannot_link].tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
        link.setdefault((min(a, b), max(a, b)), one)
    return near, link


def coloured(
    near: Sequence[set[int]], k: int, preferred: Index | None = None
) -> tuple[list[int] | None, bool]:
    """Colours below k with different ones for neighbours, or None; and whether that is decided."""
    wish = [list(range(k))] * len(near) if preferred is None else preferred.tolist()
    last = _peeled(near, k)
    core = set(range(len(near))).difference(last)
    colour, decided = _searched(near, core, wish, symmetric=preferred is None)
    if colour is None:
        return None, decided
    for v in reversed(last):
        taken = {colour[w] for w in near[v]}
        colour[v] = next(c for c in wish[v] if c not in taken)
    return colour, True


def _peeled(near: Sequence[set[int]], k: int) -> list[int]:
    """The vertices that have fewer than k neighbours, one after the other, among those that are left."""
    degree = [len(one) for one in near]
    out = [v for v in range(len(near)) if degree[v] < k]
    gone = set(out)
    for v in out:  # grows
        for w in near[v] - gone:
            degree[w] -= 1
            if degree[w] < k:
                gone.add(w)
                out.append(w)
    return out


def _searched(
    near: Sequence[set[int]], core: set[int], wish: Sequence[list[int]], symmetric: bool
) -> tuple[list[int] | None, bool]:
    """Colours of the core by backtracking; ``symmetric`` colours beyond the next new one are alike."""
    colour = [-1] * len(near)
    path: list[tuple[int, Iterator[int]]] = []
    left, work = set(core), 0
    while left:
        work += len(left)
        if work > WORK:
            return None, False
        used = {v: {colour[w] for w in near[v]} - {-1} for v in left}
        v = max(left, key=lambda v: (len(used[v]), len(near[v])))
        fresh = 1 + max((colour[w] for w in core), default=-1)
        path.append((v, iter([c for c in wish[v] if c not in used[v] and not (symmetric and c > fresh)])))
        left.discard(v)
        while path and (nxt := next(path[-1][1], -1)) < 0:
            colour[path[-1][0]] = -1
            left.add(path.pop()[0])
        if not path:
            return None, True
        colour[path[-1][0]] = nxt
    return colour, True


def _clique(near: Sequence[set[int]], size: int) -> list[int]:
    """Some ``size`` vertices that are all neighbours, found greedily; an empty list if none are found."""
    for v in range(len(near)):
        found, common = [v], set(near[v])
        while common and len(found) < size:
            w = max(common, key=lambda w: len(near[w] & common))
            found.append(w)
            common &= near[w]
        if len(found) == size:
            return found
    return []


def _odd_cycle(near: Sequence[set[int]]) -> list[int]:
    """The vertices of an odd cycle; an empty list if there is none."""
    above: dict[int, int] = {}
    side: dict[int, int] = {}
    for start in range(len(near)):
        if start in side:
            continue
        side[start], queue = 0, [start]
        for v in queue:  # grows
            for w in near[v]:
                if w not in side:
                    side[w], above[w] = 1 - side[v], v
                    queue.append(w)
                elif side[w] == side[v]:
                    ways = [[one] for one in (v, w)]
                    for way in ways:
                        while way[-1] != start:
                            way.append(above[way[-1]])
                    shared = next(one for one in ways[0] if one in ways[1])
                    one, two = (way[: way.index(shared)] for way in ways)
                    return [*one, shared, *reversed(two)]
    return []


def in_words(broken: Sequence[tuple[int, int, bool]], most: int = 20) -> str:
    """Pairs with their kinds in words; ``most`` of them are named."""
    named = ", ".join(f"{i}-{j} ({'must' if must else 'cannot'})" for i, j, must in broken[:most])
    return named + (f" and {len(broken) - most} more" if len(broken) > most else "")


def broken_by(labels: Index, pairs: Pairs) -> list[tuple[int, int, bool]]:
    """The pairs that labels do not keep: points, and whether it is a must-link."""
    must = pairs.sign > 0
    bad = (labels[pairs.i] == labels[pairs.j]) != must
    return [*zip(pairs.i[bad].tolist(), pairs.j[bad].tolist(), must[bad].tolist(), strict=True)]
