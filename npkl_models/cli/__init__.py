"""The command ``npkl``: its parser, and a module for each command."""
