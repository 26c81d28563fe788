"""The command ``npkl``: its parser, and modules with the functions that its commands run."""
