"""What a user sees of the work: stage times, metrics, progress and tables."""
