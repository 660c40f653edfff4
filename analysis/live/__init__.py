"""What runs while somebody looks at a notebook, and may boot guests."""
