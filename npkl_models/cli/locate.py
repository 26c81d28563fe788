"""``npkl locate``, positions of sensors from distances; and ``npkl embed``, coordinates from comparisons."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import npkl_models.show.plots as plots
from npkl_models.applications.estimators.localisation import Localisation
from npkl_models.applications.estimators.noisy import WARNINGS
from npkl_models.applications.estimators.ordinal import OrdinalEmbedding
from npkl_models.cli import output
from npkl_models.cli.console import say
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.sensors import Distances, read_anchors_csv, read_bounds_csv, read_distances_csv
from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate
from npkl_models.formulations.distances import SHOWN, check_joined
from npkl_models.formulations.known_distances import Anchors, read_anchors
from npkl_models.linalg import Array, Index
from npkl_models.model.mistakes import of_triangles, some

AXES = "xyz"

Bounds = tuple[Index, Index, Array, Array]


@dataclass(frozen=True, eq=False)
class Network:
    """What the files of a command say."""

    measured: Distances
    anchors: Anchors | None
    bounds: Bounds | None
    dimensions: int


def locate(options: argparse.Namespace) -> int:
    """Write the positions of sensors; returns the exit status."""
    output.check(options, out=output.CSV, plot=output.PICTURE)
    given = _read(options)
    model = Localisation(
        given.dimensions, loss=options.loss, spread=options.spread, unique=not options.quick,
        error=options.error, tol=options.tol, options={"random_state": options.seed},
    )  # fmt: skip
    measured, n = given.measured, len(given.measured.names)
    what = f"{measured.d.size} distances of {n} sensors"
    what += "" if given.anchors is None else f", {given.anchors.points.size} of them anchors"
    with output.progress(what, WARNINGS):
        model.fit(
            (measured.i, measured.j, measured.d), anchors=given.anchors, bounds=given.bounds,
            weights=measured.weight, n_points=n,
        )  # fmt: skip
    again = f"; {measured.repeated} lines repeat another line" if measured.repeated else ""
    say(f"{options.distances}: {what}{again}; {measured.header}")
    say(model.solution_.summary())
    for line in _found(model, given):
        say(line)
    if options.out is not None:
        axes = AXES[: given.dimensions] if given.dimensions <= len(AXES) else None
        names = axes or [f"x{k + 1}" for k in range(given.dimensions)]
        columns = {"sensor": measured.names} | dict(zip(names, model.positions_.T, strict=True))
        columns |= {"deviation": model.uncertainty_}
        if model.unique_ is not None:
            columns["unique"] = np.where(model.unique_, "yes", "no")
        output.write_csv(options.out, columns)
    if options.plot is not None:
        points = None if given.anchors is None else given.anchors.points
        drawn = plots.network(
            model.positions_, (measured.i, measured.j), names=measured.names, anchors=points,
            deviation=model.uncertainty_,
        )  # fmt: skip
        output.write_picture(options.plot, drawn)
    return output.status_of(model.solution_)


def _read(options: argparse.Namespace) -> Network:
    """The files, and the number of dimensions; an error if a sensor could be anywhere."""
    measured = read_distances_csv(options.distances)
    names, anchors, asked = measured.names, None, options.dimensions
    if asked is not None and asked < 1:
        raise ProblemError(f"--dimensions must be at least 1, got {asked}")
    if not np.isfinite(options.spread):
        raise ProblemError(f"--spread must be a finite number, got {options.spread}")
    if options.anchors is not None:
        found = read_anchors_csv(options.anchors, names)
        width = found[1].shape[1]
        if asked not in (None, width):
            raise ProblemError(
                f"{options.anchors} must have {asked} coordinates of each anchor, as --dimensions says, "
                f"got {width}"
            )
        with gate(options.anchors, "a csv of anchors in general position"):
            anchors = read_anchors(found, len(names))
        asked = width
    bounds = None if options.bounds is None else read_bounds_csv(options.bounds, names)
    edges = [np.stack([measured.i, measured.j], axis=1)]
    if bounds is not None:
        says = np.isfinite(bounds[3])
        edges.append(np.stack([bounds[0][says], bounds[1][says]], axis=1))
    check_joined(edges, anchors, len(names), names, options.distances)
    return Network(measured, anchors, bounds, asked or 2)


def _found(model: Localisation, given: Network) -> list[str]:
    """What the model answers, in words."""
    names, own = given.measured.names, np.arange(len(given.measured.names))
    if given.anchors is not None:
        own = given.anchors.others(own.size)
    i, j, d = given.measured.i, given.measured.j, given.measured.d
    length = np.linalg.norm(model.positions_[i] - model.positions_[j], axis=1)
    root = float(np.sqrt(np.mean((length - d) ** 2)))
    out = [
        f"positions are refined by least squares, locally; distances differ by {root:.3g} (root mean square)"
    ]
    out += map(str, of_triangles(*_lengths(given), names))
    if model.unique_ is not None:
        loose = own[~model.unique_[own]]
        rest = f"; not: {some(loose, names, SHOWN)}" if loose.size else ""
        out.append(
            f"{own.size - loose.size} of {own.size} sensors are uniquely localisable, according to two "
            f"further relaxations (no proof){rest}"
        )
    deviation = model.uncertainty_[own]
    known = np.isfinite(deviation)
    if known.any():
        worst = own[int(np.nanargmax(deviation))]
        out.append(
            f"standard deviation of a position: median {np.median(deviation[known]):.3g}, largest "
            f"{model.uncertainty_[worst]:.3g} ({names[worst]})"
        )
    if not known.all():
        out.append(
            f"the distances do not determine the standard deviation of {some(own[~known], names, SHOWN)}"
        )
    return out


def _lengths(given: Network) -> tuple[Index, Index, Array]:
    """All known distances: those measured, and those between anchors that are not."""
    i, j, d = given.measured.i, given.measured.j, given.measured.d
    if given.anchors is None:
        return i, j, d
    points, n = given.anchors.points, len(given.measured.names)
    one, two = np.triu_indices(points.size, k=1)
    a, b = np.sort(points[np.stack([one, two])], axis=0)
    new = ~np.isin(a * n + b, i * n + j)
    lengths = np.linalg.norm(given.anchors.positions[one] - given.anchors.positions[two], axis=1)
    return np.r_[i, a[new]], np.r_[j, b[new]], np.r_[d, lengths[new]]


def embed(options: argparse.Namespace) -> int:
    """Write coordinates of objects that are known from comparisons alone; returns the exit status."""
    output.check(options, out=output.CSV, plot=output.PICTURE)
    if options.components < 1:
        raise ProblemError(f"--components must be at least 1, got {options.components}")
    given = read_comparisons_csv(options.triplets)
    model = OrdinalEmbedding(
        options.components, loss=options.loss, tol=options.tol, random_state=options.seed,
        penalty="auto" if options.penalty is None else options.penalty,
        refine=None if options.refine == "none" else options.refine,
    )  # fmt: skip
    what = f"{len(given.rows)} comparisons of {len(given.names)} objects"
    with output.progress(what, WARNINGS):
        model.fit(given.rows, n_points=max(len(given.names), 3))
    say(f"{options.triplets}: {what}; {given.header}")
    say(model.solution_.summary())
    refined = "the certified kernel" if model.refined_ is None else f"refined by {model.refined_}, locally"
    answered = f"{model.score(given.rows):.1%} of the comparisons hold in the embedding"
    say(f"{refined}; penalty {model.penalty_:.3g}; {answered}")
    points = model.embedding_[: len(given.names)]
    if options.out is not None:
        coordinates = {f"x{k}": column for k, column in enumerate(points.T, 1)}
        output.write_csv(options.out, {"object": given.names} | coordinates)
    if options.plot is not None:
        output.write_picture(options.plot, plots.objects(points, given.names))
    return output.status_of(model.solution_)
