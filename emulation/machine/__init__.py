"""A guest: its job, root file system, code and virtual machine, and what they are made of."""
