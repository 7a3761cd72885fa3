"""What this machine does: measurements a user can run."""
