"""What the host gives to guests: folders, processors, packages, and a wall around each."""
