"""The papers' sets at full size: every exact and fast route agrees, and the fast ones are proved."""

import pytest
from conftest import PAPER_SETS, build, side_information

import npkl_models as nm

PROBLEMS = ("pcp", "npkl:square", "npkl:hinge", "npkl:squared_hinge", "row:linear")
OWN_GAP = {
    "pcp": 1e-6,
    "npkl:square": 1e-6,
    "npkl:squared_hinge": 1e-6,
    "npkl:hinge": 1e-4,
    "row:linear": 1e-6,
}
AGREEMENT = {"admm": 1e-4}


def check(problem, kind, backends):
    solutions = {b: problem.solve(b.split("[")[0], **options) for b, options in backends.items()}
    best = min(s.objective for s in solutions.values())
    scale = 1 + abs(best)
    for name, solution in solutions.items():
        assert solution.objective - best <= AGREEMENT.get(name, 1e-5) * scale, name
        assert solution.certificate.rigour == "proved"
        for other in solutions.values():
            assert solution.certificate.bound <= other.objective + 1e-9 * scale, name
    assert solutions["bcd"].certificate.relative_gap <= OWN_GAP[kind]


def fast(problem):
    return {b: {} for b in ("bcd", "admm") if problem.compatible_backends()[b] is None}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_subsets_against_the_interior_point(name, kind):
    problem = build(kind, *side_information(name, 40))
    interior = {b: {"solver": "CLARABEL"} for b in ("sdp", "sdp_dual")}
    check(problem, kind, interior | fast(problem))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", PAPER_SETS)
def test_sixty_points_against_the_interior_point(paper_data, name, kind):
    n = None if name == "soybean_small" else 60
    problem = build(kind, *side_information(name, n, paper_data))
    interior = {b: {"solver": "CLARABEL"} for b in ("sdp", "sdp_dual")}
    check(problem, kind, interior | fast(problem))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", PAPER_SETS)
def test_full_sets_against_scs(paper_data, name, kind):
    problem = build(kind, *side_information(name, None, paper_data))
    first_order = {b: {"solver": "SCS", "eps": 1e-7} for b in ("sdp", "sdp_dual")}
    check(problem, kind, first_order | fast(problem))


@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_fast_solvers_prove_themselves_on_bundled_sets(name, kind):
    problem = build(kind, *side_information(name))
    for backend in fast(problem):
        solution = problem.solve(backend)
        assert solution.status is nm.Status.OPTIMAL
        assert solution.certificate.certifies(1e-6)
