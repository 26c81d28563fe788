"""What is known of the spectrum of a symmetric matrix, and how rigorously."""
