"""Learners: episodes in, better weights and metrics out."""
