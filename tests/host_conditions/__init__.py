"""What surrounds a guest on the host, varied: none of it may reach a result."""
