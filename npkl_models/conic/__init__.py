"""Exact routes through CVXPY."""
