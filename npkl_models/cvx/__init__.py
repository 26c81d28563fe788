"""CVXPY's problems: our interior-point method as their solver, and certificates of anybody's answers."""
