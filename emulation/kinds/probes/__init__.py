"""What is recorded during a run, in addition to what its programs print."""
