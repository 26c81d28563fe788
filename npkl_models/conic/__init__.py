"""Exact backends that solve conic programs through CVXPY."""
