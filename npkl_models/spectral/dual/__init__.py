"""Ascent on the dual of a problem with tr K^p."""
