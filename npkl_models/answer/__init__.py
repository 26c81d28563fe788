"""What comes back: solution, status and history."""
