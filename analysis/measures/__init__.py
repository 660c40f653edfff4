"""From tables of runs to numbers: pure functions, one module per kind."""
