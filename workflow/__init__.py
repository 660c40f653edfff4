"""What connects kernel, runs, figures and report: the plan that the Snakefile follows."""
