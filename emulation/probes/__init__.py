"""What is recorded while a run goes on, beside what its programs print."""
