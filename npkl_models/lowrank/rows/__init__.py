"""Solvers that change one row of the factor at a time: block coordinate descent and its parts."""
