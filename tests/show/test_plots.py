"""Pictures: what stands on the axes that are returned."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.show import plots

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def solution(small):
    return small("npkl:hinge").solve("bcd")


@pytest.fixture(scope="module")
def both(small, solution):
    return [solution, small("npkl:hinge").solve("interior")]


def finite(line):
    y = np.asarray(line.get_ydata(), dtype=float)
    return y[np.isfinite(y)]


def test_every_picture_is_documented_and_names_its_axes(solution, both, small):
    drawn = {
        "convergence": plots.convergence(both), "kernel": plots.kernel(solution),
        "joint_spectrum": plots.joint_spectrum(solution), "embedding": plots.embedding(solution),
        "pair_multipliers": plots.pair_multipliers(solution), "rank_history": plots.rank_history(both),
        "spectrum": plots.spectrum(solution), "crosscheck": plots.crosscheck(nm.crosscheck(small("pcp"), ["bcd"])),
        "envelopes": plots.envelopes(
            nm.regularization_path(small("pcp"), "weight", (0.5, 1.0), "bcd", tol=1e-2)
        )[0],
        "network": plots.network([[0.0, 1.0], [2.0, 0.0]], ([0], [1]), anchors=[1], deviation=[0.1, 0.0]),
        "objects": plots.objects([[0.0, 1.0], [2.0, 0.0]]),
        "path": plots.path(nm.regularization_path(small("pcp"), "weight", [0.5, 1.0], "burer_monteiro")),
    }  # fmt: skip
    elsewhere = {"layout", "audit", "clusters"}
    assert set(drawn) | elsewhere == set(plots.__all__)
    for name, ax in drawn.items():
        assert isinstance(ax, plt.Axes), name
        assert ax.get_xlabel(), name
        assert ax.get_ylabel() or name == "crosscheck", name
        assert getattr(plots, name).__doc__, name
    assert "draws on the axes ``ax``, or on new axes" in plots.__doc__


@pytest.mark.parametrize("against", ["seconds", "iterations"])
def test_convergence_ends_at_the_gap(both, against):
    ax = plots.convergence({"rows": both[0], "exact": both[1]}, against=against)
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rows", "exact"]
    lines = ax.get_lines()
    assert len(lines) == 4  # objective and bound of each
    assert 0 < finite(lines[0])[-1] <= 1e-6
    assert finite(lines[1]).size == np.isfinite(both[0].history.bound).sum()
    assert ax.get_xlabel().startswith(against[:-1])


def test_solutions_of_one_backend_are_numbered(solution):
    ax = plots.rank_history([solution, solution])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bcd", "bcd (2)"]


def test_kernel_is_ordered_by_class_on_symmetric_colours(solution):
    labels = np.tile(["b", "a", "c"], 8)
    ax = plots.kernel(solution, labels)
    image = ax.get_images()[0]
    order = np.argsort(labels, kind="stable")
    np.testing.assert_allclose(image.get_array(), solution.K[np.ix_(order, order)])
    assert image.norm.vmin == -image.norm.vmax
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert len(ax.get_lines()) == 4  # two borders, both ways
    again = plots.kernel(solution.K, labels).get_images()[0]
    np.testing.assert_allclose(again.get_array(), image.get_array())


@pytest.mark.parametrize("kind", ["npkl:hinge", "basis:pcp"])
def test_joint_spectrum_is_complementary(small, kind):
    found = small(kind).solve("interior")
    ax = plots.joint_spectrum(found)
    of_kernel, of_slack = (line.get_ydata() for line in ax.get_lines()[:2])
    assert len(of_kernel) == found.problem.order
    assert np.all(np.diff(of_kernel) <= 0)
    assert np.max(of_kernel * of_slack) < 1e-4
    assert ax.get_yscale() == "log"


def test_a_slack_that_the_regulariser_holds_is_hollow(small):
    ax = plots.joint_spectrum(small("B2:square").solve("simple_npkl"))
    assert "S, negative (size drawn)" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_embedding_has_a_fixed_sign_and_the_graph(solution):
    X = plots.layout(solution)
    assert X.shape == (24, 2)
    assert np.all(X[np.abs(X).argmax(axis=0), [0, 1]] > 0)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-10)
    ax = plots.embedding(solution, np.repeat([0, 1], 12), edges=True)
    lines, *points = ax.collections
    assert len(lines.get_segments()) == (solution.problem.cost.nnz - 24) // 2
    np.testing.assert_allclose(np.concatenate([part.get_offsets() for part in points]), X)
    one = sp.coo_array(([1.0], ([0], [1])), shape=(24, 24))
    assert len(plots.embedding(solution, edges=one).collections[0].get_segments()) == 1


@pytest.mark.parametrize("kind", ["npkl:hinge", "pcp", "row:linear", "B2:square"])
def test_pair_multipliers_are_widths(small, kind):
    found = small(kind).solve()
    pairs = found.problem.terms[0].functional.size
    ax = plots.pair_multipliers(found)
    words = " ".join(text.get_text() for text in ax.get_legend().get_texts())
    assert "held together" in words
    assert "kept apart" in words
    widths = np.concatenate([lines.get_linewidths() for lines in ax.collections[1:-1]])
    assert widths.size <= pairs
    assert np.max(widths) == pytest.approx(3.0)


def test_pairs_of_equalities_have_multipliers_too(small):
    problem = small("pcp")
    i, j = problem.terms[0].functional.indices
    must = problem.terms[0].target > 0
    hard = nm.hard_pcp(problem.cost, nm.Pairs(24, np.c_[i, j][must], None))
    found = hard.solve("interior")
    with pytest.raises(nm.ProblemError, match="must have pairs"):
        plots.pair_multipliers(found)  # its must-links are in the basis, only the diagonal is left
    hard = nm.hard_pcp(problem.cost, nm.Pairs(24, None, np.c_[i, j][~must]))
    assert (
        "kept apart" in plots.pair_multipliers(hard.solve("interior")).get_legend().get_texts()[0].get_text()
    )


def test_a_path_fills_three_axes(small):
    path = nm.regularization_path(small("pcp"), "weight", [0.1, 1.0, 10.0], "burer_monteiro")
    ax = plots.path(path, plt.subplots(3)[1])
    assert [one.get_ylabel() for one in ax] == ["objective", "certified relative gap", "rank of K"]
    np.testing.assert_allclose(ax[0].get_lines()[0].get_ydata(), path.objective)
    assert ax[0].get_xscale() == "log"


def test_a_guarantee_fills_three_axes(small):
    path = nm.regularization_path(small("pcp"), "weight", (0.1, 10.0), "bcd", tol=1e-2)
    ax = plots.envelopes(path)
    upper, lower, stored = (line.get_ydata() for line in ax[0].get_lines())
    assert np.all(lower <= upper)
    np.testing.assert_allclose(stored, path.objective)
    assert finite(ax[1].get_lines()[0]).max() <= 1e-2
    assert ax[1].get_lines()[1].get_ydata()[0] == 1e-2
    assert ax[2].get_ylabel() == "rank of K"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: plots.envelopes(nm.regularization_path(s.problem, "weight", [1.0])),
         nm.ProblemError, "at least two values"),
        (lambda s: plots.envelopes(nm.regularization_path(s.problem, "weight", [0.9, 1.0]), [None]),
         nm.ProblemError, "three matplotlib axes, got 1"),
        (lambda s: plots.convergence([]), nm.ProblemError, "at least one solution"),
        (lambda s: plots.convergence(s, against="hours"), nm.UnsupportedError, "unknown value of against 'hours'"),
        (lambda s: plots.kernel(np.zeros((3, 2))), nm.ProblemError, "shape"),
        (lambda s: plots.kernel(s, [1, 2]), nm.ProblemError, r"labels must have shape \(24,\)"),
        (lambda s: plots.embedding(s, edges=[(0, 99)]), nm.ProblemError, r"edges must be .* of shape \(24, 24\)"),
        (lambda s: plots.embedding(s, edges="yes"), nm.ProblemError, "edges must hold real numbers"),
        (lambda s: plots.path(nm.regularization_path(s.problem, "weight", [1.0]), quantity="x"),
         nm.UnsupportedError, "unknown quantity of a path 'x'"),
    ],
)  # fmt: skip
def test_bad_calls(solution, call, error, message):
    with pytest.raises(error, match=message):
        call(solution)
