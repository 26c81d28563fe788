"""The result of a solve: solution, status and history."""
