"""What a learnt kernel is good for."""
