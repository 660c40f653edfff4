"""Programs that run in a guest: their files, and whether it can start them."""
