"""Solvers that work on the spectrum of K or of the dual slack."""
