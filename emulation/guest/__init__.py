"""What runs inside the guest: standard library and Mininet only, on the guest's own Python."""
