"""Bounds on the spectrum of a symmetric matrix, each with its rigour."""
