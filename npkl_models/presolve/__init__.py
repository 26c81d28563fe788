"""Steps that replace a problem by smaller or simpler ones, and the way back from their answers."""
