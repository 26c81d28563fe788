"""Solvers that change the whole factor at once: Burer-Monteiro and its parts."""
