"""Fast routes over a factor V."""
