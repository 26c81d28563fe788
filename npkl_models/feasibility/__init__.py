"""The feasible kernels: their face, the points that nothing bounds, Newton steps towards the constraints."""
