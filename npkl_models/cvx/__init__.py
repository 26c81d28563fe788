"""CVXPY's problems: our interior-point method as their solver, and a judge of any solver's answer."""
