"""One problem, every backend, one table."""
