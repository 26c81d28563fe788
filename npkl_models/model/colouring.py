"""Whether k clusters can keep all pairs: colours for the groups of must-links, apart where cannot-links are.

Groups with fewer than k neighbours can always be coloured last, so they are left out one after the other. The
rest is searched with backtracking; the group with the fewest colours left comes first (DSATUR: Brélaz,
"New Methods to Color the Vertices of a Graph", Communications of the ACM 22, 1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from npkl_models.linalg import Index
from npkl_models.model.mistakes import SHOWN, Finding
from npkl_models.model.pairs import Pairs, components

WORK = 200_000  # groups that the search may look at: about a second


def of_pairs(pairs: Pairs, n_clusters: int | None = None, names: Any = None) -> Iterator[Finding]:
    """What pairs contradict: chains of must-links, or a number of clusters; points may have names."""
    chains = pairs.contradictions()
    if chains:
        ways = ((way((chain[0], chain[-1]), names), way(chain, names)) for chain in chains[:SHOWN])
        named = ", ".join(f"{pair} the chain {way}" for pair, way in ways)
        more = f" and {len(chains) - SHOWN} more" if len(chains) > SHOWN else ""
        yield Finding("contradiction", f"cannot-links contradict must-links: {named}{more}")
    elif n_clusters is not None and len(pairs.cannot_link):
        near, link = neighbours(pairs)
        if coloured(near, n_clusters) == (None, True):
            many = f"{n_clusters} cluster{'s' * (n_clusters != 1)}"
            why = _conflict(near, link, n_clusters, names)
            beside = " beside the must-links" if why and len(pairs.must_link) else ""
            said = f"{many} cannot keep the {len(pairs.cannot_link)} cannot-links{why}{beside}"
            yield Finding("clusters", said)


def _conflict(near: Sequence[set[int]], link: dict[tuple[int, int], list[int]], k: int, names: Any) -> str:
    """A clique of k + 1 groups, an odd cycle, or what a search leaves of the cannot-links, in words."""
    found, why = _clique(near, k + 1), "all apart"
    ends = [(a, b) for at, a in enumerate(found) for b in found[at + 1 :]]
    if not found and k == 2:
        found, why = _odd_cycle(near), "an odd cycle"
        ends = [*zip(found, [*found[1:], *found[:1]], strict=True)]
    elif not found:
        ends, why = _too_many(near, k), "too many"
    links = [link[min(a, b), max(a, b)] for a, b in ends]
    named = [way(pair, names) for pair in (links if why == "an odd cycle" else sorted(links))]
    return f": {listed(named)} {'is' if len(links) == 1 else 'are'} {why}"


def _too_many(near: Sequence[set[int]], k: int) -> list[tuple[int, int]]:
    """Edges that k colours cannot keep, and of which none may be left out, as far as short searches tell."""
    core = whole = next(filter(None, (_refuted(near, part, k, WORK) for part in _parts(near, k))))
    most = 2 * WORK // len(core)
    for v in whole:
        core = _refuted(near, core, k, most, v) or core
    for v in [*core]:
        core = _refuted(near, core - {v}, k, most) or core
    left = [others & core for others in near]
    ends = [(a, b) for a in core for b in left[a] if a < b]
    for a, b in ends:
        left[a].discard(b)
        left[b].discard(a)
        if not _refuted(left, core, k, most):
            left[a].add(b)
            left[b].add(a)
    return [(a, b) for a, b in ends if b in left[a]]


def _refuted(near: Sequence[set[int]], core: set[int], k: int, most: int, first: int = -1) -> set[int]:
    """Vertices of the core that have no k colours, as a search from the first one on shows; none if not."""
    colour, decided, tried = _searched(near, core, [list(range(k))] * len(near), True, most, first)
    return tried if decided and colour is None else set()


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
    colour, most = [-1] * len(near), WORK
    for part in _parts(near, k):
        found, decided, _ = _searched(near, part, wish, preferred is None, most)
        if found is None and decided:
            return None, True
        for v in part:
            colour[v] = -1 if found is None else found[v]
        most = most // 2 if found is None else most
    if most < WORK:
        return None, False
    for v in reversed(_peeled(near, k)):
        taken = {colour[w] for w in near[v]}
        colour[v] = next(c for c in wish[v] if c not in taken)
    return colour, True


def undecided(pairs: Pairs, k: int, names: Any) -> str:
    """The cannot-links of the smallest part that a search neither colours nor refutes, in words, or ""."""
    near, link = neighbours(pairs)
    for part in _parts(near, k):
        if _searched(near, part, [list(range(k))] * len(near), True)[:2] == (None, False):
            ends = sorted(link[a, b] for a in part for b in near[a] & part if a < b)
            return listed([way(pair, names) for pair in ends])
    return ""


def _parts(near: Sequence[set[int]], k: int) -> list[set[int]]:
    """The vertices that are not peeled, as parts without an edge between them, small ones first."""
    core = set(range(len(near))).difference(_peeled(near, k))
    edges = [(v, w) for v in core for w in near[v] & core]
    label = components(len(near), np.array(edges, dtype=np.intp).reshape(-1, 2))[1]
    return sorted(({v for v in core if label[v] == one} for one in {*label[[*core]]}), key=len)


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
    near: Sequence[set[int]], core: set[int], wish: Sequence[list[int]], symmetric: bool, most: int = WORK,
    first: int = -1,
) -> tuple[list[int] | None, bool, set[int]]:  # fmt: skip
    """Colours of the core by backtracking, as in `coloured`, and what was tried, which may have none itself.

    ``symmetric`` colours beyond the next new one are alike.
    """
    colour = [-1] * len(near)
    path: list[tuple[int, Iterator[int]]] = []
    left, work, tried = set(core), 0, set[int]()
    while left:
        work += len(left)
        if work > most:
            return None, False, tried
        used = {v: {colour[w] for w in near[v]} - {-1} for v in left}
        v = max(left, key=lambda v: (len(used[v]), v == first, len(near[v])))
        fresh = 1 + max((colour[w] for w in core), default=-1)
        path.append((v, iter([c for c in wish[v] if c not in used[v] and not (symmetric and c > fresh)])))
        left.discard(v)
        tried.add(v)
        while path and (nxt := next(path[-1][1], -1)) < 0:
            colour[path[-1][0]] = -1
            left.add(path.pop()[0])
        if not path:
            return None, True, tried
        colour[path[-1][0]] = nxt
    return colour, True, tried


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
    path: dict[int, list[int]] = {}
    for start in range(len(near)):
        queue = [] if start in path else [start]
        path.setdefault(start, [start])
        for v in queue:  # grows
            for w in near[v]:
                if w not in path:
                    path[w] = [*path[v], w]
                    queue.append(w)
                elif len(path[w]) == len(path[v]):
                    shared = sum(map(int.__eq__, path[v], path[w]))
                    return [*path[v][shared - 1 :], *reversed(path[w][shared:])]
    return []


def in_words(broken: Sequence[tuple[int, int, bool]], most: int = 20, names: Any = None) -> str:
    """Pairs with their kinds in words; ``most`` of them are named."""
    named = [f"{way(ends, names)} ({'must' if must else 'cannot'})" for *ends, must in broken]
    return listed(named, most)


def way(points: Sequence[int], names: Any) -> str:
    """Points with dashes between them: their numbers, or their names, if they have any."""
    return "-".join(map(str, points)) if names is None else " - ".join(str(names[k]) for k in points)


def listed(named: Sequence[str], most: int = 20) -> str:
    """The first ``most`` texts, and how many more there are."""
    return ", ".join(named[:most]) + (f" and {len(named) - most} more" if len(named) > most else "")


def broken_by(labels: Index, pairs: Pairs) -> list[tuple[int, int, bool]]:
    """The pairs that labels do not keep: points, and whether it is a must-link."""
    must = pairs.sign > 0
    bad = (labels[pairs.i] == labels[pairs.j]) != must
    return [*zip(pairs.i[bad].tolist(), pairs.j[bad].tolist(), must[bad].tolist(), strict=True)]
