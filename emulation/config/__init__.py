"""From YAML to studies, sweeps and runs."""
