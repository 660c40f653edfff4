"""From tables of runs to numbers: pure functions, a module a kind."""
