"""Runs, and what papers print and state, read from files into checked tables."""
