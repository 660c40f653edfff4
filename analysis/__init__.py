"""From flent data files to tidy tables, metrics, figures and the results page."""
