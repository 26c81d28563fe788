"""Data sets: bundled, from a folder, downloaded, synthetic."""
