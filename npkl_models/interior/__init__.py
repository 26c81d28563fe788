"""The exact route of our own: a primal-dual interior-point method for this structure."""
