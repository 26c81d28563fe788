"""What comes back: solution and certificate."""
