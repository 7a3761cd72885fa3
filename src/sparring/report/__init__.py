"""What a user sees: metrics, progress, tables and pages."""
