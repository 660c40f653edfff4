"""From tables to matplotlib figures."""
