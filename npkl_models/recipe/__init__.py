"""A problem and its solve as one value, from which command, page, code and reports are made."""
