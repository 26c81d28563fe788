"""What is true of a point: certificates, and what they are made of."""
