"""The parser of ``npkl``, made without numpy; the module of a command is imported when the command runs."""
