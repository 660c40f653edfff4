"""Comparisons of runs: with those that ship, with each other, in speed."""
