"""Attacks at full size, as scripts; the tests run them small."""
