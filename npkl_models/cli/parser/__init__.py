"""The parser of ``npkl``, made without numpy: what a command does is imported when it is run."""
