"""The whole factor at once: Burer-Monteiro and what it stands on."""
