"""A smaller or simpler problem that is exactly the same one, and the way back."""
