"""Fast solvers that compute a factor V."""
