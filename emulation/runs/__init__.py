"""Do runs: a single run, many at once, a watched run, or a shell in the rig."""
