"""The command ``npkl``, a file for each of its commands."""
