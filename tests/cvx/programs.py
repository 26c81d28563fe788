"""The collection: programs of CVXPY written anew from the literature, by name."""

from cvx import programs_fits, programs_lines, programs_matrices, programs_quantum, programs_shapes

PROGRAMS = {
    name: make
    for room in (programs_matrices, programs_quantum, programs_fits, programs_shapes, programs_lines)
    for name, make in room.written.items()
}
"""name -> () -> Written"""
