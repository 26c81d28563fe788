"""The permanent adversary: random and hostile problems, points and multipliers, judged in exact arithmetic."""
