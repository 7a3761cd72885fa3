"""Training runs: the configuration, the loop, ratings on the way, and what a run leaves on disk."""
