"""Learning: algorithms that turn episodes into weights, the loop around them, and what a run leaves on disk."""
