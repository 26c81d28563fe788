"""The library's own exact solver: a primal-dual interior-point method for this structure."""
