"""Runs: one, many, watched, or as a shell."""
