"""Episodes on disk as data to learn from: matches that were played elsewhere are read in here."""
