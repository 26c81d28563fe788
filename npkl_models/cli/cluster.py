"""``npkl cluster``: clusters of the rows of a table, by a kernel learnt from pairs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import npkl_models.show.plots as plots
from npkl_models.applications.audit import Audit
from npkl_models.applications.clustering import cluster_accuracy
from npkl_models.applications.estimators.models import NPKLClustering
from npkl_models.applications.estimators.noisy import WARNINGS
from npkl_models.applications.pair_noise import looks, rate
from npkl_models.cli import output
from npkl_models.cli.console import say
from npkl_models.cli.problems import said
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError, optional
from npkl_models.files.arrays import write_arrays
from npkl_models.files.atomic import written
from npkl_models.files.gate import gate
from npkl_models.linalg import Array, Index
from npkl_models.model.colouring import broken_by, in_words, of_pairs, way
from npkl_models.model.graph import unscaled
from npkl_models.model.pairs import Pairs
from npkl_models.recipe.fields import ESTIMATOR
from npkl_models.recipe.recipe import Recipe

Broken = Sequence[tuple[int, int, bool]]  # points of pairs, and whether they are must-links
SHOWN = 5  # number of suspicious pairs that are named


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    files = {"out": output.CSV, "kernel": (".npz",), "json": output.JSON, "plot": output.PICTURE}
    output.check(options, **files)
    recipe = Recipe.from_dict(said(options), ESTIMATOR)
    data = _points(recipe)
    if not 1 <= options.k <= data.n:
        raise ProblemError(f"--k must be between 1 and n = {data.n}, got {options.k}")
    model = _fitted(options, recipe, data)
    names, rows = data.ids or None, np.array(data.ids or range(data.n))
    say(f"{data.name}: {data.n} points, {_said_of(model.pairs_, options)}")
    say(model.solution_.summary())
    conflicts = [*of_pairs(model.pairs_, options.k, names)] if model.supervised_ else []
    for finding in conflicts:
        say(str(finding))
    if model.audit_ is not None:
        say(_suspects(model.audit_, rows, options.noise == "auto", bool(conflicts)))
    broken = broken_by(model.labels_, model.pairs_) if model.supervised_ else []
    if broken:
        named = f"pairs: {in_words(broken, names=names)}"
        say(f"the labels do not keep {len(broken)} of {len(model.pairs_)} {named}")
    if model.annotators_ is not None and model.annotator_rates_ is not None:
        say(_crowd(model.annotators_, model.annotator_rates_))
    say(_found(model.labels_, data, options.k))
    _write(options, model, rows, broken)
    if options.plot is not None:
        output.write_picture(options.plot, plots.clusters(model.solution_, model.labels_, model.pairs_))
    return output.status_of(model.solution_)


def _write(options: argparse.Namespace, model: NPKLClustering, rows: Array, broken: Broken) -> None:
    """Write labels, kernel and document, if they are asked for."""
    if options.out is not None:
        shares = {} if model.beliefs_ is None else {f"p{k}": p for k, p in enumerate(model.beliefs_.T)}
        output.write_csv(options.out, {"row": rows, "cluster": model.labels_} | shares)
    if options.kernel is not None:
        with written(options.kernel, binary=True) as file:
            write_arrays(file, {"factor": model.factor_, "row": rows})
    if options.json is not None:
        output.write_document(options.json, _document(model, rows, broken))


def _document(model: NPKLClustering, rows: Array, broken: Broken) -> dict[str, Any]:
    """What was found, for JSON."""
    found = {
        "rows": rows.tolist(), "labels": model.labels_.tolist(),
        "probabilities": None if model.beliefs_ is None else model.beliefs_.tolist(),
        "broken": [[*rows[[i, j]].tolist(), "must" if must else "cannot"] for i, j, must in broken],
        "kernel": output.described(model.solution_),
    }  # fmt: skip
    if model.audit_ is not None and model.audit_.noise is not None:
        wrong = model.audit_.to_frame()[["i", "j", "kind", "wrong"]]
        wrong = wrong.assign(i=rows[wrong["i"]], j=rows[wrong["j"]])
        found |= {"rates": list(model.audit_.noise.rates), "pairs": wrong.to_dict("records")}
    if model.annotators_ is not None and model.annotator_rates_ is not None:
        each = zip(model.annotators_.tolist(), model.annotator_rates_.tolist(), strict=True)
        found["annotators"] = {str(name): rates for name, rates in each}
    return found


def _points(recipe: Recipe) -> Dataset:
    """The scaled points; what is used is printed."""
    if tables.is_file(recipe.data):
        data = tables.read_points(recipe.data, recipe.labels, recipe.ids)
    else:
        data = datasets.load(recipe.data, recipe.data_home)
    data = data.scaled(recipe.scaling)
    for words in (data.about, unscaled(data.X, data.columns or None)):
        if words:
            say(f"{data.name}: {words}")
    return data


def _fitted(options: argparse.Namespace, recipe: Recipe, data: Dataset) -> NPKLClustering:
    """The estimator with the options of the command, after its fit; warnings are printed in words later."""
    side = {} if options.links is None else _side(options.links, data)
    solving = recipe.solving()
    noise: float | str | None = {"none": None}.get(options.noise, options.noise)
    if noise not in ("auto", None):
        try:
            noise = rate(float(options.noise))
        except ValueError:
            raise ProblemError(f"--noise must be auto, none or a number, got {options.noise}") from None
    model = NPKLClustering(
        options.k, formulation=recipe.formulation, loss=recipe.loss, gamma=recipe.gamma,
        n_neighbors=recipe.n_neighbors, shift=recipe.shift, backend=recipe.backend, tol=solving.pop("tol"),
        options=solving, random_state=recipe.seed, noise=noise, hard=options.hard,
        size_min=options.size_min, size_max=options.size_max,
    )  # fmt: skip
    frame = optional("pandas", "--ids", "frame").DataFrame(data.X, index=data.ids or None)
    with output.progress(f"{recipe.formulation}, n = {data.n}", WARNINGS):
        return model.fit(frame if data.ids else data.X, **side)


def _side(path: str, data: Dataset) -> dict[str, Any]:
    """The arguments of `fit` from a csv of pairs, with or without annotators; what was read is printed."""
    found = tables.read_answers(path, data.n, data.ids)
    say(found.about)
    if found.annotator is None:
        with gate(path, "a csv of pairs"):
            return {"pairs": found.pairs(data.n, data.ids)}
    return {"pairs": found.ends, "y_pairs": found.sign, "annotator": found.annotator}


def _suspects(audit: Audit, rows: Array, estimated: bool, conflicts: bool) -> str:
    """What the model of wrong pairs found, in words."""
    found = audit.noise
    assert found is not None
    if estimated and not found.accuses:
        return (
            "no pair looks more likely wrong than right" if conflicts else
            f"none of the {len(audit)} pairs contradicts the others or the graph"
        )  # fmt: skip
    one, two = found.rates
    rates = f"{one:.2g}" if one == two else f"{one:.2g} within clusters, {two:.2g} between clusters"
    kind = "estimated" if estimated else "given"
    what = "pairs" if found.annotator_rates is None else "answers"
    line = f"{looks(found.count)} wrong of {len(audit)} pairs ({kind} rate of wrong {what}: {rates})"
    first = ", ".join(way(ends, rows) for ends in audit.pairs[: min(found.count, SHOWN)].tolist())
    return f"{line}: {first}{' ...' if found.count > SHOWN else ''}" if first else line


def _crowd(names: Array, rates: Array) -> str:
    """The annotators with the largest rates of wrong answers, in words."""
    order = np.argsort(-rates.mean(axis=1), kind="stable")[:SHOWN]
    worst = ", ".join(f"{names[k]} {rates[k].mean():.2g}" for k in order.tolist())
    more = " ..." if len(names) > SHOWN else ""
    return f"{len(names)} annotators, with the estimated rates of wrong answers: {worst}{more}"


def _said_of(pairs: Pairs, options: argparse.Namespace) -> str:
    count = f"{len(pairs.must_link)} must-links, {len(pairs.cannot_link)} cannot-links"
    if not options.links:
        return f"no pairs are given; the model uses {len(pairs)} cannot-links between landmarks"
    return count if len(pairs.cannot_link) else f"{count}; cannot-links between landmarks are added"


def _found(labels: Index, data: Dataset, k: int) -> str:
    """The sizes of the clusters in words, and their Rand index with the classes, if there are any."""
    sizes = ", ".join(map(str, np.bincount(labels, minlength=k).tolist()))
    line = f"{k} clusters of {sizes} points"
    known = int(np.sum(data.y >= 0))
    if known < 2:
        return line
    some = f" of {known} rows" if known < data.n else ""
    return f"{line}; Rand index with the classes{some} {cluster_accuracy(data.y, labels):.3f}"
